//! Taking tasks back: what a worker has queued itself, and what it does with what it did not want.
//!
//! A waiter that runs its own task in place takes it, or the husk that is left of it, out of the queue. What lies above
//! is returned or moved to the inbox. Tasks that were hidden meanwhile are shown again: another worker may have looked
//! in that moment and gone to sleep.

use super::Worker;
use crate::counters::bump;
use crate::idle::Wake;
use crate::platform::Platform;
use crate::task::Task;

impl<P: Platform> Worker<'_, P> {
    /// Takes the newest task of the own run queue back, if `wanted` says so of its word: for a task that has
    /// become needless, such as one that its waiter has run in place.
    ///
    /// `None` if there is none, if it is not wanted, if a thief was faster, or if it is one of the oldest
    /// few that only thieves and [`next`](Worker::next) may divide between them (as many as a thief takes at
    /// once; none with the usual one). The word is all that `wanted` may trust: the task may be a thief's
    /// already. Costs a load when it is not wanted, else what a pop costs. Wakes nobody, unless it fails beside other
    /// tasks: those were hidden for a moment, in which another worker may have looked and gone to sleep.
    ///
    /// ```
    #[doc = include_str!("../../docs/board.md")]
    /// # use parkade_core::{Next, Origin, Priority, Slot, StopPolicy, TagConfig, TagIndex, Task, TaskControl, WorkerIndex};
    /// let control = TaskControl::new(&Board, &[TagConfig::new(1)])?;
    /// let worker = control.register(Slot { tag: TagIndex(0), worker: WorkerIndex(0) })?;
    /// let _ = worker.fork(Task::from_word(7))?;
    /// assert!(worker.take_back(|word| word.addr() == 8).is_none(), "it is not wanted");
    /// let task = worker.take_back(|word| word.addr() == 7).ok_or("nobody steals here")?;
    /// let _ = worker.put_back(task); // it was wanted after all
    ///
    /// let mut above = std::iter::from_fn(|| worker.take_back(|_| true));
    /// assert_eq!(worker.hand_over(&mut above), 1);
    /// assert_eq!(control.tags()[0].worker(WorkerIndex(0)).inbox, 1);
    /// # drop(worker);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn take_back(&self, wanted: impl FnOnce(*mut ()) -> bool) -> Option<Task> {
        if !self.queue.newest_word().is_some_and(wanted) {
            return None;
        }
        let taken = self.queue.pop_newest();
        if taken.is_none() {
            self.show_again();
        }
        taken
    }

    /// Takes a task out of this worker's mailbox, by its word: one that was
    /// [aimed at it](crate::Tag::submit_to) and is of no use any more. One load when the mailbox is empty, else its
    /// lock and a turn of all that is in it.
    ///
    /// ```
    #[doc = include_str!("../../docs/board.md")]
    /// # use parkade_core::{Next, Origin, Priority, Slot, StopPolicy, TagConfig, TagIndex, Task, TaskControl, WorkerIndex};
    /// let control = TaskControl::new(&Board, &[TagConfig::new(1)])?;
    /// let worker = control.register(Slot { tag: TagIndex(0), worker: WorkerIndex(0) })?;
    /// for word in 1..=3 {
    ///     let _ = control.tags()[0].submit_to(WorkerIndex(0), Task::from_word(word))?;
    /// }
    /// let task = worker.take_back_aimed(|word| word.addr() == 2);
    /// assert_eq!(task.map(Task::into_word), Some(2));
    /// assert_eq!(control.tags()[0].worker(WorkerIndex(0)).mailbox, 2);
    /// # drop(worker);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn take_back_aimed(&self, wanted: impl Fn(*mut ()) -> bool) -> Option<Task> {
        self.group.mailbox.take_back(wanted)
    }

    #[cold]
    pub(super) fn show_again(&self) {
        let left = self.queue.queue().len();
        if left > 0 {
            self.after_moving(left);
        }
    }

    /// Returns a task that [`take_back`](Worker::take_back) has just taken, as the newest; no push may come
    /// between. Other workers are asked as for a push, because one of them may have looked meanwhile and
    /// gone to sleep.
    ///
    /// It is not a submit: a tag that was closed meanwhile takes it too, for it was accepted before.
    /// See [`Worker::take_back`] for an example.
    ///
    /// # Panics
    ///
    /// If there is no room, because there was a push between.
    pub fn put_back(&self, task: Task) -> Wake {
        self.queue
            .push(task)
            .expect("there is room where the task was");
        bump(&self.group.counters.moves, 1);
        self.after_publishing(|| self.queue.queue().len())
    }

    /// Moves tasks that [`take_back`](Worker::take_back) has just taken to the own inbox, as one submit, until
    /// there is no room; those after that stay in the iterator, which runs inside the inbox's lock. Returns how
    /// many moved.
    ///
    /// For what lies above a task that its waiter wants. As with [`put_back`](Worker::put_back), a tag that was
    /// closed meanwhile takes them too. See [`Worker::take_back`] for an example.
    pub fn hand_over(&self, tasks: &mut impl Iterator<Item = Task>) -> usize {
        let moved = self
            .group
            .inbox
            .admit_spill(|room| tasks.by_ref().take(room));
        if moved > 0 {
            self.after_moving(moved);
        }
        moved
    }
}
