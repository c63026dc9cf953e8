//! The inbox: where tasks come in from outside, in order, under the platform's lock.
//!
//! The same type serves as a worker's inbox, as its mailbox (targeted work that nobody steals) and as a
//! tag's priority inbox; they differ in who looks at them, not in what they are.
//!
//! The length and the closed flag are atomics *outside* the lock. A looker reads the length and takes no
//! lock while it is 0; that makes the look lock-free, and so it needs the fences of the idle protocol
//! ([`crate::idle`]) to be trusted. Both are written inside the lock only, so a task is counted when it
//! can be taken, and a push that comes after the close is refused: the task comes back or is taken,
//! never stranded.

use core::fmt;

use crossbeam_utils::CachePadded;

use crate::counters::bump;
use crate::platform::{Lock, Platform, TaskQueue};
use crate::run_queue::Owner;
use crate::sync::{AtomicBool, AtomicUsize, Ordering, left_out};
use crate::task::Task;

/// A task that was not accepted, on its way back to its caller.
///
/// See [`Inbox`] for an example.
#[derive(Debug)]
#[must_use = "the refused task comes back here; dropped, it would be lost"]
pub struct Refused {
    /// The task, untouched.
    pub task: Task,
    /// Why it was not accepted.
    pub reason: RefusedReason,
}

/// Why a task was not accepted.
///
/// See [`Inbox`] for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RefusedReason {
    /// Every queue that could take it is full.
    Full,
    /// The scheduler has been told to stop, or the one worker that the task was meant for has left.
    Closed,
}

impl fmt::Display for RefusedReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full => "every queue that could take the task is full",
            Self::Closed => "what should take the task is closed: stopping, or left by its worker",
        })
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "task refused: {}", self.reason)
    }
}

impl core::error::Error for Refused {}

/// A first-in first-out queue that any thread may push to.
///
/// ```
#[doc = include_str!("../docs/board.md")]
/// use parkade_core::{Inbox, Refused, RefusedReason, Task};
///
/// let inbox = Inbox::<Board>::new(1);
/// inbox.push(Task::from_word(1))?;
/// let Refused { task, reason } = inbox.push(Task::from_word(2)).unwrap_err();
/// assert_eq!((task.into_word(), reason), (2, RefusedReason::Full));
/// inbox.push_accepted(Task::from_word(3))?; // beyond the limit
/// assert_eq!(inbox.pop().map(Task::into_word), Some(1));
///
/// inbox.close();
/// assert!(inbox.is_closed() && inbox.push(Task::from_word(4)).is_err());
/// assert!(!inbox.is_empty() && inbox.len() == 1, "what is queued can still be taken");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Inbox<P: Platform> {
    hints: CachePadded<Hints>,
    queue: P::Lock<P::Queue>,
    limit: usize,
}

/// What may be read without the lock.
struct Hints {
    len: AtomicUsize,
    closed: AtomicBool,
    accepted: AtomicUsize,
    submits: AtomicUsize,
}

impl<P: Platform> Inbox<P> {
    /// An empty, open inbox of at most `limit` tasks (`usize::MAX`: as many as the platform's queue
    /// holds). See [`Inbox`] for an example.
    pub fn new(limit: usize) -> Self {
        Self {
            hints: CachePadded::new(Hints {
                len: AtomicUsize::new(0),
                closed: AtomicBool::new(false),
                accepted: AtomicUsize::new(0),
                submits: AtomicUsize::new(0),
            }),
            queue: P::Lock::new(P::Queue::new()),
            limit,
        }
    }

    /// Appends a task. See [`Inbox`] for an example.
    ///
    /// # Errors
    ///
    /// [`Refused`] with the task, when the inbox is full or closed.
    pub fn push(&self, task: Task) -> Result<(), Refused> {
        match self.push_all(&mut core::iter::once(task)) {
            (_, None) => Ok(()),
            (_, Some(refused)) => Err(refused),
        }
    }

