//! Workers that come between two steps of another one.
//!
//! The fences of this platform run a hook: at the heavy side a thief stands between its look at a run queue
//! and its claim, at the light side an owner has just lowered the bottom of its own.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::LazyLock;

use parkade_core::sync::AtomicPtr;
use parkade_core::{Fences, Next, Origin, Platform, Priority, Slot, StopPolicy, Task, TaskControl};

use crate::script::{Script, ScriptedPark, StdLock, slot, stop, tag_of};

type Hook = Option<Box<dyn FnOnce()>>;

thread_local! {
    static HEAVY: RefCell<Hook> = const { RefCell::new(None) };
    static LIGHT: RefCell<Hook> = const { RefCell::new(None) };
}

#[derive(Clone, Copy)]
struct Hooked;

impl Fences for Hooked {
    fn light(self) {
        if let Some(hook) = LIGHT.take() {
            hook();
        }
    }

    fn heavy(self) {
        if let Some(hook) = HEAVY.take() {
            hook();
        }
    }
}

struct Interrupted;

impl Platform for Interrupted {
    type Park = ScriptedPark;
    type Fences = Hooked;
    type Lock<T: Send> = StdLock<T>;
    type Queue = VecDeque<Task>;
    type Ring = Box<[AtomicPtr<()>]>;
    type PerWorker<T: Send + Sync> = Box<[T]>;
    type PerTag<T: Send + Sync> = Box<[T]>;

    fn park(&self, slot: Slot) -> ScriptedPark {
        ScriptedPark::new(&Script::default(), slot.worker.0)
    }

    fn fences(&self) -> Hooked {
        Hooked
    }
}

/// A steal that is lost to another thief is no reason to leave a draining tag.
#[test]
fn the_loser_takes_what_the_winner_left() {
    // The hook must not borrow.
    static CONTROL: LazyLock<TaskControl<Interrupted>> =
        LazyLock::new(|| TaskControl::new(&Interrupted, &[tag_of(3)]).unwrap());
    let control = &*CONTROL;
    let register = |index| control.register(slot(index)).unwrap();
    let (owner, loser, winner) = (register(0), register(1), register(2));
    let tag = &control.tags()[0];
    let mut batch = (0..3).map(Task::from_word);
    let _ = tag.submit_batch(&mut batch, Priority::Normal, &Origin::new(0));
    // The owner takes one and moves two to its run queue, while the tag is open.
    assert!(matches!(owner.next(), Next::Run(_)));
    let _join = stop(control, StopPolicy::Drain);
    HEAVY.set(Some(Box::new(move || {
        assert!(matches!(winner.next(), Next::Run(_)));
        std::mem::forget(winner);
    })));
    let next = loser.next();
    assert!(matches!(next, Next::Run(_)), "{next:?}");
}

/// An owner that tries to take its newest task back hides it for a moment. Whoever looks then, and goes to
/// sleep, is woken when the owner does not get it.
#[test]
fn what_was_not_taken_back_asks_for_a_wake() {
    static CONTROL: LazyLock<TaskControl<Interrupted>> =
        LazyLock::new(|| TaskControl::new(&Interrupted, &[tag_of(2)]).unwrap());
    let control = &*CONTROL;
    let register = |index| control.register(slot(index)).unwrap();
    let (owner, thief) = (register(0), register(1));
    for word in 1..=2 {
        let _ = owner.push(Task::from_word(word)).unwrap();
    }
    LIGHT.set(Some(Box::new(move || {
        assert!(matches!(thief.next(), Next::Run(_)), "the oldest");
        assert!(matches!(thief.next(), Next::Park(_)), "it sees no other");
        std::mem::forget(thief);
    })));
    assert!(owner.take_back(|_| true).is_none());
    assert_eq!(control.tags()[0].counters().wake_calls, 1);
    assert!(matches!(owner.next(), Next::Run(_)));
}
