//! A tag: an isolated set of workers, and the way in for tasks from outside.
//!
//! No task crosses from one tag to another. A tag owns its groups (one per worker), its idle word, its
//! priority inbox and its counters; everything in here may be called from any thread.

mod placement;

use core::fmt;
use core::iter;

use crate::config::{ConfigError, TagConfig};
use crate::counters::{Counters, WakeCounters};
use crate::group::{Group, WorkerSnapshot};
use crate::idle::{IdleWords, Wake};
use crate::inbox::{Inbox, Refused, RefusedReason};
use crate::origin::Origin;
use crate::platform::{Array, CapacityError, Platform, Slot, TagIndex, WorkerIndex};
use crate::stop::StopPolicy;
use crate::sync::{AtomicBool, AtomicUsize, Ordering, fence, heavy};
use crate::task::Task;

/// Whether a task goes before others of its tag.
///
/// See [`Tag`] for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Priority {
    /// In turn.
    #[default]
    Normal,
    /// Before normal tasks, but for the ageing picks ([`TagConfig::ageing`]).
    High,
}

/// An isolated set of workers with queues of their own.
///
/// Get one from [`TaskControl::tag`](crate::TaskControl::tag) and submit tasks to it from any thread.
///
/// ```
#[doc = include_str!("../docs/board.md")]
/// use parkade_core::{Origin, Priority, TagConfig, Task, TaskControl, WorkerIndex};
///
/// let control = TaskControl::new(&Board, &[TagConfig::new(2).inbox_limit(1)])?;
/// let (tag, origin) = (&control.tags()[0], Origin::new(0));
/// let mut tasks = (1..=3).map(Task::from_word);
/// let (accepted, refused) = tag.submit_batch(&mut tasks, Priority::Normal, &origin);
/// // Two inboxes of one task each: the third comes back.
/// assert_eq!((accepted, refused.map(|refused| refused.task.into_word())), (2, Some(3)));
/// // There is room for one of high priority, for one that worker 1 must run, and for what was accepted before.
/// let _ = tag.submit(Task::from_word(4), Priority::High, &origin)?;
/// let _ = tag.submit_to(WorkerIndex(1), Task::from_word(5))?;
/// let _ = tag.submit_accepted(Task::from_word(6), Priority::Normal, &origin)?;
/// assert_eq!((tag.waiting(), tag.queued_first()), (4, 1)); // but for the one that only worker 1 may take
/// assert_eq!((tag.capacity(), tag.workers(), tag.is_open()), (2, 0, true));
/// assert!(tag.has_nobody_idle() && tag.is_short(), "tasks wait, and nobody has registered");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Tag<P: Platform> {
    pub(crate) groups: P::PerWorker<Group<P>>,
    pub(crate) idle: IdleWords<P>,
    pub(crate) priority: Inbox<P>,
    pub(crate) ageing: u32,
    pub(crate) linger: u32,
    pub(crate) fences: P::Fences,
    pub(crate) wakes: WakeCounters,
    /// Whether somebody stops, or has stopped, this tag alone.
    pub(crate) stopping: AtomicBool,
    intake: AtomicUsize,
}

// The values of a tag's intake; it only ever grows.
const OPEN: usize = 0;
const DRAINING: usize = 1;
const ABANDONED: usize = 2;

/// Why a worker is claimed: decides which counter it shows up in.
#[derive(Clone, Copy)]
pub(crate) enum Cause {
    Submit,
    Chain,
}

impl<P: Platform> Tag<P> {
    pub(crate) fn new(
        platform: &P,
        tag: TagIndex,
        config: &TagConfig,
    ) -> Result<Self, ConfigError> {
        config.check(tag)?;
        let too_large = |source: CapacityError| ConfigError::Capacity { tag, source };
        let groups = P::PerWorker::try_from_fn(config.workers, |index| {
            let worker = WorkerIndex(index);
            Group::new(platform, Slot { tag, worker }, config)
        });
        Ok(Self {
            groups: groups.map_err(too_large)?,
            idle: IdleWords::new(config.workers).map_err(too_large)?,
            priority: Inbox::new(config.inbox_limit),
            ageing: config.ageing,
            linger: config.linger,
            fences: platform.fences(),
            wakes: WakeCounters::new(),
            stopping: AtomicBool::new(false),
            intake: AtomicUsize::new(OPEN),
        })
    }

    /// Submits a task from any thread and wakes a worker for it if one is needed.
    ///
    /// Costs one lock, one fence and a load while nobody is idle; one compare-and-swap and one call to
    /// the park when somebody is. Never sleeps for room. See [`Tag`] for an example.
    ///
    /// # Errors
    ///
    /// [`Refused`] with the task: every inbox is full, or the tag is closed.
    pub fn submit(&self, task: Task, priority: Priority, origin: &Origin) -> Result<Wake, Refused> {
        self.submit_by(Inbox::push, task, priority, origin)
    }

