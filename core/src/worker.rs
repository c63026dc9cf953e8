//! A worker: the state machine that looks for work, goes to sleep and wakes its fellows.
//!
//! The thread (or hart) behind a worker asks [`Worker::next`] what to do and does it; this file decides.
//! A worker is *awake*, counted as a searcher or not, or *announced*; [`crate::idle`] has the protocol
//! and its numbers.

mod forks;
mod search;
mod take_back;

use core::cell::Cell;
use core::fmt;

use crate::activity::Activity;
use crate::counters::bump;
use crate::group::Group;
use crate::idle::{Cancelled, Search, Wake, nobody_in};
use crate::inbox::{Refused, RefusedReason};
use crate::lot::State;
use crate::platform::{Platform, Slot};
use crate::run_queue::Owner;
use crate::sync::{AtomicUsize, Ordering, fence, heavy, left_out, light};
use crate::tag::{Cause, Tag, closed};
use crate::task::Task;
use crate::walk::Dice;

pub use forks::Fork;
use search::Found;
pub use search::{FAIRNESS_PERIOD, TAKE_BATCH};

/// What a worker's thread must do next.
///
/// ```
#[doc = include_str!("../docs/board.md")]
/// use parkade_core::{Next, Slot, TagConfig, TagIndex, TaskControl, WorkerIndex};
///
/// let control = TaskControl::new(&Board, &[TagConfig::new(1)])?;
/// let worker = control.register(Slot { tag: TagIndex(0), worker: WorkerIndex(0) })?;
/// assert!(matches!(worker.next(), Next::Park(_)));
/// control.tags()[0].request_retire(WorkerIndex(0));
/// assert!(matches!(worker.next(), Next::Retire));
/// # drop(worker);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "a task that is dropped here is lost, and a worker that does not park spins"]
pub enum Next {
    /// Run this task, then ask again.
    Run(Task),
    /// Call [`Worker::park`] with this state, then ask again.
    Park(State),
    /// Pause, much shorter than a park and a wake take, then ask again. Only where
    /// [`TagConfig::linger`](crate::TagConfig::linger) asks for it.
    Linger,
    /// Leave: the scheduler has stopped and there is nothing left for this worker.
    Stop,
    /// Leave: this worker was asked to retire ([`Tag::request_retire`]); what it had queued is with the
    /// others. Its slot may be registered again.
    Retire,
}

/// One registered worker. Made by [`TaskControl::register`](crate::TaskControl::register); belongs to
/// one thread.
///
/// ```
#[doc = include_str!("../docs/board.md")]
/// use parkade_core::{Next, Slot, TagConfig, TagIndex, Task, TaskControl, WorkerIndex};
///
/// let control = TaskControl::new(&Board, &[TagConfig::new(2)])?;
/// let slot = |worker| Slot { tag: TagIndex(0), worker: WorkerIndex(worker) };
/// let (one, two) = (control.register(slot(0))?, control.register(slot(1))?);
/// let _ = one.push(Task::from_word(7))?; // a task that it spawns
/// let Next::Run(task) = two.next() else { unreachable!("one waits") };
/// assert_eq!(task.into_word(), 7); // stolen
/// assert_eq!(control.tags()[0].counters().stolen, 1);
/// assert!(!two.take_unmet(), "nothing waits beside it");
///
/// let Next::Park(state) = one.next() else { unreachable!("nothing is left") };
/// one.park(state); // until it is signalled, or for no reason: ask again
/// assert_eq!((one.slot(), one.tag().workers()), (slot(0), 2));
/// # drop((one, two));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Worker<'c, P: Platform> {
    slot: Slot,
    tag: &'c Tag<P>,
    group: &'c Group<P>,
    queue: Owner<'c, P>,
    /// The tag's, next to the queue.
    fences: P::Fences,
    /// The tag's idle word, if it has but one.
    idle_word: Option<&'c AtomicUsize>,
    phase: Cell<Phase>,
    stopping: Cell<bool>,
    retired: Cell<bool>,
    unmet: Cell<bool>,
    /// How many more looks it takes while it lingers.
    looks: Cell<u32>,
    /// How many more times it leaves young tasks to their owner while it lingers.
    patience: Cell<u32>,
    picks: Cell<u32>,
    rotation: Cell<usize>,
    dice: Cell<Dice>,
}

#[derive(Debug, Clone, Copy)]
enum Phase {
    /// Running a task or looking for one.
    Awake(Search),
    /// The own bit is set, or was until somebody claimed it.
    Announced,
}

