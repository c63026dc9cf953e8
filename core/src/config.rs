//! What a tag is made of: numbers that are checked before anything exists.

use core::fmt;

use crate::platform::{CapacityError, TagIndex};

/// The shape of one tag: how many workers, how long their queues are, how priorities age.
///
/// ```
/// use parkade_core::TagConfig;
///
/// let tag = TagConfig::new(4).starting(2).run_queue(64).inbox_limit(1000).ageing(8).steal_batch(4);
/// assert_eq!((tag.workers, tag.starting, tag.steal_batch), (4, 2, 4));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TagConfig {
    /// Workers, at least 1: those that may be there at a time.
    pub workers: usize,
    /// How many of them come first, at least 1; by default all. The inboxes of the others take nothing until
    /// they register, so that no task is sent to where nobody is.
    pub starting: usize,
    /// Capacity of each worker's run queue in tasks, a power of two of at least 2; by default 256.
    pub run_queue: usize,
    /// Most tasks that an inbox takes, at least 1; by default whatever the platform's queue holds.
    pub inbox_limit: usize,
    /// Every how many picks the priority inbox is looked at last instead of first, at least 2; by
    /// default 16.
    pub ageing: u32,
    /// How many more looks one worker that has found nothing takes, each after a [pause](crate::Next::Linger), before
    /// it goes to sleep; by default 0.
    pub linger: u32,
    /// Most tasks that a thief takes at a time (K), between 1 and half of `run_queue`; by default 1.
    pub steal_batch: usize,
}

impl TagConfig {
    /// A tag of `workers` workers with the default queues. See [`TagConfig`] for an example.
    #[must_use]
    pub const fn new(workers: usize) -> Self {
        Self {
            workers,
            starting: workers,
            run_queue: 256,
            inbox_limit: usize::MAX,
            ageing: 16,
            linger: 0,
            steal_batch: 1,
        }
    }

    /// Sets how many workers come first. See [`TagConfig`] for an example.
    #[must_use]
    pub const fn starting(mut self, workers: usize) -> Self {
        self.starting = workers;
        self
    }

    /// Sets the capacity of each run queue, in tasks. See [`TagConfig`] for an example.
    #[must_use]
    pub const fn run_queue(mut self, tasks: usize) -> Self {
        self.run_queue = tasks;
        self
    }

    /// Sets the most tasks that an inbox takes. See [`TagConfig`] for an example.
    #[must_use]
    pub const fn inbox_limit(mut self, tasks: usize) -> Self {
        self.inbox_limit = tasks;
        self
    }

    /// Sets every how many picks normal tasks go before high-priority ones. See [`TagConfig`] for an example.
    #[must_use]
    pub const fn ageing(mut self, picks: u32) -> Self {
        self.ageing = picks;
        self
    }

    /// Sets how many more looks a worker takes that has found nothing, before it goes to sleep; each comes after a
    /// [pause](crate::Next::Linger).
    ///
    /// At most one worker (of each 57 in a tag, 26 on 32-bit machines) lingers at a time, and while one does
    /// no submit wakes another: tasks that come closer together than a wake takes cost no wake each. All looks
    /// together should take about as long as a park and a wake cost, so that lingering in vain at most doubles the
    /// price of falling asleep (the ski-rental bound).
    ///
    /// Tasks in another worker's run queue are left there until a last look has seen them twice, all looks apart: as
    /// long as it sees younger ones it lingers on, up to 16 times.
    ///
    /// ```
    #[doc = include_str!("../docs/board.md")]
    /// use parkade_core::{Next, Slot, TagConfig, TagIndex, TaskControl, WorkerIndex};
    ///
    /// let control = TaskControl::new(&Board, &[TagConfig::new(1).linger(2)])?;
    /// let worker = control.register(Slot { tag: TagIndex(0), worker: WorkerIndex(0) })?;
    /// assert!(matches!(worker.next(), Next::Linger));
    /// assert!(matches!(worker.next(), Next::Linger));
    /// assert!(matches!(worker.next(), Next::Park(_)));
    /// # drop(worker);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub const fn linger(mut self, looks: u32) -> Self {
        self.linger = looks;
        self
    }

    /// Sets the most tasks that a thief takes at a time.
    ///
    /// ```
    #[doc = include_str!("../docs/board.md")]
    /// use parkade_core::{RunQueue, SeqCstFences, Steal, Task};
    ///
    /// // What a tag with `run_queue(8).steal_batch(2)` gives each of its workers:
    /// let make = || RunQueue::<Board>::new(SeqCstFences, 8, 2);
    /// let (victim, own) = (make()?, make()?);
    /// let (owner, thief) = (victim.owner().ok_or("taken")?, own.owner().ok_or("taken")?);
    /// for word in 1..=4 {
    ///     assert!(owner.push(Task::from_word(word)).is_ok());
    /// }
    /// let Steal::Taken(oldest, 1) = victim.steal_into(&thief) else { unreachable!("four wait") };
    /// assert_eq!((oldest.into_word(), own.len(), victim.len()), (1, 1, 2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub const fn steal_batch(mut self, tasks: usize) -> Self {
        self.steal_batch = tasks;
        self
    }

    pub(crate) fn check(&self, tag: TagIndex) -> Result<(), ConfigError> {
        let largest_batch = self.run_queue / 2;
        if self.workers == 0 || self.starting == 0 {
            Err(ConfigError::NoWorkers { tag })
        } else if !self.run_queue.is_power_of_two() || self.run_queue < 2 {
            Err(ConfigError::RunQueue {
                tag,
                capacity: self.run_queue,
            })
        } else if self.inbox_limit == 0 {
            Err(ConfigError::InboxLimit { tag })
        } else if self.ageing < 2 {
            Err(ConfigError::Ageing {
                tag,
                picks: self.ageing,
            })
        } else if !(1..=largest_batch).contains(&self.steal_batch) {
            Err(ConfigError::StealBatch {
                tag,
                tasks: self.steal_batch,
                largest: largest_batch,
            })
        } else {
            Ok(())
        }
    }
}

