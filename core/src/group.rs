//! A group: the queues and the lot of one worker.

use core::fmt;

use crossbeam_utils::CachePadded;

use crate::config::TagConfig;
use crate::counters::WorkerCounters;
use crate::inbox::Inbox;
use crate::lot::{ParkingLot, Skip};
use crate::platform::{CapacityError, Platform, Slot};
use crate::run_queue::RunQueue;
use crate::sync::AtomicBool;

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
        })
    }
}

impl<P: Platform> fmt::Debug for Group<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Group")
            .field("run_queue", &self.run_queue)
            .field("inbox", &self.inbox)
            .field("mailbox", &self.mailbox)
            .field("retire", &self.retire)
            .field("lot", &self.lot)
            .field("counters", &self.counters)
            .finish()
    }
}
