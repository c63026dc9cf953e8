//! Where a worker looks for its next task, and in which order.
//!
//! Mailbox; priority inbox, but for ageing picks; own run queue; own inbox; then every other worker's inbox
//! and run queue, in a walk that starts anywhere. So that nothing waits for ever, every [`FAIRNESS_PERIOD`]th
//! pick serves one group in rotation first.
//!
//! A worker that lingers lets other workers' run queues be until its last look, and then takes only what has lain there
//! since a last look before: a steal costs its victim as much as several microseconds of work, and what is taken back
//! sooner by its owner is better left to it. As long as it sees such tasks it goes on lingering, for what lies longer, but not for ever.

use super::{Phase, Worker};
use crate::counters::bump;
use crate::group::Group;
use crate::idle::Search;
use crate::platform::Platform;
use crate::run_queue::Steal;
use crate::sync::Ordering;
use crate::task::Task;
use crate::walk::Walk;

/// Every how many picks a worker looks at inboxes before its own run queue, so that endless local work
/// does not starve tasks from outside. A prime, as in Go's scheduler, so that it does not beat with
/// periods of the load.
///
/// ```
#[doc = include_str!("../../docs/board.md")]
/// use parkade_core::FAIRNESS_PERIOD;
/// # use parkade_core::{Next, Origin, Priority, Slot, StopPolicy, TagConfig, TagIndex, Task, TaskControl, WorkerIndex};
/// let control = TaskControl::new(&Board, &[TagConfig::new(1)])?;
/// let worker = control.register(Slot { tag: TagIndex(0), worker: WorkerIndex(0) })?;
/// let _ = control.tags()[0].submit(Task::from_word(7), Priority::Normal, &Origin::new(0))?;
/// // Each task spawns another, for ever; the one from outside comes all the same.
/// let mut picks = 0;
/// loop {
///     let _ = worker.push(Task::from_word(0))?;
///     let Next::Run(task) = worker.next() else { unreachable!("tasks wait") };
///     picks += 1;
///     if task.into_word() == 7 {
///         break;
///     }
/// }
/// assert!(picks <= FAIRNESS_PERIOD);
/// # drop(worker);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub const FAIRNESS_PERIOD: u32 = 61;

/// How many tasks a worker moves from an inbox to its run queue at most, beyond the one that it takes.
///
/// ```
#[doc = include_str!("../../docs/board.md")]
/// use parkade_core::TAKE_BATCH;
/// # use parkade_core::{Next, Origin, Priority, Slot, StopPolicy, TagConfig, TagIndex, Task, TaskControl, WorkerIndex};
/// let control = TaskControl::new(&Board, &[TagConfig::new(1)])?;
/// let worker = control.register(Slot { tag: TagIndex(0), worker: WorkerIndex(0) })?;
/// let (tag, origin) = (&control.tags()[0], Origin::new(0));
/// let _ = tag.submit_batch(&mut (0..100).map(Task::from_word), Priority::Normal, &origin);
/// let Next::Run(_first) = worker.next() else { unreachable!("a hundred wait") };
/// let seen = tag.worker(WorkerIndex(0));
/// assert_eq!((seen.run_queue, seen.inbox), (TAKE_BATCH, 99 - TAKE_BATCH));
/// # drop(worker);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub const TAKE_BATCH: usize = 31;

/// How often in a row a worker that lingers leaves young tasks to their owner, before it steals them all the same: what
/// looks young may be what other thieves have left, and none may linger for ever.
const PATIENCE: u32 = 16;

/// Whose run queues a worker steals from.
#[derive(Clone, Copy)]
enum Robs {
    All,
    /// [`Worker::has_lain`].
    WhatHasLain,
    Nobody,
}

/// A task, and how many more came to the own run queue with it.
pub(super) struct Found {
    pub(super) task: Task,
    pub(super) moved: usize,
}

