//! Metrics: what each tag has done so far and what each worker does, as numbers and as a table.

use std::fmt;
use std::ops::Add;

use parkade_core::{Activity, TagIndex};

use crate::backend::Backend;
use crate::latency::{self, Latency};
use crate::shared::Shared;
use crate::worker_metrics::WorkerMetrics;

/// A snapshot of a runtime's counters. Prints as a table with a row per tag and one for their sum.
///
/// Each number is exact at some moment of the recent past; a snapshot of a runtime that rests is exact as
/// a whole, and then `spawned = ran + dropped`, but for tasks of a batch that a worker joined before the
/// batch was refused: they ran and were never spawned; and for futures. Each poll of one counts as a task, spawned by
/// a wake; a future that still waited when the runtime had ended is dropped, and no wake had spawned it.
///
/// ```
/// use parkade::Runtime;
///
/// let runtime = Runtime::builder().build()?;
/// runtime.spawn(|| ()).join()?;
/// let metrics = runtime.metrics();
/// assert_eq!((metrics.total.spawned, metrics.total.ran), (1, 1));
/// assert_eq!(metrics.tag("default").map(|row| row.ran), Some(1));
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
    /// One row per worker, by tag and index; those included whose threads have not started or have ended.
    pub workers: Vec<WorkerMetrics>,
    /// The runtime's timers, of whichever tag.
    pub timers: TimerMetrics,
}

/// How many timers there are and were: timed tasks, each turn of a recurring one, and alarms.
///
/// A timed task counts as [`spawned`](TagMetrics::spawned) in its tag once it has fired; an alarm never does.
///
/// ```
/// use std::time::Duration;
///
/// use parkade::Runtime;
///
/// let runtime = Runtime::builder().build()?;
/// let far = Duration::from_secs(3600);
/// let (one, two) = (runtime.after(far, || ())?, runtime.after(far, || ())?);
/// drop(one);
/// let timers = runtime.metrics().timers;
/// assert_eq!((timers.pending, timers.fired, timers.cancelled), (1, 0, 1));
/// # drop(two);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct TimerMetrics {
    /// Timers that are not due yet.
    pub pending: usize,
    /// Timers that have fired.
    pub fired: usize,
    /// Timers that will not fire: cancelled by their handles, or by the stop.
    pub cancelled: usize,
    /// Alarms that panicked.
    pub panicked_alarms: usize,
}

/// The counters of one tag: tasks, wakes and workers.
///
/// ```
/// use parkade::{Runtime, Tag};
///
/// let runtime = Runtime::builder().tag(Tag::new("io").workers(2)).build()?;
/// runtime.spawn(|| ()).join()?;
/// let metrics = runtime.metrics();
/// let io = metrics.tag("io").ok_or("there is one")?;
/// assert_eq!((io.spawned, io.ran, io.workers), (1, 1, 2));
/// assert!(io.wake_calls <= 1, "a wake for a task, or none if a worker was awake");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
    /// Tasks that wait in a queue.
    pub queued: usize,
    /// Workers that run a task or a hook, or are between two tasks; 0 when the tag rests.
    pub busy: usize,
    /// Workers that sleep, or are about to.
    pub idle: usize,
    /// Workers that are awake because of a wake and have not found a task yet.
    pub searching: usize,
    /// Workers that do not run on the CPUs that they were asked to.
    pub misplaced: usize,
    /// Workers whose threads could not be started, of those that the tag is to have at least.
    pub missing: usize,
    /// How long tasks have waited between their creation and their start, if
    /// [`measure_latency`](crate::RuntimeBuilder::measure_latency) is on; not in a forked child.
    pub latency: Option<Latency>,
    /// Workers that the tag is to have at least: [`Tag::workers`](crate::Tag::workers), or what
    /// [`resize`](crate::TagRef::resize) said.
    pub wanted: usize,
    /// Workers inside [`blocking`](crate::blocking()) or a wait that [counts as
    /// such](crate::guide::scaling#what-counts-as-blocking).
    pub blocked: usize,
    /// Workers that have started after the runtime.
    pub grown: usize,
    /// Workers that have retired: their threads have ended.
    pub retired: usize,
    /// Times that a worker could not be started after the runtime.
    pub failed_starts: usize,
}

