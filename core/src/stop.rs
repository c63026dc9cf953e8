//! Stopping, in five steps that cannot be run out of order.
//!
//! 1. Drivers ([`Drivers`]): whatever makes tasks by itself (timers, a reactor) takes nothing new.
//! 2. Close ([`Close`]): every tag refuses new tasks, from everywhere.
//! 3. Lots ([`Lots`]): every lot is stopped, so every sleeper wakes, looks once more and leaves.
//! 4. Interrupt ([`Interrupt`]): workers that are blocked in system calls are told, by whoever can.
//! 5. Join ([`Join`]): until every worker is gone, or a deadline has passed.
//!
//! The same steps stop one tag alone, while the others go on; those of the whole scheduler may begin meanwhile or
//! later, and each of them may be repeated. Of two policies the harder one holds.
//!
//! Each step is a value that the one before it yields; the caller does what the step is about between
//! the calls. Why nothing is stranded: step 2 closes each inbox under its lock, so a push comes back or
//! lies in the inbox before the lot is stopped in step 3; the stop bit is Release, a worker that sees it
//! looks once more, and so finds it. A worker leaves a draining tag only when it sees no work anywhere: a
//! task may wait for another that is still queued, so a lost steal is no reason to leave, and from a
//! closed inbox tasks are taken one at a time, so that none is on its way past a look. A worker of an
//! abandoned tag empties its own queues by [`Worker::take_left`](crate::Worker::take_left), and
//! [`Join::take_queued`] has the rest.
//!
//! ```
#![doc = include_str!("../docs/board.md")]
//! use parkade_core::stop::{AlreadyStopping, Stopped};
//! use parkade_core::{Next, Origin, Priority, Slot, StopPolicy, TagConfig, TagIndex, Task, TaskControl, WorkerIndex};
//!
//! let control = TaskControl::new(&Board, &[TagConfig::new(1)])?;
//! let (tag, origin) = (&control.tags()[0], Origin::new(0));
//! let _ = tag.submit(Task::from_word(1), Priority::Normal, &origin)?;
//! let worker = control.register(Slot { tag: TagIndex(0), worker: WorkerIndex(0) })?;
//!
//! let lots = control.stop(StopPolicy::Drain)?.drivers_stopped().close();
//! assert!(tag.submit(Task::from_word(2), Priority::Normal, &origin).is_err());
//! let join = lots.stop_lots().interrupted();
//! assert_eq!(control.stop(StopPolicy::Abandon).unwrap_err(), AlreadyStopping);
//!
//! // A drain: what was accepted runs, then the worker is told to leave.
//! let Next::Run(task) = worker.next() else { unreachable!("one waits") };
//! assert_eq!(task.into_word(), 1);
//! assert!(matches!(worker.next(), Next::Stop));
//! assert_eq!(join.remaining(), 1);
//! drop(worker);
//! assert_eq!(join.joined(), Stopped { policy: StopPolicy::Drain, remaining: 0 });
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use core::fmt;

use crate::platform::{Platform, TagIndex};
use crate::tag::Tag;
use crate::task::Task;

/// What becomes of tasks that are queued when the scheduler stops.
///
/// See [the module](crate::stop) for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StopPolicy {
    /// They run.
    Drain,
    /// They come back from [`Join::take_queued`], to be dropped.
    Abandon,
}

/// The scheduler or the tag is stopping or stopped already: only one caller takes the steps.
///
/// See [the module](crate::stop) for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AlreadyStopping;

impl fmt::Display for AlreadyStopping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the scheduler is stopping or stopped already")
    }
}

impl core::error::Error for AlreadyStopping {}

/// The tags that are stopped: all of a control, or one of them.
pub(crate) struct Reach<'c, P: Platform> {
    pub(crate) tags: &'c [Tag<P>],
    /// The index of the first one.
    pub(crate) first: usize,
}

impl<P: Platform> Reach<'_, P> {
    /// Takes a queued task as a thief.
    pub(crate) fn take_queued(&self) -> Option<(TagIndex, Task)> {
        let mut tags = self.tags.iter().enumerate();
        tags.find_map(|(index, tag)| Some((TagIndex(self.first + index), tag.take_queued()?)))
    }
}

macro_rules! step {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[must_use = "a stop that is not carried on leaves the scheduler half stopped"]
        pub struct $name<'c, P: Platform> {
            reach: Reach<'c, P>,
            policy: StopPolicy,
        }

        impl<P: Platform> fmt::Debug for $name<'_, P> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name))
                    .field("policy", &self.policy)
                    .finish_non_exhaustive()
            }
        }
    };
}

