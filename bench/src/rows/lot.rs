//! `lot`: how soon work is taken up from a bare lot whose one waiter is busy for a tenth, half or nine tenths of the
//! time, when signals skip the wake if nobody waits, and when they do not.
//!
//! What a server's acceptor and its one worker are like. Requests come at even distances, each is 20 µs of work, and
//! what is measured is from its publication to the moment when the waiter takes it.
//!
//! Scenarios: W14.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use hdrhistogram::Histogram;
use parkade::{Backend, FenceChoice};
use parkade_core::{ParkingLot, Skip, Slot, TagIndex, WorkerIndex};

use crate::cell::Metric;

/// The work of one request.
const WORK: Duration = Duration::from_micros(20);

/// What the histogram holds, in nanoseconds.
const LONGEST: u64 = 10_000_000_000;

/// A load in percent, and the names of its two figures.
const LOADS: [(u32, [&str; 2]); 3] = [
    (10, ["p99 at 10 %, skipping", "p99 at 10 %, always waking"]),
    (50, ["p99 at 50 %, skipping", "p99 at 50 %, always waking"]),
    (90, ["p99 at 90 %, skipping", "p99 at 90 %, always waking"]),
];

pub(crate) fn measure<B: Backend>(requests: u64) -> Result<Vec<Metric>> {
    let mut metrics = Vec::new();
    for (percent, names) in LOADS {
        for (skip, name) in [Skip::WhenNobodyWaits, Skip::Never].into_iter().zip(names) {
            let taken = serve::<B>(skip, WORK * 100 / percent, requests)?;
            let p99 = taken.value_at_quantile(0.99) as f64;
            metrics.push(Metric::new(name, "ns", p99));
        }
    }
    Ok(metrics)
}

/// Publishes requests `apart` and has them served; returns how long each lay there.
fn serve<B: Backend>(skip: Skip, apart: Duration, requests: u64) -> Result<Histogram<u64>> {
    let slot = Slot {
        tag: TagIndex(0),
        worker: WorkerIndex(0),
    };
    let lot = ParkingLot::new(B::new(FenceChoice::Auto).park(slot), skip);
    let published = Mutex::new(VecDeque::new());
    let take = || published.lock().ok()?.pop_front();
    thread::scope(|threads| {
        let server = threads.spawn(|| -> Result<Histogram<u64>> {
            let mut waits = Histogram::new_with_max(LONGEST, 3)?;
            while waits.len() < requests {
                let state = lot.state();
                let Some(came) = take() else {
                    lot.wait(state);
                    continue;
                };
                let began = Instant::now();
                let wait = began.saturating_duration_since(came).as_nanos();
                waits.saturating_record(u64::try_from(wait).unwrap_or(LONGEST));
                while began.elapsed() < WORK {
                    std::hint::spin_loop();
                }
            }
            Ok(waits)
        });
        let mut due = Instant::now();
        for _ in 0..requests {
            due += apart;
            while Instant::now() < due {
                std::hint::spin_loop();
            }
            if let Ok(mut published) = published.lock() {
                published.push_back(Instant::now());
            }
            lot.signal(1);
        }
        let served = server.join();
        served.ok().context("the server panicked")?
    })
}