impl Metrics {
    pub(crate) fn of<B: Backend>(shared: &Shared<B>) -> Self {
        let mut workers = Vec::new();
        let tags: Vec<_> = (0..shared.tags.len())
            .map(|index| {
                let of_tag = WorkerMetrics::of_tag(shared, TagIndex(index));
                let tag = TagMetrics::of(shared, index, &of_tag);
                workers.extend(of_tag);
                tag
            })
            .collect();
        let none = TagMetrics {
            name: "total".to_owned(),
            ..TagMetrics::default()
        };
        let total = tags.iter().fold(none, |sum, tag| sum + tag);
        Self {
            tags,
            total,
            workers,
            timers: shared.timers.metrics(),
        }
    }

    /// The row of the tag called `name`. See [`Metrics`] for an example.
    #[must_use]
    pub fn tag(&self, name: &str) -> Option<&TagMetrics> {
        self.tags.iter().find(|tag| tag.name == name)
    }
}

impl TagMetrics {
    /// The row of a tag whose workers were looked at just now: what has become of tasks before how many there
    /// are, so that the former exceeds the latter by no more than a spawn or two on their way.
    fn of<B: Backend>(shared: &Shared<B>, index: usize, workers: &[WorkerMetrics]) -> Self {
        let tag = &shared.tags[index];
        let sum = |of: fn(&WorkerMetrics) -> usize| workers.iter().map(of).sum::<usize>();
        let count = |is: fn(Activity) -> bool| {
            let such = workers.iter().filter(|worker| is(worker.activity));
            such.count()
        };
        let present = count(|activity| activity != Activity::Gone);
        let ran = sum(|worker| worker.ran) + tag.ran_outside.get();
        let dropped = tag.dropped.get();
        let queued_first = shared.control.tag(TagIndex(index)).queued_first();
        let core = shared.control.counters(TagIndex(index));
        let scaling = shared.scaler.counts(TagIndex(index));
        Self {
            name: tag.name.clone(),
            spawned: core.spawned,
            ran,
            stolen: core.stolen,
            parked: core.parked,
            wakes_asked: core.wakes_asked,
            wake_calls: core.wake_calls,
            skipped_wakes: core.skipped_wakes,
            panicked: sum(|worker| worker.panicked),
            dropped,
            workers: present,
            queued: queued_first + sum(|worker| worker.run_queue + worker.inbox + worker.mailbox),
            busy: count(|activity| matches!(activity, Activity::Running | Activity::Leaving)),
            // Read a moment later, in which a worker may have changed or left.
            idle: core.idle.min(present),
            searching: core.searching.min(present),
            // In a child a worker may have held its lock at the fork.
            latency: shared.process.is_this().then(|| tag.latency()).flatten(),
            misplaced: tag.misplaced(),
            missing: scaling.missing,
            wanted: scaling.wanted,
            blocked: scaling.blocked,
            grown: scaling.grown,
            retired: scaling.retired,
            failed_starts: scaling.failed_starts,
        }
    }

    /// Heading and number of each column of the table.
    fn columns(&self) -> [(&'static str, usize); 14] {
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
            ("queued", self.queued),
            ("workers", self.workers),
            ("busy", self.busy),
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
            queued: self.queued + other.queued,
            busy: self.busy + other.busy,
            idle: self.idle + other.idle,
            searching: self.searching + other.searching,
            misplaced: self.misplaced + other.misplaced,
            missing: self.missing + other.missing,
            latency: latency::both(self.latency, other.latency.as_ref()),
            wanted: self.wanted + other.wanted,
            blocked: self.blocked + other.blocked,
            grown: self.grown + other.grown,
            retired: self.retired + other.retired,
            failed_starts: self.failed_starts + other.failed_starts,
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
        if self.timers != TimerMetrics::default() {
            let TimerMetrics {
                pending,
                fired,
                cancelled,
                panicked_alarms,
            } = self.timers;
            write!(
                f,
                "\ntimers: {pending} pending, {fired} fired, {cancelled} cancelled, {panicked_alarms} alarms panicked"
            )?;
        }
        for row in &self.tags {
            if let Some(latency) = &row.latency {
                write!(f, "\nlatency of tag {:?}: {latency}", row.name)?;
            }
        }
        for row in &self.tags {
            if row.grown + row.retired + row.failed_starts + row.blocked > 0 {
                write!(
                    f,
                    "\nscaling of tag {:?}: {} wanted, {} blocked, {} started later, {} retired, {} starts failed",
                    row.name, row.wanted, row.blocked, row.grown, row.retired, row.failed_starts
                )?;
            }
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
            workers: Vec::new(),
            timers: TimerMetrics::default(),
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
