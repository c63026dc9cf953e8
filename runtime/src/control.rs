//! The core's control, fed with nothing but this crate's jobs.
//!
//! The core moves words and asks no questions; that each word is an [`Entry`] is this file's promise. The
//! control is private to it, every way in takes an entry, and so every task that comes out is one.

use std::cell::Cell;
use std::fmt;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, Ordering};

use parkade_core::stop::{AlreadyStopping, Drivers, Join};
use parkade_core::{
    ConfigError, Counters, Origin, Place, Platform, Priority, RegisterError, Slot, State,
    StopPolicy, Tag, TagConfig, TagIndex, Task, TaskControl, Wake,
};

use crate::counts::WorkerCounts;
use crate::job::{Entry, Header, RefusedEntry};
use crate::linger::Looks;
use crate::scaler::Scaler;

/// A [`TaskControl`] whose tasks are jobs.
pub(crate) struct Control<P: Platform>(TaskControl<P>);

/// A registered worker whose tasks are jobs.
pub(crate) struct Worker<'c, P: Platform> {
    core: parkade_core::Worker<'c, P>,
    control: &'c Control<P>,
    scaler: &'c Scaler,
    counts: &'c WorkerCounts,
    /// The tag's among the [doors](Scaler::door).
    door: &'c AtomicBool,
    /// How many calls of [`block`](Worker::block) have not been taken back.
    blocked: Cell<usize>,
    /// How many husks may lie in the own run queue: a guess, because thieves take them too.
    husks: Cell<usize>,
    /// Where the outermost fork lies whose waiter has not got it back: forks may be in the own run queue.
    ///
    /// Not a count, so that all forks within it write nothing here. They lie above it, also when it has been stolen.
    outermost: Cell<Option<Place>>,
}

/// A fork that has been queued; to be taken back before those that were queued earlier.
#[must_use = "its waiter's frame may not go before it is taken back"]
pub(crate) struct Fork {
    place: Place,
    header: NonNull<Header>,
}

/// Says that a fork's entry is in no queue any more, and is used up.
#[must_use = "its waiter runs it"]
pub(crate) struct TakenBack(());

/// What a worker's thread must do next.
#[derive(Debug)]
#[must_use = "an entry that is dropped abandons its task"]
pub(crate) enum Next {
    Run(Entry),
    Park(State),
    Linger,
    Stop,
    /// As `Stop`, but what is queued is the others'.
    Retire,
}

impl<P: Platform> Control<P> {
    pub(crate) fn new(platform: &P, tags: &[TagConfig]) -> Result<Self, ConfigError> {
        TaskControl::new(platform, tags).map(Self)
    }

