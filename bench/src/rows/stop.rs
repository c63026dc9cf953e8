//! `stop`: how long it takes to end a pool whose workers are all parked.
//!
//! What the end of a test, of a plug-in or of a request with a pool of its own is like: there is nothing left to run,
//! and somebody waits until the pool is gone. Each time a pool is started, runs ten tasks a worker, parks, and is dropped,
//! which is how the users of every contender end it; Parkade's drop is a shutdown that drains.
//!
//! Some return from that when their threads have ended, others when they have told them. So that this is no
//! difference, it is measured until the system lists none of the pool's threads any more; how long the call took is a
//! figure of its own. The floor is as many threads that wait in [`thread::park`], are told to end, and joined.
//!
//! Scenarios: S8.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::Result;
use hdrhistogram::Histogram;

use super::{Floor, Page, Shape};
use crate::cell::{Figure, Measured, Options};
use crate::contender::{Spawn, SpawnRow, spawners};
use crate::threads::{self, Ids};
use crate::tally;

const GONE: Figure = Figure::lower("until its threads are gone, p50", "ns").main();
const GONE_LONGEST: Figure = Figure::lower("until its threads are gone, longest", "ns");
const CALL: Figure = Figure::lower("the call, p50", "ns");

pub(super) const PAGE: Page = Page {
    like: "the end of a test or a plug-in that has a pool of its own, all of it parked",
    floor: Some(Floor {
        is: "as many parked threads that are unparked, end, and are joined",
        measure: floor,
    }),
    offers: spawners::<Stop>(),
    shapes: &[Shape::workers(2), Shape::workers(64)],
    traced_tasks: None,
    figures: &[GONE, GONE_LONGEST, CALL],
};

/// From the last task to the stop: long enough for every worker to park.
const SETTLE: Duration = Duration::from_millis(50);

/// What the histograms hold, in nanoseconds.
const LONGEST: u64 = 60_000_000_000;

struct Stop;

impl SpawnRow for Stop {
    fn measure<C: Spawn>(options: &Options) -> Result<Measured> {
        stops(options, || {
            let pool = C::start(options.workers)?;
            let tasks = u64::from(options.workers) * 10;
            let before = tally::counted();
            for _ in 0..tasks {
                pool.spawn(tally::task());
            }
            tally::wait_for(before + tasks)?;
            Ok(pool)
        })
    }
}

fn floor(options: &Options) -> Result<Measured> {
    stops(options, || Ok(Parked::start(options.workers)))
}

/// Threads that are parked until they are dropped.
struct Parked {
    ended: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Parked {
    fn start(threads: u16) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let threads = (0..threads).map(|_| {
            let ended = Arc::clone(&ended);
            thread::spawn(move || {
                while !ended.load(Ordering::Acquire) {
                    thread::park();
                }
            })
        });
        Self {
            threads: threads.collect(),
            ended,
        }
    }
}

impl Drop for Parked {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Release);
        self.threads
            .iter()
            .for_each(|thread| thread.thread().unpark());
        for thread in self.threads.drain(..) {
            // It cannot panic; and if it did, it has ended all the same.
            let _ = thread.join();
        }
    }
}

/// Starts and drops something with threads, again and again.
fn stops<P>(options: &Options, start: impl Fn() -> Result<P>) -> Result<Measured> {
    let mut calls = Histogram::<u64>::new_with_max(LONGEST, 3)?;
    let mut gone = Histogram::<u64>::new_with_max(LONGEST, 3)?;
    for _ in 0..options.tasks.unwrap_or(20) {
        let before = threads::ids()?;
        let pool = start()?;
        thread::sleep(SETTLE);
        let own: Option<Ids> = threads::ids()?
            .zip(before)
            .map(|(with, before)| with.difference(&before).copied().collect());
        let began = Instant::now();
        drop(pool);
        calls.saturating_record(nanoseconds_since(began));
        if let Some(own) = own {
            threads::wait_until_gone(&own)?;
            gone.saturating_record(nanoseconds_since(began));
        }
    }
    let call = CALL.of(calls.value_at_quantile(0.50) as f64);
    let metrics = (!gone.is_empty()).then(|| {
        [
            GONE.of(gone.value_at_quantile(0.50) as f64),
            GONE_LONGEST.of(gone.max() as f64),
        ]
    });
    Ok(Measured::new(metrics.into_iter().flatten())
        .and([call])
        .with_distribution("until its threads are gone", "ns", &gone))
}

fn nanoseconds_since(began: Instant) -> u64 {
    u64::try_from(began.elapsed().as_nanos()).unwrap_or(LONGEST)
}
