//! An asymmetric pair of fences: the rare side makes the kernel run a full barrier on every CPU that
//! runs a thread of this process, so that the frequent side needs none of its own.
//!
//! # How it works
//!
//! `membarrier(PRIVATE_EXPEDITED)` returns after each other running thread of the process has passed a full
//! barrier at some point during the call (a thread that is not running passed one when it was
//! switched out). Wherever that point falls in the frequent side's program order, it falls before, at or
//! after the place of its light fence. Before or at: the accesses after the light fence come after the
//! barrier, so they see what the rare side did before the call. After or at: the accesses before the light
//! fence are visible to the rare side after the call. One of them always holds. All that the light fence
//! itself must do is to keep the *compiler* from moving accesses across it.
//!
//! # Why it is decided once
//!
//! Both sides must use the same pair: a light side that issues no barrier is wrong as soon as a heavy
//! side runs a plain fence. So the choice is a value that is made once, by asking the kernel, registering
//! and one trial call, and is then copied to whoever fences. A kernel that refuses after that (a sandbox
//! that was put up too late) leaves owners that already rely on it: the process ends with a message.
//!
//! Source: `membarrier(2)`; the technique is that of asymmetric Dekker synchronization (Dice, Huang, Yang 2001).

use core::fmt;
use core::hint::cold_path;
use core::sync::atomic::{Ordering, compiler_fence, fence};

use parkade_core::Fences;
use rustix::thread::{MembarrierCommand, MembarrierQuery, membarrier, membarrier_query};

use crate::fatal::die;

/// The pair of fences that this process uses: by `membarrier` where the kernel has it, else SeqCst fences.
///
/// Make it once, with [`detect`](MembarrierFences::detect), before the first queue exists, and copy it: all
/// who fence against each other must hold the same value. Use [`seq_cst`](MembarrierFences::seq_cst) in a
/// process that will put up a sandbox later. There is no `Default`, so that the choice is seen.
///
/// | | light | heavy |
/// |---|---|---|
/// | `membarrier` | nothing but a branch | a system call, 150 to 850 ns |
/// | SeqCst fences | 6 ns | 6 ns |
///
/// (Measured on a 2-CPU x86-64 virtual machine; the heavy call costs more the more CPUs run the process.)
///
/// ```
/// use parkade_core::Fences;
/// use parkade_linux::{FenceKind, MembarrierFences};
///
/// let fences = MembarrierFences::detect();
/// println!("fences: {fences}"); // "fences: membarrier" on most kernels
/// fences.light(); // the owner, on each push and pop
/// fences.heavy(); // a thief, on each steal
///
/// assert_eq!(MembarrierFences::seq_cst().kind(), FenceKind::SeqCst);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[must_use = "the choice must be handed to everybody who fences"]
pub struct MembarrierFences {
    kind: FenceKind,
}

/// What a [`MembarrierFences`] is made of.
///
/// See [`MembarrierFences`] for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FenceKind {
    /// The light side is a compiler fence, the heavy side a `membarrier` system call.
    Membarrier,
    /// Both sides are SeqCst fences.
    SeqCst,
}

impl fmt::Display for FenceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Membarrier => "membarrier",
            Self::SeqCst => "SeqCst fences",
        })
    }
}

impl MembarrierFences {
    /// Asks the kernel for `membarrier`, registers the process for it and tries it once; answers with
    /// SeqCst fences if any of the three is refused (a kernel before 4.14, a sandbox).
    ///
    /// Any thread may call it, any number of times. Costs three system calls; the first registration of
    /// a process that already has many threads can take milliseconds, so call it before they start.
    ///
    /// Under Miri, which has no `membarrier`, the answer is always SeqCst fences.
    /// See [`MembarrierFences`] for an example.
    pub fn detect() -> Self {
        if !cfg!(miri) && membarrier_works() {
            Self {
                kind: FenceKind::Membarrier,
            }
        } else {
            Self::seq_cst()
        }
    }

    /// SeqCst fences on both sides, whatever the kernel offers.
    ///
    /// For a process that forbids itself `membarrier` later, and to measure what the asymmetry is worth.
    /// See [`MembarrierFences`] for an example.
    pub const fn seq_cst() -> Self {
        Self {
            kind: FenceKind::SeqCst,
        }
    }

    /// Which of the two it is. See [`MembarrierFences`] for an example.
    #[must_use]
    pub const fn kind(self) -> FenceKind {
        self.kind
    }
}

impl fmt::Display for MembarrierFences {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)
    }
}

fn membarrier_works() -> bool {
    let needed = MembarrierQuery::PRIVATE_EXPEDITED | MembarrierQuery::REGISTER_PRIVATE_EXPEDITED;
    membarrier_query().contains(needed)
        && membarrier(MembarrierCommand::RegisterPrivateExpedited).is_ok()
        && membarrier(MembarrierCommand::PrivateExpedited).is_ok()
}

impl Fences for MembarrierFences {
    #[inline(always)]
    fn light(self) {
        match self.kind {
            // Ordering[membarrier.light]: the partner is `membarrier.heavy`, whose system call brings the
            // barrier to this CPU; without the compiler fence the compiler may sink the store before this
            // fence below the load after it, where no barrier helps.
            FenceKind::Membarrier => compiler_fence(Ordering::SeqCst),
            // Ordering[seqcst.light]: the partner is `seqcst.heavy`; without it both sides may read stale.
            FenceKind::SeqCst => {
                cold_path();
                fence(Ordering::SeqCst);
            }
        }
    }

    #[inline]
    fn heavy(self) {
        match self.kind {
            FenceKind::Membarrier => {
                // Ordering[membarrier.heavy]: the partner is `membarrier.light`. The call is a full barrier
                // on this CPU and on all others that run the process; the compiler fences keep this side's
                // accesses on their sides of the call, which the compiler need not otherwise know to
                // touch memory.
                compiler_fence(Ordering::SeqCst);
                if let Err(errno) = membarrier(MembarrierCommand::PrivateExpedited) {
                    die(
                        "membarrier",
                        errno,
                        "it worked when the fences were chosen, and other threads rely on it \
                         (a process that forbids it later must choose SeqCst fences)",
                    );
                }
                // Ordering[membarrier.heavy]: as before the call.
                compiler_fence(Ordering::SeqCst);
            }
            // Ordering[seqcst.heavy]: the partners are `seqcst.light` and itself; without it both sides may
            // read stale.
            FenceKind::SeqCst => fence(Ordering::SeqCst),
        }
    }
}