    /// Appends a task that was accepted before it came here, such as a timed one: the limit, which holds new
    /// work back, does not hold for it. See [`Inbox`] for an example.
    ///
    /// # Errors
    ///
    /// [`Refused`] with the task, when the inbox is closed or the platform's queue is full.
    pub fn push_accepted(&self, task: Task) -> Result<(), Refused> {
        self.queue.with(|queue| {
            self.append(queue, task, usize::MAX)?;
            bump(&self.hints.submits, 1);
            Ok(())
        })
    }

    /// Appends a task that was accepted before and goes on, which a worker that looks here again or whoever stops
    /// the scheduler will find: neither the limit nor the close holds for it.
    pub(crate) fn push_again(&self, task: Task) -> Result<(), Refused> {
        self.queue.with(|queue| {
            self.admit(queue, task)?;
            bump(&self.hints.submits, 1);
            Ok(())
        })
    }

    /// Appends tasks under one lock until `tasks` ends or one finds no room; returns how many were
    /// accepted, and the one that was not. Those after it stay in the iterator, which runs inside the
    /// lock: it must neither block nor submit. See [`Inbox::take`] for an example.
    pub fn push_all(&self, tasks: &mut impl Iterator<Item = Task>) -> (usize, Option<Refused>) {
        self.queue.with(|queue| {
            let before = queue.len();
            let refused = tasks.find_map(|task| self.append(queue, task, self.limit).err());
            let accepted = queue.len() - before;
            if accepted > 0 {
                bump(&self.hints.submits, 1);
            }
            (accepted, refused)
        })
    }

    fn append(&self, queue: &mut P::Queue, task: Task, limit: usize) -> Result<(), Refused> {
        if self.hints.closed.load(Ordering::Relaxed) && !left_out("inbox.closed") {
            let reason = RefusedReason::Closed;
            return Err(Refused { task, reason });
        }
        if queue.len() >= limit {
            let reason = RefusedReason::Full;
            return Err(Refused { task, reason });
        }
        self.admit(queue, task)
    }

    fn admit(&self, queue: &mut P::Queue, task: Task) -> Result<(), Refused> {
        let reason = RefusedReason::Full;
        queue.push(task).map_err(|task| Refused { task, reason })?;
        // Task by task, so that a caller's iterator that panics hides none.
        bump(&self.hints.accepted, 1);
        self.hints.len.store(queue.len(), Ordering::Relaxed);
        Ok(())
    }

    /// Appends the tasks that `spilled` yields for the room that it is told. They were accepted before,
    /// so a closed inbox takes them too, and they are not counted again.
    pub(crate) fn admit_spill<I>(&self, spilled: impl FnOnce(usize) -> I) -> usize
    where
        I: Iterator<Item = Task>,
    {
        self.queue.with(|queue| {
            let before = queue.len();
            let room = queue.room().min(self.limit.saturating_sub(before));
            for task in spilled(room) {
                if queue.push(task).is_err() {
                    unreachable!("a queue holds as many tasks as its room says");
                }
            }
            self.hints.len.store(queue.len(), Ordering::Relaxed);
            queue.len() - before
        })
    }

    /// Takes the oldest task. See [`Inbox`] for an example.
    pub fn pop(&self) -> Option<Task> {
        if self.is_empty() {
            return None;
        }
        self.queue.with(|queue| {
            let task = queue.pop()?;
            self.hints.len.store(queue.len(), Ordering::Relaxed);
            Some(task)
        })
    }

    /// Takes the first task whose word is wanted; the others keep their order. Looks at each under one lock.
    pub(crate) fn take_back(&self, wanted: impl Fn(*mut ()) -> bool) -> Option<Task> {
        if self.is_empty() {
            return None;
        }
        self.queue.with(|queue| {
            let mut found = None;
            for _ in 0..queue.len() {
                let Some(task) = queue.pop() else { break };
                let word = task.into_ptr();
                if found.is_none() && wanted(word) {
                    found = Some(Task::from_ptr(word));
                } else if queue.push(Task::from_ptr(word)).is_err() {
                    unreachable!("there is room where a task was");
                }
            }
            self.hints.len.store(queue.len(), Ordering::Relaxed);
            found
        })
    }