    /// Submits a task that was accepted before it is due, as [`submit`](Tag::submit) does but whatever the
    /// inboxes' limit: what a timer promised must not depend on how full they are when it fires.
    /// See [`Tag`] for an example.
    ///
    /// # Errors
    ///
    /// [`Refused`] with the task: the tag is closed, or the platform's queues hold no more.
    pub fn submit_accepted(
        &self,
        task: Task,
        priority: Priority,
        origin: &Origin,
    ) -> Result<Wake, Refused> {
        self.submit_by(Inbox::push_accepted, task, priority, origin)
    }

    /// Submits a task that was accepted before and goes on, such as a future that was woken: as
    /// [`submit_accepted`](Tag::submit_accepted), but a tag that was closed takes it too.
    ///
    /// It runs if a worker of a draining tag finds it before it leaves. Otherwise it stays queued until it is taken by
    /// [`take_queued`](crate::stop::Join::take_queued): so whoever stops the scheduler looks there until nothing that was
    /// accepted is left anywhere. See [`Join::abandon`](crate::stop::Join::abandon) for an example.
    ///
    /// # Errors
    ///
    /// [`Refused`] with the task: the platform's queues hold no more.
    pub fn submit_again(
        &self,
        task: Task,
        priority: Priority,
        origin: &Origin,
    ) -> Result<Wake, Refused> {
        match self.submit_accepted(task, priority, origin) {
            Err(Refused {
                task,
                reason: RefusedReason::Closed,
            }) => self.submit_by(Inbox::push_again, task, priority, origin),
            submitted => submitted,
        }
    }

    fn submit_by(
        &self,
        push: impl Fn(&Inbox<P>, Task) -> Result<(), Refused>,
        task: Task,
        priority: Priority,
        origin: &Origin,
    ) -> Result<Wake, Refused> {
        let (inbox, preferred) = match priority {
            Priority::High => {
                push(&self.priority, task)?;
                (&self.priority, None)
            }
            Priority::Normal => self.place(push, task, origin)?,
        };
        // Ordering[idle.submit.fence]: F1, with `idle.announce.fence` and `idle.release.fence`. Either
        // the read below sees who announced or left the searchers, or their look sees the push.
        fence("idle.submit.fence");
        Ok(self.wake_one(inbox.len(), preferred, Cause::Submit))
    }

    /// Submits all tasks of an iterator as one: under one lock where they fit in one inbox, with one
    /// fence, and with as many wakes as there is work and idle workers for. Returns how many were
    /// accepted, and the first task for which there was no room anywhere; those after it stay in the
    /// iterator. The iterator runs inside the lock: it must neither block nor submit. See [`Tag`] for an example.
    pub fn submit_batch(
        &self,
        tasks: &mut impl Iterator<Item = Task>,
        priority: Priority,
        origin: &Origin,
    ) -> (usize, Option<Refused>) {
        let mut preferred = None;
        let mut accepted = 0;
        let mut refused = None;
        // Each round fills one inbox; a task that finds its inbox full is placed alone where there is
        // room, and the rest goes on from there.
        let mut inbox = match priority {
            Priority::High => &self.priority,
            Priority::Normal => {
                let (index, announced) = self.choose(origin);
                preferred = announced;
                &self.groups[index].inbox
            }
        };
        loop {
            let (count, left_over) = inbox.push_all(tasks);
            accepted += count;
            let Some(left_over) = left_over else { break };
            let placed = match priority {
                Priority::High => Err(left_over),
                Priority::Normal => self.place(Inbox::push, left_over.task, origin),
            };
            match placed {
                Ok((next, _)) => {
                    accepted += 1;
                    inbox = next;
                }
                Err(left_over) => {
                    refused = Some(left_over);
                    break;
                }
            }
        }
        if accepted > 0 {
            // Ordering[idle.submit.fence]: F1 as in a single submit, once after the last push.
            fence("idle.submit.fence");
            let mut cause = Cause::Submit;
            for _ in 0..accepted {
                let Wake::Woke(_) = self.wake_one(accepted, preferred, cause) else {
                    break;
                };
                cause = Cause::Chain;
            }
        }
        (accepted, refused)
    }

