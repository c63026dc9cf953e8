//! Why a handle has no value: the task panicked, was dropped, or was never accepted.

use std::any::Any;
use std::error::Error;
use std::fmt;
use std::panic;
use std::sync::{Mutex, PoisonError};

use crate::panics::message;
use crate::refused::RefusedReason;

/// What a task came to if not to a value.
///
/// ```
/// use parkade::{JoinError, Policy, RefusedReason, Runtime};
///
/// let runtime = Runtime::builder().build()?;
/// let explain = |outcome| match outcome {
///     Ok(()) => "it ran".to_owned(),
///     Err(JoinError::Panicked(payload)) => format!("it panicked: {payload}"),
///     Err(JoinError::Refused(RefusedReason::Stopped)) => "it came too late".to_owned(),
///     Err(other) => other.to_string(),
/// };
/// assert_eq!(explain(runtime.spawn(|| ()).join()), "it ran");
/// assert_eq!(explain(runtime.spawn(|| panic!("no tea")).join()), "it panicked: no tea");
/// runtime.shutdown(Policy::Drain, None)?;
/// assert_eq!(explain(runtime.spawn(|| ()).join()), "it came too late");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum JoinError {
    /// The task panicked; here is what it panicked with.
    Panicked(PanicPayload),
    /// The task was accepted and then dropped without having run: its runtime stopped by
    /// [`Policy::Abandon`](crate::Policy::Abandon), or the stop's deadline passed; or it was a timer's, and not due
    /// when the runtime stopped or it was cancelled; or it was a future that had not
    /// ended when the runtime had. Or its outcome has been taken already, by a poll that was ready.
    Dropped,
    /// The task belongs to the process that this one was forked from, and nothing is known of it here.
    Forked,
    /// The task was never accepted, and has been dropped.
    Refused(RefusedReason),
}

/// The value that a task panicked with.
///
/// Get at the message by `Display`, at the value by [`into_inner`](PanicPayload::into_inner).
///
/// ```
/// use parkade::{JoinError, Runtime};
///
/// let runtime = Runtime::builder().build()?;
/// let failed = runtime.spawn(|| std::panic::panic_any(7)).join();
/// let Err(JoinError::Panicked(payload)) = failed else {
///     unreachable!("it panics");
/// };
/// assert_eq!(payload.to_string(), "a value that is no message");
/// assert_eq!(payload.into_inner().downcast_ref(), Some(&7));
/// # Ok::<(), parkade::BuildError>(())
/// ```
// The mutex makes the payload `Sync`, so that `JoinError` fits into boxed errors; the box keeps the
// common outcomes small.
pub struct PanicPayload(Box<Mutex<Box<dyn Any + Send>>>);

impl JoinError {
    /// The payload, if the task panicked.
    ///
    /// ```
    /// use parkade::Runtime;
    ///
    /// let runtime = Runtime::builder().build()?;
    /// let error = runtime.spawn(|| panic!("out of tea")).join().unwrap_err();
    /// let payload = error.into_panic().unwrap();
    /// assert_eq!(payload.downcast_ref(), Some(&"out of tea"));
    /// # Ok::<(), parkade::BuildError>(())
    /// ```
    #[must_use]
    pub fn into_panic(self) -> Option<Box<dyn Any + Send>> {
        match self {
            Self::Panicked(payload) => Some(payload.into_inner()),
            Self::Dropped | Self::Forked | Self::Refused(_) => None,
        }
    }

    /// Whether the task panicked. See [`Task::join`](crate::Task::join) for an example.
    #[must_use]
    pub fn is_panic(&self) -> bool {
        matches!(self, Self::Panicked(_))
    }
}

impl PanicPayload {
    pub(crate) fn new(payload: Box<dyn Any + Send>) -> Self {
        Self(Box::new(Mutex::new(payload)))
    }

    /// The value itself, as `catch_unwind` would have given it. See [`PanicPayload`] for an example.
    #[must_use]
    pub fn into_inner(self) -> Box<dyn Any + Send> {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Goes on panicking with the same value in this thread, without calling the panic hook again.
    ///
    /// # Panics
    ///
    /// Always.
    ///
    /// ```
    /// use parkade::{JoinError, Runtime};
    ///
    /// let runtime = Runtime::builder().build()?;
    /// let parent = std::thread::spawn(move || match runtime.spawn(|| panic!("a child")).join() {
    ///     Err(JoinError::Panicked(payload)) => payload.resume(), // the parent's panic as well
    ///     other => other,
    /// });
    /// assert!(parent.join().is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn resume(self) -> ! {
        panic::resume_unwind(self.into_inner())
    }

    /// Passes the value to `look`.
    pub(crate) fn with<R>(&self, look: impl FnOnce(&(dyn Any + Send)) -> R) -> R {
        let payload = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        look(&**payload)
    }

    /// Passes the message, if the payload is one, to `show`.
    fn with_message<R>(&self, show: impl FnOnce(Option<&str>) -> R) -> R {
        self.with(|payload| show(message(payload)))
    }
}

impl fmt::Debug for PanicPayload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.with_message(|message| f.debug_tuple("PanicPayload").field(&message).finish())
    }
}

impl fmt::Display for PanicPayload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.with_message(|message| f.write_str(message.unwrap_or("a value that is no message")))
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Panicked(payload) => write!(f, "the task panicked: {payload}"),
            Self::Dropped => f.write_str("the task was dropped before it ran to its end"),
            Self::Forked => {
                f.write_str("the task belongs to the process that this one was forked from")
            }
            Self::Refused(reason) => write!(f, "the task was refused: {reason}"),
        }
    }
}

impl Error for JoinError {}
