//! The promise of a fence pair, by the litmus test called *store buffering*: each of two threads stores to
//! its own variable, fences, and loads the other's. At least one must see the other's store.
//!
//! The variables count rounds, so nothing is reset: a value below the round's number is a stale one.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use parkade_core::Fences;

use crate::bed::{Deadline, Verdict, Violation, rounds, within};

/// The owner's side against the thief's.
pub(crate) fn light_against_heavy<F: Fences>(fences: F, patience: Duration) -> Verdict {
    within(patience, move |deadline| {
        store_buffering(move || fences.light(), move || fences.heavy(), deadline)
    })
}

/// Two thieves, or two workers that go to sleep.
pub(crate) fn heavy_against_heavy<F: Fences>(fences: F, patience: Duration) -> Verdict {
    within(patience, move |deadline| {
        store_buffering(move || fences.heavy(), move || fences.heavy(), deadline)
    })
}

#[repr(align(128))]
struct Apart(AtomicU32);

/// The longest that one side holds back, in steps of a nanosecond or few.
const SHIFTS: u32 = 128;

/// What the two threads share; each counter on a cache line of its own.
struct Table {
    stored: [Apart; 2],
    arrived: Apart,
}

impl Table {
    /// One thread's part; its result says for each round whether the other's store was missed.
    fn side(
        &self,
        me: usize,
        fence: impl Fn(),
        deadline: Deadline,
    ) -> Result<Vec<bool>, Violation> {
        let (mine, others) = (&self.stored[me].0, &self.stored[1 - me].0);
        let mut meetings = 0;
        let mut missed = Vec::new();
        for round in 1..=rounds(20_000) {
            // With the other's line in this cache and mine in its, the loads are as quick and the stores as slow
            // as they get: that is when a store is overtaken.
            self.meet(&mut meetings, deadline)?;
            black_box(others.load(Ordering::Relaxed));
            self.meet(&mut meetings, deadline)?;
            // Whoever arrives last starts first, by as much as a cache line takes to cross over: hold one side
            // back, then the other, by every shift of that size.
            if round / SHIFTS % 2 == me as u32 {
                (0..round % SHIFTS).for_each(|step| {
                    black_box(step);
                });
            }
            mine.store(round, Ordering::Relaxed);
            fence();
            missed.push(others.load(Ordering::Relaxed) < round);
        }
        Ok(missed)
    }

    /// Lets both threads go on together.
    fn meet(&self, meetings: &mut u32, deadline: Deadline) -> Verdict {
        *meetings += 1;
        let both = || self.arrived.0.load(Ordering::Relaxed) >= 2 * *meetings;
        self.arrived.0.fetch_add(1, Ordering::Relaxed);
        for _ in 0..1_000 {
            if both() {
                return Ok(());
            }
        }
        deadline.until(both)
    }
}

fn store_buffering(
    left: impl Fn(),
    right: impl Fn() + Send + 'static,
    deadline: Deadline,
) -> Verdict {
    let table = Arc::new(Table {
        stored: [Apart(AtomicU32::new(0)), Apart(AtomicU32::new(0))],
        arrived: Apart(AtomicU32::new(0)),
    });
    let other = thread::spawn({
        let table = Arc::clone(&table);
        move || table.side(1, right, deadline)
    });
    let left = table.side(0, left, deadline)?;
    let right = deadline.join(other)??;
    match left.iter().zip(&right).position(|(&l, &r)| l && r) {
        None => Ok(()),
        Some(index) => Err(Violation::BothStale {
            round: index as u32 + 1,
        }),
    }
}