step! {
    /// Step 1: stop timers and reactors, then call [`drivers_stopped`](Drivers::drivers_stopped).
    /// See [the module](crate::stop) for an example.
    Drivers
}
step! {
    /// Step 2: call [`close`](Close::close). See [the module](crate::stop) for an example.
    Close
}
step! {
    /// Step 3: call [`stop_lots`](Lots::stop_lots). See [the module](crate::stop) for an example.
    Lots
}
step! {
    /// Step 4: interrupt blocked workers, then call [`interrupted`](Interrupt::interrupted).
    /// See [the module](crate::stop) for an example.
    Interrupt
}
step! {
    /// Step 5: wait for the workers, then call [`joined`](Join::joined). See [the module](crate::stop) for an example.
    Join
}

impl<'c, P: Platform> Drivers<'c, P> {
    pub(crate) fn new(reach: Reach<'c, P>, policy: StopPolicy) -> Self {
        Self { reach, policy }
    }

    /// Says that nothing makes tasks by itself any more. See [the module](crate::stop) for an example.
    pub fn drivers_stopped(self) -> Close<'c, P> {
        let Self { reach, policy } = self;
        Close { reach, policy }
    }
}

impl<'c, P: Platform> Close<'c, P> {
    /// Refuses new tasks in every tag that is stopped and closes its inboxes.
    /// See [the module](crate::stop) for an example.
    pub fn close(self) -> Lots<'c, P> {
        let Self { reach, policy } = self;
        reach.tags.iter().for_each(|tag| tag.close(policy));
        Lots { reach, policy }
    }
}

impl<'c, P: Platform> Lots<'c, P> {
    /// Stops their lots and wakes their sleepers. See [the module](crate::stop) for an example.
    pub fn stop_lots(self) -> Interrupt<'c, P> {
        let Self { reach, policy } = self;
        reach.tags.iter().for_each(|tag| tag.stop_lots());
        Interrupt { reach, policy }
    }
}

impl<'c, P: Platform> Interrupt<'c, P> {
    /// Says that blocked workers were told, or that nobody can tell them. See [the module](crate::stop) for an example.
    pub fn interrupted(self) -> Join<'c, P> {
        let Self { reach, policy } = self;
        Join { reach, policy }
    }
}

impl<P: Platform> Join<'_, P> {
    /// Turns a drain into an abandonment, because the caller will not wait longer: each worker leaves
    /// after the task that it runs.
    ///
    /// ```
    #[doc = include_str!("../docs/board.md")]
    /// use parkade_core::{Next, Origin, Priority, Slot, StopPolicy, TagConfig, TagIndex, Task, TaskControl, WorkerIndex};
    ///
    /// let control = TaskControl::new(&Board, &[TagConfig::new(1)])?;
    /// let (tag, origin) = (&control.tags()[0], Origin::new(0));
    /// let _ = tag.submit(Task::from_word(1), Priority::Normal, &origin)?;
    /// let worker = control.register(Slot { tag: TagIndex(0), worker: WorkerIndex(0) })?;
    /// let _ = worker.push(Task::from_word(2))?;
    ///
    /// let join = control.stop(StopPolicy::Drain)?.drivers_stopped().close().stop_lots().interrupted();
    /// join.abandon(); // the time is up
    /// assert!(matches!(worker.next(), Next::Stop));
    /// assert_eq!(worker.take_left().map(Task::into_word), Some(2));
    /// let _ = tag.submit_again(Task::from_word(3), Priority::Normal, &origin)?; // a future that was woken late
    /// let left = std::iter::from_fn(|| join.take_queued()).map(|(_, task)| task.into_word());
    /// assert!(left.eq([1, 3]));
    /// # drop(worker);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn abandon(&self) {
        let tags = self.reach.tags.iter();
        tags.for_each(|tag| tag.close(StopPolicy::Abandon));
    }

    /// Takes one of the tasks that will not run, with its tag, until there are none. Call it for what is
    /// abandoned; in a draining one it takes tasks away from workers that would run them.
    /// See [`abandon`](Join::abandon) for an example.
    pub fn take_queued(&self) -> Option<(TagIndex, Task)> {
        self.reach.take_queued()
    }

    /// How many workers are still registered. See [the module](crate::stop) for an example.
    #[must_use]
    pub fn remaining(&self) -> usize {
        self.reach.tags.iter().map(Tag::workers).sum()
    }

    /// Ends the sequence. See [the module](crate::stop) for an example.
    pub fn joined(self) -> Stopped {
        Stopped {
            policy: self.policy,
            remaining: self.remaining(),
        }
    }
}

/// What a stop came to.
///
/// See [the module](crate::stop) for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stopped {
    /// The policy that it began with.
    pub policy: StopPolicy,
    /// Workers that had not left when the caller stopped waiting; 0 after a full stop.
    pub remaining: usize,
}
