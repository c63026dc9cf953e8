//! `burst`: eight tasks of 20 µs each, every 500 µs, from outside.
//!
//! What a frame of a game or a request that fans out is like: there is nothing for a while, then several things at
//! once, and whoever asked waits for the last of them. Measured is from before the first submit to the end of the last
//! task. A pool wakes slowly and is late, or keeps its workers awake and burns the processor time of the pauses; so the
//! two figures belong together.
//!
//! Each task computes for 20 µs of its thread's processor time, see [`work`](crate::work). What the tasks really used
//! is the useful processor time, and all that the process used, the submitter's sleep and its wake-ups included, is
//! divided by it. The tasks are submitted one by one, as requests that come in at the same moment are; no contender
//! hands them over as one. The submitter sleeps from one burst to the next, and is not woken at its end.
//!
//! The floor divides the tasks evenly among threads that spin between the bursts: with 2 of them a burst takes four
//! tasks' time, 80 µs, and some more for what a look at the clock takes. Its processor time is no floor.

use std::hint;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use cpu_time::ProcessTime;
use hdrhistogram::Histogram;

use super::{Floor, Page, Shape};
use crate::cell::{Figure, Measured, Options};
use crate::contender::{Spawn, SpawnRow, spawners};
use crate::pace::Pace;
use crate::{mark, threads, work};

const P50: Figure = Figure::lower("until the burst is done, p50", "ns").main();
const P99: Figure = Figure::lower("until the burst is done, p99", "ns");
const OVER_USEFUL: Figure = Figure::lower("processor time over useful", "");

pub(super) const PAGE: Page = Page {
    like: "a request that fans out: 8 tasks of 20 µs at once, then a pause, every 500 µs",
    floor: Some(Floor {
        is: "the tasks divided among threads that spin between the bursts",
        measure: floor,
    }),
    offers: spawners::<Bursts>(),
    shapes: &[Shape::workers(2), Shape::workers(8)],
    traced_tasks: Some(800),
    figures: &[
        P50,
        P99,
        OVER_USEFUL,
        threads::VOLUNTARY,
        threads::INVOLUNTARY,
    ],
};

/// From one burst to the next.
const APART: Duration = Duration::from_micros(500);

/// The tasks of one burst.
const TASKS: u64 = 8;

/// The work of one task.
const WORK: Duration = Duration::from_micros(20);

/// Bursts that are run and not measured.
const WARM_UP: u64 = 100;

/// Long enough for the last worker to park.
const SETTLE: Duration = Duration::from_millis(50);

/// A burst that has not ended after this has lost a task.
const LOST_AFTER: Duration = Duration::from_secs(10);

/// What the histogram holds, in nanoseconds: up to [`LOST_AFTER`].
const LONGEST: u64 = 10_000_000_000;

struct Bursts;

impl SpawnRow for Bursts {
    fn measure<C: Spawn>(options: &Options) -> Result<Measured> {
        let pool = C::start_for_good(options.workers)?;
        let burst: &'static Burst = Box::leak(Box::new(Burst::new()));
        bursts(options, burst, || {
            for _ in 0..TASKS {
                pool.spawn(|| burst.run_one());
            }
        })
    }
}

fn floor(options: &Options) -> Result<Measured> {
    /// In place of the number of bursts, at the end.
    const NO_MORE: u64 = u64::MAX;
    static GIVEN: AtomicU64 = AtomicU64::new(0);
    let burst: &'static Burst = Box::leak(Box::new(Burst::new()));
    let workers = u64::from(options.workers);
    for worker in 0..workers {
        let own = (worker..TASKS).step_by(usize::from(options.workers));
        thread::spawn(move || {
            let mut taken = 0;
            loop {
                match GIVEN.load(Ordering::Acquire) {
                    NO_MORE => return,
                    given if given == taken => hint::spin_loop(),
                    _ => {
                        taken += 1;
                        own.clone().for_each(|_| burst.run_one());
                    }
                }
            }
        });
    }
    let measured = bursts(options, burst, || {
        GIVEN.fetch_add(1, Ordering::Release);
    });
    GIVEN.store(NO_MORE, Ordering::Release);
    measured
}

