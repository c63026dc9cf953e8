//! The state word of a job that has a handle.
//!
//! Two parties refer to such a job: the *entry*, which travels through the queues, and the *handle*,
//! which its spawner holds. Each clears its own bit when it leaves; whoever clears the last of the two
//! frees the job. Every bit changes at most once, except `WAITER`.
//!
//! A job on its waiter's stack (`stack_job.rs`) is the same with a handle that never leaves and an entry that
//! needs no claim, because it alone leads to the closure. Its waiter may go when `ENTRY` is clear, not before.
//!
//! | bit | set by | cleared by | cannot be set when |
//! |---|---|---|---|
//! | `ENTRY` | creation | the party that took the entry out of the queues, after its last access | – |
//! | `HANDLE` | creation | the handle, after its last access | – |
//! | `CLAIMED` | the first to want the closure: the entry's taker or the waiting handle | never | it is set: one claim wins |
//! | `DONE` | the entry's taker, if it made the claim, once the outcome is stored | never | not `CLAIMED`, but on a stack; the handle made the claim (it keeps the outcome to itself) |
//! | `WAITER` | the handle, once its thread or waker is stored | the handle, when it gives up waiting or is polled again | `DONE` |
//!
//! The slot that holds the waiting thread or waker belongs to the handle, except from the moment in which `DONE`
//! joins a set `WAITER`: then the finisher takes it out.
//!
//! Each ordering has a name, by which `sync.rs` can weaken it for the models of `models.rs`.

use std::fmt;

use crate::sync::{AtomicU32, Ordering, order};

const ENTRY: u32 = 1;
const HANDLE: u32 = 1 << 1;
const CLAIMED: u32 = 1 << 2;
const DONE: u32 = 1 << 3;
const WAITER: u32 = 1 << 4;

/// The word. Its methods are the only transitions.
pub(crate) struct State(AtomicU32);

/// Who frees the job, as the answer to giving up one reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "the last one frees the job"]
pub(crate) enum Left {
    /// The other party still refers to the job.
    OtherRemains,
    /// Nobody does: the caller frees it.
    Last,
}

/// What the finisher found when it declared the outcome stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a waiter must be woken, the last one frees the job"]
pub(crate) enum Finished {
    /// Nobody waits, and the entry's reference is given up already.
    Released(Left),
    /// Somebody waits: take the thread out of its slot, then release the entry, then unpark.
    WaiterRegistered,
}

impl State {
    /// A job that waits in a queue and has a handle.
    #[inline]
    pub(crate) fn new() -> Self {
        Self(AtomicU32::new(ENTRY | HANDLE))
    }

    /// Tries to take the closure; true for the one caller that gets it.
    ///
    /// Relaxed: the closure's bytes reached either claimant with the entry (through the queue) or with
    /// the handle (with whatever moved it), not through this word.
    pub(crate) fn claim(&self) -> bool {
        self.0.fetch_or(CLAIMED, Ordering::Relaxed) & CLAIMED == 0
    }

    /// Whether somebody has taken the closure. A hint: the answer may be old.
    pub(crate) fn is_claimed(&self) -> bool {
        self.0.load(Ordering::Relaxed) & CLAIMED != 0
    }

    /// Whether the outcome is stored; true entitles the handle to take it.
    pub(crate) fn is_done(&self) -> bool {
        // Ordering[job.done.read]: Acquire, with the Release half of `job.finish` and `job.done`: the
        // outcome that was stored before them is complete. Without it the handle reads it torn.
        self.0.load(order("job.done.read", Ordering::Acquire)) & DONE != 0
    }

    /// Whether the entry has left; true entitles the handle to all of the job, its memory included.
    #[inline]
    pub(crate) fn has_entry_left(&self) -> bool {
        // Ordering[job.left.read]: Acquire, with the Release half of `job.finish` and `job.entry.leave`: what
        // the entry's side did to the job is over. Without it a frame is left under the finisher's feet.
        self.0.load(order("job.left.read", Ordering::Acquire)) & ENTRY == 0
    }

    /// Declares the outcome stored, on behalf of the entry.
    pub(crate) fn finish(&self) -> Finished {
        let mut seen = self.0.load(Ordering::Relaxed);
        while seen & WAITER == 0 {
            let done = (seen | DONE) & !ENTRY;
            // Ordering[job.finish]: AcqRel. Release, with `job.done.read`, publishes the outcome, and with
            // `job.handle.leave` everything this side did, if the handle frees the job. Acquire, with
            // `job.handle.leave`: if this side frees it, the handle's accesses are over.
            match self.0.compare_exchange_weak(
                seen,
                done,
                order("job.finish", Ordering::AcqRel),
                Ordering::Relaxed,
            ) {
                Ok(_) => return Finished::Released(Left::after(seen, HANDLE)),
                Err(now) => seen = now,
            }
        }
        // Ordering[job.done]: AcqRel. Release, with `job.done.read`, publishes the outcome; Acquire, with
        // `job.waiter`, makes the stored thread readable.
        if self.0.fetch_or(DONE, order("job.done", Ordering::AcqRel)) & WAITER != 0 {
            Finished::WaiterRegistered
        } else {
            Finished::Released(self.leave_entry())
        }
    }