    /// Submits a task that this one worker must run; nobody steals it. See [`Tag`] for an example.
    ///
    /// # Errors
    ///
    /// [`Refused`] with the task: the worker's mailbox is full, or the tag is closed.
    ///
    /// # Panics
    ///
    /// When there is no such worker.
    pub fn submit_to(&self, worker: WorkerIndex, task: Task) -> Result<Wake, Refused> {
        self.groups[worker.0].mailbox.push(task)?;
        // Ordering[idle.submit.fence]: F1 as in a single submit: either the claim below finds the
        // worker's bit, or the worker's second look finds its mailbox filled.
        fence("idle.submit.fence");
        if self.idle.claim_exactly(worker) {
            self.signal(worker, Cause::Submit);
            return Ok(Wake::Woke(worker));
        }
        Ok(Wake::Covered)
    }

    /// Claims an idle worker for `queued` tasks, unless searchers cover them, and signals it. The caller
    /// has a full fence between its push (or its count − 1) and this.
    pub(crate) fn wake_one(
        &self,
        queued: usize,
        preferred: Option<WorkerIndex>,
        cause: Cause,
    ) -> Wake {
        let wake = self.idle.claim(queued, preferred);
        if let Wake::Woke(worker) = wake {
            self.signal(worker, cause);
        }
        wake
    }

    fn signal(&self, worker: WorkerIndex, cause: Cause) {
        let counter = match cause {
            Cause::Submit => &self.wakes.by_submit,
            Cause::Chain => &self.wakes.by_chain,
        };
        counter.fetch_add(1, Ordering::Relaxed);
        self.groups[worker.0].lot.signal(1);
    }

    /// The full look: the length of some queue that has work anyone may take.
    pub(crate) fn sees_work(&self) -> Option<usize> {
        let queued = |length: usize| (length > 0).then_some(length);
        queued(self.priority.len()).or_else(|| {
            self.groups.iter().find_map(|group| {
                queued(group.inbox.len()).or_else(|| queued(group.run_queue.len()))
            })
        })
    }

    /// Whether tasks wait and no worker is idle or searching, so that another worker would be of use.
    ///
    /// For whoever creates workers: it says first, in an atomic of its own, that it takes requests, and then
    /// looks here. Whoever submits or pushes, and learns from [`Wake::NobodyIdle`] that all are busy, reads that
    /// atomic after; if it says no, the task is seen here. A worker that took a task and saw more
    /// ([`Worker::take_unmet`](crate::Worker::take_unmet)) reads it too, so nobody need ask for a searcher's
    /// sake. A worker that is between two tasks is neither idle nor searching: ask again before you create.
    /// See [`Tag`] for an example.
    #[must_use]
    pub fn is_short(&self) -> bool {
        // Ordering[grow.look.fence]: heavy, with `idle.submit.fence`, `idle.push.fence` and
        // `idle.release.fence`. Either the look below sees the push, or whoever pushed sees what the caller
        // stored before this call; and a searcher that is seen below sees the push in its own last look.
        heavy("grow.look.fence", self.fences);
        self.sees_work().is_some() && self.idle.nobody_announced() == Some(0)
    }

    /// How many tasks wait that any worker may take: a load per queue, each exact at another moment.
    /// See [`Tag`] for an example.
    #[must_use]
    pub fn waiting(&self) -> usize {
        let of_groups = self.groups.iter();
        let of_groups = of_groups.map(|group| group.inbox.len() + group.run_queue.len());
        self.priority.len() + of_groups.sum::<usize>()
    }

    /// Whether no worker is idle: a load per idle word, to be trusted after a fence as that of a submit.
    /// See [`Tag`] for an example.
    #[must_use]
    pub fn has_nobody_idle(&self) -> bool {
        self.idle.nobody_announced().is_some()
    }

