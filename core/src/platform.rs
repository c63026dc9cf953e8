//! Everything that a platform chooses, under one type parameter.
//!
//! The core decides; it does not own memory, a lock or a way to sleep. [`Platform`] names those:
//! how to park, which fences pair, what guards an inbox, and where arrays and queues live. A process
//! takes boxed slices and an operating-system lock, a kernel fixed arrays and a ticket lock, a model
//! checker its own mutex.

use core::fmt;
use core::ops::Deref;

use crate::park::{Fences, Park};
use crate::sync::AtomicPtr;
use crate::task::Task;

/// The platform that a scheduler runs on: the one type parameter of this crate.
///
/// Implement it once per system. `parkade-linux` and `parkade-std` are implementations for processes;
/// the features `spin` and `heapless` of this crate bring ready pieces for kernels.
///
/// ```
#[doc = include_str!("../docs/board.md")]
/// use board::{Guard, Items, Nap, Queue}; // a lock, an array, a park and a queue: see their traits
/// use parkade_core::sync::AtomicPtr;
/// use parkade_core::{Platform, SeqCstFences, Slot, TagConfig, TaskControl};
///
/// struct Machine;
///
/// impl Platform for Machine {
///     type Park = Nap;
///     type Fences = SeqCstFences;
///     type Lock<T: Send> = Guard<T>;
///     type Queue = Queue;
///     type Ring = Items<AtomicPtr<()>>;
///     type PerWorker<T: Send + Sync> = Items<T>;
///     type PerTag<T: Send + Sync> = Items<T>;
///
///     fn park(&self, _slot: Slot) -> Nap {
///         Nap
///     }
///
///     fn fences(&self) -> SeqCstFences {
///         SeqCstFences
///     }
/// }
///
/// assert!(TaskControl::new(&Machine, &[TagConfig::new(2)]).is_ok());
/// ```
pub trait Platform: Send + Sync + 'static {
    /// How a worker sleeps and is woken.
    type Park: Park;
    /// The pair of fences between a queue's owner and its thieves.
    type Fences: Fences;
    /// What guards an inbox.
    type Lock<T: Send>: Lock<T>;
    /// The queue inside an inbox.
    type Queue: TaskQueue;
    /// The slots of a run queue. Their number must be a power of two.
    type Ring: Array<AtomicPtr<()>> + Send + Sync;
    /// One item per worker of a tag.
    type PerWorker<T: Send + Sync>: Array<T> + Send + Sync;
    /// One item per tag.
    type PerTag<T: Send + Sync>: Array<T> + Send + Sync;

    /// Makes the park of the worker that will own `slot`. A kernel learns here which hart to interrupt.
    /// See [`Platform`] for an example.
    fn park(&self, slot: Slot) -> Self::Park;

    /// The fences that every queue and idle word of this scheduler uses, chosen once. See [`Platform`] for an example.
    fn fences(&self) -> Self::Fences;
}

/// The place of a worker: its tag and its index within the tag, both counted from 0.
///
/// ```
/// use parkade_core::{Slot, TagIndex, WorkerIndex};
///
/// let slot = Slot { tag: TagIndex(1), worker: WorkerIndex(3) };
/// assert_eq!(slot.to_string(), "worker 3 of tag 1");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Slot {
    /// The tag.
    pub tag: TagIndex,
    /// The worker within the tag.
    pub worker: WorkerIndex,
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "worker {} of tag {}", self.worker.0, self.tag.0)
    }
}

/// A tag's position in its control, counted from 0.
///
/// See [`Slot`] for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TagIndex(pub usize);

/// A worker's position in its tag, counted from 0.
///
/// See [`Slot`] for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WorkerIndex(pub usize);

/// Mutual exclusion around a value: two methods, so that any lock fits.
///
/// `with` must exclude **every context that may submit**: a kernel that submits from interrupt handlers
/// masks them inside it. The closure neither panics nor blocks nor takes another lock.
///
/// ```
/// use std::sync::{Mutex, PoisonError};
///
/// use parkade_core::Lock;
///
/// struct OsLock<T>(Mutex<T>);
///
/// impl<T: Send> Lock<T> for OsLock<T> {
///     fn new(value: T) -> Self {
///         Self(Mutex::new(value))
///     }
///
///     fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
///         f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
///     }
/// }
///
/// let lock = OsLock::new(1);
/// lock.with(|value| *value += 1);
/// assert_eq!(lock.with(|value| *value), 2);
/// ```
pub trait Lock<T>: Send + Sync {
    /// A lock around `value`. See [`Lock`] for an example.
    fn new(value: T) -> Self;

