//! The end of the process, for a kernel's answer after which nothing can be promised any more.
//!
//! A park must not panic, because an unwinding worker would leave tasks behind; and without `std` there
//! is no `abort`. Both are met by a panic that has no way out: it starts inside a function of the C ABI,
//! where unwinding ends in an abort, after the panic's message has been printed.

use core::fmt;

use rustix::io::Errno;

/// A refusal that the code relies on never getting.
struct Refusal {
    /// What was asked of the kernel.
    call: &'static str,
    /// What it said.
    errno: Errno,
    /// Why there is no going on.
    why: &'static str,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "parkade-linux: {} failed with errno {} ({}); {}",
            self.call,
            self.errno.raw_os_error(),
            self.errno,
            self.why
        )
    }
}

/// Prints what was refused and aborts the process.
#[cold]
#[inline(never)]
pub(crate) fn die(call: &'static str, errno: Errno, why: &'static str) -> ! {
    no_way_out(&Refusal { call, errno, why })
}

extern "C" fn no_way_out(refusal: &Refusal) -> ! {
    panic!("{refusal}")
}
