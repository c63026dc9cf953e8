//! `trickle`: an empty task from outside, every millisecond.
//!
//! What a service is like that has little to do: each request finds the pool asleep and puts it to sleep again. No time
//! matters here but the processor's; a pool that searches for long before it parks, or wakes more workers than there
//! are tasks, pays for it a thousand times a second.
//!
//! The submitter sleeps from one moment to the next, and its sleep and its wake-ups are in the processor time of every
//! contender and of the floor alike. The floor is the same hand-over without a scheduler: a word that is written,
//! and a thread that sleeps on it until the system wakes it.
//!
//! Scenarios: I1.

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::Result;
use cpu_time::ProcessTime;

use super::{Floor, Page, Shape};
use crate::cell::{Measured, Options};
use crate::clocks::{PROCESSOR_TIME, per_task};
use crate::contender::{Spawn, SpawnRow, spawners};
use crate::pace::Pace;
use crate::{mark, tally, threads};

pub(super) const PAGE: Page = Page {
    like: "a service with little to do: an empty task each ms finds the pool asleep",
    floor: Some(Floor {
        is: "a thread that sleeps on a word until the submitter has written it and wakes it",
        measure: floor,
    }),
    offers: spawners::<Trickle>(),
    shapes: &[Shape::workers(2), Shape::workers(8)],
    traced_tasks: Some(200),
    figures: &[
        PROCESSOR_TIME.main(),
        threads::VOLUNTARY,
        threads::INVOLUNTARY,
    ],
};

/// From one task to the next.
const APART: Duration = Duration::from_millis(1);

/// Tasks that are run and not measured.
const WARM_UP: u64 = 50;

/// Long enough for the last worker to park.
const SETTLE: Duration = Duration::from_millis(50);

struct Trickle;

impl SpawnRow for Trickle {
    fn measure<C: Spawn>(options: &Options) -> Result<Measured> {
        let pool = C::start_for_good(options.workers)?;
        trickle(options, || pool.spawn(tally::task()))
    }
}

fn floor(options: &Options) -> Result<Measured> {
    static HANDED_OVER: AtomicU32 = AtomicU32::new(0);
    thread::spawn(|| {
        let mut seen = 0;
        loop {
            atomic_wait::wait(&HANDED_OVER, seen);
            let handed_over = HANDED_OVER.load(Ordering::Relaxed);
            tally::count(u64::from(handed_over.wrapping_sub(seen)));
            seen = handed_over;
        }
    });
    trickle(options, || {
        HANDED_OVER.fetch_add(1, Ordering::Relaxed);
        atomic_wait::wake_one(&HANDED_OVER);
    })
}

/// Submits a task each millisecond.
fn trickle(options: &Options, submit: impl Fn()) -> Result<Measured> {
    let tasks = options.tasks.unwrap_or(1000);
    let ran = tally::counted();
    let mut pace = Pace::new(APART);
    for _ in 0..WARM_UP {
        pace.wait();
        submit();
    }
    tally::wait_for(ran + WARM_UP)?;
    thread::sleep(SETTLE);
    let switches = threads::switches()?;
    mark::begin();
    let cpu = ProcessTime::now();
    for _ in 0..tasks {
        pace.wait();
        submit();
    }
    tally::wait_for(ran + WARM_UP + tasks)?;
    thread::sleep(SETTLE);
    let cpu = cpu.elapsed();
    mark::end();
    Ok(Measured::new([PROCESSOR_TIME.of(per_task(cpu, tasks))]).and(threads::per_task(
        switches,
        threads::switches()?,
        tasks,
    )))
}
