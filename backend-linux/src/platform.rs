//! The platform of a Linux process: each piece is what the system has for the purpose.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use parkade_core::sync::AtomicPtr;
use parkade_core::{Lock, Platform, Slot, Task};

use crate::{FutexPark, MembarrierFences};

/// A Linux process as a [`Platform`]: futexes, `membarrier`, boxed slices and the operating system's lock.
///
/// Hand it to a scheduler of `parkade-core`; the runtime crate does so by default on Linux. Everything it
/// chooses is chosen when it is made, so make it before the threads that will use it.
///
/// ```
/// use parkade_core::{Platform, Slot, TagIndex, WorkerIndex};
/// use parkade_linux::{Linux, MembarrierFences};
///
/// let platform = Linux::new();
/// println!("fences: {}", platform.fences());
/// let _park = platform.park(Slot { tag: TagIndex(0), worker: WorkerIndex(0) });
///
/// let sandboxed = Linux::with_fences(MembarrierFences::seq_cst());
/// assert_eq!(sandboxed.fences(), MembarrierFences::seq_cst());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub struct Linux {
    fences: MembarrierFences,
}

impl Linux {
    /// The platform with the cheapest fences that the kernel grants
    /// ([`MembarrierFences::detect`], with its cost). See [`Linux`] for an example.
    #[expect(
        clippy::new_without_default,
        reason = "it asks the kernel and registers the process: no default value"
    )]
    pub fn new() -> Self {
        Self::with_fences(MembarrierFences::detect())
    }

    /// The platform with fences that were chosen before. See [`Linux`] for an example.
    pub const fn with_fences(fences: MembarrierFences) -> Self {
        Self { fences }
    }
}

impl Platform for Linux {
    type Park = FutexPark;
    type Fences = MembarrierFences;
    type Lock<T: Send> = OsLock<T>;
    type Queue = VecDeque<Task>;
    type Ring = Box<[AtomicPtr<()>]>;
    type PerWorker<T: Send + Sync> = Box<[T]>;
    type PerTag<T: Send + Sync> = Box<[T]>;

    fn park(&self, _slot: Slot) -> FutexPark {
        FutexPark
    }

    fn fences(&self) -> MembarrierFences {
        self.fences
    }
}

/// The operating system's lock (std's mutex, a futex on Linux) as a [`Lock`].
///
/// A waiter sleeps instead of spinning, so a descheduled holder costs nobody their time slice.
///
/// ```
/// use parkade_core::Lock;
/// use parkade_linux::OsLock;
///
/// let lock = OsLock::new(1);
/// lock.with(|value| *value += 1);
/// assert_eq!(lock.with(|value| *value), 2);
/// ```
#[derive(Debug, Default)]
pub struct OsLock<T>(Mutex<T>);

impl<T: Send> Lock<T> for OsLock<T> {
    fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        // A poisoned lock is taken all the same: the closures promise not to panic, and if one does (a
        // failed allocation), the queue behind it is still whole and its tasks must still come out.
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