    /// Makes this thread the worker of `slot`, with its counts; it asks `scaler` for more when they are needed.
    pub(crate) fn register<'c>(
        &'c self,
        slot: Slot,
        scaler: &'c Scaler,
        counts: &'c WorkerCounts,
    ) -> Result<Worker<'c, P>, RegisterError> {
        Ok(Worker {
            core: self.0.register(slot)?,
            control: self,
            scaler,
            counts,
            door: scaler.door(slot.tag),
            blocked: Cell::new(0),
            husks: Cell::new(0),
            outermost: Cell::new(None),
        })
    }

    pub(crate) fn submit(
        &self,
        tag: TagIndex,
        entry: Entry,
        priority: Priority,
        origin: &Origin,
    ) -> Result<Wake, RefusedEntry> {
        let submitted = self.tag(tag).submit(entry.into_task(), priority, origin);
        submitted.map_err(RefusedEntry::from)
    }

    /// Submits an entry that was accepted before it was due, whatever the limits of the inboxes.
    pub(crate) fn submit_accepted(
        &self,
        tag: TagIndex,
        entry: Entry,
        priority: Priority,
        origin: &Origin,
    ) -> Result<Wake, RefusedEntry> {
        let task = entry.into_task();
        let submitted = self.tag(tag).submit_accepted(task, priority, origin);
        submitted.map_err(RefusedEntry::from)
    }

    /// Submits a future that is to go on, whatever the limits of the inboxes and also if the tag is closed.
    pub(crate) fn submit_again(
        &self,
        tag: TagIndex,
        entry: Entry,
        priority: Priority,
        origin: &Origin,
    ) -> Result<Wake, RefusedEntry> {
        let task = entry.into_task();
        let submitted = self.tag(tag).submit_again(task, priority, origin);
        submitted.map_err(RefusedEntry::from)
    }

    /// Submits an entry that this one worker must run.
    pub(crate) fn submit_to(&self, slot: Slot, entry: Entry) -> Result<(), RefusedEntry> {
        match self.tag(slot.tag).submit_to(slot.worker, entry.into_task()) {
            Ok(_wake) => Ok(()),
            Err(refused) => Err(RefusedEntry::from(refused)),
        }
    }

    /// Submits entries as one batch; returns how many were accepted and the first that was not. Those
    /// after it stay in the iterator.
    pub(crate) fn submit_batch(
        &self,
        tag: TagIndex,
        entries: &mut impl Iterator<Item = Entry>,
        priority: Priority,
        origin: &Origin,
    ) -> (usize, Option<RefusedEntry>) {
        let mut tasks = entries.map(Entry::into_task);
        let (accepted, refused) = self.tag(tag).submit_batch(&mut tasks, priority, origin);
        (accepted, refused.map(RefusedEntry::from))
    }

    pub(crate) fn counters(&self, tag: TagIndex) -> Counters {
        self.tag(tag).counters()
    }

    pub(crate) fn stop(&self, policy: StopPolicy) -> Result<Drivers<'_, P>, AlreadyStopping> {
        self.0.stop(policy)
    }

    pub(crate) fn stop_tag(
        &self,
        tag: TagIndex,
        policy: StopPolicy,
    ) -> Result<Drivers<'_, P>, AlreadyStopping> {
        self.0.stop_tag(tag, policy)
    }

    /// Takes one task that will not run out of a control that is being stopped.
    pub(crate) fn take_queued(stopping: &Join<'_, P>) -> Option<(TagIndex, Entry)> {
        let (tag, task) = stopping.take_queued()?;
        Some((tag, entry(task)))
    }

    pub(crate) fn tag(&self, tag: TagIndex) -> &Tag<P> {
        // Indices come from the tags that this control was made with.
        &self.0.tags()[tag.0]
    }
}

impl<P: Platform> Drop for Control<P> {
    /// Abandons what is left: a worker that outlived its runtime's deadline may leave tasks behind.
    fn drop(&mut self) {
        while let Some((_, task)) = self.0.take_queued() {
            drop(entry(task));
        }
    }
}

