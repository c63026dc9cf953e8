//! Sleeping on a condition variable, with an exact count of who was released.
//!
//! # The three numbers
//!
//! A condition variable tells nobody how many it woke, and wakes for no reason. So a mutex guards three
//! numbers: the *sleepers* that nobody has released yet; the *grants*, releases that were counted and that
//! no sleeper has used yet; and the *wakes* that have granted anything so far.
//!
//! 1. Wait: under the mutex, compare the word; if it differs, return. Else count one sleeper, note the
//!    wakes so far, and block until there is a grant *and* a wake since the noted number; use the grant.
//! 2. Wake n: under the mutex, turn min(n, sleepers) sleepers into as many grants, count one wake, and notify
//!    as many threads as there are new grants. Their number is the answer.
//!
//! # Why the answer is exact
//!
//! A released sleeper is subtracted at once, not when it gets to run: two wakes in a row never count it
//! twice. Nobody leaves without a grant, so a spurious return of the condition variable changes nothing.
//!
//! # Why no wake is lost
//!
//! The compare and the counting are one critical section. If it comes before the wake's, the wake finds the
//! sleeper. If it comes after, the mutex makes the changed word visible, and the compare fails.
//!
//! A grant cannot be stolen: a thread that arrives after a wake has noted that wake, so the grants made until
//! then are not for it. (Without that, a thread that wakes another and then waits itself could swallow its own
//! wake.) Among those who slept at the last wake any may use a grant; each grant has had its notification,
//! under the mutex, so it went to a thread that slept then and not to a later one, and whoever was notified
//! and finds no grant any more has been overtaken by another of them.
//!
//! # Rejected
//!
//! Notifying after the mutex is released: a newcomer could take the notification and go back to sleep on it.
//! Tickets in order of arrival: a wake of few among many would have to notify all.

use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use parkade_core::Park;

/// Sleeps on a mutex and a condition variable, on any system.
///
/// The park to use where the system has no compare-and-block of its own. `wait` and `wake` take the mutex
/// each; a wake of a sleeper costs a system call besides. Nothing is allocated after
/// [`new`](CondvarPark::new). Serves one word, whose address it ignores.
///
/// ```
/// use parkade_core::{Park, sync::AtomicU32};
/// use parkade_std::CondvarPark;
///
/// let (park, word) = (CondvarPark::new(), AtomicU32::new(1));
/// park.wait(&word, 0); // the word differs: returns at once
/// assert_eq!(park.wake(&word, u32::MAX), 0); // nobody sleeps
/// ```
pub struct CondvarPark {
    turnstile: Mutex<Turnstile>,
    granted: Condvar,
}

/// Who sleeps and who has been let through.
#[derive(Debug, Default)]
struct Turnstile {
    /// Threads inside `wait` that no wake has counted.
    sleepers: u32,
    /// Wakes that were counted and that no sleeper has used.
    grants: u32,
    /// Calls of `wake` that granted something. 64 bits, because a sleeper that is overtaken for 2^32 wakes
    /// must not take the last of them for none.
    wakes: u64,
}

impl CondvarPark {
    /// A park on which nobody sleeps.
    ///
    /// On some systems std makes its mutex and its condition variable only at their first use; that use is
    /// here, so that sleeping and waking never allocate. See [`CondvarPark`] for an example.
    #[must_use]
    pub fn new() -> Self {
        let park = Self {
            turnstile: Mutex::default(),
            granted: Condvar::new(),
        };
        drop(park.lock());
        park.granted.notify_one();
        park
    }

    fn lock(&self) -> MutexGuard<'_, Turnstile> {
        // Nothing below panics, so the mutex is never poisoned; a park must not panic over it either.
        self.turnstile
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Park for CondvarPark {
    fn wait(&self, word: &AtomicU32, expected: u32) {
        let mut turnstile = self.lock();
        if word.load(Ordering::Relaxed) != expected {
            return;
        }
        turnstile.sleepers += 1;
        let arrived = turnstile.wakes;
        while turnstile.grants == 0 || turnstile.wakes == arrived {
            turnstile = self
                .granted
                .wait(turnstile)
                .unwrap_or_else(PoisonError::into_inner);
        }
        turnstile.grants -= 1;
    }

    fn wake(&self, _word: &AtomicU32, n: u32) -> u32 {
        let mut turnstile = self.lock();
        let released = n.min(turnstile.sleepers);
        if released == 0 {
            return 0;
        }
        turnstile.sleepers -= released;
        turnstile.grants += released;
        turnstile.wakes += 1;
        if turnstile.sleepers == 0 {
            self.granted.notify_all();
        } else {
            for _ in 0..released {
                self.granted.notify_one();
            }
        }
        released
    }
}

impl Default for CondvarPark {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for CondvarPark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut park = f.debug_struct("CondvarPark");
        // Not `lock`: whoever prints a park from a debugger or a hook must not block on it.
        if let Ok(turnstile) = self.turnstile.try_lock() {
            park.field("sleepers", &turnstile.sleepers)
                .field("grants", &turnstile.grants);
        }
        park.finish_non_exhaustive()
    }
}
