//! The owner's side of a run queue: push, pop, take back, spill.

use core::cell::Cell;
use core::fmt;

use super::{RunQueue, distance};
use crate::inbox::Inbox;
use crate::platform::{Platform, TaskQueue};
use crate::sync::{Ordering, left_out, light, order};
use crate::task::Task;

/// The right to push to and pop from a [`RunQueue`]: at most one exists per queue. See [`RunQueue`] for an example.
pub struct Owner<'q, P: Platform> {
    pub(super) queue: &'q RunQueue<P>,
    /// The bottom of a full ring under a top that was seen once: the true one is never lower, so there is at least as
    /// much room.
    full_at: Cell<usize>,
}

/// Where a push has put its task: what its owner takes it back by.
///
/// ```
#[doc = include_str!("../../docs/board.md")]
/// use parkade_core::{Place, RunQueue, SeqCstFences, Task};
///
/// let queue = RunQueue::<Board>::new(SeqCstFences, 4, 1)?;
/// let owner = queue.owner().ok_or("nobody has taken it")?;
/// let push = |word| owner.push(Task::from_word(word)).map_err(|_| "it is full");
/// let (first, second): (Place, Place) = (push(1)?, push(2)?);
/// assert!(!owner.pop_from(first), "another lies above it");
/// assert!(owner.pop_from(second) && owner.pop_from(first));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place(usize);

impl<P: Platform> RunQueue<P> {
    /// Takes the owner's side, or `None` while another [`Owner`] exists. See [`RunQueue`] for an example.
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
}

impl<P: Platform> Owner<'_, P> {
    /// Appends a task as the newest.
    ///
    /// Two stores while there is room. Returns the place for [`pop_from`](Owner::pop_from). See [`RunQueue`] for an example.
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
    /// Returns how many. See [`Inbox::take`] for an example.
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
    /// One store, a light fence and a load; a compare-and-swap only when few are left. See [`RunQueue`] for an example.
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
    /// Costs as much as [`pop`](Owner::pop). See [`RunQueue`] for an example.
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
    /// An owner that has popped the task meanwhile, and pushed another, would take that. See [`Place`] for an example.
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

    /// The word of the newest task, which a thief may have taken meanwhile. See [`RunQueue`] for an example.
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
    /// Works on a closed inbox too: these tasks were accepted before. See [`Inbox::take`] for an example.
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

    /// How many more tasks fit, by a fresh look at top. See [`RunQueue`] for an example.
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

    /// The queue that this is the owner's side of. See [`RunQueue`] for an example.
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

impl<P: Platform> fmt::Debug for Owner<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Owner").field(self.queue).finish()
    }
}
