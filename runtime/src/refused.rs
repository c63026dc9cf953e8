//! A task that was not accepted, on its way back to its caller.

use std::error::Error;
use std::fmt;
use std::io::ErrorKind;

/// Why a task was not accepted.
///
/// ```
/// use std::time::Duration;
///
/// use parkade::{RefusedReason, Runtime};
///
/// let runtime = Runtime::builder().build()?;
/// let refused = runtime.every(Duration::ZERO, || ()).unwrap_err();
/// assert_eq!(refused.reason, RefusedReason::ZeroPeriod);
/// assert_eq!(refused.to_string(), "the task was refused: its period is 0");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RefusedReason {
    /// The queue is at its limit (see [`Tag::inbox_limit`](crate::Tag::inbox_limit)); later there may be room.
    Full,
    /// The runtime or the tag is stopping or has stopped; it accepts nothing any more.
    Stopped,
    /// This process is a child of the one that has the runtime's workers, made by `fork`; it builds its own.
    Forked,
    /// It was for later, and the system did not start the timer thread; here is what it said. Only of timers.
    NoTimerThread(ErrorKind),
    /// It was to recur every zero seconds. Only of [`every`](crate::TagRef::every).
    ZeroPeriod,
}

impl fmt::Display for RefusedReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.write_str("its queue is full"),
            Self::Stopped => f.write_str("the runtime or the tag has been stopped"),
            Self::Forked => {
                f.write_str("the runtime belongs to the process that this one was forked from")
            }
            Self::NoTimerThread(error) => {
                write!(f, "the timer thread could not be started: {error}")
            }
            Self::ZeroPeriod => f.write_str("its period is 0"),
        }
    }
}

impl From<parkade_core::RefusedReason> for RefusedReason {
    fn from(reason: parkade_core::RefusedReason) -> Self {
        match reason {
            parkade_core::RefusedReason::Full => Self::Full,
            parkade_core::RefusedReason::Closed => Self::Stopped,
        }
    }
}

/// A closure that was not accepted, given back unharmed, with the reason.
///
/// ```
/// use parkade::{Policy, RefusedReason, Runtime};
///
/// let runtime = Runtime::builder().build()?;
/// runtime.shutdown(Policy::Drain, None)?;
/// let refused = runtime.try_spawn(|| 6 * 7).unwrap_err();
/// assert_eq!(refused.reason, RefusedReason::Stopped);
/// assert_eq!((refused.task)(), 42); // run it yourself
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Refused<F> {
    /// The closure, never called.
    pub task: F,
    /// Why it was not accepted.
    pub reason: RefusedReason,
}

impl<F> fmt::Debug for Refused<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Refused")
            .field("reason", &self.reason)
            .finish_non_exhaustive()
    }
}

impl<F> fmt::Display for Refused<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the task was refused: {}", self.reason)
    }
}

impl<F> Error for Refused<F> {}
