//! The run queue: a bounded ring that its owner uses as a stack and thieves as a queue.
//!
//! # Vocabulary
//!
//! *Bottom* is the index of the next free slot, written by the owner alone; *top* is the index of the
//! oldest task, moved by compare-and-swap alone. *K* is the most tasks that a thief may take per
//! heavy fence ([`RunQueue::new`]'s `batch`).
//!
//! # Word layout
//!
//! Bottom and top are words of their own, on cache lines of their own. Both only count; `index %
//! capacity` is the slot. They wrap, so they are compared by signed difference.
//!
//! # Transitions
//!
//! 1. Push (owner): slot, then bottom + 1, Release. No read-modify-write, no fence.
//! 2. Pop (owner): bottom − 1, Release; light fence; read top. If at least K tasks are left above top,
//!    the newest task is the owner's without further ado. Otherwise bottom is restored and the
//!    *oldest* task is taken as a thief would take it, by compare-and-swap.
//! 3. Steal (anyone): read top; heavy fence; read bottom, Acquire; read at most K slots; move top past
//!    them by one compare-and-swap, Release.
//! 4. Spill (owner): move top past half of the ring by one compare-and-swap, then read those slots into
//!    the inbox. The owner steals from itself; nobody else writes slots, so they may be read after.
//!
//! # Danger
//!
//! The owner takes the newest task without a compare-and-swap, and thieves take from the other end: when
//! the two ends are near, one task may be taken twice. And a slot that was taken is reused.
//!
//! # Why it cannot happen
//!
//! 2 is a store (bottom) and then a load (top); 3 is a load of top, then a load of bottom that decides.
//! With fences between them on both sides either the owner sees the thief's earlier top, or the thief
//! sees the owner's lowered bottom. A thief that does not see it took top before the owner's fence, so
//! it may take at most K tasks above a top that the owner sees: hence the distance K in 2. With the
//! textbook's distance of one (K = 1), two tasks taken per fence would both be taken twice.
//! A slot is overwritten only after the owner has read a top past it (Acquire), which a thief moves past
//! it after reading it (Release).
//!
//! # Rejected
//!
//! A Relaxed store to bottom in 2: in the C++20 model it ends the release sequence of 1, and a thief
//! reads a slot before it was filled. A hardware fence in every pop: it costs more than everything else
//! in a fork-join. A growing ring: it allocates on the owner's time and needs deferred freeing.
//!
//! Source: Chase and Lev, "Dynamic circular work-stealing deque", 2005; Lê, Pop, Cohen and Zappa
//! Nardelli, "Correct and efficient work-stealing for weak memory models", 2013.

mod owner;

use core::fmt;

use crossbeam_utils::CachePadded;

use crate::platform::{Array, CapacityError, Platform};
use crate::sync::{AtomicBool, AtomicPtr, AtomicUsize, Ordering, heavy, order};
use crate::task::Task;

pub use owner::{Owner, Place};

/// A bounded ring of tasks: one owner, any number of thieves.
///
/// Use it alone as a work-stealing deque without allocation; [`TaskControl`](crate::TaskControl) gives
/// one to each worker.
///
/// ```
#[doc = include_str!("../docs/board.md")]
/// use parkade_core::{Owner, RunQueue, SeqCstFences, Steal, Task};
///
/// let queue = RunQueue::<Board>::new(SeqCstFences, 4, 1)?;
/// let owner: Owner<'_, Board> = queue.owner().ok_or("nobody has taken it")?;
/// assert!(queue.owner().is_none(), "there is one at a time");
/// for word in 1..=3 {
///     assert!(owner.push(Task::from_word(word)).is_ok());
/// }
/// let Steal::Taken(oldest, 0) = queue.steal() else { unreachable!("three wait") };
/// assert_eq!(oldest.into_word(), 1);
/// let newest = owner.pop_newest().map(Task::into_word);
/// assert_eq!((newest, queue.len()), (Some(3), 1));
/// assert_eq!(owner.newest_word().map(<*mut ()>::addr), Some(2));
/// assert_eq!(owner.pop().map(Task::into_word), Some(2));
/// assert!(owner.queue().is_empty() && owner.room() == queue.capacity());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct RunQueue<P: Platform> {
    top: CachePadded<AtomicUsize>,
    bottom: CachePadded<AtomicUsize>,
    slots: P::Ring,
    fences: P::Fences,
    batch: usize,
    owned: AtomicBool,
}

