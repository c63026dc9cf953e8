//! A batch: many tasks, one submit, as many wakes as they need.

use std::error::Error;
use std::fmt;
use std::mem;
use std::sync::Arc;

use parkade_core::{Priority, TagIndex};

use crate::backend::Backend;
use crate::current::Home;
use crate::handle::JoinHandle;
use crate::handled::promised;
use crate::job::{Entry, RefusedEntry, detached};
use crate::latency::Measured;
use crate::refused::RefusedReason;
use crate::shared::Shared;

/// Collects tasks and submits them as one; what is collected cannot be forgotten, dropping submits it.
///
/// It may outlive its runtime; then its tasks are refused.
///
/// Use it to spawn many small tasks at once: one lock, one fence and one wake per worker that is needed,
/// instead of each per task. Made by [`TagRef::batch`](crate::TagRef::batch). Nothing runs before the
/// submit, but a worker of the tag that joins a handle of the batch runs that task itself.
///
/// ```
/// use parkade::Runtime;
///
/// let runtime = Runtime::builder().build()?;
/// let mut batch = runtime.batch();
/// let squares: Vec<_> = (0..8).map(|n| batch.spawn(move || n * n)).collect();
/// assert_eq!(batch.submit()?, 8);
/// let mut sum = 0;
/// for square in squares {
///     sum += square.join()?;
/// }
/// assert_eq!(sum, 140);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a batch that is dropped at once submits nothing"]
pub struct Batch<B: Backend> {
    shared: Arc<Shared<B>>,
    tag: TagIndex,
    priority: Priority,
    entries: Vec<Entry>,
}

/// A batch of which not every task was accepted; the rest comes back as a batch.
///
/// Dropping it tries once more; what is refused then is dropped, and its handles say
/// [`JoinError::Refused`](crate::JoinError::Refused).
///
/// ```
/// use std::sync::mpsc;
///
/// use parkade::{RefusedReason, Runtime, Tag};
///
/// let runtime = Runtime::builder().tag(Tag::new("only").workers(1).inbox_limit(2)).build()?;
/// let (begun, begins) = mpsc::channel();
/// let (let_go, wait) = mpsc::channel::<()>();
/// let busy = runtime.spawn(move || {
///     begun.send(()).ok();
///     wait.recv().is_err()
/// });
/// begins.recv()?;
/// let mut batch = runtime.batch();
/// let tasks: Vec<_> = (0..3).map(|n| batch.spawn(move || n)).collect();
/// let refused = batch.submit().unwrap_err();
/// assert_eq!((refused.accepted, refused.rest.len()), (2, 1));
/// assert_eq!(refused.reason, RefusedReason::Full);
/// drop(let_go);
/// assert!(busy.join()?);
/// while runtime.metrics().total.queued > 0 {
///     std::thread::yield_now();
/// }
/// assert_eq!(refused.rest.submit()?, 1);
/// for (n, task) in tasks.into_iter().enumerate() {
///     assert_eq!(task.join()?, n);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct BatchRefused<B: Backend> {
    /// How many tasks were accepted, in the order of their spawns.
    pub accepted: usize,
    /// Those that were not, to be submitted again.
    pub rest: Batch<B>,
    /// Why the first of them was not.
    pub reason: RefusedReason,
}

impl<B: Backend> Batch<B> {
    pub(crate) fn new(shared: Arc<Shared<B>>, tag: TagIndex, priority: Priority) -> Self {
        Self {
            shared,
            tag,
            priority,
            entries: Vec::new(),
        }
    }

    /// Adds a task with a handle. Costs one allocation. See [`Batch`] for an example.
    pub fn spawn<F, T>(&mut self, task: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let (entry, promised) = if self.shared.measures_latency {
            promised(Measured::now(task))
        } else {
            promised(task)
        };
        self.entries.push(entry);
        JoinHandle::new(promised, Home::new(&self.shared, self.tag))
    }

    /// Adds a task that nobody waits for. Costs one allocation.
    ///
    /// ```
    /// use parkade::Runtime;
    ///
    /// let runtime = Runtime::builder().build()?;
    /// let mut batch = runtime.batch();
    /// assert!(batch.is_empty());
    /// for n in 0..3 {
    ///     batch.spawn_detached(move || println!("{n}"));
    /// }
    /// assert_eq!(batch.len(), 3);
    /// drop(batch); // submits them
    /// assert_eq!(runtime.metrics().total.spawned, 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn spawn_detached(&mut self, task: impl FnOnce() + Send + 'static) {
        self.entries.push(if self.shared.measures_latency {
            detached(Measured::now(task))
        } else {
            detached(task)
        });
    }

    /// How many tasks are collected. See [`Batch::spawn_detached`] for an example.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether no task is collected. See [`Batch::spawn_detached`] for an example.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Submits what is collected; returns how many tasks that were. See [`Batch`] for an example.
    ///
    /// # Errors
    ///
    /// [`BatchRefused`] with those that were not accepted.
    pub fn submit(mut self) -> Result<usize, BatchRefused<B>> {
        let (accepted, reason) = self.flush();
        match reason {
            None => Ok(accepted),
            Some(reason) => Err(BatchRefused {
                accepted,
                rest: self,
                reason,
            }),
        }
    }

    /// Submits what is collected; keeps what is refused.
    fn flush(&mut self) -> (usize, Option<RefusedReason>) {
        if self.entries.is_empty() {
            return (0, None);
        }
        if !self.shared.process.is_this() {
            return (0, Some(RefusedReason::Forked));
        }
        let mut entries = mem::take(&mut self.entries).into_iter();
        let (accepted, refused) = self
            .shared
            .submit_batch(self.tag, &mut entries, self.priority);
        let reason = refused.map(|RefusedEntry { entry, reason }| {
            self.entries.push(entry);
            self.entries.extend(entries);
            reason
        });
        (accepted, reason)
    }
}

impl<B: Backend> Drop for Batch<B> {
    fn drop(&mut self) {
        if let (_, Some(reason)) = self.flush() {
            for entry in mem::take(&mut self.entries) {
                entry.refuse(reason);
            }
        }
    }
}

impl<B: Backend> fmt::Debug for Batch<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch")
            .field("tag", &self.shared.tags[self.tag.0].name)
            .field("priority", &self.priority)
            .field("tasks", &self.entries.len())
            .finish()
    }
}

impl<B: Backend> fmt::Debug for BatchRefused<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BatchRefused")
            .field("accepted", &self.accepted)
            .field("rest", &self.rest)
            .field("reason", &self.reason)
            .finish()
    }
}

impl<B: Backend> fmt::Display for BatchRefused<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            accepted,
            rest,
            reason,
        } = self;
        write!(
            f,
            "{accepted} tasks of the batch were accepted, {} refused: {reason}",
            rest.len()
        )
    }
}

impl<B: Backend> Error for BatchRefused<B> {}
