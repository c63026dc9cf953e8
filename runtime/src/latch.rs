//! Waiting for a job: one thread sleeps, or a future is not polled, until the other declares the outcome stored.
//!
//! # Protocol
//!
//! The waiter stores its [`Thread`] in a slot, sets `WAITER` in the [`State`] and sleeps by
//! `thread::park` until it reads `DONE`. The finisher sets `DONE`; if that met a `WAITER` it takes the
//! thread out of the slot, *gives up its reference to the job*, and only then unparks. A `Thread` is a
//! counted reference of its own, so the unpark touches nothing that the waiter may have freed (I6).
//!
//! A future that waits does the same with its [`Waker`], and returns instead of sleeping. When it is polled again
//! the slot may be full, and `WAITER` set: it takes `WAITER` back first, and with it the slot, unless the finisher has
//! come. A waker is a counted reference as well.
//!
//! # Why std's park is right here
//!
//! It keeps a token per thread: an `unpark` that comes before the `park` makes that park return at
//! once, so nothing is lost between the last look at `DONE` and the sleep. It may return for no reason,
//! and a token may be left over from another use: both only cost one more look, because the loop
//! believes the state alone. In turn, a waiter that saw `DONE` early may leave a token behind, which
//! some later `park` of that thread returns on; std allows that to every caller of `park`.

use std::fmt;
use std::task::{Context, Waker};
use std::time::Instant;

use crate::job::{call_quietly, drop_quietly};
use crate::state::{Finished, Left, State};
use crate::sync::{self, Thread, UnsafeCell, left_out};

/// The state of a job, and the thread or future that waits for it.
///
/// The functions take a pointer where the job may be freed by the other side before they return: no
/// reference to the latch may live at that moment.
pub(crate) struct Latch {
    pub(crate) state: State,
    waiter: UnsafeCell<Option<Waiter>>,
}

/// Who is to be told.
enum Waiter {
    Thread(Thread),
    Future(Waker),
}

// SAFETY: `state` is atomic, and `waiter` is accessed by one side at a time: by the handle, except from
// the moment in which `DONE` joins a set `WAITER`, when it passes to the finisher (see `State`).
unsafe impl Sync for Latch {}

impl Latch {
    /// A latch that is not set.
    #[inline]
    pub(crate) fn new() -> Self {
        Self {
            state: State::new(),
            waiter: UnsafeCell::new(None),
        }
    }

    /// Sleeps until the outcome is stored, or the deadline has passed; true if it is stored. Whoever takes it
    /// asks [`State::is_done`] first.
    ///
    /// # Safety
    ///
    /// Only the job's handle may call it, from one thread at a time.
    pub(crate) unsafe fn wait(&self, deadline: Option<Instant>) -> bool {
        if self.state.is_done() {
            return true;
        }
        // SAFETY: the caller's obligation is the same.
        if !unsafe { self.register(Waiter::Thread(sync::current())) } {
            return true;
        }
        while !self.state.is_done() {
            match deadline {
                None => sync::park(),
                Some(deadline) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return !self.state.withdraw_waiter();
                    }
                    sync::park_timeout(left);
                }
            }
        }
        true
    }

    /// True if the outcome is stored; else the waker is woken once it is, unless a later call replaces it. Whoever
    /// takes it asks [`State::is_done`] first.
    ///
    /// # Safety
    ///
    /// Only the job's handle may call it, from one thread at a time.
    pub(crate) unsafe fn poll(&self, context: &Context<'_>) -> bool {
        if self.state.is_done() {
            return true;
        }
        let waiter = Waiter::Future(context.waker().clone());
        // SAFETY: the caller's obligation is the same.
        !unsafe { self.register(waiter) }
    }

    /// Leaves word of who waits, in place of who did; false if the outcome came first.
    ///
    /// # Safety
    ///
    /// Only the job's handle may call it, from one thread at a time.
    unsafe fn register(&self, waiter: Waiter) -> bool {
        // An earlier poll may have left its waker.
        if self.state.has_waiter()
            && !left_out("latch.poll.withdraw")
            && !self.state.withdraw_waiter()
        {
            return false;
        }
        let former = self.waiter.with_mut(|slot| {
            // SAFETY: `WAITER` is not set, so the slot is the handle's, and the caller is the handle.
            unsafe { (*slot).replace(waiter) }
        });
        let registered = self.state.register_waiter();
        // Not before, because a waker's destructor is the user's.
        drop_quietly(former);
        registered
    }

    /// Forgets whoever an earlier [`poll`](Latch::poll) has registered, unless the outcome is there.
    ///
    /// # Safety
    ///
    /// Only the job's handle may call it, from one thread at a time.
    pub(crate) unsafe fn give_up(&self) {
        if self.state.has_waiter() && !self.state.is_done() && self.state.withdraw_waiter() {
            let former = self.waiter.with_mut(|slot| {
                // SAFETY: `WAITER` is not set, so the slot is the handle's, and the caller is the handle.
                unsafe { (*slot).take() }
            });
            drop_quietly(former);
        }
    }

    /// Sleeps until the finisher has left the job: for a waiter whose own frame the job is.
    ///
    /// `DONE` is not enough for it, because the finisher that has set it may still be on its way to the slot.
    ///
    /// # Safety
    ///
    /// Only the job's handle may call it, from one thread at a time.
    pub(crate) unsafe fn wait_until_left(&self) {
        if self.state.has_entry_left() {
            return;
        }
        // If the outcome came first, the entry has left with it.
        // SAFETY: the caller's obligation is the same.
        unsafe { self.register(Waiter::Thread(sync::current())) };
        let early = left_out("latch.wait.left");
        while !(self.state.has_entry_left() || early && self.state.is_done()) {
            sync::park();
        }
    }

    /// Declares the outcome stored, gives up the entry's reference, and wakes the waiter if there is one.
    ///
    /// # Safety
    ///
    /// The caller holds the entry's reference and the right to the closure, and does not use `this` after,
    /// unless it is told to be the last.
    pub(crate) unsafe fn set(this: *const Self) -> Left {
        // SAFETY: the entry's reference keeps the latch alive until `finish` gives it up, and the state
        // is all atomic, so that the reference may outlive the memory by the tail of that call.
        let state = unsafe { &(*this).state };
        match state.finish() {
            Finished::Released(left) => left,
            Finished::WaiterRegistered => {
                let early = left_out("latch.take.first").then(|| state.leave_entry());
                // SAFETY: the entry's reference is still held, so the latch is alive.
                let slot = unsafe { &(*this).waiter };
                let waiting = slot.with_mut(|slot| {
                    // SAFETY: `DONE` joined a set `WAITER`: the slot is the finisher's now.
                    unsafe { (*slot).take() }
                });
                let left = early.unwrap_or_else(|| state.leave_entry());
                match waiting {
                    Some(Waiter::Thread(thread)) => thread.unpark(),
                    Some(Waiter::Future(waker)) => call_quietly(|| waker.wake()),
                    None => {}
                }
                left
            }
        }
    }
}

impl fmt::Debug for Latch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.state.fmt(f)
    }
}