/// What came of an attempt to steal. See [`RunQueue`] for an example.
#[derive(Debug)]
#[must_use = "a stolen task must be run"]
pub enum Steal {
    /// There was nothing to steal.
    Empty,
    /// Somebody else took the tasks that were looked at; there may be more.
    Lost,
    /// The oldest task, and how many younger ones were moved to the thief's own queue with it.
    Taken(Task, usize),
}

impl<P: Platform> RunQueue<P> {
    /// An empty queue of `capacity` tasks of which a thief takes at most `batch` (K) at a time.
    /// See [`RunQueue`] for an example.
    ///
    /// # Errors
    ///
    /// [`CapacityError`] when the platform's ring is smaller.
    ///
    /// # Panics
    ///
    /// Unless `capacity` is a power of two of at least 2, and `batch` between 1 and half of it.
    pub fn new(fences: P::Fences, capacity: usize, batch: usize) -> Result<Self, CapacityError> {
        Self::starting_at(fences, capacity, batch, 0)
    }

    /// The same with both indices at `index`, for tests across the wrap of `usize`. See [`Inbox::take`](crate::Inbox::take) for an example.
    ///
    /// # Errors
    ///
    /// As [`new`](RunQueue::new).
    ///
    /// # Panics
    ///
    /// As [`new`](RunQueue::new).
    pub fn starting_at(
        fences: P::Fences,
        capacity: usize,
        batch: usize,
        index: usize,
    ) -> Result<Self, CapacityError> {
        assert!(
            capacity.is_power_of_two() && capacity >= 2,
            "a run queue's capacity is a power of two of at least 2, not {capacity}"
        );
        assert!(
            (1..=capacity / 2).contains(&batch),
            "a thief takes between 1 and {} tasks at a time, not {batch}",
            capacity / 2
        );
        Ok(Self {
            top: CachePadded::new(AtomicUsize::new(index)),
            bottom: CachePadded::new(AtomicUsize::new(index)),
            slots: P::Ring::from_fn(capacity, |_| AtomicPtr::new(core::ptr::null_mut()))?,
            fences,
            batch,
            owned: AtomicBool::new(false),
        })
    }

    /// How many tasks wait: exact for the owner between its calls, a guess for everybody else.
    /// See [`RunQueue`] for an example.
    #[must_use]
    pub fn len(&self) -> usize {
        let top = self.top.load(Ordering::Relaxed);
        let bottom = self.bottom.load(Ordering::Relaxed);
        distance(top, bottom)
    }

    /// Whether [`len`](RunQueue::len) is 0. See [`RunQueue`] for an example.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Which task is the oldest: a number that is the same as long as it stays. A guess.
    pub(crate) fn oldest(&self) -> Option<usize> {
        let top = self.top.load(Ordering::Relaxed);
        (distance(top, self.bottom.load(Ordering::Relaxed)) > 0).then_some(top)
    }

