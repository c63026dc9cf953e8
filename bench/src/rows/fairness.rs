//! `fairness`: how long threads wait for one lock that all of them want all the time.
//!
//! What an inbox is like into which several threads spawn at once. Under the lock a number goes into a queue and the
//! oldest comes out; between two locks each thread computes for about as long as a small closure takes to be made. It
//! is measured from the call until the lock is held, for every time; the figures are of all threads together, and how
//! often the thread that got it least had it, compared with its fair share.
//!
//! The contenders are locks, and "workers" are the threads that want one:
//!
//! * a ticket lock that spins: first come, first served, whoever comes first may be off its processor;
//! * a mutex that spins: whoever is there when it is let go;
//! * `parking_lot`: spins for a little, then sleeps; now and then it is handed to the one that sleeps longest;
//! * std's mutex: on Linux a futex, spins for a little, then sleeps; whoever is there when it is let go.
//!
//! A pthread spin lock is not among them: there is no well-kept crate that makes one without unsafe code here, and glibc's
//! is the same test-and-set loop as the spinning mutex.
//!
//! **What the inboxes use, and why:** both backends, for Linux and for any system with std, use std's mutex (the
//! `OsLock` of each backend's `platform.rs`). Workers are threads like others: whoever holds an inbox's lock may be off
//! its processor for a whole time slice, and with more threads than processors often is. A lock that spins then burns
//! the slices of all who wait, and a ticket lock makes everyone wait for whoever is next in line and is not running:
//! with 8 threads on 2 processors that shows in the rare and the longest waits, and in how much longer it is from one
//! lock to the next. Under the lock nothing is done
//! but a push or the taking of a batch, so that the unfairness of std's mutex has no long hold to be unfair with. Kernel code,
//! which cannot be descheduled under a lock, brings a spinning lock by way of the same trait.

use std::collections::VecDeque;
use std::hint;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use hdrhistogram::Histogram;

use super::{Page, Shape};
use crate::cell::{Figure, Measured, Options};
use crate::contender::{Name, Offer};
use crate::work;

const LONGEST: Figure = Figure::lower("longest wait", "ns").main();
const P50: Figure = Figure::lower("wait p50", "ns");
const P99: Figure = Figure::lower("wait p99", "ns");
const RARE: Figure = Figure::lower("wait p99.99", "ns");
const SPREAD: Figure = Figure::lower("standard deviation of the wait", "ns");
const LEAST: Figure = Figure::higher("least served thread, of its fair share", "");
const PACE: Figure = Figure::lower("from one lock to the next", "ns");

pub(super) const PAGE: Page = Page {
    like: "several threads that spawn into one inbox at once: how long each waits for its lock",
    floor: None,
    offers: &[
        offer::<spin::mutex::TicketMutex<Inbox>>(Name::SpinTicket),
        offer::<spin::mutex::SpinMutex<Inbox>>(Name::SpinMutex),
        offer::<parking_lot::Mutex<Inbox>>(Name::ParkingLot),
        offer::<std::sync::Mutex<Inbox>>(Name::StdMutex),
    ],
    shapes: &[Shape::workers(2), Shape::workers(8)],
    traced_tasks: None,
    figures: &[LONGEST, P50, P99, RARE, SPREAD, LEAST, PACE],
};

/// What the histogram holds, in nanoseconds.
const MAX_WAIT: u64 = 60_000_000_000;

/// Rounds of arithmetic from one lock to the next: about what the making of a small task takes, 100 ns.
const BETWEEN: u64 = 32;

/// What there is under the lock.
type Inbox = VecDeque<u64>;

trait Lock: Default + Sync {
    fn with(&self, f: impl FnOnce(&mut Inbox));
}

impl Lock for spin::mutex::TicketMutex<Inbox> {
    fn with(&self, f: impl FnOnce(&mut Inbox)) {
        f(&mut self.lock());
    }
}

