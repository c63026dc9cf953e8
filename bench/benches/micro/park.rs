//! The park: there and back between two threads, each of which sleeps until the other has woken it. Two wake-ups,
//! and nothing of the scheduler: what no row with a sleeping worker can be faster than.

use std::thread;
use std::time::{Duration, Instant};

use criterion::Criterion;
use parkade::{Backend, FenceChoice};
use parkade_core::sync::{AtomicU32, Ordering};
use parkade_core::{Park, Slot, TagIndex, WorkerIndex};

/// Tells the other thread to end.
const END: u32 = u32::MAX;

pub(crate) fn measure<B: Backend>(criterion: &mut Criterion, backend: &str) {
    let mut group = criterion.benchmark_group("park");
    group.bench_function(format!("round trip/{backend}"), |bencher| {
        bencher.iter_custom(round_trips::<B>);
    });
    group.finish();
}

fn round_trips<B: Backend>(times: u64) -> Duration {
    let backend = B::new(FenceChoice::Auto);
    let park = |worker| {
        backend.park(Slot {
            tag: TagIndex(0),
            worker: WorkerIndex(worker),
        })
    };
    let (there, back) = (Side::new(park(0)), Side::new(park(1)));
    thread::scope(|threads| {
        threads.spawn(|| {
            let mut seen = 0;
            loop {
                seen = there.wait_while(seen);
                if seen == END {
                    return;
                }
                back.set(seen);
            }
        });
        let started = Instant::now();
        let mut seen = 0;
        for _ in 0..times {
            there.set(if seen == 1 { 2 } else { 1 });
            seen = back.wait_while(seen);
        }
        let time = started.elapsed();
        there.set(END);
        time
    })
}

/// A word that one thread sets and the other sleeps on.
struct Side<K> {
    word: AtomicU32,
    park: K,
}

impl<K: Park> Side<K> {
    fn new(park: K) -> Self {
        Self {
            word: AtomicU32::new(0),
            park,
        }
    }

    fn set(&self, value: u32) {
        self.word.store(value, Ordering::Release);
        self.park.wake(&self.word, 1);
    }

    /// Sleeps until the word is another, and returns it.
    fn wait_while(&self, old: u32) -> u32 {
        loop {
            let now = self.word.load(Ordering::Acquire);
            if now != old {
                return now;
            }
            self.park.wait(&self.word, old);
        }
    }
}
