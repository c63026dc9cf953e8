//! Interrupting system calls: a signal whose handler does nothing, sent to one thread.
//!
//! A thread inside `read` on an empty pipe returns from it with `EINTR` when a signal's handler has run on it,
//! unless the handler was installed with `SA_RESTART`. So a handler that does nothing is all it takes; but it is the
//! process's, and a library that takes a signal away from its program does harm. Hence three rules:
//!
//! * it is installed when it is first needed, and only where nobody's handler is in place;
//! * it is never removed, because a signal that is on its way then would do what it does by default;
//! * before each signal it is made sure that the handler still is this one, so that nobody else's is called.
//!
//! By default it is `SIGURG`: without a handler it is ignored, debuggers let it pass, and hardly anything else
//! uses it. A thread that has the signal blocked is not interrupted.

use std::io;
use std::mem::MaybeUninit;
use std::ptr;

use libc::{c_int, pid_t, sigaction, sighandler_t};

/// The signal that interrupts unless another one is chosen: `SIGURG`.
///
/// See [`check`] for an example.
pub const DEFAULT_SIGNAL: i32 = libc::SIGURG;

/// Why a thread cannot be interrupted by a signal.
///
/// See [`check`] for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InterruptError {
    /// The signal ends or stops programs, tells of a fault, or does not exist.
    #[error(
        "signal {signal} means something else; use SIGURG ({}), SIGUSR1 ({}), SIGUSR2 ({}) or a real-time signal \
         ({} to {})",
        libc::SIGURG,
        libc::SIGUSR1,
        libc::SIGUSR2,
        libc::SIGRTMIN(),
        libc::SIGRTMAX()
    )]
    NotUsable {
        /// The signal.
        signal: i32,
    },
    /// The program has a handler for it already.
    #[error("signal {signal} has another handler already")]
    HasHandler {
        /// The signal.
        signal: i32,
    },
    /// The kernel refused it.
    #[error("signal {signal} was refused (errno {errno})")]
    Refused {
        /// The signal.
        signal: i32,
        /// What the kernel said.
        errno: i32,
    },
}

/// A thread of this process, to be interrupted by others as long as it has not ended.
///
/// See [`interrupt`] for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ThreadId(pid_t);

impl ThreadId {
    /// The calling thread. One system call. See [`interrupt`] for an example.
    #[must_use]
    pub fn current() -> Self {
        Self(rustix::thread::gettid().as_raw_pid())
    }

    /// The kernel's number of the thread. See [`interrupt`] for an example.
    #[must_use]
    pub fn number(self) -> i32 {
        self.0
    }

    /// The thread of that number. See [`interrupt`] for an example.
    #[must_use]
    pub fn from_number(number: i32) -> Self {
        Self(number)
    }
}

/// Who is called when a signal comes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Handler {
    /// Nobody: it is ignored, or does what it does by default.
    Nobody,
    Nothing,
    Another,
}

/// Whether threads can be interrupted by this signal: it may be used, and has no other handler. Changes nothing;
/// one system call.
///
/// # Errors
///
/// [`InterruptError`] names the signal.
///
/// ```
/// use parkade_linux::interrupt::{self, InterruptError};
///
/// # if !cfg!(miri) {
/// assert_eq!(interrupt::check(interrupt::DEFAULT_SIGNAL), Ok(()));
/// assert_eq!(interrupt::check(9), Err(InterruptError::NotUsable { signal: 9 }));
/// # }
/// ```
pub fn check(signal: i32) -> Result<(), InterruptError> {
    let real_time = libc::SIGRTMIN()..=libc::SIGRTMAX();
    let usable = [libc::SIGURG, libc::SIGUSR1, libc::SIGUSR2].contains(&signal)
        || real_time.contains(&signal);
    if !usable {
        return Err(InterruptError::NotUsable { signal });
    }
    match exchange(signal, None)? {
        Handler::Another => Err(InterruptError::HasHandler { signal }),
        Handler::Nobody | Handler::Nothing => Ok(()),
    }
}

