//! `idle`: what a pool costs that has nothing to do, while every kind of thing that its users hold is held.
//!
//! What most programs are like most of the time. The pool runs a few tasks, parks, and is then left alone, with
//! handles that are pending, timers that are far off, scopes that have been entered and threads that wait in its
//! calls: whatever the contender has of these, see each contender's [`Hold`]. Whoever polls, spins or waits with a
//! timeout for any of it shows up as context switches and processor time. At most one worker is inside a task.
//!
//! The floor is nothing, exactly.
//!
//! Scenarios: I2.

use std::thread;
use std::time::Duration;

use anyhow::Result;
use cpu_time::ProcessTime;

use super::{Page, Shape};
use crate::cell::{Figure, Measured, Options};
use crate::contender::{Hold, HoldRow, holders};
use crate::{tally, threads};

const PROCESSOR_TIME: Figure = Figure::lower("processor time", "ms").main();
const VOLUNTARY: Figure = Figure::lower("workers' voluntary switches", "");
const INVOLUNTARY: Figure = Figure::lower("workers' involuntary switches", "");

pub(super) const PAGE: Page = Page {
    like: "a program that waits for its user: nothing runs, but everything is held",
    floor: None,
    offers: holders::<Idle>(),
    shapes: &[Shape::workers(2), Shape::workers(8), Shape::workers(64)],
    traced_tasks: None,
    figures: &[PROCESSOR_TIME, VOLUNTARY, INVOLUNTARY],
};

/// From the last task to the first look: long enough for every worker to park.
const SETTLE: Duration = Duration::from_millis(500);

struct Idle;

impl HoldRow for Idle {
    fn measure<C: Hold>(options: &Options) -> Result<Measured> {
        let pool = C::start_for_good(options.workers)?;
        let _held = pool.hold()?;
        let tasks = u64::from(options.workers) * 10;
        for _ in 0..tasks {
            pool.spawn(tally::task());
        }
        tally::wait_for(tasks)?;
        thread::sleep(SETTLE);
        let before = threads::switches()?;
        let cpu = ProcessTime::now();
        thread::sleep(Duration::from_secs(options.seconds));
        let cpu = cpu.elapsed();
        let switches = threads::switches()?
            .zip(before)
            .map(|(after, before)| after.since(before));
        let switches = switches.into_iter().flat_map(|switches| {
            [
                VOLUNTARY.of(switches.voluntary as f64),
                INVOLUNTARY.of(switches.involuntary as f64),
            ]
        });
        Ok(Measured::new([PROCESSOR_TIME.of(cpu.as_secs_f64() * 1000.0)]).and(switches))
    }
}