impl<P: Platform> Worker<'_, P> {
    #[inline]
    pub(crate) fn next(&self) -> Next {
        match self.core.next() {
            parkade_core::Next::Run(task) => Next::Run(entry(task)),
            parkade_core::Next::Park(state) => Next::Park(state),
            parkade_core::Next::Linger => Next::Linger,
            parkade_core::Next::Stop => Next::Stop,
            parkade_core::Next::Retire => Next::Retire,
        }
    }

    #[inline]
    fn tag(&self) -> TagIndex {
        self.core.slot().tag
    }

    #[inline]
    pub(crate) fn counts(&self) -> &WorkerCounts {
        self.counts
    }

    /// How often this worker looks for the end of what it waits for before it sleeps.
    pub(crate) fn looks(&self) -> Looks {
        Looks::new(self.core.looks())
    }

    /// Asks for another worker if, beside the task that is about to run, more have been seen to wait.
    #[inline]
    pub(crate) fn pass_on_what_waits(&self) {
        if self.core.take_unmet() {
            self.scaler.nobody_idle(self.tag());
        }
    }

    /// Says that the task at hand is about to block. Once for each [`unblock`](Worker::unblock).
    pub(crate) fn block(&self) {
        if self.blocked.replace(self.blocked.get() + 1) == 0 {
            self.scaler.block(self.control, self.tag());
        }
    }

    pub(crate) fn unblock(&self) {
        self.blocked.set(self.blocked.get() - 1);
        if self.blocked.get() == 0 {
            self.scaler.unblock(self.control, self.tag());
        }
    }

    /// Takes what is left in this worker's own queues once it is told to leave: nothing after a drain.
    pub(crate) fn take_left(&self) -> Option<Entry> {
        self.core.take_left().map(entry)
    }

    pub(crate) fn park(&self, state: State) {
        self.core.park(state);
    }

    #[inline]
    pub(crate) fn push(&self, entry: Entry) -> Result<(), RefusedEntry> {
        let task = entry.into_task();
        let pushed = if self.has_forks() {
            self.push_above_forks(task)
        } else {
            self.core.push(task)
        };
        match pushed {
            Ok(wake) => {
                self.scaler.heed(self.tag(), wake);
                Ok(())
            }
            Err(refused) => Err(RefusedEntry::from(refused)),
        }
    }

    /// Queues a future that is to go on, behind all that is queued with this worker; with high priority behind all
    /// that has it, as long as the tag takes tasks.
    pub(crate) fn requeue(&self, entry: Entry, priority: Priority) -> Result<(), RefusedEntry> {
        let mut task = entry.into_task();
        if priority == Priority::High {
            let tag = self.core.tag();
            // The origin chooses among inboxes, and there is one of high priority.
            match tag.submit_accepted(task, priority, &Origin::new(0)) {
                Ok(wake) => {
                    self.scaler.heed(self.tag(), wake);
                    return Ok(());
                }
                Err(refused) => task = refused.task,
            }
        }
        match self.core.requeue(task) {
            Ok(wake) => {
                self.scaler.heed(self.tag(), wake);
                Ok(())
            }
            Err(refused) => Err(RefusedEntry::from(refused)),
        }
    }

    /// A push that spills nothing: a fork stays where its waiter looks for it, or is stolen and so begun.
    #[cold]
    fn push_above_forks(&self, task: Task) -> Result<Wake, parkade_core::Refused> {
        if self.core.tag().is_open() {
            let _fork = self.core.fork(task)?;
            return Ok(self.core.wake_for_forks());
        }
        let reason = parkade_core::RefusedReason::Closed;
        Err(parkade_core::Refused { task, reason })
    }

    /// Whether a [`push`](Worker::push) may have been refused because forks lie in its way.
    pub(crate) fn has_forks(&self) -> bool {
        self.outermost.get().is_some()
    }

    /// Queues a job that the task at hand waits for before it ends; see [`take_fork`](Worker::take_fork).
    #[inline(always)]
    pub(crate) fn fork(&self, entry: Entry) -> Result<Fork, RefusedEntry> {
        let header = entry.header();
        match self.core.fork(entry.into_task()) {
            Ok(parkade_core::Fork { place, wanted }) => {
                if wanted || self.door.load(Ordering::Relaxed) {
                    self.call_for_forks();
                }
                if self.outermost.get().is_none() {
                    self.outermost.set(Some(place));
                }
                Ok(Fork { place, header })
            }
            Err(refused) => Err(RefusedEntry::from(refused)),
        }
    }

    /// Wakes another worker, or asks for one; not in a forked process, which has none, and where locks may be held.
    #[cold]
    fn call_for_forks(&self) {
        if self.scaler.is_in_its_process() {
            self.scaler.heed(self.tag(), self.core.wake_for_forks());
        }
    }

    /// Takes the newest fork back, for its waiter; once for each fork. `None`: it has been stolen, so that
    /// somebody has begun with it.
    ///
    /// That is certain because a fork never leaves the run queue but to be run or dropped: nothing is spilled
    /// while there is one, and thieves steal one task at a time.
    #[inline(always)]
    pub(crate) fn take_fork(&self, Fork { place, header }: Fork) -> Option<TakenBack> {
        // There lay the entry that was queued for `fork`: a `Fork` is used up once, and what was pushed there since has
        // been taken back before.
        let found = if self.core.take_fork(place) {
            Some(TakenBack(()))
        } else {
            self.take_fork_from_beneath(header).map(|entry| {
                assert!(entry.into_header() == header, "another entry came back");
                TakenBack(())
            })
        };
        if self.outermost.get() == Some(place) {
            self.outermost.set(None);
        }
        found
    }

    /// The same with strangers above it, which are spawns of the closure that has just returned. They go to
    /// the own inbox: otherwise each waiter further out would have to lift them again.
    ///
    /// Thieves take the oldest first. So what is above the fork is what is left, if the fork is not there.
    #[cold]
    fn take_fork_from_beneath(&self, header: NonNull<Header>) -> Option<Entry> {
        let fork = header.as_ptr().cast::<()>();
        let mut strangers = Vec::new();
        let found = loop {
            let mut newest = None;
            let taken = self.core.take_back(|word| {
                newest = Some(word);
                true
            });
            match (taken, newest) {
                (Some(task), Some(word)) if ptr::eq(word, fork) => break Some(entry(task)),
                (Some(task), _) => strangers.extend(entry(task).clear()),
                (None, None) => break None,
                // A thief was faster, or left just one.
                (None, Some(_)) => {}
            }
        };
        if !strangers.is_empty() {
            // The oldest first, as an inbox is served.
            let mut oldest_first = strangers.into_iter().rev().map(Entry::into_task);
            self.core.hand_over(&mut oldest_first);
            for task in oldest_first {
                self.put_back(task);
            }
        }
        // What was hidden meanwhile, from a look that found nobody too few.
        self.pass_on_what_waits();
        found
    }

    fn put_back(&self, task: Task) {
        let wake = self.core.put_back(task);
        self.scaler.heed(self.tag(), wake);
    }

    /// Takes the husk of a job whose handle has just claimed it out of the own run queue, if it is the newest
    /// there, and with it those beneath it that could not be taken at their time.
    ///
    /// Otherwise a task that spawns and joins in a loop would fill the queue with husks, which nobody takes
    /// until it ends. What is found beneath is put back if it is none; that costs as much as a push, so it
    /// is done once per husk that was left behind at most.
    pub(crate) fn clear_husk(&self, husk: NonNull<Header>) {
        let husk = husk.as_ptr().cast::<()>();
        if let Some(aimed) = self.core.take_back_aimed(|word| ptr::eq(word, husk)) {
            // A copy of a broadcast.
            let _cleared = entry(aimed).clear();
            return;
        }
        let mut found = self.core.take_back(|word| ptr::eq(word, husk));
        if found.is_none() {
            self.husks.set(self.husks.get() + 1);
            return;
        }
        while let Some(task) = found {
            if let Some(waiting) = entry(task).clear() {
                self.put_back(waiting.into_task());
                return;
            }
            let left = self.husks.get();
            if left == 0 {
                return;
            }
            self.husks.set(left - 1);
            found = self.core.take_back(|_| true);
        }
    }
}

