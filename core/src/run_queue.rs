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

use core::cell::Cell;
use core::fmt;

use crossbeam_utils::CachePadded;

use crate::inbox::Inbox;
use crate::platform::{Array, CapacityError, Platform, TaskQueue};
use crate::sync::{AtomicBool, AtomicPtr, AtomicUsize, Ordering, heavy, left_out, light, order};
use crate::task::Task;

/// A bounded ring of tasks: one owner, any number of thieves.
///
/// Use it alone as a work-stealing deque without allocation; [`TaskControl`](crate::TaskControl) gives
/// one to each worker.
///
/// ```
#[doc = include_str!("../docs/board.md")]
/// use parkade_core::{RunQueue, SeqCstFences, Steal, Task};
///
/// let queue = RunQueue::<Board>::new(SeqCstFences, 4, 1)?;
/// let owner = queue.owner().ok_or("nobody has taken it")?;
/// assert!(queue.owner().is_none(), "there is one at a time");
/// for word in 1..=3 {
///     assert!(owner.push(Task::from_word(word)).is_ok());
/// }
/// let Steal::Taken(oldest, 0) = queue.steal() else { unreachable!("three wait") };
/// assert_eq!(oldest.into_word(), 1);
/// let newest = owner.pop_newest().map(Task::into_word);
/// assert_eq!((newest, queue.len()), (Some(3), 1));
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

/// The right to push to and pop from a [`RunQueue`]: at most one exists per queue.
pub struct Owner<'q, P: Platform> {
    queue: &'q RunQueue<P>,
    /// The bottom of a full ring under a top that was seen once: the true one is never lower, so there is at least as
    /// much room.
    full_at: Cell<usize>,
}

/// Where a push has put its task: what its owner takes it back by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place(usize);

/// What came of an attempt to steal.
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

    /// The same with both indices at `index`, for tests across the wrap of `usize`.
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

    /// Takes the owner's side, or `None` while another [`Owner`] exists.
    #[must_use = "the owner's side is given back when it is dropped"]
    pub fn owner(&self) -> Option<Owner<'_, P>> {
        // Ordering[queue.owner.take]: Acquire, with `queue.owner.give`: the new owner sees the indices
        // and slots as the last one left them; else it would push over tasks.
        let acquire = order("queue.owner.take", Ordering::Acquire);
        self.owned
            .compare_exchange(false, true, acquire, Ordering::Relaxed)
            .ok()?;
        Some(Owner {
            queue: self,
            // Ordering[queue.push.top]: Acquire, as in a push that looks for room: the first pushes may
            // reuse slots below this top without looking again.
            full_at: Cell::new(
                self.top
                    .load(order("queue.push.top", Ordering::Acquire))
                    .wrapping_add(self.capacity()),
            ),
        })
    }

    /// How many tasks wait: exact for the owner between its calls, a guess for everybody else.
    #[must_use]
    pub fn len(&self) -> usize {
        let top = self.top.load(Ordering::Relaxed);
        let bottom = self.bottom.load(Ordering::Relaxed);
        distance(top, bottom)
    }

    /// Whether [`len`](RunQueue::len) is 0.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many tasks fit.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.slots.len()
    }

    /// Takes the oldest task. Anyone may call it. Costs a heavy fence and a compare-and-swap when there
    /// is something to take, two loads when there is not.
    pub fn steal(&self) -> Steal {
        self.steal_up_to(1, |_, _| ())
    }

    /// Takes the oldest task, and moves at most K − 1 younger ones, never more than half of what is
    /// there, to the thief's own queue, where they can be stolen again. Never moves more than fits.
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

