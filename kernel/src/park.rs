//! The park: a hart sleeps until another rings its doorbell.
//!
//! # Why no wake is lost
//!
//! A sleeper masks interrupts, puts itself down as asleep, and then, for as long as it sleeps: takes
//! back its doorbell, *looks* at the word, waits for an interrupt. A waker changes the word, takes a
//! sleeper off the list, rings its doorbell.
//!
//! * The word changes before the look: the look sees it, and the hart does not sleep.
//! * It changes after the look: the sleeper stood on the list before it looked (a fence on both
//!   sides), so the waker finds it there and rings. That ring comes after the doorbell was taken back, so it
//!   is pending when the hart waits for an interrupt, and the wait ends at once.
//!
//! So the doorbell is taken back *before* the look and never between the look and the sleep: not by this
//! code, and not by a handler, for interrupts are masked from before the look until the hart is awake.
//! `modes/broken.rs` has it the other way round, and is caught.
//!
//! # What else wakes it
//!
//! A timer that is due ends the wait for no reason of the word's, so that the timer's handler runs once
//! interrupts are unmasked; contract and callers allow that. A ring meant for another lot of the same
//! hart only leads to one more look.

use parkade_core::Park;
use parkade_core::sync::{AtomicU32, Ordering};

use core::sync::atomic::fence;

use crate::machine::{Board, MAX_HARTS, Machine, masked};

/// A [`Park`] for harts: any number of them may sleep on it.
#[derive(Debug)]
pub(crate) struct HartPark {
    /// Bit h: hart h sleeps here, or is about to.
    pub(crate) asleep: AtomicU32,
}

// A hart is a bit of the list.
const _: () = assert!(MAX_HARTS <= u32::BITS as usize);

impl HartPark {
    pub(crate) const fn new() -> Self {
        Self {
            asleep: AtomicU32::new(0),
        }
    }
}

impl Park for HartPark {
    fn wait(&self, word: &AtomicU32, expected: u32) {
        let own = 1 << Board::hart();
        masked(|| {
            self.asleep.fetch_or(own, Ordering::Relaxed);
            // Ordering[park.asleep]: with `park.changed`: either the look below sees the changed word, or the
            // waker sees this hart on the list. Without it both may miss, and the hart sleeps on.
            fence(Ordering::SeqCst);
            loop {
                Board::silence();
                let changed = word.load(Ordering::Relaxed) != expected;
                // Off the list, it would never be woken again.
                let released = self.asleep.load(Ordering::Relaxed) & own == 0;
                if changed || released || Board::timer_is_due() {
                    break;
                }
                Board::sleep();
            }
            self.asleep.fetch_and(!own, Ordering::Relaxed);
        });
    }

    fn wake(&self, _word: &AtomicU32, n: u32) -> u32 {
        // Ordering[park.changed]: with `park.asleep`: the caller has changed the word, and only then is the
        // list read.
        fence(Ordering::SeqCst);
        let mut released = 0;
        while released < n {
            let asleep = self.asleep.load(Ordering::Relaxed);
            if asleep == 0 {
                break;
            }
            let hart = asleep.trailing_zeros();
            // Another waker may take the same hart, or it may leave by itself.
            if self.asleep.fetch_and(!(1 << hart), Ordering::Relaxed) & (1 << hart) != 0 {
                Board::ring(hart as usize);
                released += 1;
            }
        }
        released
    }
}
