//! The two futex calls in the form that Miri understands; compiled under Miri only.
//!
//! Miri interprets `libc::syscall(SYS_futex, …)` and rejects the way in which rustix passes the word's
//! address to it (the type of a variadic argument). Everything else of the park is the same code.

use core::ptr;
use core::sync::atomic::AtomicU32;

use rustix::io::Errno;

pub(crate) fn futex_wait(word: &AtomicU32, expected: u32) -> Result<(), Errno> {
    // SAFETY: FUTEX_WAIT reads the word, which the borrow keeps alive for the whole call and which is
    // an atomic, so others may write it meanwhile; the null timeout means "none".
    let answer = unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
            expected,
            ptr::null::<libc::timespec>(),
        )
    };
    checked(answer).map(|_| ())
}

pub(crate) fn futex_wake(word: &AtomicU32, n: u32) -> Result<usize, Errno> {
    // SAFETY: FUTEX_WAKE uses the word's address only, as a key, and the borrow keeps it alive.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG,
            n,
        )
    };
    checked(answer)
}

fn checked(answer: libc::c_long) -> Result<usize, Errno> {
    usize::try_from(answer).map_err(|_negative| {
        // SAFETY: the C library's errno of this thread always has an address.
        let errno = unsafe { libc::__errno_location() };
        // SAFETY: that address is valid, aligned and this thread's own.
        Errno::from_raw_os_error(unsafe { *errno })
    })
}
