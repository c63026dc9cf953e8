//! The control: all tags of a scheduler, and the way in for its workers.

use core::fmt;

use crate::config::{ConfigError, TagConfig};
use crate::platform::{Array, Platform, Slot, TagIndex};
use crate::stop::{AlreadyStopping, Drivers, Reach, StopPolicy};
use crate::sync::{AtomicBool, Ordering};
use crate::tag::Tag;
use crate::task::Task;
use crate::worker::Worker;

/// A scheduler's deciding half: tags with their queues, lots and idle words.
///
/// Make one, register each worker thread with it and let that thread follow [`Worker::next`]; submit
/// tasks to its tags from anywhere. It starts no thread and allocates only what the platform's arrays
/// allocate, when it is made.
///
/// ```
#[doc = include_str!("../docs/board.md")]
/// use parkade_core::{ConfigError, TagConfig, TagIndex, TaskControl};
///
/// let control = TaskControl::new(&Board, &[TagConfig::new(4), TagConfig::new(1)])?;
/// assert_eq!((control.tags().len(), control.workers()), (2, 0)); // no worker has registered yet
/// assert!(control.tag(TagIndex(1)).is_some() && control.tag(TagIndex(2)).is_none());
/// let error = TaskControl::new(&Board, &[]).unwrap_err();
/// assert_eq!(error, ConfigError::NoTags);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct TaskControl<P: Platform> {
    tags: P::PerTag<Tag<P>>,
    stopping: AtomicBool,
}

impl<P: Platform> TaskControl<P> {
    /// A control with one tag per entry of `tags`. See [`TaskControl`] for an example.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] names the tag and the value that cannot be built.
    pub fn new(platform: &P, tags: &[TagConfig]) -> Result<Self, ConfigError> {
        if tags.is_empty() {
            return Err(ConfigError::NoTags);
        }
        let tags = P::PerTag::try_from_fn(tags.len(), |index| {
            Tag::new(platform, TagIndex(index), &tags[index])
        })?;
        Ok(Self {
            tags,
            stopping: AtomicBool::new(false),
        })
    }

    /// All tags, in the order of their configuration. See [`TaskControl`] for an example.
    #[must_use]
    pub fn tags(&self) -> &[Tag<P>] {
        &self.tags
    }

    /// The tag at `index`, if there is one. See [`TaskControl`] for an example.
    #[must_use]
    pub fn tag(&self, TagIndex(index): TagIndex) -> Option<&Tag<P>> {
        self.tags.get(index)
    }

