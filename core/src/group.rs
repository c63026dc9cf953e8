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
use crate::sync::{AtomicBool, Ordering};

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
}

impl<P: Platform> Group<P> {
    pub(crate) fn new(platform: &P, slot: Slot, config: &TagConfig) -> Result<Self, CapacityError> {
        Ok(Self {
            run_queue: RunQueue::new(platform.fences(), config.run_queue, config.steal_batch)?,
            inbox: Inbox::new(config.inbox_limit),
            mailbox: Inbox::new(config.inbox_limit),
            retire: AtomicBool::new(false),
            lot: CachePadded::new(ParkingLot::new(platform.park(slot), Skip::Never)),
            counters: CachePadded::new(WorkerCounters::new()),
            doing: CachePadded::new(Doing::new()),
        })
    }

    /// All that can be seen of the worker without asking it, and without a lock that it may hold. `announced`:
    /// whether its bit is set in the idle word.
    pub(crate) fn seen(&self, announced: bool) -> impl fmt::Debug {
        fmt::from_fn(move |f| {
            let activity = self.doing.activity();
            let asleep = matches!(activity, Activity::Announced | Activity::Parked);
            let claimed = if asleep && !announced {
                ", claimed"
            } else {
                ""
            };
            let mut worker = f.debug_struct("Worker");
            if self.run_queue.is_owned() {
                worker.field("activity", &format_args!("{activity:?}{claimed}"));
            } else {
                worker.field("activity", &format_args!("Gone"));
            }
            worker
                .field("lot", &*self.lot)
                .field("run_queue", &self.run_queue.len())
                .field("inbox", &self.inbox.length())
                .field("mailbox", &self.mailbox.length())
                .field("asked_to_retire", &self.retire.load(Ordering::Relaxed))
                .field("counters", &*self.counters)
                .finish()
        })
    }
}