impl<P: Platform> Worker<'_, P> {
    /// The looking order: mailbox; priority inbox, but for ageing picks; own run queue; own inbox; then
    /// every other worker's. Every 61st pick (`FAIRNESS_PERIOD`) inboxes go before run queues.
    #[inline]
    pub(super) fn find(&self) -> Option<Found> {
        let pick = self.picks.get().wrapping_add(1);
        let found = self.find_for(pick)?;
        // A look that finds nothing is no pick: the order of those that do must not hang on how many there were.
        self.picks.set(pick);
        Some(found)
    }

    #[inline]
    fn find_for(&self, pick: u32) -> Option<Found> {
        let alone = |task| Found { task, moved: 0 };
        if let Some(task) = self.group.mailbox.pop() {
            return Some(alone(task));
        }
        if !self.tag.priority.is_empty()
            && !pick.is_multiple_of(self.tag.ageing)
            && let Some(task) = self.tag.priority.pop()
        {
            return Some(alone(task));
        }
        if pick.is_multiple_of(FAIRNESS_PERIOD)
            && let Some(found) = self.find_in_turn()
        {
            return Some(found);
        }
        if let Some(task) = self.queue.pop() {
            return Some(alone(task));
        }
        self.find_elsewhere()
            .or_else(|| self.tag.priority.pop().map(alone))
    }

    /// One group of the tag, in rotation, else the own inbox. The one whose turn it is comes first: were
    /// it the own one always, an own inbox that never empties would starve all others. Its run queue is
    /// robbed as well: its worker may have moved an inbox there, and block.
    #[cold]
    fn find_in_turn(&self) -> Option<Found> {
        let turn = (self.rotation.get() + 1) % self.tag.groups.len();
        self.rotation.set(turn);
        let group = &self.tag.groups[turn];
        self.take_from(group, 0)
            .or_else(|| match self.robs() {
                Robs::All => self.steal_from(group),
                Robs::WhatHasLain | Robs::Nobody => None,
            })
            .or_else(|| self.take_from(self.group, 0))
    }

    /// The own inbox, then every other worker's run queue and inbox.
    fn find_elsewhere(&self) -> Option<Found> {
        if let Some(found) = self.take_from(self.group, TAKE_BATCH) {
            return Some(found);
        }
        let mut dice = self.dice.get();
        let walk = Walk::new(self.tag.groups.len(), &mut dice);
        self.dice.set(dice);
        let robs = self.robs();
        for index in walk {
            if index == self.slot.worker.0 {
                continue;
            }
            let victim = &self.tag.groups[index];
            // The inbox first: its lock buys a batch of the oldest tasks, the run queue's heavy fence
            // one.
            if let Some(found) = self.take_from(victim, TAKE_BATCH) {
                return Some(found);
            }
            let steals = match robs {
                Robs::All => true,
                Robs::WhatHasLain => self.has_lain(victim),
                Robs::Nobody => false,
            };
            if steals && let Some(found) = self.steal_from(victim) {
                return Some(found);
            }
        }
        None
    }

    fn robs(&self) -> Robs {
        match (self.phase.get(), self.looks.get()) {
            (Phase::Awake(Search::Lingering), 0) => Robs::WhatHasLain,
            (Phase::Awake(Search::Lingering), _) => Robs::Nobody,
            _ => Robs::All,
        }
    }

    /// Whether the oldest task of a run queue was there at the last look of a worker that lingered before, or may have
    /// been. If there is another, this worker lingers on, as long as it has patience.
    fn has_lain(&self, victim: &Group<P>) -> bool {
        let Some(oldest) = victim.run_queue.oldest() else {
            return false;
        };
        if victim.glimpsed.load(Ordering::Relaxed) == oldest {
            return true;
        }
        let Some(patience) = self.patience.get().checked_sub(1) else {
            // The oldest may be another each time because other thieves have taken the last.
            return true;
        };
        self.patience.set(patience);
        victim.glimpsed.store(oldest, Ordering::Relaxed);
        self.looks.set(self.tag.linger);
        false
    }

    /// Transition 6: whether to look once more, after a pause.
    pub(super) fn lingers(&self, search: Search) -> bool {
        let looks = if search == Search::Lingering {
            self.looks.get()
        } else if self.tag.linger > 0 && self.tag.idle.linger(self.slot.worker, search) {
            self.enter(Phase::Awake(Search::Lingering));
            self.patience.set(PATIENCE);
            self.tag.linger
        } else {
            0
        };
        self.looks.set(looks.saturating_sub(1));
        looks > 0
    }

    fn steal_from(&self, victim: &Group<P>) -> Option<Found> {
        if core::ptr::eq(victim, self.group) {
            return None;
        }
        // In a closed tag nothing is moved, as from a closed inbox.
        let stolen = if self.tag.is_open() {
            victim.run_queue.steal_into(&self.queue)
        } else {
            victim.run_queue.steal()
        };
        match stolen {
            Steal::Taken(task, moved) => {
                bump(&self.group.counters.stolen, 1 + moved);
                Some(Found { task, moved })
            }
            Steal::Empty | Steal::Lost => None,
        }
    }

    fn take_from(&self, group: &Group<P>, limit: usize) -> Option<Found> {
        let (task, moved) = group.inbox.take(&self.queue, limit)?;
        if !core::ptr::eq(group, self.group) {
            bump(&self.group.counters.stolen, 1 + moved);
        }
        Some(Found { task, moved })
    }
}