impl From<parkade_core::Refused> for RefusedEntry {
    fn from(refused: parkade_core::Refused) -> Self {
        Self {
            entry: entry(refused.task),
            reason: refused.reason.into(),
        }
    }
}

/// The entry behind a task that came out of a control.
#[inline]
fn entry(task: Task) -> Entry {
    // SAFETY: this file has the only control of this crate, everything that goes into it is the task of
    // an entry, and the core returns each task once.
    unsafe { Entry::from_task(task) }
}

impl<P: Platform> fmt::Debug for Worker<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.core.fmt(f)
    }
}

#[cfg(all(
    test,
    any(feature = "std", all(feature = "linux", target_os = "linux"))
))]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::backend::{Backend, FenceChoice};
    use crate::job::detached;

    #[test]
    fn a_control_that_is_freed_drops_what_is_left_in_it() {
        let platform = <crate::DefaultBackend as Backend>::new(FenceChoice::Auto);
        let control = Control::new(&platform, &[TagConfig::new(1)]).unwrap();
        let token = Arc::new(());
        for priority in [Priority::Normal, Priority::High] {
            let token = Arc::clone(&token);
            let entry = detached(move || drop(token));
            control
                .submit(TagIndex(0), entry, priority, &Origin::new(0))
                .unwrap();
        }
        assert_eq!(Arc::strong_count(&token), 3);
        drop(control);
        assert_eq!(Arc::strong_count(&token), 1);
    }
}
