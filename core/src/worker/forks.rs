//! Forks: tasks that the one at hand waits for before it ends.
//!
//! A fork lies in the run queue while its parent runs its other side, and is taken back by its place, which costs no
//! look at its word. That another worker is wanted for it is told and not done: the caller may have to see first
//! whether there can be one.

use super::Worker;
use crate::counters::bump;
use crate::idle::Wake;
use crate::inbox::{Refused, RefusedReason};
use crate::platform::Platform;
use crate::run_queue::Place;
use crate::task::Task;

/// A task that [`Worker::fork`] has queued.
///
/// ```
#[doc = include_str!("../../docs/board.md")]
/// use parkade_core::{Fork, Slot, TagConfig, TagIndex, Task, TaskControl, Wake, WorkerIndex};
///
/// let control = TaskControl::new(&Board, &[TagConfig::new(1)])?;
/// let worker = control.register(Slot { tag: TagIndex(0), worker: WorkerIndex(0) })?;
/// let Fork { place, wanted } = worker.fork(Task::from_word(7))?;
/// assert!(!wanted, "nobody is idle");
/// assert_eq!(worker.wake_for_forks(), Wake::NobodyIdle { searchers: 0 });
/// assert!(worker.take_fork(place)); // 7 is in no queue any more
/// assert_eq!(worker.looks(), 0, "had it been stolen, its waiter would sleep at once");
/// # drop(worker);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy)]
#[must_use = "a fork is taken back before its waiter goes on"]
pub struct Fork {
    /// Where it lies: for [`Worker::take_fork`].
    pub place: Place,
    /// Whether another worker is idle: then call [`Worker::wake_for_forks`].
    pub wanted: bool,
}

impl<P: Platform> Worker<'_, P> {
    /// Appends a task that the one at hand waits for before it ends: a fork of a fork-join.
    ///
    /// As [`push`](Worker::push), with three differences. A tag that was closed takes it too, so that an accepted
    /// task can finish what it has begun while the scheduler stops; the others may have left by then, so
    /// whoever forks must be ready to run its forks itself. Nothing is spilled for it: as long as no push
    /// comes between either, forks stay in the run queue until they are stolen or
    /// [taken back](Worker::take_fork). And the wake is the caller's to ask for, if one is
    /// [wanted](Fork::wanted). What is still queued when this worker leaves an abandoned tag comes back from
    /// [`take_left`](Worker::take_left).
    ///
    /// # Errors
    ///
    /// [`Refused`] with the task: the run queue is full. Run it in place.
    ///
    /// ```
    #[doc = include_str!("../../docs/board.md")]
    /// # use parkade_core::{Next, Origin, Priority, Slot, StopPolicy, TagConfig, TagIndex, Task, TaskControl, WorkerIndex};
    /// let control = TaskControl::new(&Board, &[TagConfig::new(1)])?;
    /// let worker = control.register(Slot { tag: TagIndex(0), worker: WorkerIndex(0) })?;
    /// let _lots = control.stop(StopPolicy::Drain)?.drivers_stopped().close();
    /// assert!(worker.push(Task::from_word(7)).is_err(), "nothing new");
    /// let _ = worker.fork(Task::from_word(8))?; // what was begun may end
    /// let _ = worker.requeue(Task::from_word(9))?; // and what was accepted goes on, after it
    /// for word in [8, 9] {
    ///     let Next::Run(task) = worker.next() else { unreachable!("it waits") };
    ///     assert_eq!(task.into_word(), word);
    /// }
    /// # drop(worker);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn fork(&self, task: Task) -> Result<Fork, Refused> {
        match self.queue.push(task) {
            Ok(place) => {
                bump(&self.group.counters.pushed, 1);
                let wanted = self.nobody_idle().is_none();
                Ok(Fork { place, wanted })
            }
            Err(task) => {
                let reason = RefusedReason::Full;
                Err(Refused { task, reason })
            }
        }
    }

    /// Wakes another worker for what this one has [forked](Worker::fork), if one is needed. See [`Fork`] for an example.
    pub fn wake_for_forks(&self) -> Wake {
        self.after_publishing(|| self.queue.queue().len().max(1))
    }

    /// How often a worker of this tag looks before it sleeps ([`TagConfig::linger`](crate::TagConfig::linger)): also for
    /// the end of a fork that was stolen. See [`Fork`] for an example.
    #[must_use]
    pub fn looks(&self) -> u32 {
        self.tag.linger
    }

    /// Takes a [fork](Worker::fork) back, for its waiter, if it is the newest task of the own run queue.
    ///
    /// True: its task is the caller's again, who knows the word. False if others lie above it, and in the same cases
    /// as [`take_back`](Worker::take_back). Forks are taken back in turn, the newest first, and each once: of one that
    /// has left the queue already, the place may be another's. See [`Fork`] for an example.
    #[inline]
    #[must_use = "a fork that is taken back is in no queue any more"]
    pub fn take_fork(&self, place: Place) -> bool {
        let taken = self.queue.pop_from(place);
        if !taken {
            self.show_again();
        }
        taken
    }
}
