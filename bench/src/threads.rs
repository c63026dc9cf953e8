//! What the system knows of the threads of this process: who they are, how often they were switched, how long they
//! were on a processor.
//!
//! Only Linux says so for each thread; elsewhere every answer is `None`, and rows leave out the figures.

use std::collections::HashSet;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::cell::{Figure, Metric};

/// When waiting for threads to end is given up.
const GIVE_UP_AFTER: Duration = Duration::from_secs(10);

/// The system's ids of threads.
pub(crate) type Ids = HashSet<i32>;

/// Context switches, summed over threads.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Switches {
    pub(crate) voluntary: u64,
    pub(crate) involuntary: u64,
}

impl Switches {
    /// How many there were since `before`.
    pub(crate) fn since(self, before: Self) -> Self {
        Self {
            voluntary: self.voluntary.saturating_sub(before.voluntary),
            involuntary: self.involuntary.saturating_sub(before.involuntary),
        }
    }
}

/// How often a worker went to sleep, for each task.
pub(crate) const VOLUNTARY: Figure = Figure::lower("workers' voluntary switches", "/task");
/// How often a worker was sent from its processor, for each task.
pub(crate) const INVOLUNTARY: Figure = Figure::lower("workers' involuntary switches", "/task");

/// The figures of the switches between two looks, where the system tells; for each of `tasks`.
pub(crate) fn per_task(
    before: Option<Switches>,
    after: Option<Switches>,
    tasks: u64,
) -> impl Iterator<Item = Metric> {
    let switches = after.zip(before).map(|(after, before)| after.since(before));
    switches.into_iter().flat_map(move |switches| {
        [
            VOLUNTARY.of(switches.voluntary as f64 / tasks as f64),
            INVOLUNTARY.of(switches.involuntary as f64 / tasks as f64),
        ]
    })
}

/// Context switches so far of every thread of this process but the main one, which only measures.
#[cfg(target_os = "linux")]
pub(crate) fn switches() -> Result<Option<Switches>> {
    let process = procfs::process::Process::myself()?;
    let mut sum = Switches::default();
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
pub(crate) fn switches() -> Result<Option<Switches>> {
    Ok(None)
}

/// The threads that there are now.
#[cfg(target_os = "linux")]
pub(crate) fn ids() -> Result<Option<Ids>> {
    let tasks = procfs::process::Process::myself()?.tasks()?;
    Ok(Some(tasks.flatten().map(|task| task.tid).collect()))
}

/// Other systems do not list them.
#[cfg(not(target_os = "linux"))]
pub(crate) fn ids() -> Result<Option<Ids>> {
    Ok(None)
}

/// How long these threads were on a processor so far. Of a thread that is on one now, up to a tick of the scheduler
/// may be missing.
#[cfg(target_os = "linux")]
pub(crate) fn on_processor(ids: &Ids) -> Result<Duration> {
    let process = procfs::process::Process::myself()?;
    let mut sum = 0;
    for &id in ids {
        sum += process.task_from_tid(id)?.schedstat()?.sum_exec_runtime;
    }
    Ok(Duration::from_nanos(sum))
}

/// There are no ids to ask for on other systems.
#[cfg(not(target_os = "linux"))]
pub(crate) fn on_processor(_: &Ids) -> Result<Duration> {
    Ok(Duration::ZERO)
}

/// Waits until none of these threads is left.
pub(crate) fn wait_until_gone(those: &Ids) -> Result<()> {
    let started = Instant::now();
    while let Some(now) = ids()? {
        let left = now.intersection(those).count();
        if left == 0 {
            break;
        }
        if started.elapsed() > GIVE_UP_AFTER {
            bail!(
                "{left} threads of a dropped pool are left after {} s",
                GIVE_UP_AFTER.as_secs()
            );
        }
        thread::sleep(Duration::from_micros(20));
    }
    Ok(())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Arc, mpsc};

    use anyhow::Context;

    use super::*;
    use crate::work::compute_for;

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

    #[test]
    fn processor_time_is_that_of_the_threads_asked_for() -> Result<()> {
        let used = Duration::from_millis(30);
        let by_a_thread_that_does = |work: fn(Duration)| -> Result<Duration> {
            let (told, tells) = mpsc::channel();
            let (seen, until) = mpsc::channel::<()>();
            let thread = thread::spawn(move || {
                work(used);
                told.send(rustix::thread::gettid().as_raw_nonzero().get())
                    .ok();
                until.recv().ok();
            });
            let id = tells.recv()?;
            let on_processor = on_processor(&Ids::from([id]));
            drop(seen);
            thread.join().ok().context("it does not panic")?;
            on_processor
        };
        let busy = by_a_thread_that_does(|time| {
            compute_for(time);
        })?;
        let idle = by_a_thread_that_does(thread::sleep)?;
        assert!(busy >= used * 8 / 10, "{busy:?}");
        assert!(idle < used / 2, "{idle:?}");
        Ok(())
    }

    #[test]
    fn a_thread_that_ends_is_waited_for() -> Result<()> {
        let before = ids()?.context("Linux lists them")?;
        let ended = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&ended);
        let thread = thread::spawn(move || {
            thread::sleep(Duration::from_millis(20));
            ends.store(true, Ordering::Relaxed);
        });
        let with = ids()?.context("Linux lists them")?;
        wait_until_gone(&with.difference(&before).copied().collect())?;
        assert!(ended.load(Ordering::Relaxed));
        thread.join().ok().context("it does not panic")
    }
}
