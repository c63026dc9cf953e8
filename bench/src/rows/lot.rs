//! `lot`: how soon work is taken up from a bare lot whose one waiter is busy for a tenth, half or nine tenths of the
//! time, when signals skip the wake if nobody waits, and when they do not.
//!
//! What a server's acceptor and its one worker are like. Requests come at even distances, each is 20 µs of work, and
//! what is measured is from its publication to the moment when the waiter takes it.
//!
//! Scenarios: W14.

use std::collections::VecDeque;
use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use hdrhistogram::Histogram;
use parkade::{Backend, FenceChoice};
use parkade_core::{ParkingLot, Skip, Slot, TagIndex, WorkerIndex};

use super::{Page, Shape};
use crate::cell::{Figure, Measured, Options};
#[cfg(target_os = "linux")]
use crate::contender::Linux;
use crate::contender::{Offer, Parkade, Std};

pub(super) const PAGE: Page = Page {
    like: "a server's acceptor and its one worker, at a tenth, half and nine tenths of its load",
    floor: None,
    // It has no pool and knows of backends alone, so nobody else can offer it.
    offers: &[
        #[cfg(target_os = "linux")]
        Offer::of::<Parkade<Linux>>(measure::<Linux>),
        Offer::of::<Parkade<Std>>(measure::<Std>),
    ],
    shapes: &[Shape::workers(1)],
    traced_tasks: None,
    figures: &[
        LOADS[0].skipping,
        LOADS[0].always,
        LOADS[1].skipping,
        LOADS[1].always,
        LOADS[2].skipping,
        LOADS[2].always,
    ],
};

/// The work of one request.
const WORK: Duration = Duration::from_micros(20);

/// What the histogram holds, in nanoseconds.
const LONGEST: u64 = 10_000_000_000;

/// For how much of the time the waiter is busy, and what is measured.
struct Load {
    percent: u32,
    skipping: Figure,
    always: Figure,
}

const LOADS: [Load; 3] = [
    Load {
        percent: 10,
        skipping: Figure::lower("p99 at 10 %, skipping", "ns"),
        always: Figure::lower("p99 at 10 %, always waking", "ns"),
    },
    Load {
        percent: 50,
        skipping: Figure::lower("p99 at 50 %, skipping", "ns").main(),
        always: Figure::lower("p99 at 50 %, always waking", "ns"),
    },
    Load {
        percent: 90,
        skipping: Figure::lower("p99 at 90 %, skipping", "ns"),
        always: Figure::lower("p99 at 90 %, always waking", "ns"),
    },
];

fn measure<B: Backend>(options: &Options) -> Result<Measured> {
    let requests = options.tasks.unwrap_or(4000);
    let mut measured = Measured::default();
    for load in &LOADS {
        let apart = WORK * 100 / load.percent;
        for (skip, figure) in [
            (Skip::WhenNobodyWaits, load.skipping),
            (Skip::Never, load.always),
        ] {
            let taken = serve::<B>(skip, apart, requests)?;
            let p99 = taken.value_at_quantile(0.99) as f64;
            measured = measured
                .and([figure.of(p99)])
                .with_distribution(figure.name(), "ns", &taken);
        }
    }
    Ok(measured)
}

/// Publishes requests `apart` and has them served; returns how long each lay there.
fn serve<B: Backend>(skip: Skip, apart: Duration, requests: u64) -> Result<Histogram<u64>> {
    let slot = Slot {
        tag: TagIndex(0),
        worker: WorkerIndex(0),
    };
    let lot = ParkingLot::new(B::new(FenceChoice::Auto).park(slot), skip);
    let published = Mutex::new(VecDeque::new());
    // The waiter's own beginning is no part of the wait.
    let ready = Barrier::new(2);
    let take = || published.lock().ok()?.pop_front();
    thread::scope(|threads| {
        let server = threads.spawn(|| -> Result<Histogram<u64>> {
            let waits = Histogram::new_with_max(LONGEST, 3);
            ready.wait();
            let mut waits = waits?;
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
        ready.wait();
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
