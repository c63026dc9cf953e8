//! `lone`: one task at a time from outside to an idle pool.
//!
//! The submitter sleeps until every worker is parked, submits an empty task, and watches one atomic
//! until the task has stamped it. Nothing is amortised here: each figure is a whole wake-up, the case
//! in which a scheduler that spins looks good and burns processors.
//!
//! The floor is the same hand-over without a scheduler: a word that is written, and a thread that sleeps on it until
//! the system wakes it. No pool whose workers sleep can be sooner.
//!
//! Scenarios: I1.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use hdrhistogram::Histogram;

use super::{Floor, Page, Shape};
use crate::cell::{Figure, Measured, Options};
use crate::contender::{Spawn, SpawnRow, spawners};
use crate::mark;

pub(super) const PAGE: Page = Page {
    like: "a click or a rare request that meets a pool which has gone to sleep",
    floor: Some(Floor {
        is: "a thread that sleeps on a word until the submitter has written it and wakes it",
        measure: floor,
    }),
    offers: spawners::<OneByOne>(),
    shapes: &[Shape::workers(2), Shape::workers(8)],
    traced_tasks: Some(200),
    figures: &[START_P50, START_P99, CALL_P50],
};

const START_P50: Figure = Figure::lower("start p50", "ns").main();
const START_P99: Figure = Figure::lower("start p99", "ns");
const CALL_P50: Figure = Figure::lower("submit call p50", "ns");

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

/// When the task started, in nanoseconds after the epoch; 0 while it has not.
static STARTED_AT: AtomicU64 = AtomicU64::new(0);

struct OneByOne;

impl SpawnRow for OneByOne {
    fn measure<C: Spawn>(options: &Options) -> Result<Measured> {
        let pool = C::start_for_good(options.workers)?;
        let epoch = Instant::now();
        measure(options, epoch, || pool.spawn(move || stamp(epoch)))
    }
}

/// Hands a word over to a sleeping thread.
fn floor(options: &Options) -> Result<Measured> {
    static HANDED_OVER: AtomicU32 = AtomicU32::new(0);
    let epoch = Instant::now();
    thread::spawn(move || {
        let mut seen = 0;
        loop {
            atomic_wait::wait(&HANDED_OVER, seen);
            let handed_over = HANDED_OVER.load(Ordering::Relaxed);
            if handed_over != seen {
                stamp(epoch);
                seen = handed_over;
            }
        }
    });
    measure(options, epoch, || {
        HANDED_OVER.fetch_add(1, Ordering::Relaxed);
        atomic_wait::wake_one(&HANDED_OVER);
    })
}

/// What a lone task does: it says when.
fn stamp(epoch: Instant) {
    STARTED_AT.store(nanoseconds_since(epoch), Ordering::Relaxed);
}

fn measure(options: &Options, epoch: Instant, submit: impl Fn()) -> Result<Measured> {
    for _ in 0..WARM_UP {
        Lone::submit(epoch, &submit)?;
    }
    let mut start = Histogram::<u64>::new_with_max(LONGEST, 3)?;
    let mut call = Histogram::<u64>::new_with_max(LONGEST, 3)?;
    thread::sleep(SETTLE);
    mark::begin();
    for _ in 0..options.tasks.unwrap_or(500) {
        let lone = Lone::submit(epoch, &submit)?;
        start.saturating_record(lone.start_ns);
        call.saturating_record(lone.call_ns);
    }
    thread::sleep(SETTLE);
    mark::end();
    let at = |histogram: &Histogram<u64>, quantile| histogram.value_at_quantile(quantile) as f64;
    Ok(Measured::new([
        START_P50.of(at(&start, 0.50)),
        START_P99.of(at(&start, 0.99)),
        CALL_P50.of(at(&call, 0.50)),
    ])
    .with_distribution("start", "ns", &start)
    .with_distribution("submit call", "ns", &call))
}

/// One task that was submitted and has started.
struct Lone {
    /// From before the submit call to the task's first instruction.
    start_ns: u64,
    /// The submit call itself.
    call_ns: u64,
}

impl Lone {
    fn submit(epoch: Instant, submit: impl Fn()) -> Result<Self> {
        thread::sleep(APART);
        STARTED_AT.store(0, Ordering::Relaxed);
        let before = nanoseconds_since(epoch);
        submit();
        let after = nanoseconds_since(epoch);
        loop {
            let started = STARTED_AT.load(Ordering::Relaxed);
            if started != 0 {
                return Ok(Self {
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