impl Lock for spin::mutex::SpinMutex<Inbox> {
    fn with(&self, f: impl FnOnce(&mut Inbox)) {
        f(&mut self.lock());
    }
}

impl Lock for parking_lot::Mutex<Inbox> {
    fn with(&self, f: impl FnOnce(&mut Inbox)) {
        f(&mut self.lock());
    }
}

impl Lock for std::sync::Mutex<Inbox> {
    fn with(&self, f: impl FnOnce(&mut Inbox)) {
        f(&mut self.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

const fn offer<L: Lock>(contender: Name) -> Offer {
    Offer {
        contender,
        measure: measure::<L>,
    }
}

fn measure<L: Lock>(options: &Options) -> Result<Measured> {
    let lock = L::default();
    let waits = contend(
        &lock,
        options.workers,
        Duration::from_secs(options.seconds),
    )?;
    let mut all = Histogram::<u64>::new_with_max(MAX_WAIT, 3)?;
    for waits in &waits {
        all.add(waits)?;
    }
    let pace = options.seconds as f64 * 1e9 / all.len() as f64;
    Ok(Measured::new([
        LONGEST.of(all.max() as f64),
        P50.of(all.value_at_quantile(0.50) as f64),
        P99.of(all.value_at_quantile(0.99) as f64),
        RARE.of(all.value_at_quantile(0.9999) as f64),
        SPREAD.of(all.stdev()),
        LEAST.of(least_served(waits.iter().map(Histogram::len))),
        PACE.of(pace),
    ])
    .with_distribution("wait", "ns", &all))
}

/// Has threads want the lock for so long; returns the waits of each.
fn contend<L: Lock>(lock: &L, threads: u16, time: Duration) -> Result<Vec<Histogram<u64>>> {
    let stop = AtomicBool::new(false);
    let together = Barrier::new(usize::from(threads) + 1);
    thread::scope(|scope| {
        let waiters: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| -> Result<Histogram<u64>> {
                    let mut waits = Histogram::new_with_max(MAX_WAIT, 3)?;
                    together.wait();
                    while !stop.load(Ordering::Relaxed) {
                        let wanted = Instant::now();
                        let mut held = wanted;
                        lock.with(|inbox| {
                            held = Instant::now();
                            inbox.push_back(0);
                            if inbox.len() > usize::from(threads) {
                                hint::black_box(inbox.pop_front());
                            }
                        });
                        let wait = held.duration_since(wanted).as_nanos();
                        waits.saturating_record(u64::try_from(wait).unwrap_or(MAX_WAIT));
                        work::compute(BETWEEN);
                    }
                    Ok(waits)
                })
            })
            .collect();
        together.wait();
        thread::sleep(time);
        stop.store(true, Ordering::Relaxed);
        waiters
            .into_iter()
            .map(|waiter| waiter.join().ok().context("a waiter panicked")?)
            .collect()
    })
}

/// How often the one that was served least was, compared with the average.
fn least_served(served: impl ExactSizeIterator<Item = u64> + Clone) -> f64 {
    let threads = served.len() as f64;
    let sum: u64 = served.clone().sum();
    let least = served.min().unwrap_or(0);
    least as f64 * threads / sum as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_served_half_as_often_as_the_average_has_half_its_share() {
        assert_eq!(least_served([50, 150].into_iter()), 0.5);
        assert_eq!(least_served([7, 7, 7].into_iter()), 1.0);
    }

    #[test]
    fn a_lock_that_is_held_is_waited_for() -> Result<()> {
        let lock = std::sync::Mutex::new(Inbox::new());
        let held = Duration::from_millis(50);
        let waits = thread::scope(|scope| {
            scope.spawn(|| lock.with(|_| thread::sleep(held)));
            thread::sleep(held / 10);
            contend(&lock, 2, held * 2)
        })?;
        let longest = waits.iter().map(Histogram::max).max();
        assert!(longest >= Some(30_000_000), "{longest:?} ns");
        Ok(())
    }
}