    /// Takes the oldest task and moves at most `limit` more to `owner`'s ring, where they keep their
    /// order for the owner. Returns the task and how many were moved. From a closed inbox none is moved:
    /// whoever looks around before leaving must not pass by a task that is on its way.
    ///
    /// ```
    #[doc = include_str!("../docs/board.md")]
    /// use board::Queue; // the platform's
    /// use parkade_core::{Inbox, RunQueue, SeqCstFences, Task, TaskQueue};
    ///
    /// let inbox = Inbox::<Board>::new(8);
    /// let (pushed, refused) = inbox.push_all(&mut (1..=6).map(Task::from_word));
    /// assert_eq!((pushed, refused.is_none()), (6, true));
    ///
    /// // A queue whose indices are about to wrap.
    /// let queue = RunQueue::<Board>::starting_at(SeqCstFences, 4, 1, usize::MAX)?;
    /// let owner = queue.owner().ok_or("nobody has taken it")?;
    /// let (first, moved) = inbox.take(&owner, 2).ok_or("six wait")?;
    /// assert_eq!((first.into_word(), moved, inbox.len()), (1, 2, 3));
    /// assert_eq!(owner.pop().map(Task::into_word), Some(2)); // in their order
    /// let mut more: Queue = TaskQueue::new();
    /// assert!(more.push(Task::from_word(9)).is_ok());
    /// assert_eq!(owner.refill(&mut more, 8), 1);
    /// assert_eq!(owner.pop().map(Task::into_word), Some(9));
    ///
    /// assert_eq!(owner.spill(&inbox), 1); // what is left there goes behind what is left here
    /// let left: Vec<_> = std::iter::from_fn(|| inbox.pop()).map(Task::into_word).collect();
    /// assert_eq!(left, [4, 5, 6, 3]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn take(&self, owner: &Owner<'_, P>, limit: usize) -> Option<(Task, usize)> {
        if self.is_empty() {
            return None;
        }
        self.queue.with(|queue| {
            let first = queue.pop()?;
            let limit = if self.is_closed() { 0 } else { limit };
            let moved = owner.refill(queue, limit);
            self.hints.len.store(queue.len(), Ordering::Relaxed);
            Some((first, moved))
        })
    }

    /// Refuses every push from now on. What is queued stays until it is taken. See [`Inbox`] for an example.
    pub fn close(&self) {
        self.queue
            .with(|_| self.hints.closed.store(true, Ordering::Relaxed));
    }

    /// Accepts pushes again if `still_wanted` says so inside the lock.
    pub(crate) fn reopen_if(&self, still_wanted: impl FnOnce() -> bool) {
        self.queue.with(|_| {
            if still_wanted() {
                self.hints.closed.store(false, Ordering::Relaxed);
            }
        });
    }

    /// Whether [`close`](Inbox::close) has been called; a hint unless the caller closed it.
    /// See [`Inbox`] for an example.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.hints.closed.load(Ordering::Relaxed)
    }

    /// How many tasks wait: one load, exact at some moment of the recent past. See [`Inbox`] for an example.
    #[must_use]
    pub fn len(&self) -> usize {
        self.hints.len.load(Ordering::Relaxed)
    }

    /// Whether [`len`](Inbox::len) is 0. See [`Inbox`] for an example.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The length for a dump, and whether nothing is accepted any more.
    pub(crate) fn length(&self) -> impl fmt::Debug {
        fmt::from_fn(move |f| {
            let closed = if self.is_closed() { " (closed)" } else { "" };
            write!(f, "{}{closed}", self.len())
        })
    }

    /// How many tasks were ever accepted, and in how many submits.
    pub(crate) fn accepted(&self) -> (usize, usize) {
        (
            self.hints.accepted.load(Ordering::Relaxed),
            self.hints.submits.load(Ordering::Relaxed),
        )
    }
}

impl<P: Platform> fmt::Debug for Inbox<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inbox")
            .field("len", &self.len())
            .field("closed", &self.is_closed())
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}