impl<'c, P: Platform> Worker<'c, P> {
    pub(crate) fn new(
        slot: Slot,
        tag: &'c Tag<P>,
        group: &'c Group<P>,
        queue: Owner<'c, P>,
    ) -> Self {
        // The slot's last worker has left its own note.
        group.doing.note(Activity::Running);
        Self {
            slot,
            tag,
            group,
            queue,
            fences: tag.fences,
            idle_word: tag.idle.only_word(),
            phase: Cell::new(Phase::Awake(Search::Uncounted)),
            stopping: Cell::new(false),
            retired: Cell::new(false),
            unmet: Cell::new(false),
            looks: Cell::new(0),
            patience: Cell::new(0),
            picks: Cell::new(0),
            rotation: Cell::new(slot.worker.0),
            dice: Cell::new(Dice::new(slot.worker.0 + 1)),
        }
    }

    /// Which worker of which tag this is. See [`Worker`] for an example.
    #[must_use]
    pub fn slot(&self) -> Slot {
        self.slot
    }

    /// The tag that this worker belongs to. See [`Worker`] for an example.
    #[must_use]
    pub fn tag(&self) -> &'c Tag<P> {
        self.tag
    }

    /// Decides what this worker does next. Never blocks.
    ///
    /// With work in the own run queue it costs a few loads beside the pop. See [`Worker`] for an example.
    #[inline]
    pub fn next(&self) -> Next {
        loop {
            match self.phase.get() {
                Phase::Awake(search) => {
                    if self.tag.is_abandoned() {
                        return self.leave(search);
                    }
                    if self.asked_to_retire() {
                        match self.retire(search) {
                            Some(next) => return next,
                            None => continue,
                        }
                    }
                    if let Some(found) = self.find() {
                        return Next::Run(self.settle(found, search));
                    }
                    if !self.stopping.get() {
                        if self.lingers(search) {
                            return Next::Linger;
                        }
                        self.announce(search);
                    } else if left_out("stop.again") || self.tag.sees_work().is_none() {
                        return self.leave(search);
                    }
                    // Else a steal was lost to somebody who took one task of several.
                }
                Phase::Announced => {
                    // The state first: a claim that the bit below does not show yet moves the word.
                    let early = left_out("idle.state.order").then(|| self.is_announced());
                    let state = self.group.lot.state();
                    if state.is_stopped() {
                        // One more look, after the stop bit: it sees all that was accepted before.
                        self.stopping.set(true);
                        self.withdraw();
                        if left_out("stop.look") {
                            return self.leave(Search::Counted);
                        }
                    } else if self.asked_to_retire() {
                        let cancelled = self.tag.idle.cancel(self.slot.worker);
                        self.enter(Phase::Awake(match cancelled {
                            Cancelled::WasClaimed => Search::Counted,
                            Cancelled::TookBack => Search::Uncounted,
                        }));
                    } else if early.unwrap_or_else(|| self.is_announced()) {
                        return Next::Park(state);
                    } else {
                        self.enter(Phase::Awake(Search::Counted));
                    }
                }
            }
        }
    }

    /// Whether this worker has seen tasks wait, beside the one that [`next`](Worker::next) gave it, while
    /// nobody was idle: the moment to grow, as [`Wake::NobodyIdle`] is for a submit. Says so once.
    /// See [`Worker`] for an example.
    #[inline]
    pub fn take_unmet(&self) -> bool {
        self.unmet.get() && self.unmet.replace(false)
    }

    /// Takes what is left in this worker's own queues, after [`Next::Stop`]: nothing in a drain, in which it has seen
    /// none, and what may come after is for those that are still there; after an abandonment also what it queued
    /// or moved when everybody else had looked already.
    /// See [`Join::abandon`](crate::stop::Join::abandon) for an example.
    pub fn take_left(&self) -> Option<Task> {
        if !self.tag.is_abandoned() {
            return None;
        }
        let own = self.queue.pop();
        own.or_else(|| self.group.mailbox.pop())
            .or_else(|| self.group.inbox.pop())
    }

    /// Sleeps on this worker's lot until it is signalled, or returns for no reason; then ask
    /// [`next`](Worker::next) again. See [`Worker`] for an example.
    pub fn park(&self, state: State) {
        bump(&self.group.counters.parked, 1);
        self.group.doing.note(Activity::Parked);
        self.group.lot.wait(state);
        self.group.doing.note(Activity::Announced);
    }

    /// Appends a task that was made on this worker's thread to its own run queue, and wakes another
    /// worker for it if one is needed.
    ///
    /// Two stores and one load of a shared word while nobody is idle. A full run queue spills half of
    /// itself to the own inbox; never sleeps for room. See [`Worker`] for an example.
    ///
    /// # Errors
    ///
    /// [`Refused`] with the task: both queues are full, or the tag is closed.
    #[inline]
    pub fn push(&self, task: Task) -> Result<Wake, Refused> {
        if !self.tag.is_open() {
            return Err(closed(task));
        }
        let mut published = 1;
        if let Err(task) = self.queue.push(task) {
            published += self.spill_and_push(task)?;
        }
        bump(&self.group.counters.pushed, 1);
        Ok(self.after_publishing(|| published.max(self.queue.queue().len())))
    }

    /// Queues a task that was accepted before and goes on, such as a future that was woken, at the end of the own
    /// inbox: it comes after all that is queued with this worker, and others may take it as they take any task.
    ///
    /// The limit does not hold for it. As for a [`fork`](Worker::fork), a tag that was closed takes it too:
    /// this worker looks here again before it leaves. What is queued after its last look comes back from
    /// [`take_left`](Worker::take_left) or [`take_queued`](crate::stop::Join::take_queued). Costs the inbox's lock.
    /// See [`Worker::fork`] for an example.
    ///
    /// # Errors
    ///
    /// [`Refused`] with the task: the platform's queue is full.
    pub fn requeue(&self, task: Task) -> Result<Wake, Refused> {
        self.group.inbox.push_again(task)?;
        Ok(self.after_publishing(|| self.group.inbox.len().max(1)))
    }

    #[cold]
    fn spill_and_push(&self, task: Task) -> Result<usize, Refused> {
        let spilled = self.queue.spill(&self.group.inbox);
        match self.queue.push(task) {
            Ok(_) => Ok(spilled),
            Err(task) => {
                let reason = RefusedReason::Full;
                Err(Refused { task, reason })
            }
        }
    }

    /// [`after_publishing`](Worker::after_publishing) for tasks that were accepted before: what nobody is there for
    /// is kept in mind.
    fn after_moving(&self, queued: usize) {
        bump(&self.group.counters.moves, 1);
        let wake = self.after_publishing(|| queued);
        self.note_unmet(wake);
    }

    fn note_unmet(&self, wake: Wake) {
        if let Wake::NobodyIdle { .. } = wake {
            self.unmet.set(true);
        }
    }

    /// Transition 1 of the idle protocol from F1 on, for tasks that this worker made visible: so many, which is
    /// asked if somebody is idle.
    #[inline]
    fn after_publishing(&self, queued: impl FnOnce() -> usize) -> Wake {
        match self.nobody_idle() {
            Some(searchers) => Wake::NobodyIdle { searchers },
            None => self.wake_after_light_fence(queued()),
        }
    }

    /// The number of searchers, if nobody is idle; to be asked after a push.
    #[inline]
    fn nobody_idle(&self) -> Option<usize> {
        // Ordering[idle.push.fence]: F1, light, with the heavy `idle.announce.fence`: either the read
        // below sees the announcement, or the announcer's look sees the push.
        light("idle.push.fence", self.fences);
        match self.idle_word {
            Some(word) => nobody_in(word),
            None => self.tag.idle.nobody_announced(),
        }
    }

    #[cold]
    fn wake_after_light_fence(&self, queued: usize) -> Wake {
        // Ordering[idle.push.second]: F2, with `idle.release.fence`: the count of searchers may be
        // believed only after a real fence, because a light one and a plain one prove nothing to each
        // other.
        fence("idle.push.second");
        self.tag.wake_one(queued, None, Cause::Submit)
    }

    /// Books a task that was found, before it runs.
    #[inline]
    fn settle(&self, found: Found, search: Search) -> Task {
        bump(&self.group.counters.picked, 1);
        if search != Search::Uncounted {
            // The release looks at the own run queue too, so it covers what was moved there.
            self.release(search);
        } else if found.moved > 0 && !left_out("idle.moved.check") {
            self.after_moving(found.moved);
        }
        found.task
    }

    /// Transition 5: leaves the searchers, looks everywhere, and wakes one more where there is work.
    fn release(&self, search: Search) {
        self.enter(Phase::Awake(Search::Uncounted));
        self.tag.idle.leave_searchers(self.slot.worker, search);
        // Ordering[idle.release.fence]: F4, with `idle.submit.fence` and `idle.push.second`: a submitter
        // that still counted this worker as a searcher pushed before, and the look sees its task.
        fence("idle.release.fence");
        if left_out("idle.release.look") {
            return;
        }
        if let Some(queued) = self.tag.sees_work() {
            let wake = self.tag.wake_one(queued, None, Cause::Chain);
            self.note_unmet(wake);
        }
    }

    /// Transition 2: announces, then looks everywhere again.
    fn announce(&self, search: Search) {
        self.tag.idle.announce(self.slot.worker, search);
        self.enter(Phase::Announced);
        // Ordering[idle.announce.fence]: F3, heavy, with `idle.submit.fence` and the light
        // `idle.push.fence`: either the look below sees the push, or the pusher sees the announcement.
        heavy("idle.announce.fence", self.tag.fences);
        if left_out("idle.announce.look") {
            return;
        }
        if !self.group.mailbox.is_empty() || self.tag.sees_work().is_some() {
            self.withdraw();
        }
    }

    /// Transition 3: takes the own bit back, or accepts the claim that has cleared it.
    fn withdraw(&self) {
        self.tag.idle.withdraw(self.slot.worker);
        self.enter(Phase::Awake(Search::Counted));
    }

    /// Leaves the searchers for good. Nobody else is woken: a stop wakes all.
    fn leave(&self, search: Search) -> Next {
        if search != Search::Uncounted {
            self.tag.idle.leave_searchers(self.slot.worker, search);
            self.enter(Phase::Awake(Search::Uncounted));
        }
        self.group.doing.note(Activity::Leaving);
        Next::Stop
    }

    /// Changes the phase, never between two tasks, and leaves a note of it.
    fn enter(&self, phase: Phase) {
        self.phase.set(phase);
        self.group.doing.note(match phase {
            Phase::Awake(Search::Uncounted) => Activity::Running,
            Phase::Awake(Search::Counted | Search::Lingering) => Activity::Searching,
            Phase::Announced => Activity::Announced,
        });
    }

    fn is_announced(&self) -> bool {
        self.tag.idle.is_announced(self.slot.worker)
    }

    /// A request to retire counts while the tag is open: a worker of a closed one drains and stops.
    fn asked_to_retire(&self) -> bool {
        self.group.retire.load(Ordering::Relaxed) && self.tag.is_open()
    }

    /// Transition 7, from the close on. Mailbox tasks are for this worker alone, so it runs what came
    /// before the close. `None`: the tag was closed meanwhile.
    fn retire(&self, search: Search) -> Option<Next> {
        self.group.mailbox.close();
        self.group.inbox.close();
        if left_out("idle.retire.pass") {
            let _ = self.leave(search);
        } else if search != Search::Uncounted {
            // The claim, if there was one, goes to whoever is next.
            self.release(search);
        }
        if let Some(task) = self.group.mailbox.pop() {
            bump(&self.group.counters.picked, 1);
            return Some(Next::Run(task));
        }
        // The run queue's tasks go where others look for them in turn, as far as there is room; what
        // stays can be stolen.
        while self.queue.spill(&self.group.inbox) > 0 {}
        // The spill took the inbox's lock, and a stop takes it between closing the intake and stopping
        // the first lot. Either it comes later: then whoever looks after it sees what is left here. Or it
        // came before: then the closed intake is seen here, and this worker stays to drain.
        if !self.tag.is_open() {
            return None;
        }
        let left = self.group.inbox.len() + self.queue.queue().len();
        if left > 0 && !left_out("idle.retire.check") {
            self.after_moving(left);
        }
        self.retired.set(true);
        self.group.doing.note(Activity::Leaving);
        Some(Next::Retire)
    }
}

impl<P: Platform> Drop for Worker<'_, P> {
    /// Gives up its place: a claimed wake is passed on, what is queued stays where others find it.
    fn drop(&mut self) {
        if let Phase::Announced = self.phase.get() {
            self.withdraw();
        }
        if let Phase::Awake(search @ (Search::Counted | Search::Lingering)) = self.phase.get() {
            self.release(search);
        }
        if self.retired.get() {
            self.group.retire.store(false, Ordering::Relaxed);
        }
    }
}

impl<P: Platform> fmt::Debug for Worker<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker")
            .field("slot", &self.slot)
            .field("phase", &self.phase.get())
            .field("queue", &self.queue)
            .finish_non_exhaustive()
    }
}
