//! `tags`: how soon a task starts in one tag while another is flooded.
//!
//! What a server with two kinds of work is like: a batch job has queued more than will be done for a long time, and an
//! interactive request comes in. Both kinds have as many workers, and there are more of them than CPUs. The flood is a
//! thousand tasks of 20 µs of processor time (see [`work`](crate::work)), each of which spawns the next before it ends. The
//! requests are empty tasks, one each 2 ms, that say how soon they have started. The same is measured before the flood.
//!
//! Parkade has two tags of one runtime; the others have nothing of the kind, and their users make two pools, as it
//! is done here. So what is measured is that being in one runtime costs a tag nothing: what remains is how soon the
//! system gives a worker that wakes a processor beside those that never let go of one.
//!
//! The floor is a thread that sleeps on a word, beside as many threads that compute.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use hdrhistogram::Histogram;

use super::{Floor, Page, Shape};
use crate::cell::{Figure, Measured, Options};
use crate::contender::{TwoPools, TwoPoolsRow, two_pools};
use crate::pace::Pace;
use crate::work;

const P99: Figure = Figure::lower("start beside the flood, p99", "ns").main();
const P50: Figure = Figure::lower("start beside the flood, p50", "ns");
const QUIET_P99: Figure = Figure::lower("start without it, p99", "ns");
const FLOOD: Figure = Figure::higher("tasks of the flood", "/ms");

pub(super) const PAGE: Page = Page {
    like: "a request to a server that has more queued of another kind than it will do for long",
    floor: Some(Floor {
        is: "a thread that sleeps on a word, beside threads that compute",
        measure: floor,
    }),
    offers: two_pools::<Tags>(),
    shapes: &[Shape::workers(2)],
    traced_tasks: None,
    figures: &[P99, P50, QUIET_P99, FLOOD],
};

/// Tasks of the flood that there are at any time.
const FLOODING: u64 = 1000;

/// The work of each.
const WORK: Duration = Duration::from_micros(20);

/// From one request to the next.
const APART: Duration = Duration::from_millis(2);

/// Requests that are run and not measured.
const WARM_UP: u64 = 50;

/// Long enough for a flood to be in full spate, and for workers to park.
const SETTLE: Duration = Duration::from_millis(50);

/// What the histograms hold, in nanoseconds.
const LONGEST: u64 = 60_000_000_000;

/// Tasks of the flood that have run: one every 20 µs on each processor, few enough for one counter.
static FLOODED: AtomicU64 = AtomicU64::new(0);

struct Tags;

impl TwoPoolsRow for Tags {
    fn measure<P: TwoPools>(options: &Options) -> Result<Measured> {
        let pools: &'static P = Box::leak(Box::new(P::start_two(options.workers)?));
        requests(
            options,
            || (0..FLOODING).for_each(|_| pools.spawn_in_first(|| flood(pools))),
            |request| pools.spawn_in_second(move || request.start()),
        )
    }
}

/// A task of the flood.
fn flood<P: TwoPools>(pools: &'static P) {
    work::compute_for(WORK);
    FLOODED.fetch_add(1, Ordering::Relaxed);
    pools.spawn_in_first(|| flood(pools));
}

fn floor(options: &Options) -> Result<Measured> {
    static HANDED_OVER: AtomicU32 = AtomicU32::new(0);
    static ENDED: AtomicBool = AtomicBool::new(false);
    static REQUEST: Mutex<Option<Request>> = Mutex::new(None);
    let taken = || REQUEST.lock().unwrap_or_else(PoisonError::into_inner).take();
    thread::spawn(move || {
        let mut seen = 0;
        loop {
            atomic_wait::wait(&HANDED_OVER, seen);
            seen = HANDED_OVER.load(Ordering::Acquire);
            if let Some(request) = taken() {
                request.start();
            }
        }
    });
    let compute = || {
        for _ in 0..options.workers {
            thread::spawn(|| {
                while !ENDED.load(Ordering::Relaxed) {
                    work::compute_for(WORK);
                    FLOODED.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    };
    let measured = requests(options, compute, |request| {
        *REQUEST.lock().unwrap_or_else(PoisonError::into_inner) = Some(request);
        HANDED_OVER.fetch_add(1, Ordering::Release);
        atomic_wait::wake_one(&HANDED_OVER);
    });
    ENDED.store(true, Ordering::Relaxed);
    measured
}

/// A task that says how soon it has started.
struct Request {
    submitted: Instant,
    has_started: Arc<AtomicBool>,
    starts: Arc<Mutex<Histogram<u64>>>,
}

impl Request {
    fn start(self) {
        let start = self.submitted.elapsed().as_nanos();
        lock(&self.starts).saturating_record(u64::try_from(start).unwrap_or(LONGEST));
        self.has_started.store(true, Ordering::Release);
    }
}

/// Submits requests, first to one of two idle pools, then while the other is flooded.
fn requests(
    options: &Options,
    flood: impl FnOnce(),
    submit: impl Fn(Request),
) -> Result<Measured> {
    let tasks = options.tasks.unwrap_or(1000);
    submit_each(WARM_UP, &submit)?;
    let quiet = submit_each(tasks, &submit)?;
    flood();
    thread::sleep(SETTLE);
    let flooded = Instant::now();
    let before = FLOODED.load(Ordering::Relaxed);
    let starts = submit_each(tasks, &submit)?;
    let ran = FLOODED.load(Ordering::Relaxed) - before;
    let pace = ran as f64 / (flooded.elapsed().as_secs_f64() * 1000.0);
    Ok(Measured::new([
        P99.of(starts.value_at_quantile(0.99) as f64),
        P50.of(starts.value_at_quantile(0.50) as f64),
        QUIET_P99.of(quiet.value_at_quantile(0.99) as f64),
        FLOOD.of(pace),
    ])
    .with_distribution("start beside the flood", "ns", &starts)
    .with_distribution("start without it", "ns", &quiet))
}

/// Submits so many requests, each after the one before has started; returns how soon they did.
fn submit_each(tasks: u64, submit: impl Fn(Request)) -> Result<Histogram<u64>> {
    let starts = Arc::new(Mutex::new(Histogram::new_with_max(LONGEST, 3)?));
    let mut pace = Pace::new(APART);
    for _ in 0..tasks {
        pace.wait();
        let has_started = Arc::new(AtomicBool::new(false));
        submit(Request {
            has_started: Arc::clone(&has_started),
            starts: Arc::clone(&starts),
            submitted: Instant::now(),
        });
        let submitted = Instant::now();
        while !has_started.load(Ordering::Acquire) {
            anyhow::ensure!(
                submitted.elapsed() < LOST_AFTER,
                "a request did not start within {} s",
                LOST_AFTER.as_secs()
            );
            thread::sleep(Duration::from_micros(200));
        }
    }
    let starts = lock(&starts).clone();
    Ok(starts)
}

/// A request that has not started after this was lost.
const LOST_AFTER: Duration = Duration::from_secs(30);

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_is_as_late_as_it_is() -> Result<()> {
        let late = Duration::from_millis(3);
        let starts = submit_each(5, |request| {
            thread::sleep(late);
            request.start();
        })?;
        assert_eq!(starts.len(), 5);
        assert!(starts.min() >= 2_900_000, "{} ns", starts.min());
        Ok(())
    }
}