/// Interrupts the system call that `thread` is blocked in, if it is: the call ends with `EINTR`. Some calls go on
/// whatever comes, by the kernel's will or by that of whoever wraps them. Four system calls, one more the first time.
///
/// The thread must not have ended: its number may be another thread's by then, which would be interrupted.
///
/// # Errors
///
/// [`InterruptError`]; then nothing was sent.
///
/// ```
/// use std::io::{ErrorKind, Read};
/// use std::os::unix::net::UnixStream;
/// use std::sync::mpsc::{self, RecvTimeoutError};
/// use std::thread;
/// use std::time::Duration;
///
/// use parkade_linux::interrupt::{self, InterruptError, ThreadId};
///
/// # if !cfg!(miri) {
/// let (mut socket, _silent) = UnixStream::pair()?;
/// # socket.set_read_timeout(Some(Duration::from_secs(60)))?;
/// let reader = ThreadId::current();
/// assert_eq!(ThreadId::from_number(reader.number()), reader);
/// let (done, wait) = mpsc::channel::<()>();
/// let other = thread::spawn(move || {
///     // Again and again: the first one may come before the read begins.
///     while wait.recv_timeout(Duration::from_millis(1)) == Err(RecvTimeoutError::Timeout) {
///         interrupt::interrupt(reader, interrupt::DEFAULT_SIGNAL)?;
///     }
///     Ok::<_, InterruptError>(())
/// });
/// assert_eq!(socket.read(&mut [0]).unwrap_err().kind(), ErrorKind::Interrupted);
/// drop(done);
/// assert!(other.join().is_ok_and(|sent| sent.is_ok()));
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn interrupt(thread: ThreadId, signal: i32) -> Result<(), InterruptError> {
    check(signal)?;
    // Twice by two at once is as good as once; a lock would not be, in the child of a fork.
    match exchange(signal, None)? {
        Handler::Nobody => install(signal)?,
        Handler::Nothing => {}
        Handler::Another => return Err(InterruptError::HasHandler { signal }),
    }
    let process = rustix::process::getpid().as_raw_pid();
    // SAFETY: the call has numbers for arguments and touches no memory. Its signal has a handler, which does nothing.
    let sent = unsafe { libc::syscall(libc::SYS_tgkill, process, thread.0, signal) };
    done(signal, sent == 0)
}

/// Puts the handler in place.
fn install(signal: i32) -> Result<(), InterruptError> {
    // SAFETY: zero bytes are a `sigaction`: no flags, an empty set, and the address of no function.
    let mut ours: sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
    ours.sa_sigaction = nothing as extern "C" fn(c_int) as sighandler_t;
    // On the stack that there is for it, and without SA_RESTART.
    ours.sa_flags = libc::SA_ONSTACK;
    exchange(signal, Some(&ours)).map(drop)
}

/// Puts an action in place, if there is one, and says whose was there.
fn exchange(signal: i32, new: Option<&sigaction>) -> Result<Handler, InterruptError> {
    let mut old = MaybeUninit::<sigaction>::uninit();
    let new = new.map_or(ptr::null(), ptr::from_ref);
    // SAFETY: `new` is null or an action whose handler may run at any time: it does nothing and is there as long as
    // the process. `old` has room for an action.
    let got = unsafe { libc::sigaction(signal, new, old.as_mut_ptr()) };
    done(signal, got == 0)?;
    // SAFETY: the call succeeded, so it has written the action.
    let old = unsafe { old.assume_init() };
    let restarts = old.sa_flags & libc::SA_RESTART != 0;
    Ok(match old.sa_sigaction {
        libc::SIG_DFL | libc::SIG_IGN => Handler::Nobody,
        handler if handler == nothing as extern "C" fn(c_int) as sighandler_t && !restarts => {
            Handler::Nothing
        }
        _ => Handler::Another,
    })
}

fn done(signal: i32, worked: bool) -> Result<(), InterruptError> {
    if worked {
        return Ok(());
    }
    let errno = io::Error::last_os_error().raw_os_error().unwrap_or(0);
    Err(InterruptError::Refused { signal, errno })
}

/// The handler: that it has run is what ends the call.
extern "C" fn nothing(_signal: c_int) {}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;

    #[test]
    fn what_ends_programs_is_not_used() {
        let refused = [-1, 0, 1, 2, 3, 6, 9, 11, 15, 17, 19, 32, 65, i32::MAX];
        for signal in refused {
            assert_eq!(check(signal), Err(InterruptError::NotUsable { signal }));
            let thread = ThreadId::current();
            assert!(interrupt(thread, signal).is_err(), "{signal}");
        }
        let named = check(libc::SIGKILL).unwrap_err().to_string();
        assert!(
            named.starts_with("signal 9 means something else"),
            "{named}"
        );
        for signal in [
            libc::SIGURG,
            libc::SIGUSR1,
            libc::SIGRTMIN(),
            libc::SIGRTMAX(),
        ] {
            assert_eq!(check(signal), Ok(()));
        }
    }

    #[test]
    fn it_is_installed_at_the_first_signal() {
        let signal = libc::SIGRTMIN() + 3;
        assert!(exchange(signal, None) == Ok(Handler::Nobody));
        assert_eq!(check(signal), Ok(()));
        assert!(exchange(signal, None) == Ok(Handler::Nobody));
        // By default it would end the process.
        assert_eq!(interrupt(ThreadId::current(), signal), Ok(()));
        assert!(exchange(signal, None) == Ok(Handler::Nothing));
        assert_eq!(interrupt(ThreadId::current(), signal), Ok(()));
    }
}
