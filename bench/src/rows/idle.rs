//! `idle`: what a pool costs that has nothing to do.
//!
//! The pool runs a few tasks, parks, and is then left alone with its handle alive. A worker that
//! polls, spins or waits with a timeout shows up as context switches and processor time.

use std::thread;
use std::time::Duration;

use anyhow::Result;
use cpu_time::ProcessTime;

use super::{Page, Shape};
use crate::cell::{Figure, Measured, Options};
use crate::contender::{Spawn, SpawnRow, spawners};
use crate::tally;

pub(super) const PAGE: Page = Page {
    like: "a desktop program or a quiet server, with its pool waiting for something to do",
    floor: None,
    offers: spawners::<Idle>(),
    shapes: &[Shape::workers(2), Shape::workers(8)],
    traced_tasks: None,
    figures: &[PROCESSOR_TIME, VOLUNTARY, INVOLUNTARY],
};

const PROCESSOR_TIME: Figure = Figure::lower("processor time", "ms").main();
const VOLUNTARY: Figure = Figure::lower("workers' voluntary switches", "");
const INVOLUNTARY: Figure = Figure::lower("workers' involuntary switches", "");

/// From the last task to the first look: long enough for every worker to park.
const SETTLE: Duration = Duration::from_millis(500);

struct Idle;

impl SpawnRow for Idle {
    fn measure<C: Spawn>(options: &Options) -> Result<Measured> {
        let pool = C::start_for_good(options.workers)?;
        let tasks = u64::from(options.workers) * 10;
        for _ in 0..tasks {
            pool.spawn(tally::task());
        }
        tally::wait_for(tasks)?;
        thread::sleep(SETTLE);
        let switches_before = switches()?;
        let cpu = ProcessTime::now();
        thread::sleep(Duration::from_secs(options.seconds));
        let cpu = cpu.elapsed();
        let switches_after = switches()?;
        let mut measured = Measured::new([PROCESSOR_TIME.of(cpu.as_secs_f64() * 1000.0)]);
        if let (Some(before), Some(after)) = (switches_before, switches_after) {
            let voluntary = after.voluntary.saturating_sub(before.voluntary);
            let involuntary = after.involuntary.saturating_sub(before.involuntary);
            measured = measured.and([
                VOLUNTARY.of(voluntary as f64),
                INVOLUNTARY.of(involuntary as f64),
            ]);
        }
        Ok(measured)
    }
}

/// Context switches, summed over every thread of this process but the main one.
struct Switches {
    voluntary: u64,
    involuntary: u64,
}

#[cfg(target_os = "linux")]
fn switches() -> Result<Option<Switches>> {
    let process = procfs::process::Process::myself()?;
    let mut sum = Switches {
        voluntary: 0,
        involuntary: 0,
    };
    for task in process.tasks()? {
        let task = task?;
        if task.tid == process.pid() {
            continue;
        }
        let status = task.status()?;
        sum.voluntary += status.voluntary_ctxt_switches.unwrap_or(0);
        sum.involuntary += status.nonvoluntary_ctxt_switches.unwrap_or(0);
    }
    Ok(Some(sum))
}

/// Other systems do not say how often a thread was switched.
#[cfg(not(target_os = "linux"))]
fn switches() -> Result<Option<Switches>> {
    Ok(None)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_polls_is_seen() -> Result<()> {
        let poller = thread::spawn(|| {
            (0..20).for_each(|_| thread::sleep(Duration::from_millis(1)));
            switches()
        });
        let after = poller.join().expect("the poller does not panic")?;
        assert!(after.map_or(0, |sum| sum.voluntary) >= 20);
        Ok(())
    }
}
