//! `lone`: one task at a time from outside to an idle pool.
//!
//! The submitter sleeps until every worker is parked, submits an empty task, and watches one atomic
//! until the task has stamped it. Nothing is amortised here: each figure is a whole wake-up, the case
//! in which a scheduler that spins looks good and burns processors.
//!
//! Scenarios: I1.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use hdrhistogram::Histogram;

use crate::cell::Metric;
use crate::contender::Contender;
use crate::mark;

/// Between the end of one task and the next: long enough for every worker to park.
const APART: Duration = Duration::from_millis(2);

/// Tasks that are run and not measured: first touches, lazily made threads.
const WARM_UP: u64 = 50;

/// Around the marks: long enough for the last worker to park, even when it is being traced.
const SETTLE: Duration = Duration::from_millis(50);

/// A task that did not start within this was lost; a wake-up takes some thousand times less.
const LOST_AFTER: Duration = Duration::from_secs(10);

/// What the histograms hold, in nanoseconds: up to [`LOST_AFTER`].
const LONGEST: u64 = 10_000_000_000;

/// When the task started, in nanoseconds after [`Submitter::epoch`]; 0 while it has not.
static STARTED_AT: AtomicU64 = AtomicU64::new(0);

pub(crate) fn measure<C: Contender>(pool: &'static C, tasks: u64) -> Result<Vec<Metric>> {
    let submitter = Submitter {
        pool,
        epoch: Instant::now(),
    };
    for _ in 0..WARM_UP {
        submitter.submit()?;
    }
    let mut start = Histogram::<u64>::new_with_max(LONGEST, 3)?;
    let mut call = Histogram::<u64>::new_with_max(LONGEST, 3)?;
    thread::sleep(SETTLE);
    mark::begin();
    for _ in 0..tasks {
        let lone = submitter.submit()?;
        start.saturating_record(lone.start_ns);
        call.saturating_record(lone.call_ns);
    }
    thread::sleep(SETTLE);
    mark::end();
    let at = |histogram: &Histogram<u64>, quantile| histogram.value_at_quantile(quantile) as f64;
    Ok(vec![
        Metric::new("start p50", "ns", at(&start, 0.50)),
        Metric::new("start p99", "ns", at(&start, 0.99)),
        Metric::new("submit call p50", "ns", at(&call, 0.50)),
    ])
}

struct Submitter<C: 'static> {
    pool: &'static C,
    epoch: Instant,
}

struct Lone {
    /// From before the submit call to the task's first instruction.
    start_ns: u64,
    /// The submit call itself.
    call_ns: u64,
}

impl<C: Contender> Submitter<C> {
    fn submit(&self) -> Result<Lone> {
        thread::sleep(APART);
        STARTED_AT.store(0, Ordering::Relaxed);
        let epoch = self.epoch;
        let before = nanoseconds_since(epoch);
        self.pool
            .spawn(move || STARTED_AT.store(nanoseconds_since(epoch), Ordering::Relaxed));
        let after = nanoseconds_since(epoch);
        loop {
            let started = STARTED_AT.load(Ordering::Relaxed);
            if started != 0 {
                return Ok(Lone {
                    start_ns: started.saturating_sub(before),
                    call_ns: after - before,
                });
            }
            if epoch.elapsed() > Duration::from_nanos(after) + LOST_AFTER {
                bail!(
                    "a lone task did not start within {} s",
                    LOST_AFTER.as_secs()
                );
            }
            std::hint::spin_loop();
        }
    }
}

fn nanoseconds_since(epoch: Instant) -> u64 {
    u64::try_from(epoch.elapsed().as_nanos()).unwrap_or(u64::MAX)
}