/// A burst that is under way: what its tasks write.
struct Burst {
    epoch: Instant,
    /// Tasks of all bursts that have ended.
    ended: AtomicU64,
    /// When the last task of the last whole burst ended, in nanoseconds after the epoch.
    done_at: AtomicU64,
    /// What all tasks have used, in nanoseconds of processor time.
    useful: AtomicU64,
}

impl Burst {
    fn new() -> Self {
        Self {
            epoch: Instant::now(),
            ended: AtomicU64::new(0),
            done_at: AtomicU64::new(0),
            useful: AtomicU64::new(0),
        }
    }

    fn now(&self) -> u64 {
        nanoseconds(self.epoch.elapsed())
    }

    /// What each task does.
    fn run_one(&self) {
        let used = work::compute_for(WORK);
        self.useful.fetch_add(nanoseconds(used), Ordering::Relaxed);
        // The next burst is not submitted before this one has ended: the last to count has the latest time.
        if (self.ended.fetch_add(1, Ordering::Relaxed) + 1).is_multiple_of(TASKS) {
            self.done_at.store(self.now(), Ordering::Release);
        }
    }

    /// Submits a burst and returns how long it took.
    fn run(&self, submit: impl FnOnce()) -> Result<u64> {
        self.done_at.store(0, Ordering::Relaxed);
        let began = self.now();
        submit();
        loop {
            match self.done_at.load(Ordering::Acquire) {
                0 if self.now() - began > LONGEST => {
                    bail!("a burst has not ended within {} s", LOST_AFTER.as_secs())
                }
                0 => thread::sleep(Duration::from_micros(100)),
                done_at => return Ok(done_at.saturating_sub(began)),
            }
        }
    }
}

/// Submits a burst every half millisecond.
fn bursts(options: &Options, burst: &Burst, submit: impl Fn()) -> Result<Measured> {
    let tasks = options.tasks.unwrap_or(16_000).next_multiple_of(TASKS);
    let mut pace = Pace::new(APART);
    for _ in 0..WARM_UP {
        pace.wait();
        burst.run(&submit)?;
    }
    let mut took = Histogram::<u64>::new_with_max(LONGEST, 3)?;
    thread::sleep(SETTLE);
    let switches = threads::switches()?;
    let useful = burst.useful.load(Ordering::Relaxed);
    mark::begin();
    let cpu = ProcessTime::now();
    for _ in 0..tasks / TASKS {
        pace.wait();
        took.saturating_record(burst.run(&submit)?);
    }
    let cpu = nanoseconds(cpu.elapsed());
    let useful = burst.useful.load(Ordering::Relaxed) - useful;
    mark::end();
    Ok(Measured::new([
        P50.of(took.value_at_quantile(0.50) as f64),
        P99.of(took.value_at_quantile(0.99) as f64),
        OVER_USEFUL.of(cpu as f64 / useful as f64),
    ])
    .and(threads::per_task(switches, threads::switches()?, tasks))
    .with_distribution("until the burst is done", "ns", &took))
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_takes_until_its_last_task_has_ended() -> Result<()> {
        let burst = Burst::new();
        let pause = Duration::from_millis(5);
        let took = burst.run(|| {
            (1..TASKS).for_each(|_| burst.run_one());
            assert_eq!(burst.done_at.load(Ordering::Acquire), 0);
            thread::sleep(pause);
            burst.run_one();
        })?;
        let least = nanoseconds(pause + WORK * u32::try_from(TASKS)?);
        assert!(took >= least, "{took} ns");
        assert!(burst.useful.load(Ordering::Relaxed) >= nanoseconds(WORK) * TASKS);
        Ok(())
    }
}
