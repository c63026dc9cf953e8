//! What one worker does and has done: the row of a dump as data.

use parkade_core::{Activity, TagIndex, WorkerIndex};

use crate::backend::Backend;
use crate::shared::Shared;

/// The counters of one worker, its queues and what it does; part of [`Metrics`](crate::Metrics).
///
/// Each number is exact at some moment of the recent past, and they are read one after the other. Use it to
/// see whether work is spread, and to tell a worker that is stuck from one that sleeps.
///
/// ```
/// use parkade::{Activity, Runtime, Tag};
///
/// let runtime = Runtime::builder().tag(Tag::new("io").workers(2)).build()?;
/// runtime.spawn(|| ()).join()?;
/// let metrics = runtime.metrics();
/// assert_eq!(metrics.workers.len(), 2);
/// assert_eq!(metrics.workers.iter().map(|worker| worker.ran).sum::<usize>(), 1);
/// for worker in &metrics.workers {
///     assert_ne!(worker.activity, Activity::Gone);
///     println!("{}: {}, {} in its queues", worker.thread_name, worker.activity, worker.queued());
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerMetrics {
    /// The name of its tag.
    pub tag: String,
    /// Its index within the tag, from 0.
    pub index: usize,
    /// The name of its thread.
    pub thread_name: String,
    /// The CPU that it was asked to be pinned to.
    pub cpu: Option<usize>,
    /// What it does.
    pub activity: Activity,
    /// Whether it sleeps, or is about to, and a wake for it is on its way. One that stays is a wake that was
    /// lost.
    pub claimed: bool,
    /// Tasks in its run queue: its own spawns.
    pub run_queue: usize,
    /// Tasks in its inbox: spawns from outside, which others may take as well.
    pub inbox: usize,
    /// Tasks that it alone may take.
    pub mailbox: usize,
    /// Tasks that it ran to their end, those that panicked included.
    pub ran: usize,
    /// Panics of its tasks and hooks.
    pub panicked: usize,
    /// Tasks that it took from other workers' queues.
    pub stolen: usize,
    /// Times that it went to sleep.
    pub parked: usize,
}

impl WorkerMetrics {
    /// One row per worker of a tag.
    pub(crate) fn of_tag<B: Backend>(shared: &Shared<B>, tag: TagIndex) -> Vec<Self> {
        let core = shared.control.tag(tag);
        let seats = shared.tags[tag.0].seats.iter().enumerate();
        seats
            .map(|(index, seat)| {
                // What it has run first: that is at most what it picked.
                let (ran, panicked) = (seat.counts.ran(), seat.counts.panicked());
                let seen = core.worker(WorkerIndex(index));
                Self {
                    tag: seat.info.tag.clone(),
                    index,
                    thread_name: seat.info.thread_name.clone(),
                    cpu: seat.info.cpu,
                    activity: seen.activity,
                    claimed: seen.claimed,
                    run_queue: seen.run_queue,
                    inbox: seen.inbox,
                    mailbox: seen.mailbox,
                    ran,
                    panicked,
                    stolen: seen.stolen,
                    parked: seen.parked,
                }
            })
            .collect()
    }

    /// Tasks in all three queues. See [`WorkerMetrics`] for an example.
    #[must_use]
    pub fn queued(&self) -> usize {
        self.run_queue + self.inbox + self.mailbox
    }
}
