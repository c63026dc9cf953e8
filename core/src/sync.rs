//! The one door to atomics: every load, store and fence of this crate goes through here.
//!
//! In a normal build the types are `core::sync::atomic`'s and `order` and `fence` compile to
//! nothing but their argument. Under the cfg `parkade_loom` the types are loom's, and each named
//! ordering or fence can be weakened by one step at run time (the environment variable
//! `PARKADE_MUTANT` names it), so that one build serves every mutant of every model.
//!
//! A name stands in code (`order("lot.signal", Release)`) and in the comment above it
//! (`// Ordering[lot.signal]: …`), which says who the partner is and what breaks without it.

#[cfg(not(parkade_loom))]
pub use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering};

#[cfg(parkade_loom)]
pub use loom::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering};

use crate::park::Fences;

/// The ordering of the operation called `id`, as written.
#[cfg(not(parkade_loom))]
#[inline(always)]
pub(crate) const fn order(_id: &'static str, written: Ordering) -> Ordering {
    written
}

/// A sequentially consistent fence called `id`.
#[cfg(not(parkade_loom))]
#[inline(always)]
pub(crate) fn fence(_id: &'static str) {
    core::sync::atomic::fence(Ordering::SeqCst);
}

/// The light half of the platform's fence pair, at the place called `id`.
#[cfg(not(parkade_loom))]
#[inline(always)]
pub(crate) fn light<F: Fences>(_id: &'static str, fences: F) {
    fences.light();
}

/// The heavy half of the platform's fence pair, at the place called `id`.
#[cfg(not(parkade_loom))]
#[inline(always)]
pub(crate) fn heavy<F: Fences>(_id: &'static str, fences: F) {
    fences.heavy();
}

/// Whether the step called `id` is to be left out. Always false outside models.
#[cfg(not(parkade_loom))]
#[inline(always)]
pub(crate) const fn left_out(_id: &'static str) -> bool {
    false
}

#[cfg(parkade_loom)]
pub(crate) use mutant::{fence, heavy, left_out, light, order};

#[cfg(parkade_loom)]
mod mutant {
    //! The same doors, with a crowbar: one of them may be weakened in a run.

    extern crate std;

    use std::string::String;
    use std::sync::OnceLock;

    use super::{Fences, Ordering};

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
            loom::sync::atomic::fence(Ordering::SeqCst);
        }
    }

    pub(crate) fn light<F: Fences>(id: &'static str, fences: F) {
        if !left_out(id) {
            fences.light();
        }
    }

    pub(crate) fn heavy<F: Fences>(id: &'static str, fences: F) {
        if !left_out(id) {
            fences.heavy();
        }
    }
}
