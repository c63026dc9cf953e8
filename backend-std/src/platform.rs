//! The platform of a process on any system: what `std` has, and SeqCst fences.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use parkade_core::sync::AtomicPtr;
use parkade_core::{Lock, Platform, SeqCstFences, Slot, Task};

use crate::CondvarPark;

/// A process on any system as a [`Platform`]: condition variables, SeqCst fences, boxed slices and std's mutex.
///
/// Hand it to a scheduler of `parkade-core`; the runtime crate does so by default where there is no backend
/// of the system's own.
///
/// ```
/// use parkade_core::{Platform, SeqCstFences, Slot, TagIndex, WorkerIndex};
/// use parkade_std::Std;
///
/// assert_eq!(Std.fences(), SeqCstFences);
/// let _park = Std.park(Slot { tag: TagIndex(0), worker: WorkerIndex(0) });
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Std;

impl Platform for Std {
    type Park = CondvarPark;
    type Fences = SeqCstFences;
    type Lock<T: Send> = OsLock<T>;
    type Queue = VecDeque<Task>;
    type Ring = Box<[AtomicPtr<()>]>;
    type PerWorker<T: Send + Sync> = Box<[T]>;
    type PerTag<T: Send + Sync> = Box<[T]>;

    fn park(&self, _slot: Slot) -> CondvarPark {
        CondvarPark::new()
    }

    fn fences(&self) -> SeqCstFences {
        SeqCstFences
    }
}

/// The operating system's lock, as std's mutex gives it, as a [`Lock`].
///
/// A waiter sleeps instead of spinning for long, so a descheduled holder costs nobody their time slice.
///
/// ```
/// use parkade_core::Lock;
/// use parkade_std::OsLock;
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