    /// Gives up the entry's reference. The caller touches the job no more, unless it is the last.
    pub(crate) fn leave_entry(&self) -> Left {
        // Ordering[job.entry.leave]: AcqRel, with `job.handle.leave`: the last to leave frees the job, and
        // by then the other side's accesses have happened. Without it the memory goes under its feet.
        Left::after(
            self.0
                .fetch_and(!ENTRY, order("job.entry.leave", Ordering::AcqRel)),
            HANDLE,
        )
    }

    /// Gives up the handle's reference. The caller touches the job no more, unless it is the last.
    pub(crate) fn leave_handle(&self) -> Left {
        // Ordering[job.handle.leave]: AcqRel, with `job.entry.leave` and `job.finish`; see there.
        Left::after(
            self.0
                .fetch_and(!HANDLE, order("job.handle.leave", Ordering::AcqRel)),
            ENTRY,
        )
    }

    /// Declares the waiting thread stored; false if the outcome came first, and the slot stays the handle's.
    /// Only [`is_done`](State::is_done) entitles to take the outcome.
    pub(crate) fn register_waiter(&self) -> bool {
        // Ordering[job.waiter]: Release, with the Acquire half of `job.done`: the finisher that sees the bit
        // sees the thread. If the outcome came first, the finisher will not look at the slot; whoever takes
        // the outcome then reads `DONE` once more, by `job.done.read`.
        self.0
            .fetch_or(WAITER, order("job.waiter", Ordering::Release))
            & DONE
            == 0
    }

    /// Whether a waiter is registered, so that the slot may be the finisher's. Only for the handle, which alone changes
    /// that.
    pub(crate) fn has_waiter(&self) -> bool {
        self.0.load(Ordering::Relaxed) & WAITER != 0
    }

    /// Stops waiting; false if the outcome has come, and with it the finisher has the slot.
    ///
    /// Relaxed: if it has come, whoever takes it reads `DONE` once more, by `job.done.read`; if not, the slot
    /// has been the handle's all the time.
    pub(crate) fn withdraw_waiter(&self) -> bool {
        self.0.fetch_and(!WAITER, Ordering::Relaxed) & DONE == 0
    }
}

impl Left {
    fn after(before: u32, other: u32) -> Self {
        if before & other == 0 {
            Self::Last
        } else {
            Self::OtherRemains
        }
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = self.0.load(Ordering::Relaxed);
        let names = [
            (ENTRY, "entry"),
            (HANDLE, "handle"),
            (CLAIMED, "claimed"),
            (DONE, "done"),
            (WAITER, "waiter"),
        ];
        let set = names.iter().filter(|(bit, _)| word & bit != 0);
        f.debug_set().entries(set.map(|(_, name)| name)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_claim_wins() {
        let state = State::new();
        assert!(!state.is_claimed());
        assert!(state.claim());
        assert!(!state.claim());
        assert!(state.is_claimed());
    }

    #[test]
    fn the_last_to_leave_frees() {
        let state = State::new();
        assert!(state.claim());
        assert_eq!(state.finish(), Finished::Released(Left::OtherRemains));
        assert!(state.is_done());
        assert_eq!(state.leave_handle(), Left::Last);

        let detached = State::new();
        assert_eq!(detached.leave_handle(), Left::OtherRemains);
        assert!(detached.claim());
        assert_eq!(detached.finish(), Finished::Released(Left::Last));
    }

    #[test]
    fn a_husk_is_freed_by_its_entry() {
        let state = State::new();
        assert!(state.claim());
        assert_eq!(state.leave_handle(), Left::OtherRemains);
        assert!(!state.claim());
        assert_eq!(state.leave_entry(), Left::Last);
    }

    #[test]
    fn the_finisher_meets_the_waiter_or_the_waiter_the_outcome() {
        let state = State::new();
        assert!(state.register_waiter());
        assert!(state.claim());
        assert_eq!(state.finish(), Finished::WaiterRegistered);
        assert!(!state.withdraw_waiter());
        assert_eq!(state.leave_entry(), Left::OtherRemains);
        assert_eq!(state.leave_handle(), Left::Last);

        let late = State::new();
        assert!(late.claim());
        assert_eq!(late.finish(), Finished::Released(Left::OtherRemains));
        assert!(!late.register_waiter());
    }

    #[test]
    fn a_waiter_that_gave_up_is_not_looked_for() {
        let state = State::new();
        assert!(state.register_waiter());
        assert!(state.withdraw_waiter());
        assert!(state.claim());
        assert_eq!(state.finish(), Finished::Released(Left::OtherRemains));
    }
}
