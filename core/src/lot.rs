//! The parking lot: one signal word that workers sleep on.
//!
//! # Vocabulary
//!
//! A *lot* holds one *word* that says *stopped* and counts *signals*. A [`State`] is a snapshot of the
//! word. A *waiter* is a thread between its announcement and its return from the park.
//!
//! # Word layout
//!
//! 32 bits, so that a futex takes it: the lowest is set for ever by a stop, the other 31 count signals.
//! The number of waiters is a word of its own beside it.
//!
//! # Transitions
//!
//! 1. Look ([`ParkingLot::state`]): read the word, Acquire. The caller then looks for work one last time.
//! 2. Wait ([`ParkingLot::wait`]): if the state says stopped or the word has moved, return. Else count
//!    one waiter, SeqCst fence, compare-and-block on the state, count one waiter less.
//! 3. Signal ([`ParkingLot::signal`]): add n signals to the word, Release; SeqCst fence; if nobody waits,
//!    done; else wake at most n.
//! 4. Stop ([`ParkingLot::stop`]): set the lowest bit for ever, wake everybody.
//!
//! # Danger
//!
//! The skip in 3 is a store (the word) and then a load (the waiters); 2 is a store (the waiters) and
//! then a load (the word, inside the park). Without a full fence on *both* sides each may miss the
//! other's store, and a sleeper misses its signal. x86 hides it, because its read-modify-writes are
//! full barriers; AArch64 and RISC-V do not.
//!
//! # Why it cannot happen
//!
//! The two SeqCst fences are in one total order. If the signaller's comes first, the waiter's compare
//! sees the new word and does not sleep. If the waiter's comes first, the signaller sees the waiter and
//! wakes; the word was moved before that wake, so by obligation 1 of [`Park`](crate::Park) nobody who
//! compared before sleeps on. And because the state is taken *before* the caller's last look for work,
//! a task published before a signal is seen by the look, or the signal by the compare.
//!
//! # Limits
//!
//! The count wraps after 2^31 signals. A waiter misses its signal only if *exactly* a multiple of 2^31
//! of them arrive between its state and its compare.
//!
//! # Rejected
//!
//! Release and Relaxed alone, as bthread had it until 2026 (a lost wake-up). A waiter check made of
//! read-modify-writes instead of fences (then every signal writes the waiters' line). A Release fence
//! (orders nothing between a store and a later load).

use core::fmt;

use crate::park::Park;
use crate::sync::{AtomicU32, Ordering, fence, order};

const STOPPED: u32 = 1;
const ONE_SIGNAL: u32 = 2;
const MAX_SIGNALS: u32 = u32::MAX >> 1;

/// When a signal may save itself the call to [`Park::wake`].
///
/// See [`ParkingLot`] for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Skip {
    /// Skip the wake when nobody waits: right for a lot that stands alone.
    #[default]
    WhenNobodyWaits,
    /// Always wake: for a lot whose signaller already knows that somebody sleeps (a claimed bit of the
    /// idle word). Neither side then touches a waiter count, and neither needs a fence.
    Never,
}

/// A snapshot of a lot's word, to be taken before the last look for work.
///
/// See [`ParkingLot`] for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a state is taken to wait on it or to see whether the lot is stopped"]
pub struct State(u32);

impl State {
    /// Whether the lot was stopped when this state was taken. Such a state never parks.
    /// See [`ParkingLot`] for an example.
    #[must_use]
    pub const fn is_stopped(self) -> bool {
        self.0 & STOPPED != 0
    }
}

/// One signal word that any number of workers sleep on.
///
/// Use it alone where threads wait for work that others publish, or as [`TaskControl`](crate::TaskControl)
/// does, one per worker. A waiter takes a [`state`](ParkingLot::state), looks for work, and only then
/// waits on that state: a signal in between makes the wait return at once.
///
/// ```
/// use parkade_core::{Park, ParkingLot, Skip, State, sync::AtomicU32};
///
/// struct NeverSleeps;
/// impl Park for NeverSleeps {
///     fn wait(&self, _: &AtomicU32, _: u32) {}
///     fn wake(&self, _: &AtomicU32, _: u32) -> u32 { 0 }
/// }
///
/// let lot = ParkingLot::new(NeverSleeps, Skip::WhenNobodyWaits);
/// let state: State = lot.state();
/// assert_eq!(lot.signal(1), 0); // nobody slept, so nobody was woken …
/// lot.wait(state);              // … and this returns without a call to the park
/// assert_eq!(lot.stop(), 0);
/// assert!(lot.is_stopped() && !state.is_stopped(), "a state is of its moment");
/// ```
///
/// Source: the parking lot of Apache brpc's bthread, with its memory orders repaired.
pub struct ParkingLot<K> {
    word: AtomicU32,
    waiters: AtomicU32,
    skip: Skip,
    park: K,
}

impl<K: Park> ParkingLot<K> {
    /// A lot with no signal and no waiter. See [`ParkingLot`] for an example.
    pub fn new(park: K, skip: Skip) -> Self {
        Self::with_signals(park, skip, 0)
    }