    /// Makes the calling thread the worker of `slot`, until the [`Worker`] is dropped.
    ///
    /// A thread that was started before a stop and registers after it is let in, runs what a drain has
    /// left, and is told to leave: refusing it could strand an accepted task.
    ///
    /// # Errors
    ///
    /// [`RegisterError`]: there is no such tag or worker, or another thread is this worker.
    ///
    /// ```
    #[doc = include_str!("../docs/board.md")]
    /// use parkade_core::{Next, Origin, Priority, Slot, TagConfig, TagIndex, Task, TaskControl, WorkerIndex};
    ///
    /// let control = TaskControl::new(&Board, &[TagConfig::new(1)])?;
    /// let (tag, origin) = (&control.tags()[0], Origin::new(0));
    /// let _ = tag.submit(Task::from_word(1), Priority::Normal, &origin)?;
    /// let _ = tag.submit(Task::from_word(2), Priority::High, &origin)?;
    /// let worker = control.register(Slot { tag: TagIndex(0), worker: WorkerIndex(0) })?;
    /// let Next::Run(first) = worker.next() else { unreachable!("two wait") };
    /// assert_eq!(first.into_word(), 2);
    /// # let Next::Run(second) = worker.next() else { unreachable!("one waits") };
    /// # assert_eq!(second.into_word(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn register(&self, slot: Slot) -> Result<Worker<'_, P>, RegisterError> {
        let tag = self.tag(slot.tag).ok_or(RegisterError::NoSuchSlot(slot))?;
        let group = tag
            .groups
            .get(slot.worker.0)
            .ok_or(RegisterError::NoSuchSlot(slot))?;
        let queue = group
            .run_queue
            .owner()
            .ok_or(RegisterError::SlotTaken(slot))?;
        // The slot's last worker may have retired. A tag that is closed meanwhile closes its inboxes
        // after its intake, so under the lock the intake tells.
        group.inbox.reopen_if(|| tag.is_open());
        group.mailbox.reopen_if(|| tag.is_open());
        Ok(Worker::new(slot, tag, group, queue))
    }

    /// How many workers are registered, over all tags. See [`TaskControl`] for an example.
    #[must_use]
    pub fn workers(&self) -> usize {
        self.tags.iter().map(Tag::workers).sum()
    }

    /// Takes any queued task, until there are none. Exclusive access says that no worker and no
    /// submitter is left: whoever frees a control empties it first, so that no task is lost with it.
    ///
    /// ```
    #[doc = include_str!("../docs/board.md")]
    /// use parkade_core::{Origin, Priority, TagConfig, TagIndex, Task, TaskControl};
    ///
    /// let mut control = TaskControl::new(&Board, &[TagConfig::new(1)])?;
    /// let _ = control.tags()[0].submit(Task::from_word(7), Priority::Normal, &Origin::new(0))?;
    /// let left = control.take_queued().map(|(tag, task)| (tag, task.into_word()));
    /// assert_eq!(left, Some((TagIndex(0), 7)));
    /// assert!(control.take_queued().is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn take_queued(&mut self) -> Option<(TagIndex, Task)> {
        self.reach().take_queued()
    }

    fn reach(&self) -> Reach<'_, P> {
        let tags = &*self.tags;
        Reach { tags, first: 0 }
    }

    /// Begins to stop: the first of five steps, see [`crate::stop`]. See [`stop`](crate::stop) for an example.
    ///
    /// # Errors
    ///
    /// [`AlreadyStopping`] for every call but the first.
    pub fn stop(&self, policy: StopPolicy) -> Result<Drivers<'_, P>, AlreadyStopping> {
        if self.stopping.swap(true, Ordering::Relaxed) {
            return Err(AlreadyStopping);
        }
        Ok(Drivers::new(self.reach(), policy))
    }

    /// Begins to stop one tag for good, while the others go on. A [`stop`](TaskControl::stop) of all of them may come
    /// meanwhile or after, or have come before.
    ///
    /// # Errors
    ///
    /// [`AlreadyStopping`] for every call but the first for this tag.
    ///
    /// # Panics
    ///
    /// When there is no such tag.
    ///
    /// ```
    #[doc = include_str!("../docs/board.md")]
    /// use parkade_core::{StopPolicy, TagConfig, TagIndex, TaskControl};
    ///
    /// let control = TaskControl::new(&Board, &[TagConfig::new(1), TagConfig::new(1)])?;
    /// let _lots = control.stop_tag(TagIndex(0), StopPolicy::Drain)?.drivers_stopped().close();
    /// assert!(!control.tags()[0].is_open() && control.tags()[1].is_open());
    /// assert!(control.stop_tag(TagIndex(0), StopPolicy::Drain).is_err(), "somebody does it already");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn stop_tag(
        &self,
        TagIndex(first): TagIndex,
        policy: StopPolicy,
    ) -> Result<Drivers<'_, P>, AlreadyStopping> {
        let tags = &self.tags[first..=first];
        if tags[0].stopping.swap(true, Ordering::Relaxed) {
            return Err(AlreadyStopping);
        }
        Ok(Drivers::new(Reach { tags, first }, policy))
    }
}

/// A worker that cannot be registered.
///
/// ```
#[doc = include_str!("../docs/board.md")]
/// use parkade_core::{RegisterError, Slot, TagConfig, TagIndex, TaskControl, WorkerIndex};
///
/// let control = TaskControl::new(&Board, &[TagConfig::new(1)])?;
/// let slot = |worker| Slot { tag: TagIndex(0), worker: WorkerIndex(worker) };
/// let worker = control.register(slot(0))?;
/// assert_eq!(control.register(slot(0)).unwrap_err(), RegisterError::SlotTaken(slot(0)));
/// assert_eq!(control.register(slot(1)).unwrap_err().to_string(), "there is no worker 1 of tag 0");
/// drop(worker);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RegisterError {
    /// The control has no such tag, or the tag no such worker.
    NoSuchSlot(Slot),
    /// Another thread is this worker.
    SlotTaken(Slot),
}

impl fmt::Display for RegisterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchSlot(slot) => write!(f, "there is no {slot}"),
            Self::SlotTaken(slot) => write!(f, "{slot} is registered already"),
        }
    }
}

impl core::error::Error for RegisterError {}

impl<P: Platform> fmt::Debug for TaskControl<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskControl")
            .field("stopping", &self.stopping.load(Ordering::Relaxed))
            .field("tags", &&*self.tags)
            .finish()
    }
}
