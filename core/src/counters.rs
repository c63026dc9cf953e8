//! Counters: what a tag has done so far, at no cost to the hot path.
//!
//! A worker's counters have one writer, so a count is a plain load and store and never a
//! read-modify-write; those of an inbox are written inside its lock. Only the rare events that outside
//! threads cause (a claimed wake) pay for an atomic addition, next to a system call that costs a hundred
//! times as much. The number of skipped wakes is not counted at all: every submit asks once, so it is
//! the submits less the wakes that they claimed.

use core::fmt;
use core::iter::Sum;
use core::ops::Add;

use crate::sync::{AtomicUsize, Ordering};

/// Adds to a counter that only the caller writes, or only inside a lock that the caller holds.
#[inline(always)]
pub(crate) fn bump(counter: &AtomicUsize, by: usize) {
    counter.store(
        counter.load(Ordering::Relaxed).wrapping_add(by),
        Ordering::Relaxed,
    );
}

/// What one worker counts about itself.
#[derive(Debug)]
pub(crate) struct WorkerCounters {
    /// Tasks that it pushed to its own run queue.
    pub(crate) pushed: AtomicUsize,
    /// Moves between queues that it made, each of which asked for a wake.
    pub(crate) moves: AtomicUsize,
    pub(crate) picked: AtomicUsize,
    pub(crate) stolen: AtomicUsize,
    pub(crate) parked: AtomicUsize,
}

impl WorkerCounters {
    pub(crate) fn new() -> Self {
        Self {
            pushed: AtomicUsize::new(0),
            moves: AtomicUsize::new(0),
            picked: AtomicUsize::new(0),
            stolen: AtomicUsize::new(0),
            parked: AtomicUsize::new(0),
        }
    }
}

/// What a tag counts about wakes, whoever asked for them.
#[derive(Debug)]
pub(crate) struct WakeCounters {
    /// Claims made by a submit.
    pub(crate) by_submit: AtomicUsize,
    /// Claims made by a worker that took a task and saw more.
    pub(crate) by_chain: AtomicUsize,
    /// Wakes that a stop or a request to retire caused.
    pub(crate) by_request: AtomicUsize,
}

impl WakeCounters {
    pub(crate) fn new() -> Self {
        Self {
            by_submit: AtomicUsize::new(0),
            by_chain: AtomicUsize::new(0),
            by_request: AtomicUsize::new(0),
        }
    }
}

/// A snapshot of what a tag has done and does; counts of tasks, wakes and workers since it was made.
///
/// Each number is exact at some moment of the recent past; a snapshot of a quiescent tag is exact as a
/// whole. Counts wrap at `usize::MAX`.
///
/// ```
#[doc = include_str!("../docs/board.md")]
/// use parkade_core::{Origin, Priority, TagConfig, Task, TaskControl};
///
/// let control = TaskControl::new(&Board, &[TagConfig::new(1)])?;
/// let tag = &control.tags()[0];
/// let _ = tag.submit(Task::from_word(1), Priority::Normal, &Origin::new(0))?;
/// let counters = tag.counters();
/// // Nobody is idle, because nobody has registered.
/// assert_eq!((counters.spawned, counters.picked, counters.skipped_wakes), (1, 0, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Counters {
    /// Tasks accepted.
    pub spawned: usize,
    /// Tasks handed to a worker to run.
    pub picked: usize,
    /// Tasks that a worker took from another worker's queue.
    pub stolen: usize,
    /// Times a worker went to its park.
    pub parked: usize,
    /// Idle workers claimed for a wake.
    pub wakes_asked: usize,
    /// Calls to [`Park::wake`](crate::Park::wake): one per claim, per lot stopped and per request to retire.
    pub wake_calls: usize,
    /// Submits that found nobody idle, or enough workers already searching.
    pub skipped_wakes: usize,
    /// Workers registered.
    pub workers: usize,
    /// Workers announced as idle.
    pub idle: usize,
    /// Workers counted as searching.
    pub searching: usize,
}

impl Add for Counters {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            spawned: self.spawned.wrapping_add(other.spawned),
            picked: self.picked.wrapping_add(other.picked),
            stolen: self.stolen.wrapping_add(other.stolen),
            parked: self.parked.wrapping_add(other.parked),
            wakes_asked: self.wakes_asked.wrapping_add(other.wakes_asked),
            wake_calls: self.wake_calls.wrapping_add(other.wake_calls),
            skipped_wakes: self.skipped_wakes.wrapping_add(other.skipped_wakes),
            workers: self.workers + other.workers,
            idle: self.idle + other.idle,
            searching: self.searching + other.searching,
        }
    }
}

impl Sum for Counters {
    fn sum<I: Iterator<Item = Self>>(snapshots: I) -> Self {
        snapshots.fold(Self::default(), Add::add)
    }
}

impl fmt::Display for Counters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} spawned, {} picked ({} stolen), {} parked, {} wakes asked, {} wake calls, {} skipped; \
             {} workers: {} idle, {} searching",
            self.spawned,
            self.picked,
            self.stolen,
            self.parked,
            self.wakes_asked,
            self.wake_calls,
            self.skipped_wakes,
            self.workers,
            self.idle,
            self.searching
        )
    }
}
