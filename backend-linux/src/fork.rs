//! Forks: how a process notices that it is a child.
//!
//! The C library calls what was given to `pthread_atfork` in the child before `fork` returns there; here that
//! counts. So whoever remembers the count of its own process tells a child from it by one load, where asking for
//! the process's number would be a system call. What does not go through `fork` is not noticed: `vfork`,
//! `posix_spawn`, a bare `clone`; nearly always a new program follows those at once.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

static FORKS: AtomicUsize = AtomicUsize::new(0);

/// A counter that every child of a `fork` finds one greater than its parent has it, from the first call on.
///
/// The first call of a process registers a handler that does nothing but count; the others are one load.
/// Costs a parent nothing, and a child one addition.
///
/// # Errors
///
/// The C library's own, when it has no memory for a handler; the next call tries again.
///
/// ```
/// use std::sync::atomic::Ordering;
///
/// let forks = parkade_linux::forks()?;
/// let here = forks.load(Ordering::Relaxed);
/// // … later, perhaps in a child:
/// assert_eq!(forks.load(Ordering::Relaxed), here, "this is the same process");
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn forks() -> io::Result<&'static AtomicUsize> {
    register()?;
    Ok(&FORKS)
}

/// Sees to it that children count. Two first calls at once may both do so: then a fork counts twice.
fn register() -> io::Result<()> {
    static REGISTERED: AtomicBool = AtomicBool::new(false);
    if REGISTERED.load(Ordering::Relaxed) {
        return Ok(());
    }
    // SAFETY: the handler is a function of this program, which is there as long as the process, and in a
    // child it does one atomic addition, which is allowed between `fork` and whatever comes then.
    let error = unsafe { libc::pthread_atfork(None, None, Some(count)) };
    if error != 0 {
        return Err(io::Error::from_raw_os_error(error));
    }
    REGISTERED.store(true, Ordering::Relaxed);
    Ok(())
}

extern "C" fn count() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}