    /// Runs `f` with the value while nobody else has it. See [`Lock`] for an example.
    fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R;
}

/// A first-in first-out queue of tasks, bounded or growing. Always used under a [`Lock`].
///
/// ```
/// use std::collections::VecDeque;
///
/// use parkade_core::{Task, TaskQueue};
///
/// /// At most four tasks.
/// struct Four(VecDeque<Task>);
///
/// impl TaskQueue for Four {
///     fn new() -> Self {
///         Self(VecDeque::with_capacity(4))
///     }
///
///     fn push(&mut self, task: Task) -> Result<(), Task> {
///         if self.room() == 0 {
///             return Err(task);
///         }
///         self.0.push_back(task);
///         Ok(())
///     }
///
///     fn room(&self) -> usize {
///         4 - self.0.len()
///     }
///
///     fn pop(&mut self) -> Option<Task> {
///         self.0.pop_front()
///     }
///
///     fn len(&self) -> usize {
///         self.0.len()
///     }
/// }
///
/// let mut queue = Four::new();
/// for word in 1..=4 {
///     assert!(queue.push(Task::from_word(word)).is_ok());
/// }
/// assert!(queue.push(Task::from_word(5)).is_err(), "it comes back");
/// assert_eq!(queue.pop().map(Task::into_word), Some(1));
/// assert!(!queue.is_empty() && queue.len() == 3);
/// ```
pub trait TaskQueue: Send {
    /// An empty queue. See [`TaskQueue`] for an example.
    fn new() -> Self;

    /// Appends a task. See [`TaskQueue`] for an example.
    ///
    /// # Errors
    ///
    /// The task itself, when there is no room.
    fn push(&mut self, task: Task) -> Result<(), Task>;

    /// How many more tasks fit; `usize::MAX` for a queue that grows. See [`TaskQueue`] for an example.
    fn room(&self) -> usize;

    /// Takes the oldest task. See [`TaskQueue`] for an example.
    fn pop(&mut self) -> Option<Task>;

    /// How many tasks wait. See [`TaskQueue`] for an example.
    fn len(&self) -> usize;

    /// Whether no task waits. See [`TaskQueue`] for an example.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// An array whose length is fixed when it is made.
///
/// ```
/// use std::ops::Deref;
///
/// use parkade_core::{Array, CapacityError};
///
/// struct Items<T>(Vec<T>);
///
/// impl<T> Deref for Items<T> {
///     type Target = [T];
///
///     fn deref(&self) -> &[T] {
///         &self.0
///     }
/// }
///
/// impl<T> Array<T> for Items<T> {
///     fn try_from_fn<E: From<CapacityError>>(
///         len: usize,
///         make: impl FnMut(usize) -> Result<T, E>,
///     ) -> Result<Self, E> {
///         (0..len).map(make).collect::<Result<_, E>>().map(Items)
///     }
/// }
///
/// let squares = Items::from_fn(4, |index| index * index)?;
/// assert_eq!(*squares, [0, 1, 4, 9]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Array<T>: Deref<Target = [T]> + Sized {
    /// Makes `len` items, in order, until one fails. See [`Array`] for an example.
    ///
    /// # Errors
    ///
    /// What `make` returned, or [`CapacityError`] when this kind of array cannot hold so many.
    fn try_from_fn<E: From<CapacityError>>(
        len: usize,
        make: impl FnMut(usize) -> Result<T, E>,
    ) -> Result<Self, E>;

    /// Makes `len` items, in order. See [`Array`] for an example.
    ///
    /// # Errors
    ///
    /// [`CapacityError`] when this kind of array cannot hold so many.
    fn from_fn(len: usize, mut make: impl FnMut(usize) -> T) -> Result<Self, CapacityError> {
        Self::try_from_fn(len, |index| Ok(make(index)))
    }
}

/// More items were asked for than the platform's storage can hold.
///
/// See [`Array`] for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CapacityError {
    /// How many items were asked for.
    pub requested: usize,
    /// How many fit.
    pub capacity: usize,
}

impl fmt::Display for CapacityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} items requested, but the platform's storage holds {}",
            self.requested, self.capacity
        )
    }
}

impl core::error::Error for CapacityError {}
