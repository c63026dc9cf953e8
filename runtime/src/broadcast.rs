//! Broadcast: a copy of one closure for each worker of a tag.
//!
//! A copy lies in its worker's mailbox, from which nobody steals, and wakes that one worker and no other. It
//! goes before whatever else the worker has queued.

use std::sync::Arc;

use parkade_core::{Slot, WorkerIndex};

use crate::backend::Backend;
use crate::current::Home;
use crate::handle::JoinHandle;
use crate::handled::promised;
use crate::hooks::WorkerInfo;
use crate::job::RefusedEntry;
use crate::refused::RefusedReason;
use crate::runtime::{RuntimeOn, TagRef};

impl<B: Backend> RuntimeOn<B> {
    /// Has each worker of the default tag call `task`; see [`TagRef::broadcast`] for more and an example.
    #[must_use = "handles that are dropped let the copies run unwatched"]
    pub fn broadcast<F, T>(&self, task: F) -> Vec<JoinHandle<T>>
    where
        F: Fn(&WorkerInfo) -> T + Send + Sync + 'static,
        T: Send + 'static,
    {
        self.default_tag().broadcast(task)
    }
}

impl<B: Backend> TagRef<'_, B> {
    /// Has each worker of the tag call `task` once, on its own thread, before whatever else is queued for it;
    /// returns a handle for each, in the order of the workers' indices.
    ///
    /// A worker that starts meanwhile may be left out, as one that retires.
    ///
    /// For what belongs to a thread: a cache to empty, a thread-local to set or to sum up, a profiler to tell.
    /// A worker that runs a task calls it after that. A priority makes no difference. Costs an allocation per
    /// worker, and a wake for each one that sleeps.
    ///
    /// A worker may [`join`](JoinHandle::join) all copies from within a task: its own it runs in place. The
    /// others run when their workers are through with their tasks, so two tasks of one tag that join each
    /// other's broadcasts at the same time wait for ever.
    ///
    /// A copy for which there is no room is dropped, and its handle says
    /// [`JoinError::Refused`](crate::JoinError::Refused), as do all once the runtime stops.
    ///
    /// ```
    /// use parkade::{Runtime, Tag};
    ///
    /// let runtime = Runtime::builder().tag(Tag::new("only").workers(3)).build()?;
    /// let copies = runtime.broadcast(|worker| worker.index());
    /// let indices: Result<Vec<_>, _> = copies.into_iter().map(|copy| copy.join()).collect();
    /// assert_eq!(indices?, [0, 1, 2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use = "handles that are dropped let the copies run unwatched"]
    pub fn broadcast<F, T>(&self, task: F) -> Vec<JoinHandle<T>>
    where
        F: Fn(&WorkerInfo) -> T + Send + Sync + 'static,
        T: Send + 'static,
    {
        let task = Arc::new(task);
        let seats = self.shared.tags[self.tag.0].seats.iter().enumerate();
        let copies = seats.filter_map(|(index, seat)| {
            let (task, info) = (Arc::clone(&task), seat.info.clone());
            let (entry, promised) = promised(move || task(&info));
            let (tag, worker) = (self.tag, WorkerIndex(index));
            let offered = self.shared.submit_to(Slot { tag, worker }, entry);
            if let Err(RefusedEntry { entry, reason }) = offered {
                entry.refuse(reason);
                // The tag is open and the mailbox is not: there is no worker in this place.
                if reason == RefusedReason::Stopped && self.shared.control.tag(tag).is_open() {
                    return None;
                }
            }
            let home = Home::of_worker(&**self.shared, tag, worker);
            Some(JoinHandle::new(promised, home))
        });
        copies.collect()
    }
}
