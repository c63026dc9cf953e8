//! A group: the queues and the lot of one worker.

use core::fmt;

use crossbeam_utils::CachePadded;

use crate::activity::{Activity, Doing};
use crate::config::TagConfig;
use crate::counters::WorkerCounters;
use crate::inbox::Inbox;
use crate::lot::{ParkingLot, Skip};
use crate::platform::{CapacityError, Platform, Slot};
use crate::run_queue::RunQueue;
use crate::sync::{AtomicBool, AtomicUsize, Ordering};

/// A snapshot of one worker: what it does, the tasks that wait in its queues, and what it has done.
///
/// Each number is exact at some moment of the recent past. Counts wrap at `usize::MAX`.
///
/// ```
#[doc = include_str!("../docs/board.md")]
/// use parkade_core::{Activity, TagConfig, Task, TaskControl, WorkerIndex, WorkerSnapshot};
///
/// let control = TaskControl::new(&Board, &[TagConfig::new(2)])?;
/// let tag = &control.tags()[0];
/// let _ = tag.submit_to(WorkerIndex(1), Task::from_word(7))?;
/// let WorkerSnapshot { activity, mailbox, inbox, .. } = tag.worker(WorkerIndex(1));
/// assert_eq!((activity, mailbox, inbox), (Activity::Gone, 1, 0)); // no worker has registered yet
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerSnapshot {
    /// What it does.
    pub activity: Activity,
    /// Whether it sleeps, or is about to, and a wake for it is on its way.
    pub claimed: bool,
    /// Tasks in its run queue.
    pub run_queue: usize,
    /// Tasks in its inbox.
    pub inbox: usize,
    /// Tasks that it alone may take.
    pub mailbox: usize,
    /// Tasks handed to it to run.
    pub picked: usize,
    /// Tasks that it took from another worker's queue.
    pub stolen: usize,
    /// Times it went to its park.
    pub parked: usize,
}

/// What belongs to one worker and is seen by all others of its tag. It exists from the start, whether
/// or not a worker has registered for it, and is never freed while the control lives: a thief may look
/// at any time.
pub(crate) struct Group<P: Platform> {
    pub(crate) run_queue: RunQueue<P>,
    pub(crate) inbox: Inbox<P>,
    /// Targeted work: only this worker takes it.
    pub(crate) mailbox: Inbox<P>,
    /// Set while this worker has been asked to leave.
    pub(crate) retire: AtomicBool,
    pub(crate) lot: CachePadded<ParkingLot<P::Park>>,
    pub(crate) counters: CachePadded<WorkerCounters>,
    pub(crate) doing: CachePadded<Doing>,
    /// The [oldest](RunQueue::oldest) task of the run queue that a worker has seen and left there.
    pub(crate) glimpsed: CachePadded<AtomicUsize>,
}

impl<P: Platform> Group<P> {
    pub(crate) fn new(platform: &P, slot: Slot, config: &TagConfig) -> Result<Self, CapacityError> {
        let group = Self {
            run_queue: RunQueue::new(platform.fences(), config.run_queue, config.steal_batch)?,
            inbox: Inbox::new(config.inbox_limit),
            mailbox: Inbox::new(config.inbox_limit),
            retire: AtomicBool::new(false),
            lot: CachePadded::new(ParkingLot::new(platform.park(slot), Skip::Never)),
            counters: CachePadded::new(WorkerCounters::new()),
            doing: CachePadded::new(Doing::new()),
            glimpsed: CachePadded::new(AtomicUsize::new(usize::MAX)),
        };
        if slot.worker.0 >= config.starting {
            group.inbox.close();
            group.mailbox.close();
        }
        Ok(group)
    }

    /// The same as numbers. `announced`: as for [`seen`](Group::seen).
    pub(crate) fn snapshot(&self, announced: bool) -> WorkerSnapshot {
        let activity = if self.run_queue.is_owned() {
            self.doing.activity()
        } else {
            Activity::Gone
        };
        let asleep = matches!(activity, Activity::Announced | Activity::Parked);
        let counters = &self.counters;
        WorkerSnapshot {
            activity,
            claimed: asleep && !announced,
            run_queue: self.run_queue.len(),
            inbox: self.inbox.len(),
            mailbox: self.mailbox.len(),
            picked: counters.picked.load(Ordering::Relaxed),
            stolen: counters.stolen.load(Ordering::Relaxed),
            parked: counters.parked.load(Ordering::Relaxed),
        }
    }

    /// All that can be seen of the worker without asking it, and without a lock that it may hold. `announced`:
    /// whether its bit is set in the idle word.
    pub(crate) fn seen(&self, announced: bool) -> impl fmt::Debug {
        fmt::from_fn(move |f| {
            let seen = self.snapshot(announced);
            let activity = seen.activity;
            let claimed = if seen.claimed { ", claimed" } else { "" };
            f.debug_struct("Worker")
                .field("activity", &format_args!("{activity:?}{claimed}"))
                .field("lot", &*self.lot)
                .field("run_queue", &seen.run_queue)
                .field("inbox", &self.inbox.length())
                .field("mailbox", &self.mailbox.length())
                .field("asked_to_retire", &self.retire.load(Ordering::Relaxed))
                .field("counters", &*self.counters)
                .finish()
        })
    }
}
