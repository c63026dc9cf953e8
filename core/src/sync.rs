//! The one door to atomics: every load, store and fence of this crate goes through here.
//!
//! In a normal build the types are `core::sync::atomic`'s and `order` and `fence` compile to
//! nothing but their argument. Under the cfg `parkade_loom` the types are loom's. Under that cfg and
//! under `parkade_mutants` (for checkers that run on real atomics) each named ordering, fence or step can
//! be weakened or left out at run time (the environment variable `PARKADE_MUTANT` names it), so that
//! one build serves every mutant of every check.
//!
//! A name stands in code (`order("lot.signal", Release)`) and in the comment above it
//! (`// Ordering[lot.signal]: …`), which says who the partner is and what breaks without it.

#[cfg(not(parkade_loom))]
pub use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering};

#[cfg(parkade_loom)]
pub use loom::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering};

/// A byte that is for whoever looks from outside and that nothing here decides by, so models need not explore it.
///
/// Relaxed only: it publishes nothing.
pub(crate) use core::sync::atomic::AtomicU8 as Note;

use crate::park::Fences;

#[cfg(not(any(parkade_loom, parkade_mutants)))]
pub(crate) use as_written::{fence, heavy, left_out, light, order};

#[cfg(any(parkade_loom, parkade_mutants))]
pub(crate) use mutant::{fence, heavy, left_out, light, order};

/// The fence itself, on whichever atomics these are.
#[inline(always)]
pub(crate) fn sequentially_consistent() {
    #[cfg(not(parkade_loom))]
    core::sync::atomic::fence(Ordering::SeqCst);
    #[cfg(parkade_loom)]
    loom::sync::atomic::fence(Ordering::SeqCst);
}

/// How many workers share one word, as written; in a model two, so that its third worker has another word.
pub(crate) const fn lots_per_word(written: usize) -> usize {
    if cfg!(parkade_loom) { 2 } else { written }
}

#[cfg(not(any(parkade_loom, parkade_mutants)))]
mod as_written {
    //! The doors of a shipped build: nothing but what is written.

    use super::{Fences, Ordering, sequentially_consistent};

    /// The ordering of the operation called `id`, as written.
    #[inline(always)]
    pub(crate) const fn order(_id: &'static str, written: Ordering) -> Ordering {
        written
    }

    /// A sequentially consistent fence called `id`.
    #[inline(always)]
    pub(crate) fn fence(_id: &'static str) {
        sequentially_consistent();
    }

    /// The light half of the platform's fence pair, at the place called `id`.
    #[inline(always)]
    pub(crate) fn light<F: Fences>(_id: &'static str, fences: F) {
        fences.light();
    }

    /// The heavy half of the platform's fence pair, at the place called `id`.
    #[inline(always)]
    pub(crate) fn heavy<F: Fences>(_id: &'static str, fences: F) {
        fences.heavy();
    }

    /// Whether the step called `id` is to be left out: never.
    #[inline(always)]
    pub(crate) const fn left_out(_id: &'static str) -> bool {
        false
    }
}

#[cfg(any(parkade_loom, parkade_mutants))]
mod mutant {
    //! The same doors, with a crowbar: one of them may be weakened in a run.

    extern crate std;

    use std::string::String;
    use std::sync::OnceLock;

    use super::{Fences, Ordering, sequentially_consistent};

    /// Leaves out both halves of the fence pair, wherever they stand.
    const PAIR: &str = "fences.pair";

    static MUTANT: OnceLock<Option<String>> = OnceLock::new();

    pub(crate) fn left_out(id: &'static str) -> bool {
        MUTANT
            .get_or_init(|| std::env::var("PARKADE_MUTANT").ok())
            .as_deref()
            == Some(id)
    }

    pub(crate) fn order(id: &'static str, written: Ordering) -> Ordering {
        if left_out(id) {
            Ordering::Relaxed
        } else {
            written
        }
    }

    pub(crate) fn fence(id: &'static str) {
        if !left_out(id) {
            sequentially_consistent();
        }
    }

    pub(crate) fn light<F: Fences>(id: &'static str, fences: F) {
        if !left_out(id) && !left_out(PAIR) {
            fences.light();
        }
    }

    pub(crate) fn heavy<F: Fences>(id: &'static str, fences: F) {
        if !left_out(id) && !left_out(PAIR) {
            fences.heavy();
        }
    }
}