    /// Whether the tag takes new tasks: one load. See [`Tag`] for an example.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.intake.load(Ordering::Relaxed) == OPEN
    }

    pub(crate) fn is_abandoned(&self) -> bool {
        self.intake.load(Ordering::Relaxed) == ABANDONED
    }

    /// Refuses every task from now on; with `Abandon`, workers take none of the queued ones either.
    pub(crate) fn close(&self, policy: StopPolicy) {
        let intake = match policy {
            StopPolicy::Drain => DRAINING,
            StopPolicy::Abandon => ABANDONED,
        };
        self.intake.fetch_max(intake, Ordering::Relaxed);
        self.priority.close();
        for group in self.groups.iter() {
            group.inbox.close();
            group.mailbox.close();
        }
    }

    /// Asks a worker to leave: it starts no other task but what is in its mailbox, makes what it had
    /// queued available to the others, and its [`next`](crate::Worker::next) says
    /// [`Retire`](crate::Next::Retire). Tasks for it go elsewhere from then on. Idempotent; from any
    /// thread; one call to the park.
    ///
    /// A request to a slot without a worker is for the next one that registers there. The caller sees to
    /// it that a tag with work keeps a worker. See [`Next`](crate::Next) for an example.
    ///
    /// # Panics
    ///
    /// When there is no such worker.
    pub fn request_retire(&self, worker: WorkerIndex) {
        let group = &self.groups[worker.0];
        group.retire.store(true, Ordering::Relaxed);
        self.wakes.by_request.fetch_add(1, Ordering::Relaxed);
        group.lot.signal(1);
    }

    pub(crate) fn stop_lots(&self) {
        for group in self.groups.iter() {
            self.wakes.by_request.fetch_add(1, Ordering::Relaxed);
            group.lot.stop();
        }
    }

    /// Takes any queued task, from wherever it lies, as a thief; for a tag whose workers take none.
    pub(crate) fn take_queued(&self) -> Option<Task> {
        self.priority.pop().or_else(|| {
            self.groups.iter().find_map(|group| {
                group
                    .mailbox
                    .pop()
                    .or_else(|| group.inbox.pop())
                    .or_else(|| group.run_queue.steal_surely())
            })
        })
    }

    /// How many workers this tag has room for. See [`Tag`] for an example.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.groups.len()
    }

    /// How many workers are registered. See [`Tag`] for an example.
    #[must_use]
    pub fn workers(&self) -> usize {
        let registered = self
            .groups
            .iter()
            .filter(|group| group.run_queue.is_owned());
        registered.count()
    }

    /// A snapshot of one worker; a few loads, from any thread. See [`WorkerSnapshot`] for an example.
    ///
    /// # Panics
    ///
    /// When there is no such worker.
    #[must_use]
    pub fn worker(&self, worker: WorkerIndex) -> WorkerSnapshot {
        self.groups[worker.0].snapshot(self.idle.is_announced(worker))
    }

    /// How many tasks of high priority wait: one load. See [`Tag`] for an example.
    #[must_use]
    pub fn queued_first(&self) -> usize {
        self.priority.len()
    }

    /// A snapshot of the tag's counters. Reads every group; may be called at any time from any thread.
    /// See [`Counters`] for an example.
    #[must_use]
    pub fn counters(&self) -> Counters {
        let load = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
        // The claims first: they are part of the submits that are read after them.
        let by_submit = load(&self.wakes.by_submit);
        let wakes_asked = by_submit.wrapping_add(load(&self.wakes.by_chain));
        let (idle, searching) = self.idle.census();
        let mut counters = Counters {
            wakes_asked,
            wake_calls: wakes_asked.wrapping_add(load(&self.wakes.by_request)),
            workers: self.workers(),
            idle,
            searching,
            ..Counters::default()
        };
        let mut submits = 0_usize;
        for group in self.groups.iter() {
            let own = &group.counters;
            let pushed = load(&own.pushed);
            counters.spawned = counters.spawned.wrapping_add(pushed);
            submits = submits.wrapping_add(pushed).wrapping_add(load(&own.moves));
            counters.picked = counters.picked.wrapping_add(load(&own.picked));
            counters.stolen = counters.stolen.wrapping_add(load(&own.stolen));
            counters.parked = counters.parked.wrapping_add(load(&own.parked));
        }
        let inboxes = self
            .groups
            .iter()
            .flat_map(|group| [&group.inbox, &group.mailbox]);
        for inbox in inboxes.chain(iter::once(&self.priority)) {
            let (tasks, times) = inbox.accepted();
            counters.spawned = counters.spawned.wrapping_add(tasks);
            submits = submits.wrapping_add(times);
        }
        counters.skipped_wakes = submits.saturating_sub(by_submit);
        counters
    }
}

/// A refusal of a task that never reached a queue.
pub(crate) fn closed(task: Task) -> Refused {
    Refused {
        task,
        reason: RefusedReason::Closed,
    }
}

impl<P: Platform> fmt::Debug for Tag<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let intake = match self.intake.load(Ordering::Relaxed) {
            OPEN => "open",
            DRAINING => "draining",
            _ => "abandoned",
        };
        f.debug_struct("Tag")
            .field("intake", &format_args!("{intake}"))
            .field("idle", &self.idle)
            .field("priority_inbox", &self.priority.length())
            .field("counters", &format_args!("{}", self.counters()))
            .field("workers", &Workers(self))
            .finish()
    }
}

/// One line per worker: its index, and its group.
struct Workers<'t, P: Platform>(&'t Tag<P>);

impl<P: Platform> fmt::Debug for Workers<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut workers = f.debug_map();
        for (index, group) in self.0.groups.iter().enumerate() {
            let announced = self.0.idle.is_announced(WorkerIndex(index));
            workers.entry(&index, &format_args!("{:?}", group.seen(announced)));
        }
        workers.finish()
    }
}
