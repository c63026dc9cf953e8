//! A platform without threads whose every seam is a place for others to act.
//!
//! The core calls out at each fence of a pair, before and after each lock, and whenever it reaches for a
//! tag's idle words or for a group (a custom array tells). In a real program other
//! threads act in between; here a script says what happens meanwhile. So one thread plays interleavings
//! that go through the *middle* of a push, a steal or an announcement, and plays the same ones again.
//! What lies between two seams is atomic here, and every order is as written: weaker ones, and the
//! fences that are always real, are for the models.
//!
//! The park compares, as a real one does, and then pretends to sleep: whoever drives the worker asks
//! [`is_asleep`] and lets it rest until a wake, or a return for no reason, ends its sleep.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, VecDeque};
use std::ops::Deref;
use std::rc::Rc;
use std::sync::Mutex;

use parkade_core::sync::{AtomicPtr, AtomicU32, Ordering};
use parkade_core::{Array, CapacityError, Fences, Lock, Park, Platform, Slot, Task};

use crate::script::Op;

/// More seams than any single operation passes, unless it turns in circles.
const TOO_MANY_SEAMS: usize = 50_000;

/// A call to [`Park::wake`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wake {
    pub(crate) slot: Slot,
    pub(crate) n: u32,
}

type Player = Rc<dyn Fn(&[Op])>;

thread_local! {
    static PLAYER: RefCell<Option<Player>> = const { RefCell::new(None) };
    /// Seams passed by the operation that is being played; `None` outside of one.
    static SEAMS: Cell<Option<usize>> = const { Cell::new(None) };
    static MEANWHILE: RefCell<Option<(usize, Vec<Op>)>> = const { RefCell::new(None) };
    static WAKES: RefCell<Vec<Wake>> = const { RefCell::new(Vec::new()) };
    static ASLEEP: RefCell<BTreeSet<Slot>> = const { RefCell::new(BTreeSet::new()) };
}

/// Says who plays what happens meanwhile, until the value is dropped.
#[derive(Debug)]
pub(crate) struct Played;

impl Played {
    pub(crate) fn by(player: Player) -> Self {
        ASLEEP.take();
        WAKES.take();
        MEANWHILE.take();
        SEAMS.set(None);
        PLAYER.set(Some(player));
        Self
    }
}

impl Drop for Played {
    fn drop(&mut self) {
        PLAYER.take();
    }
}

/// Runs `operation`; at its seam number `at`, `ops` are played. Tells whether they were.
pub(crate) fn meanwhile<R>(at: usize, ops: &[Op], operation: impl FnOnce() -> R) -> (R, bool) {
    SEAMS.set(Some(0));
    MEANWHILE.set((!ops.is_empty()).then(|| (at, ops.to_vec())));
    let result = operation();
    SEAMS.set(None);
    let played = MEANWHILE.take().is_none() && !ops.is_empty();
    (result, played)
}

fn seam() {
    let Some(passed) = SEAMS.get() else {
        return;
    };
    SEAMS.set(Some(passed + 1));
    assert!(
        passed < TOO_MANY_SEAMS,
        "an operation passed {passed} seams and does not end"
    );
    let due = MEANWHILE.with_borrow_mut(|meanwhile| meanwhile.take_if(|(at, _)| *at <= passed));
    if let Some((_, ops)) = due {
        let player = PLAYER.with_borrow(Clone::clone);
        player.expect("somebody plays")(&ops);
    }
}

/// The calls to wake since the last time this was asked.
pub(crate) fn wakes() -> Vec<Wake> {
    WAKES.take()
}

pub(crate) fn is_asleep(slot: Slot) -> bool {
    ASLEEP.with_borrow(|asleep| asleep.contains(&slot))
}

/// Ends a sleep for no reason; tells whether there was one.
pub(crate) fn returns_early(slot: Slot) -> bool {
    ASLEEP.with_borrow_mut(|asleep| asleep.remove(&slot))
}

#[derive(Debug)]
pub(crate) struct Stage;

#[derive(Debug)]
pub(crate) struct StagePark(Slot);

impl Park for StagePark {
    fn wait(&self, word: &AtomicU32, expected: u32) {
        if word.load(Ordering::Relaxed) == expected {
            ASLEEP.with_borrow_mut(|asleep| asleep.insert(self.0));
        }
    }

    fn wake(&self, _: &AtomicU32, n: u32) -> u32 {
        WAKES.with_borrow_mut(|wakes| wakes.push(Wake { slot: self.0, n }));
        u32::from(returns_early(self.0))
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct SeamFences;

impl Fences for SeamFences {
    fn light(self) {
        seam();
    }

    fn heavy(self) {
        seam();
    }
}

#[derive(Debug)]
pub(crate) struct SeamLock<T>(Mutex<T>);

impl<T: Send> Lock<T> for SeamLock<T> {
    fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        seam();
        let result = f(&mut self.0.try_lock().expect("no lock is taken inside a lock"));
        seam();
        result
    }
}

/// What each worker of a tag has one of.
#[derive(Debug)]
pub(crate) struct SeamArray<T>(Box<[T]>);

impl<T> Deref for SeamArray<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        seam();
        &self.0
    }
}

impl<T> Array<T> for SeamArray<T> {
    fn try_from_fn<E: From<CapacityError>>(
        len: usize,
        make: impl FnMut(usize) -> Result<T, E>,
    ) -> Result<Self, E> {
        Box::try_from_fn(len, make).map(Self)
    }
}

impl Platform for Stage {
    type Park = StagePark;
    type Fences = SeamFences;
    type Lock<T: Send> = SeamLock<T>;
    type Queue = VecDeque<Task>;
    type Ring = Box<[AtomicPtr<()>]>;
    type PerWorker<T: Send + Sync> = SeamArray<T>;
    type PerTag<T: Send + Sync> = Box<[T]>;

    fn park(&self, slot: Slot) -> StagePark {
        StagePark(slot)
    }

    fn fences(&self) -> SeamFences {
        SeamFences
    }
}
