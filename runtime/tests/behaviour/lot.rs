//! A parking lot alone, on the park of each backend, with threads that really sleep.
//!
//! Between the threads everything is Relaxed but what the lot itself brings.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use crate::stress::{self, Dice};
use parkade::{Backend, FenceChoice};
use parkade_core::{ParkingLot, Skip, Slot, TagIndex, WorkerIndex};

on_each_backend!(
    one_waiter_sleeps_past_no_signal,
    two_waiters_sleep_past_no_signal,
    four_waiters_sleep_past_no_signal,
    waiters_sleep_past_no_signal_across_the_wrap,
);

/// W1 on a bare lot, in short.
fn one_waiter_sleeps_past_no_signal<B: Backend>() {
    lone_signals::<B>(1);
}

/// W1 on a bare lot, in short.
fn two_waiters_sleep_past_no_signal<B: Backend>() {
    lone_signals::<B>(2);
}

/// W1 on a bare lot, in short.
fn four_waiters_sleep_past_no_signal<B: Backend>() {
    lone_signals::<B>(4);
}

fn lone_signals<B: Backend>(waiters: usize) {
    let sleeps = Board::new::<B>(0).run(waiters, stress::rounds(20_000, 5));
    assert!(sleeps > 0, "nobody ever waited");
}

/// W12: the count of signals wraps in the middle; nobody sleeps past one, and the stop bit is set by the stop
/// alone and then stays.
fn waiters_sleep_past_no_signal_across_the_wrap<B: Backend>() {
    const SIGNALS_BEFORE_THE_WRAP: u32 = 1 << 31;
    let mut sleeps = 0;
    for _ in 0..stress::rounds(200, 2) {
        let board = Board::new::<B>(SIGNALS_BEFORE_THE_WRAP - 10);
        sleeps += board.run(2, 10);
        for _ in 0..20 {
            let _ = board.lot.signal(1 << 30);
            assert!(board.lot.is_stopped(), "{:?}", board.lot);
        }
    }
    assert!(sleeps > 0, "nobody ever waited");
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
    fn run(&self, waiters: usize, rounds: u64) -> u64 {
        let mut dice = Dice::new();
        thread::scope(|scope| {
            let _stop = StopAtEnd(self);
            for _ in 0..waiters {
                let dice = dice.fork();
                scope.spawn(|| self.wait(dice));
            }
            for _ in 0..rounds {
                self.publish_and_wait();
                stress::pause(dice.pause());
                self.publish_and_wait();
            }
            assert!(!self.lot.is_stopped(), "{:?}", self.lot);
        });
        assert_eq!(self.taken.load(Ordering::Relaxed), 2 * rounds);
        self.sleeps.load(Ordering::Relaxed)
    }

    fn publish_and_wait(&self) {
        let item = self.published.fetch_add(1, Ordering::Relaxed) + 1;
        let woken = self.lot.signal(1);
        assert!(woken <= 1, "{woken} woken by one signal");
        assert!(
            stress::soon(|| self.taken.load(Ordering::Relaxed) == item),
            "signal {item} is slept past: {:?}",
            self.lot
        );
    }

    fn wait(&self, mut dice: Dice) {
        loop {
            let state = self.lot.state();
            if self.take() {
                stress::pause(dice.linger());
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

/// Stops the lot, also when the test fails, so that its waiters end.
struct StopAtEnd<'b, K: parkade_core::Park>(&'b Board<K>);

impl<K: parkade_core::Park> Drop for StopAtEnd<'_, K> {
    fn drop(&mut self) {
        let _ = self.0.lot.stop();
    }
}