    /// A lot that has already counted `signals` signals (taken modulo 2^31), for tests across the wrap.
    ///
    /// ```
    /// # use parkade_core::{Park, ParkingLot, Skip, sync::AtomicU32};
    /// # struct NeverSleeps;
    /// # impl Park for NeverSleeps {
    /// #     fn wait(&self, _: &AtomicU32, _: u32) {}
    /// #     fn wake(&self, _: &AtomicU32, _: u32) -> u32 { 0 }
    /// # }
    /// let lot = ParkingLot::with_signals(NeverSleeps, Skip::WhenNobodyWaits, (1 << 31) - 1);
    /// let last = lot.state();
    /// lot.signal(1);
    /// assert_ne!(lot.state(), last);
    /// assert_eq!(lot.state(), ParkingLot::new(NeverSleeps, Skip::WhenNobodyWaits).state()); // round to 0
    /// ```
    pub fn with_signals(park: K, skip: Skip, signals: u32) -> Self {
        Self {
            word: AtomicU32::new(signals << 1),
            waiters: AtomicU32::new(0),
            skip,
            park,
        }
    }

    /// Takes a snapshot, to be passed to [`wait`](ParkingLot::wait) after one more look for work.
    ///
    /// One load. See [`ParkingLot`] for an example.
    pub fn state(&self) -> State {
        // Ordering[lot.state]: Acquire, with the Release of `lot.signal` and `lot.stop`. Whoever sees a
        // signal's count sees the task that was published before it; without it the look that follows
        // may miss the task, and the wait then sleeps on the new count.
        State(self.word.load(order("lot.state", Ordering::Acquire)))
    }

    /// Sleeps until the word differs from `state`; returns at once when it already does or when `state`
    /// says stopped. May return for no reason: the caller takes a new state and looks again.
    /// See [`ParkingLot`] for an example.
    pub fn wait(&self, state: State) {
        if state.is_stopped() || self.word.load(Ordering::Relaxed) != state.0 {
            return;
        }
        match self.skip {
            Skip::Never => self.park.wait(&self.word, state.0),
            Skip::WhenNobodyWaits => {
                self.waiters.fetch_add(1, Ordering::Relaxed);
                // Ordering[lot.wait.fence]: with `lot.signal.fence`. Either the compare inside the park
                // sees the signal's count, or the signaller sees this waiter. A condition variable has
                // no such barrier of its own.
                fence("lot.wait.fence");
                self.park.wait(&self.word, state.0);
                self.waiters.fetch_sub(1, Ordering::Relaxed);
            }
        }
    }

    /// Counts `n` signals and wakes at most `n` waiters; returns how many the park says it woke.
    ///
    /// `n` is clamped to 2^31 − 1, and 0 signals are no signal. Costs one read-modify-write, a fence with
    /// [`Skip::WhenNobodyWaits`], and at most one call to the park. See [`ParkingLot`] for an example.
    pub fn signal(&self, n: u32) -> u32 {
        let n = n.min(MAX_SIGNALS);
        if n == 0 {
            return 0;
        }
        // Ordering[lot.signal]: Release, with `lot.state`: the task published before the signal is
        // visible to whoever takes a state that contains it.
        self.word
            .fetch_add(n * ONE_SIGNAL, order("lot.signal", Ordering::Release));
        if self.skip == Skip::WhenNobodyWaits {
            // Ordering[lot.signal.fence]: with `lot.wait.fence`. The word is moved before the waiters
            // are read; without the fence both sides may read stale and a waiter sleeps past its signal.
            fence("lot.signal.fence");
            if self.waiters.load(Ordering::Relaxed) == 0 {
                return 0;
            }
        }
        self.park.wake(&self.word, n)
    }

    /// Stops the lot for ever and wakes every waiter; returns how many the park says it woke.
    /// See [`ParkingLot`] for an example.
    pub fn stop(&self) -> u32 {
        // Ordering[lot.stop]: Release, with `lot.state`: whoever sees the stop bit sees what was closed
        // before it, so the worker's last look misses nothing that was accepted.
        self.word
            .fetch_or(STOPPED, order("lot.stop", Ordering::Release));
        self.park.wake(&self.word, u32::MAX)
    }

    /// Whether [`stop`](ParkingLot::stop) has been called. See [`ParkingLot`] for an example.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.state().is_stopped()
    }
}

impl<K> fmt::Debug for ParkingLot<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = self.word.load(Ordering::Relaxed);
        let mut lot = f.debug_struct("ParkingLot");
        lot.field("signals", &(word >> 1))
            .field("stopped", &(word & STOPPED != 0));
        match self.skip {
            Skip::WhenNobodyWaits => {
                lot.field("waiters", &self.waiters.load(Ordering::Relaxed));
            }
            // Nobody counts them there, so a number would be a lie.
            Skip::Never => {
                lot.field("waiters", &format_args!("not counted"));
            }
        }
        lot.finish_non_exhaustive()
    }
}
