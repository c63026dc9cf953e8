//! A parking lot alone, on the park of each backend, with threads that really sleep.
//!
//! Between the threads everything is Relaxed but what the lot itself brings.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use crate::rounds::{self, Dice, Run};
use parkade::{Backend, FenceChoice};
use parkade_core::{ParkingLot, Skip, Slot, TagIndex, WorkerIndex};

on_each_backend!(
    one_waiter_sleeps_past_no_signal,
    two_waiters_sleep_past_no_signal,
    four_waiters_sleep_past_no_signal,
    waiters_sleep_past_no_signal_across_the_wrap,
    a_signal_to_nobody_ends_the_next_wait,
    a_stop_races_the_first_wait,
);

/// W1 on a bare lot.
fn one_waiter_sleeps_past_no_signal<B: Backend>() {
    lone_signals::<B>(1);
}

/// W1 on a bare lot.
fn two_waiters_sleep_past_no_signal<B: Backend>() {
    lone_signals::<B>(2);
}

/// W1 on a bare lot.
fn four_waiters_sleep_past_no_signal<B: Backend>() {
    lone_signals::<B>(4);
}

fn lone_signals<B: Backend>(waiters: usize) {
    let mut run = Run::new("W1", 20_000, 5);
    let board = run.watch(Board::new::<B>(0));
    let rounds = run.rounds().end;
    let sleeps = board.run(&mut run, waiters, rounds);
    assert!(sleeps > 0, "nobody ever waited");
}

/// W12: the count of signals wraps in the middle; nobody sleeps past one, and the stop bit is set by the stop
/// alone and then stays.
fn waiters_sleep_past_no_signal_across_the_wrap<B: Backend>() {
    const SIGNALS_BEFORE_THE_WRAP: u32 = 1 << 31;
    let mut sleeps = 0;
    let mut run = Run::new("W12", 200, 2);
    for _ in run.rounds() {
        let board = run.watch(Board::new::<B>(SIGNALS_BEFORE_THE_WRAP - 10));
        sleeps += board.run(&mut run, 2, 10);
        for _ in 0..20 {
            let _ = board.lot.signal(1 << 30);
            assert!(board.lot.is_stopped(), "{:?}", board.lot);
        }
    }
    assert!(sleeps > 0, "nobody ever waited");
}

/// W2: with a state from before the signal nobody sleeps, whether the signaller found a waiter or not.
fn a_signal_to_nobody_ends_the_next_wait<B: Backend>() {
    let run = Run::new("W2", 1_000, 5);
    let board = run.watch(Board::new::<B>(u32::MAX >> 3));
    for _ in run.rounds() {
        run.step();
        let before = board.lot.state();
        assert_eq!(board.lot.signal(1), 0, "there is nobody to wake");
        board.lot.wait(before);
    }
}

/// S13: the stop comes while a thread that has just begun waits for the first time, or is about to.
fn a_stop_races_the_first_wait<B: Backend>() {
    let mut run = Run::new("S13", 1_000, 5);
    for _ in run.rounds() {
        let board = run.watch(Board::new::<B>(0));
        let has_begun = AtomicBool::new(false);
        run.step();
        thread::scope(|scope| {
            let _stop = StopAtEnd(&board);
            let (dice, board, has_begun) = (run.dice.fork(), &board, &has_begun);
            let waiter = scope.spawn(move || {
                has_begun.store(true, Ordering::Relaxed);
                board.wait(dice);
            });
            rounds::until(|| has_begun.load(Ordering::Relaxed));
            rounds::pause(run.dice.linger());
            let _ = board.lot.stop();
            waiter.join().unwrap();
        });
    }
}

/// Work that is a number only: so many are published, so many are taken.
struct Board<K> {
    lot: ParkingLot<K>,
    published: AtomicU64,
    taken: AtomicU64,
    sleeps: AtomicU64,
}

impl Board<()> {
    fn new<B: Backend>(signals: u32) -> Board<B::Park> {
        let slot = Slot {
            tag: TagIndex(0),
            worker: WorkerIndex(0),
        };
        let park = B::new(FenceChoice::Auto).park(slot);
        Board {
            lot: ParkingLot::with_signals(park, Skip::WhenNobodyWaits, signals),
            published: AtomicU64::new(0),
            taken: AtomicU64::new(0),
            sleeps: AtomicU64::new(0),
        }
    }
}

impl<K: parkade_core::Park> Board<K> {
    /// Publishes two items a round, with a random pause between them, while waiters take them. Returns how
    /// often these found nothing and waited.
    fn run(&self, run: &mut Run, waiters: usize, rounds: u64) -> u64 {
        thread::scope(|scope| {
            let _stop = StopAtEnd(self);
            for _ in 0..waiters {
                let dice = run.dice.fork();
                scope.spawn(|| self.wait(dice));
            }
            for _ in 0..rounds {
                self.publish_and_wait(run);
                rounds::pause(run.dice.pause());
                self.publish_and_wait(run);
            }
            assert!(!self.lot.is_stopped(), "{:?}", self.lot);
        });
        assert_eq!(self.taken.load(Ordering::Relaxed), 2 * rounds);
        self.sleeps.load(Ordering::Relaxed)
    }

    fn publish_and_wait(&self, run: &Run) {
        run.step();
        let item = self.published.fetch_add(1, Ordering::Relaxed) + 1;
        let woken = self.lot.signal(1);
        assert!(woken <= 1, "{woken} woken by one signal");
        rounds::until(|| self.taken.load(Ordering::Relaxed) == item);
    }

    fn wait(&self, mut dice: Dice) {
        loop {
            let state = self.lot.state();
            if self.take() {
                rounds::pause(dice.linger());
            } else {
                if state.is_stopped() {
                    break;
                }
                self.sleeps.fetch_add(1, Ordering::Relaxed);
                self.lot.wait(state);
            }
        }
    }

    fn take(&self) -> bool {
        let published = self.published.load(Ordering::Relaxed);
        let take = |taken| (taken < published).then_some(taken + 1);
        let taken = self
            .taken
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
        taken.is_ok()
    }
}

impl<K> fmt::Debug for Board<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Board")
            .field("lot", &self.lot)
            .field("published", &self.published)
            .field("taken", &self.taken)
            .field("sleeps", &self.sleeps)
            .finish()
    }
}

/// Stops the lot, also when the test fails, so that its waiters end.
struct StopAtEnd<'b, K: parkade_core::Park>(&'b Board<K>);

impl<K: parkade_core::Park> Drop for StopAtEnd<'_, K> {
    fn drop(&mut self) {
        let _ = self.0.lot.stop();
    }
}
