//! Metrics: what each tag has done so far, as numbers and as a table.

use std::fmt;
use std::ops::Add;

use parkade_core::TagIndex;

use crate::backend::Backend;
use crate::shared::Shared;

/// A snapshot of a runtime's counters. Prints as a table with a row per tag and one for their sum.
///
/// Each number is exact at some moment of the recent past; a snapshot of a runtime that rests is exact as
/// a whole, and then `spawned = ran + dropped`, but for tasks of a batch that a worker joined before the
/// batch was refused: they ran and were never spawned.
///
/// ```
/// use parkade::Runtime;
///
/// let runtime = Runtime::builder().build()?;
/// runtime.spawn(|| ()).join()?;
/// let metrics = runtime.metrics();
/// assert_eq!((metrics.total.spawned, metrics.total.ran), (1, 1));
/// println!("{metrics}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Metrics {
    /// One row per tag, in the order in which they were described.
    pub tags: Vec<TagMetrics>,
    /// The sum of all rows, called `total`.
    pub total: TagMetrics,
}

/// The counters of one tag: tasks, wakes and workers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct TagMetrics {
    /// The tag's name.
    pub name: String,
    /// Tasks accepted.
    pub spawned: usize,
    /// Tasks that ran to their end, those that panicked included.
    pub ran: usize,
    /// Tasks that a worker took from another worker's queues.
    pub stolen: usize,
    /// Times that a worker went to sleep.
    pub parked: usize,
    /// Times that an idle worker was claimed for a wake.
    pub wakes_asked: usize,
    /// Calls to the backend to wake a worker: one per claim, and one per worker at the stop.
    pub wake_calls: usize,
    /// Spawns, batches and moves between queues that woke nobody: nobody was idle, or enough were searching.
    pub skipped_wakes: usize,
    /// Panics of tasks and hooks.
    pub panicked: usize,
    /// Tasks accepted, and dropped without having run.
    pub dropped: usize,
    /// Workers whose threads run.
    pub workers: usize,
    /// Workers that sleep, or are about to.
    pub idle: usize,
    /// Workers that are awake because of a wake and have not found a task yet.
    pub searching: usize,
    /// Workers that do not run on the CPUs that they were asked to.
    pub misplaced: usize,
    /// Workers whose threads could not be started.
    pub missing: usize,
}

impl Metrics {
    pub(crate) fn of<B: Backend>(shared: &Shared<B>) -> Self {
        let tags: Vec<_> = (0..shared.tags.len())
            .map(|index| TagMetrics::of(shared, index))
            .collect();
        let none = TagMetrics {
            name: "total".to_owned(),
            ..TagMetrics::default()
        };
        let total = tags.iter().fold(none, |sum, tag| sum + tag);
        Self { tags, total }
    }

    /// The row of the tag called `name`.
    #[must_use]
    pub fn tag(&self, name: &str) -> Option<&TagMetrics> {
        self.tags.iter().find(|tag| tag.name == name)
    }
}

impl TagMetrics {
    fn of<B: Backend>(shared: &Shared<B>, index: usize) -> Self {
        let tag = &shared.tags[index];
        // What has become of tasks before how many there are: so the former never exceeds the latter.
        let ran = tag.ran();
        let panicked = tag.seats.iter().map(|seat| seat.counts.panicked()).sum();
        let dropped = tag.dropped.get();
        let core = shared.control.counters(TagIndex(index));
        Self {
            name: tag.name.clone(),
            spawned: core.spawned,
            ran,
            stolen: core.stolen,
            parked: core.parked,
            wakes_asked: core.wakes_asked,
            wake_calls: core.wake_calls,
            skipped_wakes: core.skipped_wakes,
            panicked,
            dropped,
            workers: core.workers,
            idle: core.idle,
            searching: core.searching,
            misplaced: tag.misplaced.get(),
            missing: tag.seats.len() - shared.stopping.started_in(TagIndex(index)),
        }
    }

    /// Heading and number of each column of the table.
    fn columns(&self) -> [(&'static str, usize); 12] {
        [
            ("spawned", self.spawned),
            ("ran", self.ran),
            ("stolen", self.stolen),
            ("parked", self.parked),
            ("asked", self.wakes_asked),
            ("calls", self.wake_calls),
            ("skipped", self.skipped_wakes),
            ("panicked", self.panicked),
            ("dropped", self.dropped),
            ("workers", self.workers),
            ("idle", self.idle),
            ("searching", self.searching),
        ]
    }
}

impl Add<&Self> for TagMetrics {
    type Output = Self;

    fn add(self, other: &Self) -> Self {
        Self {
            name: self.name,
            spawned: self.spawned + other.spawned,
            ran: self.ran + other.ran,
            stolen: self.stolen + other.stolen,
            parked: self.parked + other.parked,
            wakes_asked: self.wakes_asked + other.wakes_asked,
            wake_calls: self.wake_calls + other.wake_calls,
            skipped_wakes: self.skipped_wakes + other.skipped_wakes,
            panicked: self.panicked + other.panicked,
            dropped: self.dropped + other.dropped,
            workers: self.workers + other.workers,
            idle: self.idle + other.idle,
            searching: self.searching + other.searching,
            misplaced: self.misplaced + other.misplaced,
            missing: self.missing + other.missing,
        }
    }
}

impl fmt::Display for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = || self.tags.iter().chain([&self.total]);
        let names = rows().map(|row| row.name.chars().count());
        let name_width = names.max().unwrap_or(0);
        let headings = self.total.columns().map(|(heading, _)| heading);
        // Each number of the sum is at least as wide as those above it.
        let widths = self
            .total
            .columns()
            .map(|(heading, sum)| heading.len().max(sum.to_string().len()));
        write!(f, "{:name_width$}", "tag")?;
        for (heading, width) in headings.iter().zip(widths) {
            write!(f, "  {heading:>width$}")?;
        }
        for row in rows() {
            write!(f, "\n{:name_width$}", row.name)?;
            for ((_, number), width) in row.columns().iter().zip(widths) {
                write!(f, "  {number:>width$}")?;
            }
        }
        for row in &self.tags {
            if row.misplaced > 0 {
                write!(
                    f,
                    "\nwarning: {} workers of tag {:?} do not run on the CPUs that they were asked to",
                    row.misplaced, row.name
                )?;
            }
            if row.missing > 0 {
                write!(
                    f,
                    "\nwarning: {} workers of tag {:?} could not be started",
                    row.missing, row.name
                )?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_aligned_and_warns() {
        let row = TagMetrics {
            name: "requests".to_owned(),
            spawned: 12_345_678,
            ran: 3,
            misplaced: 2,
            missing: 1,
            ..TagMetrics::default()
        };
        let none = TagMetrics {
            name: "total".to_owned(),
            ..TagMetrics::default()
        };
        let metrics = Metrics {
            total: none + &row,
            tags: vec![row],
        };
        let table = metrics.to_string();
        let lines: Vec<_> = table.lines().collect();
        assert_eq!(lines.len(), 5);
        assert_eq!(lines[0].len(), lines[1].len());
        assert_eq!(lines[1].len(), lines[2].len());
        assert!(lines[1].starts_with("requests  12345678    3 "), "{table}");
        assert!(lines[3].contains("2 workers of tag \"requests\" do not run"));
        assert!(lines[4].contains("1 workers of tag \"requests\" could not"));
    }
}
