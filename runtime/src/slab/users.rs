//! Who still uses a block: its owner, and each job in it that has not been given back.
//!
//! The count begins far above any number of jobs, and each job that another thread gives back is taken off. When the
//! owner leaves, it takes off what the count was too high by. So it cannot come to nothing before the owner has left,
//! and the owner counts what it puts in and takes out itself without a word to anybody. Whoever takes off the last
//! frees the block.

use crate::sync::{AtomicU32, Ordering, order};

/// What the count begins with: more than there is room for in a block.
const OWNED: u32 = 1 << 31;

/// The count. Its methods are the only transitions.
pub(crate) struct Users(AtomicU32);

/// Whether it was the last use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "the last one frees the block"]
pub(crate) enum Last {
    Yes,
    No,
}

impl Users {
    /// The count of an owner that has put nothing in.
    pub(crate) fn new() -> Self {
        Self(AtomicU32::new(OWNED))
    }

    /// Takes off the owner, who has put in that many jobs and not taken them out itself.
    pub(crate) fn disown(&self, jobs: u32) -> Last {
        // Ordering[slab.disown]: Release, with `slab.leave`: the owner's accesses to jobs that it gave back itself, of which
        // nobody else was ever told, come before the block is freed by whoever is last; and Acquire, because that may be
        // the owner.
        let order = order("slab.disown", Ordering::AcqRel);
        let too_high = OWNED - jobs;
        Last::when(self.0.fetch_sub(too_high, order) == too_high)
    }

    /// Takes off jobs that another thread than the owner has done with.
    pub(crate) fn leave(&self, jobs: u32) -> Last {
        // Ordering[slab.leave]: Release, with itself and `slab.disown`: this thread's accesses come before the block is
        // freed by whoever is last; and Acquire, because that may be this one.
        let order = order("slab.leave", Ordering::AcqRel);
        Last::when(self.0.fetch_sub(jobs, order) == jobs)
    }

    /// How many jobs have not been taken off, of a block that has no owner any more.
    #[cfg(all(test, not(parkade_loom)))]
    pub(super) fn jobs(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Last {
    fn when(last: bool) -> Self {
        if last { Self::Yes } else { Self::No }
    }
}
