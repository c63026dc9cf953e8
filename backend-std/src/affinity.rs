//! Affinity is not in `std`, and this says so by type instead of pretending.
//!
//! The portable crates pin a thread to a CPU, but none of them both tells the CPUs of the process and sets a thread
//! back to all of them on each system; and a worker that inherits its creator's pin needs just that.

/// A thread cannot be bound to a CPU: this backend has no affinity.
///
/// See [`pin_current_thread`] for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("cannot pin a thread to CPU {cpu}: the std backend has no CPU affinity")]
pub struct AffinityUnsupported {
    /// The CPU that was asked for.
    pub cpu: usize,
}

/// Would let the calling thread run on this one CPU only; on this backend it never succeeds.
///
/// It exists so that a caller treats every backend alike, and decides itself whether to go on unpinned.
///
/// # Errors
///
/// Always [`AffinityUnsupported`] with the CPU.
///
/// ```
/// use parkade_std::{AffinityUnsupported, pin_current_thread};
///
/// let refused = pin_current_thread(3).unwrap_err();
/// assert_eq!(refused, AffinityUnsupported { cpu: 3 });
/// assert_eq!(
///     refused.to_string(),
///     "cannot pin a thread to CPU 3: the std backend has no CPU affinity"
/// );
/// ```
pub fn pin_current_thread(cpu: usize) -> Result<(), AffinityUnsupported> {
    Err(AffinityUnsupported { cpu })
}