    /// How many tasks fit. See [`RunQueue`] for an example.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.slots.len()
    }

    /// Takes the oldest task. Anyone may call it. Costs a heavy fence and a compare-and-swap when there
    /// is something to take, two loads when there is not. See [`RunQueue`] for an example.
    pub fn steal(&self) -> Steal {
        self.steal_up_to(1, |_, _| ())
    }

    /// Takes the oldest task, and moves at most K − 1 younger ones, never more than half of what is
    /// there, to the thief's own queue, where they can be stolen again. Never moves more than fits.
    /// See [`TagConfig::steal_batch`](crate::TagConfig::steal_batch) for an example.
    pub fn steal_into(&self, thief: &Owner<'_, P>) -> Steal {
        let base = thief.queue.bottom.load(Ordering::Relaxed);
        let stolen = self.steal_up_to(1 + thief.room(), |position, ptr| {
            thief
                .queue
                .slot(base.wrapping_add(position - 1))
                .store(ptr, Ordering::Relaxed);
        });
        if let Steal::Taken(_, moved @ 1..) = stolen {
            thief.queue.publish(base.wrapping_add(moved));
        }
        stolen
    }

    /// Steals until a task is had or there is none; for a queue that is being emptied.
    pub(crate) fn steal_surely(&self) -> Option<Task> {
        loop {
            match self.steal() {
                Steal::Taken(task, _) => return Some(task),
                Steal::Empty => return None,
                Steal::Lost => {}
            }
        }
    }

    /// Whether an [`Owner`] exists; a hint.
    pub(crate) fn is_owned(&self) -> bool {
        self.owned.load(Ordering::Relaxed)
    }

    /// Transition 3. `keep` gets the position (from 1) and the word of each task beyond the first; what
    /// it keeps counts only if the result is `Taken`.
    fn steal_up_to(&self, room: usize, mut keep: impl FnMut(usize, *mut ())) -> Steal {
        if self.is_empty() {
            return Steal::Empty;
        }
        let top = self.top.load(Ordering::Relaxed);
        // Ordering[queue.steal.fence]: heavy, with `queue.pop.fence`. Either the owner sees the top that
        // was just read, or the load below sees the bottom that the owner has lowered; else both take
        // the same task.
        heavy("queue.steal.fence", self.fences);
        // Ordering[queue.steal.bottom]: Acquire, with `queue.push.bottom`: the slots below this bottom
        // are filled, and so is what their tasks point to.
        let bottom = self
            .bottom
            .load(order("queue.steal.bottom", Ordering::Acquire));
        let waiting = distance(top, bottom);
        if waiting == 0 {
            return Steal::Empty;
        }
        let count = waiting.div_ceil(2).min(self.batch).min(room);
        let first = self.slot(top).load(Ordering::Relaxed);
        for position in 1..count {
            keep(
                position,
                self.slot(top.wrapping_add(position))
                    .load(Ordering::Relaxed),
            );
        }
        // Ordering[queue.steal.top]: Release, with `queue.push.top`: the slots were read before the
        // owner may reuse them; else this task could be one that was pushed later, and taken twice.
        match self.top.compare_exchange(
            top,
            top.wrapping_add(count),
            order("queue.steal.top", Ordering::Release),
            Ordering::Relaxed,
        ) {
            Ok(_) => Steal::Taken(Task::from_ptr(first), count - 1),
            Err(_) => Steal::Lost,
        }
    }

    /// Makes the slots below a bottom visible; for the owner.
    #[inline(always)]
    fn publish(&self, bottom: usize) {
        // Ordering[queue.push.bottom]: Release, with `queue.steal.bottom`: the slot and what the task
        // points to are written before the task can be seen.
        self.bottom
            .store(bottom, order("queue.push.bottom", Ordering::Release));
    }

    #[inline(always)]
    fn slot(&self, index: usize) -> &AtomicPtr<()> {
        &self.slots[index & (self.slots.len() - 1)]
    }
}

/// How many tasks lie between two indices; 0 when bottom was seen before top moved past it.
#[inline(always)]
fn distance(top: usize, bottom: usize) -> usize {
    let signed = bottom.wrapping_sub(top) as isize;
    signed.max(0) as usize
}

impl<P: Platform> fmt::Debug for RunQueue<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunQueue")
            .field("len", &self.len())
            .field("capacity", &self.capacity())
            .field("batch", &self.batch)
            .finish_non_exhaustive()
    }
}
