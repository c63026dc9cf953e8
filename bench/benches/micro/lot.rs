//! The parking lot: what a signal costs whoever gives it, when nobody waits and when somebody sleeps.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use criterion::Criterion;
use parkade::{Backend, FenceChoice};
use parkade_core::{Park, ParkingLot, Skip, Slot, TagIndex, WorkerIndex};

/// From a waiter's announcement to its signal: long enough to fall asleep.
const ASLEEP: Duration = Duration::from_micros(100);

pub(crate) fn measure<B: Backend>(criterion: &mut Criterion, backend: &str) {
    let mut group = criterion.benchmark_group("lot");
    let skips = [
        ("skipping", Skip::WhenNobodyWaits),
        ("always waking", Skip::Never),
    ];
    for (name, skip) in skips {
        let lot = lot::<B>(skip);
        group.bench_function(
            format!("signal, nobody waits, {name}/{backend}"),
            |bencher| {
                bencher.iter(|| lot.signal(1));
            },
        );
    }
    for (name, skip) in skips {
        group.bench_function(format!("signal, one sleeps, {name}/{backend}"), |bencher| {
            bencher.iter_custom(|times| signal_a_sleeper(&lot::<B>(skip), times));
        });
    }
    group.finish();
}

fn lot<B: Backend>(skip: Skip) -> ParkingLot<B::Park> {
    let slot = Slot {
        tag: TagIndex(0),
        worker: WorkerIndex(0),
    };
    ParkingLot::new(B::new(FenceChoice::Auto).park(slot), skip)
}

/// The time for so many signals, each to a thread that sleeps. Falling asleep is not measured.
fn signal_a_sleeper<K: Park>(lot: &ParkingLot<K>, times: u64) -> Duration {
    let rounds = AtomicU64::new(0);
    let mut time = Duration::ZERO;
    thread::scope(|threads| {
        threads.spawn(|| {
            loop {
                let state = lot.state();
                if state.is_stopped() {
                    return;
                }
                rounds.fetch_add(1, Ordering::Relaxed);
                lot.wait(state);
            }
        });
        for _ in 0..times {
            thread::sleep(ASLEEP);
            let before = rounds.load(Ordering::Relaxed);
            let started = Instant::now();
            lot.signal(1);
            time += started.elapsed();
            // It is up, and about to wait for the next.
            while rounds.load(Ordering::Relaxed) <= before {
                thread::yield_now();
            }
        }
        lot.stop();
    });
    time
}