/// A shape that cannot be built; each variant names the value at fault.
///
/// ```
#[doc = include_str!("../docs/board.md")]
/// use parkade_core::{TagConfig, TagIndex, TaskControl};
///
/// let error = TaskControl::new(&Board, &[TagConfig::new(1), TagConfig::new(1).run_queue(15)]).unwrap_err();
/// assert_eq!(error.tag(), Some(TagIndex(1)));
/// println!("{error}");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigError {
    /// There is no tag at all.
    NoTags,
    /// A tag without workers: its tasks would never run.
    NoWorkers {
        /// The tag.
        tag: TagIndex,
    },
    /// A run queue whose capacity is not a power of two of at least 2.
    RunQueue {
        /// The tag.
        tag: TagIndex,
        /// The capacity asked for, in tasks.
        capacity: usize,
    },
    /// An inbox that takes nothing.
    InboxLimit {
        /// The tag.
        tag: TagIndex,
    },
    /// Ageing so fast that high priority would never go first.
    Ageing {
        /// The tag.
        tag: TagIndex,
        /// The picks asked for.
        picks: u32,
    },
    /// A steal batch outside its range.
    StealBatch {
        /// The tag.
        tag: TagIndex,
        /// The tasks asked for.
        tasks: usize,
        /// The largest batch for this run queue.
        largest: usize,
    },
    /// More tags than the platform's storage holds.
    Tags(CapacityError),
    /// A tag that needs more than the platform's storage holds.
    Capacity {
        /// The tag.
        tag: TagIndex,
        /// What was asked for.
        source: CapacityError,
    },
}

impl ConfigError {
    /// The tag at fault, if it is one tag. See [`ConfigError`] for an example.
    #[must_use]
    pub const fn tag(&self) -> Option<TagIndex> {
        match *self {
            Self::NoTags | Self::Tags(_) => None,
            Self::NoWorkers { tag }
            | Self::RunQueue { tag, .. }
            | Self::InboxLimit { tag }
            | Self::Ageing { tag, .. }
            | Self::StealBatch { tag, .. }
            | Self::Capacity { tag, .. } => Some(tag),
        }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoTags => f.write_str("a scheduler needs at least one tag"),
            Self::NoWorkers { tag } => {
                write!(f, "tag {} has 0 workers; it needs at least 1", tag.0)
            }
            Self::RunQueue { tag, capacity } => write!(
                f,
                "tag {} has a run queue of {capacity} tasks; it must be a power of two of at least 2",
                tag.0
            ),
            Self::InboxLimit { tag } => {
                write!(
                    f,
                    "tag {} has an inbox of 0 tasks; it needs at least 1",
                    tag.0
                )
            }
            Self::Ageing { tag, picks } => write!(
                f,
                "tag {} ages every {picks} picks; it must be at least 2",
                tag.0
            ),
            Self::StealBatch {
                tag,
                tasks,
                largest,
            } => write!(
                f,
                "tag {} steals {tasks} tasks at a time; it must be between 1 and {largest}",
                tag.0
            ),
            Self::Tags(source) => write!(f, "too many tags: {source}"),
            Self::Capacity { tag, source } => write!(f, "tag {} is too large: {source}", tag.0),
        }
    }
}

impl core::error::Error for ConfigError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Tags(source) | Self::Capacity { source, .. } => Some(source),
            _ => None,
        }
    }
}

impl From<CapacityError> for ConfigError {
    fn from(error: CapacityError) -> Self {
        Self::Tags(error)
    }
}
