//! The short way to a worker of the default backend, for the free `join`.
//!
//! The free `join` knows no runtime, so not which backend its worker has. Nearly always it is the default one; then the
//! worker is at hand here with its type, and all of a fork is inlined. Any other backend's is reached by the table of
//! functions in its thread's note.

use std::any::TypeId;
use std::cell::Cell;
use std::ptr;

use crate::backend::Backend;
use crate::backend::selected::DefaultBackend;
use crate::control::Worker;

thread_local! {
    /// The worker that is noted in `current.rs`, if its backend is the default one; as good as the note.
    static WORKER: Cell<*const Worker<'static, DefaultBackend>> = const { Cell::new(ptr::null()) };
}

/// Takes note of this thread's worker until it is dropped, which comes before the worker goes.
pub(crate) struct Noted(());

pub(crate) fn note<B: Backend>(worker: &Worker<'_, B>) -> Noted {
    if TypeId::of::<B>() == TypeId::of::<DefaultBackend>() {
        WORKER.set(ptr::from_ref(worker).cast());
    }
    Noted(())
}

/// Calls `act` with this thread's worker, if its backend is the default one; also if it is the copy of one in a forked
/// process.
#[inline(always)]
pub(crate) fn with_worker<R>(act: impl FnOnce(Option<&Worker<'_, DefaultBackend>>) -> R) -> R {
    // SAFETY: a pointer that is not null was noted for a worker of this type, whose note is dropped by the frame of
    // `current::as_worker` that borrows it and is below us on the stack.
    act(unsafe { WORKER.get().as_ref() })
}

impl Drop for Noted {
    fn drop(&mut self) {
        WORKER.set(ptr::null());
    }
}
