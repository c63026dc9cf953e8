//! Counting finished tasks without a counter that all workers write.
//!
//! Each thread adds to a cache line of its own; whoever waits adds the lines up. A shared counter
//! would be the most contended word of the program, and the rows would measure it.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use crossbeam_utils::CachePadded;

/// Lines there are. More threads than this share lines, which costs time and no correctness.
const LINES: usize = 64;

/// When waiting for tasks is given up: it detects a hang, it measures nothing.
const GIVE_UP_AFTER: Duration = Duration::from_secs(60);

static TALLY: [CachePadded<AtomicU64>; LINES] =
    [const { CachePadded::new(AtomicU64::new(0)) }; LINES];
static NEXT_LINE: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static LINE: usize = NEXT_LINE.fetch_add(1, Ordering::Relaxed) % LINES;
}

/// Counts so many tasks, on the thread that ran them.
pub(crate) fn count(tasks: u64) {
    LINE.with(|line| TALLY[*line].fetch_add(tasks, Ordering::Relaxed));
}

/// The empty task: it does nothing but count itself.
///
/// It carries a word, as tasks do: a closure without any is boxed without an allocation, which would flatter those
/// who box.
pub(crate) fn task() -> impl FnOnce() + Send + 'static {
    let one = 1;
    move || count(one)
}

/// How many tasks were counted so far.
pub(crate) fn counted() -> u64 {
    TALLY.iter().map(|line| line.load(Ordering::Relaxed)).sum()
}

/// Waits until `wanted` tasks were counted.
pub(crate) fn wait_for(wanted: u64) -> Result<()> {
    let started = Instant::now();
    loop {
        let done = counted();
        if done >= wanted {
            return Ok(());
        }
        if started.elapsed() > GIVE_UP_AFTER {
            bail!(
                "{done} of {wanted} tasks ran within {} s",
                GIVE_UP_AFTER.as_secs()
            );
        }
        // Leave the processors to the workers; the rows that wait here take far longer than this.
        thread::sleep(Duration::from_micros(50));
    }
}

/// Keeps the tests that count apart: they share the lines.
#[cfg(test)]
pub(crate) fn alone() -> std::sync::MutexGuard<'static, ()> {
    static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    ALONE
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_task_counts_once_whatever_thread_runs_it() -> Result<()> {
        let _alone = alone();
        let before = counted();
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| (0..1000).for_each(|_| task()()));
            }
        });
        wait_for(before + 3000)?;
        assert_eq!(counted(), before + 3000);
        Ok(())
    }
}