impl<P: Platform> Owner<'_, P> {
    /// Appends a task as the newest.
    ///
    /// Two stores while there is room. Returns the place for [`pop_from`](Owner::pop_from).
    ///
    /// # Errors
    ///
    /// The task itself, when the ring is full.
    #[inline]
    pub fn push(&self, task: Task) -> Result<Place, Task> {
        let queue = self.queue;
        let bottom = queue.bottom.load(Ordering::Relaxed);
        if bottom == self.full_at.get() && self.is_full() {
            return Err(task);
        }
        queue.slot(bottom).store(task.into_ptr(), Ordering::Relaxed);
        queue.publish(bottom.wrapping_add(1));
        Ok(Place(bottom))
    }

    #[cold]
    fn is_full(&self) -> bool {
        self.room() == 0
    }

    /// Moves the oldest tasks of `source`, at most `limit` and never more than fit, to this ring in
    /// reverse: the oldest becomes the newest here and is popped first. They become visible together.
    /// Returns how many.
    ///
    /// # Panics
    ///
    /// When `source` yields fewer tasks than its length says.
    pub fn refill(&self, source: &mut P::Queue, limit: usize) -> usize {
        let count = source.len().min(limit).min(self.room());
        let bottom = self.queue.bottom.load(Ordering::Relaxed);
        for offset in (0..count).rev() {
            let task = source
                .pop()
                .expect("a queue holds as many tasks as it says");
            self.queue
                .slot(bottom.wrapping_add(offset))
                .store(task.into_ptr(), Ordering::Relaxed);
        }
        self.queue.publish(bottom.wrapping_add(count));
        count
    }

    /// Takes the newest task, or the oldest one when fewer than K would be left.
    ///
    /// One store, a light fence and a load; a compare-and-swap only when few are left.
    #[inline]
    pub fn pop(&self) -> Option<Task> {
        if distance(
            self.queue.top.load(Ordering::Relaxed),
            self.queue.bottom.load(Ordering::Relaxed),
        ) == 0
        {
            return None;
        }
        self.pop_far_from_top().or_else(|| self.take_oldest())
    }

    /// Takes the newest task, if it is also the oldest or at least K are left; else leaves all as it is.
    ///
    /// Costs as much as [`pop`](Owner::pop).
    pub fn pop_newest(&self) -> Option<Task> {
        match self.queue.len() {
            0 => None,
            // Nobody but this owner adds any, so the oldest is this one, or a thief has it.
            1 => self.take_oldest(),
            _ => self.pop_far_from_top(),
        }
    }

    /// As [`pop_newest`](Owner::pop_newest), if the newest place is this one; for an owner that knows what it has
    /// pushed there, so that the word need not be read. True: that task is the owner's.
    ///
    /// An owner that has popped the task meanwhile, and pushed another, would take that.
    #[inline]
    pub fn pop_from(&self, Place(place): Place) -> bool {
        self.newest() == place && (self.lower(place) || self.take_if_alone())
    }

    #[cold]
    fn take_if_alone(&self) -> bool {
        self.queue.len() == 1 && self.take_oldest().is_some()
    }

    /// The index of the newest task, if there is one.
    #[inline(always)]
    fn newest(&self) -> usize {
        self.queue.bottom.load(Ordering::Relaxed).wrapping_sub(1)
    }

    /// The word of the newest task, which a thief may have taken meanwhile.
    pub fn newest_word(&self) -> Option<*mut ()> {
        let word = || self.queue.slot(self.newest()).load(Ordering::Relaxed);
        (!self.queue.is_empty()).then(word)
    }

    #[inline]
    fn pop_far_from_top(&self) -> Option<Task> {
        let newest = self.newest();
        let word = || self.queue.slot(newest).load(Ordering::Relaxed);
        self.lower(newest).then(|| Task::from_ptr(word()))
    }

    /// Transition 2: true if at least K tasks are left above top, so that the newest is the owner's.
    #[inline]
    fn lower(&self, newest: usize) -> bool {
        let queue = self.queue;
        // Ordering[queue.pop.bottom]: Release, with `queue.steal.bottom`: a thief that reads this
        // bottom must see the slots that earlier pushes filled; a Relaxed store would end their release
        // sequence.
        queue
            .bottom
            .store(newest, order("queue.pop.bottom", Ordering::Release));
        // Ordering[queue.pop.fence]: light, with `queue.steal.fence`, see there.
        light("queue.pop.fence", queue.fences);
        let left = newest.wrapping_sub(queue.top.load(Ordering::Relaxed)) as isize;
        let distance = if left_out("queue.pop.distance") {
            1
        } else {
            queue.batch as isize
        };
        if left >= distance {
            return true;
        }
        self.restore(newest);
        false
    }

    /// On its own, so that a pop that succeeds keeps nothing for it.
    #[inline(never)]
    fn restore(&self, newest: usize) {
        // Ordering[queue.pop.restore]: Release, with `queue.steal.bottom`, for the same reason as the
        // store of `lower`.
        self.queue.bottom.store(
            newest.wrapping_add(1),
            order("queue.pop.restore", Ordering::Release),
        );
    }

    /// Takes the oldest task by compare-and-swap, as a thief would; no fence, because the owner knows
    /// the bottom.
    fn take_oldest(&self) -> Option<Task> {
        let top = self.claim_oldest(1)?.0;
        Some(Task::from_ptr(self.queue.slot(top).load(Ordering::Relaxed)))
    }

    /// Moves top past at most `limit` tasks; returns where they begin and how many they are. Their slots
    /// stay filled until the owner pushes again.
    fn claim_oldest(&self, limit: usize) -> Option<(usize, usize)> {
        let queue = self.queue;
        let bottom = queue.bottom.load(Ordering::Relaxed);
        let mut top = queue.top.load(Ordering::Relaxed);
        loop {
            let count = distance(top, bottom).min(limit);
            if count == 0 {
                return None;
            }
            match queue.top.compare_exchange_weak(
                top,
                top.wrapping_add(count),
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Ok(_) => return Some((top, count)),
                Err(now) => top = now,
            }
        }
    }

    /// Moves the older half of the ring into `inbox`, as far as there is room; returns how many moved.
    /// Works on a closed inbox too: these tasks were accepted before.
    pub fn spill(&self, inbox: &Inbox<P>) -> usize {
        inbox.admit_spill(|room| {
            let half = self.queue.capacity() / 2;
            let (top, count) = self.claim_oldest(half.min(room)).unwrap_or((0, 0));
            (0..count).map(move |offset| {
                let slot = self.queue.slot(top.wrapping_add(offset));
                Task::from_ptr(slot.load(Ordering::Relaxed))
            })
        })
    }

    /// How many more tasks fit, by a fresh look at top.
    pub fn room(&self) -> usize {
        let bottom = self.queue.bottom.load(Ordering::Relaxed);
        // Ordering[queue.push.top]: Acquire, with `queue.steal.top`: the thief has read the slot that is
        // about to be reused.
        let top = self
            .queue
            .top
            .load(order("queue.push.top", Ordering::Acquire));
        let capacity = self.queue.capacity();
        self.full_at.set(top.wrapping_add(capacity));
        capacity - distance(top, bottom)
    }

    /// The queue that this is the owner's side of.
    #[must_use]
    pub fn queue(&self) -> &RunQueue<P> {
        self.queue
    }
}

impl<P: Platform> Drop for Owner<'_, P> {
    fn drop(&mut self) {
        // Ordering[queue.owner.give]: Release, with `queue.owner.take`, see there.
        self.queue
            .owned
            .store(false, order("queue.owner.give", Ordering::Release));
    }
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

impl<P: Platform> fmt::Debug for Owner<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Owner").field(self.queue).finish()
    }
}
