//! The handle to a task's outcome.

use std::fmt;
use std::future::Future;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use crate::blocking::Blocked;
use crate::current::{self, Home};
use crate::handled::Promised;
use crate::join_error::JoinError;

/// The right to wait for a task and to take its outcome; dropping it lets the task go on alone.
///
/// Not so with a future's [`Task`](crate::Task): dropping that one cancels.
///
/// Made by [`spawn`](crate::RuntimeOn::spawn) and its family. It may be sent to and waited on by any
/// thread, and it may outlive the runtime: by then it has an outcome.
///
/// # Waiting inside a task
///
/// A worker that [`join`](JoinHandle::join)s a task of its own tag that has not started runs it itself,
/// so a parent may wait for its children on a single worker. Otherwise its thread sleeps, as
/// [`blocking`](crate::blocking()). Tasks that wait for each other in a circle wait for ever, as with threads.
///
/// ```
/// use parkade::Runtime;
///
/// let runtime = Runtime::builder().build()?;
/// let handle = runtime.spawn(|| "done");
/// assert_eq!(handle.join()?, "done");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Waiting inside a future
///
/// It is a future of what [`join`](JoinHandle::join) returns, on any executor. A poll never waits and runs nothing:
/// a worker that awaits goes on with other tasks. Once it has been ready, the outcome is gone.
///
/// ```
/// use parkade::Runtime;
///
/// let runtime = Runtime::builder().build()?;
/// let parts = [1, 2, 3].map(|part| runtime.spawn(move || part * part));
/// let sum = runtime.spawn_async(async {
///     let mut sum = 0;
///     for part in parts {
///         sum += part.await?;
///     }
///     Ok::<_, parkade::JoinError>(sum)
/// });
/// assert_eq!(sum.join()??, 14);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a handle that is dropped lets its task run unwatched; `spawn_detached` says that directly"]
pub struct JoinHandle<T: 'static> {
    promised: Promised<T>,
    home: Home,
}

impl<T: 'static> JoinHandle<T> {
    pub(crate) fn new(promised: Promised<T>, home: Home) -> Self {
        Self { promised, home }
    }

    /// Waits until the task has ended and returns its value.
    ///
    /// # Errors
    ///
    /// [`JoinError`]: the task panicked (with the payload), was dropped by a stopping runtime, or had been
    /// refused; or it is the task of the process that this one was forked from.
    ///
    /// ```
    /// use parkade::{JoinError, Runtime};
    ///
    /// let runtime = Runtime::builder().build()?;
    /// assert_eq!(runtime.spawn(|| "done").join()?, "done");
    /// let failed = runtime.spawn(|| panic!("out of tea")).join();
    /// assert!(matches!(failed, Err(JoinError::Panicked(_))));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn join(self) -> Result<T, JoinError> {
        let Self { promised, home } = self;
        if !home.is_in_this_process() {
            return promised.take().unwrap_or(Err(JoinError::Forked));
        }
        let mut promised = match current::with_work(home, |work| match work {
            Some(work) => promised.run_here(work.counts(), |husk| work.clear_husk(husk)),
            None => Err(promised),
        }) {
            Ok(outcome) => return outcome,
            Err(promised) => promised,
        };
        let _blocked = (!promised.is_done()).then(Blocked::now);
        loop {
            promised.wait(None);
            match promised.take() {
                Ok(outcome) => return outcome,
                Err(not_yet) => promised = not_yet,
            }
        }
    }

    /// Takes the outcome if the task has ended; never waits and runs nothing.
    ///
    /// # Errors
    ///
    /// The handle itself, if the task has not ended. The inner result is that of [`join`](JoinHandle::join).
    ///
    /// ```
    /// use std::sync::mpsc;
    ///
    /// use parkade::Runtime;
    ///
    /// let runtime = Runtime::builder().build()?;
    /// let (finish, finished) = mpsc::channel::<()>();
    /// let handle = runtime.spawn(move || finished.recv().is_err());
    /// assert!(!handle.is_finished());
    /// let handle = handle.try_join().unwrap_err(); // not yet: here is the handle again
    /// drop(finish);
    /// assert!(handle.join()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn try_join(self) -> Result<Result<T, JoinError>, Self> {
        let Self { promised, home } = self;
        promised.take().map_err(|promised| Self { promised, home })
    }

    /// Waits at most for `timeout`; runs nothing, also on a worker. [`Duration::MAX`] waits for ever.
    ///
    /// # Errors
    ///
    /// The handle itself, if the task has not ended by then. The inner result is that of
    /// [`join`](JoinHandle::join).
    ///
    /// ```
    /// use std::sync::mpsc;
    /// use std::time::Duration;
    ///
    /// use parkade::Runtime;
    ///
    /// let runtime = Runtime::builder().build()?;
    /// let (finish, finished) = mpsc::channel::<()>();
    /// let handle = runtime.spawn(move || finished.recv().is_err());
    /// let handle = handle.join_timeout(Duration::from_millis(1)).unwrap_err();
    /// drop(finish);
    /// assert!(handle.join()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn join_timeout(self, timeout: Duration) -> Result<Result<T, JoinError>, Self> {
        let Self { mut promised, home } = self;
        if !home.is_in_this_process() {
            return Ok(promised.take().unwrap_or(Err(JoinError::Forked)));
        }
        let _blocked = (!promised.is_done()).then(Blocked::now);
        // A deadline beyond the end of time is none.
        promised.wait(Instant::now().checked_add(timeout));
        promised.take().map_err(|promised| Self { promised, home })
    }

    /// Has no future woken any more that has polled this.
    pub(crate) fn give_up(&mut self) {
        self.promised.give_up();
    }

    /// Whether the task has ended, so that [`join`](JoinHandle::join) would not wait.
    /// See [`JoinHandle::try_join`] for an example.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.promised.is_done()
    }
}

impl<T: 'static> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if !self.home.is_in_this_process() {
            let outcome = self.promised.take_now();
            return Poll::Ready(outcome.unwrap_or(Err(JoinError::Forked)));
        }
        self.promised.poll(context)
    }
}

// As for std's handle: an outcome that a panic interrupted is an error in it, not a broken value.
impl<T: 'static> UnwindSafe for JoinHandle<T> {}
impl<T: 'static> RefUnwindSafe for JoinHandle<T> {}

impl<T: 'static> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle")
            .field("state", &self.promised)
            .finish_non_exhaustive()
    }
}
