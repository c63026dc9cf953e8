//! A backend whose park is as bad as its contract allows, for every test that believes in no more than that.
//!
//! [`Faulty`] wraps another backend. Seeded dice decide at each call what goes wrong:
//!
//! * *early*: `wait` returns though the word has not changed and nobody woke it;
//! * *between compare and sleep*: `wait` compares, stalls, and only then sleeps;
//! * *between change and wake*: `wake` stalls before it wakes anybody, and again before it says so;
//! * *late*: `wait` has been woken, stalls, and only then returns;
//! * *another one*: a sleeper that was woken wakes another one of its lot and is late itself, so that the
//!   other one gets to run in its place;
//! * *fences*: either side stalls before or after its fence.
//!
//! # Why it is still a park
//!
//! By the numbers of [`Park`]'s obligations:
//!
//! 1. *No lost wake.* Every wait that sleeps does so in the wrapped park, which compares again after the
//!    stall; every wake is passed on in full, after the change and the stall. So the wrapped park sees the
//!    order change, wake that its own promise asks for. Whoever it releases returns from here: nothing below
//!    sleeps a second time, and a stall ends by itself. The wake of *another one* takes nothing away: it is
//!    one more, made by a thread that returns as well.
//! 2. *Spurious returns.* Early ones are, and so is the return of another one, which nobody outside asked
//!    for. Both are rare enough for a loop around `wait` to come to rest: fifteen of sixteen waits sleep.
//! 3. *Bounded wakes.* `wake` passes `n` on and returns the wrapped park's number. Another one is not
//!    released by any `wake(n)`; it returns for no reason (2), and whoever is no longer asleep is no longer
//!    counted by the next one.
//! 4. *No memory order.* None is added that the lot could lean on: the dice are the thread's own.
//! 5. *Never panics, never allocates*: the dice are plain numbers in a thread-local without a destructor.
//! 6. *One word*: it is passed on as it came.
//!
//! # Seed
//!
//! `PARKADE_SEED` replays the choices of each thread (not their timing, nor which thread starts first).

use std::cell::Cell;
use std::env;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use parkade::backend::{AffinityError, Interrupts};
use parkade::{Backend, FenceChoice};
use parkade_core::sync::{AtomicU32, Ordering as WordOrdering};
use parkade_core::{Fences, Park, Platform, Slot};

/// Another backend, but for its park and its fences.
pub(crate) struct Faulty<B>(B);

pub(crate) struct FaultyPark<K>(K);

#[derive(Clone, Copy)]
pub(crate) struct FaultyFences<F>(F);

impl<K: Park> Park for FaultyPark<K> {
    fn wait(&self, word: &AtomicU32, expected: u32) {
        if word.load(WordOrdering::Relaxed) != expected || one_in(16) {
            return;
        }
        stall();
        self.0.wait(word, expected);
        if one_in(4) {
            // Whether anybody else sleeps there or not.
            let _another = self.0.wake(word, 1);
            stall();
        }
        stall();
    }

    fn wake(&self, word: &AtomicU32, n: u32) -> u32 {
        stall();
        let woken = self.0.wake(word, n);
        stall();
        woken
    }
}

impl<F: Fences> Fences for FaultyFences<F> {
    fn light(self) {
        hesitate();
        self.0.light();
        hesitate();
    }

    fn heavy(self) {
        hesitate();
        self.0.heavy();
        hesitate();
    }
}

impl<B: Backend> Platform for Faulty<B> {
    type Park = FaultyPark<B::Park>;
    type Fences = FaultyFences<B::Fences>;
    type Lock<T: Send> = B::Lock<T>;
    type Queue = B::Queue;
    type Ring = B::Ring;
    type PerWorker<T: Send + Sync> = B::PerWorker<T>;
    type PerTag<T: Send + Sync> = B::PerTag<T>;

    fn park(&self, slot: Slot) -> Self::Park {
        FaultyPark(self.0.park(slot))
    }

    fn fences(&self) -> Self::Fences {
        FaultyFences(self.0.fences())
    }
}

impl<B: Backend> Backend for Faulty<B> {
    fn new(fences: FenceChoice) -> Self {
        // Shown if the test fails.
        eprintln!("the faults are those of PARKADE_SEED={}", seed());
        Self(B::new(fences))
    }

    fn allowed_cpus() -> Result<Vec<usize>, AffinityError> {
        B::allowed_cpus()
    }

    fn pin_current_thread(cpu: usize) -> Result<(), AffinityError> {
        B::pin_current_thread(cpu)
    }

    fn set_current_thread_cpus(cpus: &[usize]) -> Result<(), AffinityError> {
        B::set_current_thread_cpus(cpus)
    }

    fn forks() -> std::io::Result<&'static std::sync::atomic::AtomicUsize> {
        B::forks()
    }

    fn interrupts() -> Option<&'static dyn Interrupts> {
        B::interrupts()
    }
}

/// The seed of this process's faults.
fn seed() -> u64 {
    static SEED: OnceLock<u64> = OnceLock::new();
    *SEED.get_or_init(|| match env::var("PARKADE_SEED") {
        Ok(text) => match text.parse() {
            Ok(seed) => seed,
            Err(error) => panic!("PARKADE_SEED is {text:?}, which is no seed: {error}"),
        },
        Err(_) => fastrand::u64(..),
    })
}

thread_local! {
    static DICE: Cell<u64> = Cell::new(first());
}

/// Where a thread's dice begin.
fn first() -> u64 {
    static THREADS: AtomicU64 = AtomicU64::new(0);
    let thread = THREADS.fetch_add(1, Ordering::Relaxed);
    fastrand::Rng::with_seed(seed().wrapping_add(thread)).u64(..)
}

/// A number below `end`, from this thread's dice.
fn dice(end: u32) -> u32 {
    DICE.with(|dice| {
        let mut rng = fastrand::Rng::with_seed(dice.get());
        let number = rng.u32(..end);
        dice.set(rng.get_seed());
        number
    })
}

fn one_in(times: u32) -> bool {
    dice(times) == 0
}

/// Mostly nothing or a short spin, the shorter the more often; now and then the rest of a time slice, in which
/// others may do a whole round.
fn stall() {
    match dice(8) {
        0..4 => {}
        4..7 => {
            let longest = 1 + dice(600);
            spin(dice(longest));
        }
        _ => (0..=dice(3)).for_each(|_| thread::yield_now()),
    }
}

/// A stall that is short enough for every pop: mostly none.
fn hesitate() {
    if one_in(32) {
        spin(dice(100));
    }
}

fn spin(hints: u32) {
    (0..hints).for_each(|_| std::hint::spin_loop());
}
