//! The handle to a spawned future.

use std::fmt;
use std::future::Future;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::Pin;
use std::task::{Context, Poll};

use async_task::FallibleTask;

use crate::current::Home;
use crate::future::block_on;
use crate::join_error::JoinError;
use crate::refused::RefusedReason;
use crate::spawned::Ended;

/// The right to a spawned future's output; **dropping it cancels the future**.
///
/// Made by [`spawn_async`](crate::RuntimeOn::spawn_async). It is a future itself, of a `Result<T, JoinError>`, and may
/// be awaited on any executor, or joined by a thread. It may outlive the runtime: by then it has an outcome. Once it
/// has been ready, the outcome is gone.
///
/// A future that is cancelled is not polled again. Its tag's workers drop it when its turn comes; so that may be after
/// the task was dropped, and [`cancel`](Task::cancel) waits for it.
///
/// A [`Waker`](std::task::Waker) that panics when it is woken, as that of whoever awaits this, aborts the process. Those of
/// common executors do not.
///
/// ```
/// use parkade::Runtime;
///
/// let runtime = Runtime::builder().build()?;
/// let task = runtime.spawn_async(async { 6 * 7 });
/// assert_eq!(task.join()?, 42);
///
/// let never = runtime.spawn_async(std::future::pending::<()>());
/// assert!(parkade::block_on(never.cancel()).is_none(), "it had not ended");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a task that is dropped is cancelled; `detach` lets it go on"]
pub struct Task<T: 'static> {
    state: State<T>,
    home: Home,
}

enum State<T> {
    Accepted(FallibleTask<Ended<T>>),
    Refused(RefusedReason),
}

impl<T: 'static> Task<T> {
    pub(crate) fn new(task: async_task::Task<Ended<T>>, home: Home) -> Self {
        Self {
            state: State::Accepted(task.fallible()),
            home,
        }
    }

    pub(crate) fn refused(reason: RefusedReason, home: Home) -> Self {
        Self {
            state: State::Refused(reason),
            home,
        }
    }

    /// Lets the future go on alone; a stop of the runtime still ends it.
    ///
    /// ```
    /// use parkade::Runtime;
    ///
    /// let runtime = Runtime::builder().build()?;
    /// let (send, received) = std::sync::mpsc::channel();
    /// runtime.spawn_async(async move { send.send("done") }).detach();
    /// assert_eq!(received.recv()?, "done");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn detach(self) {
        if let State::Accepted(task) = self.state {
            task.detach();
        }
    }

    /// Cancels the future and waits until it has been dropped; if it had ended, here is its outcome.
    ///
    /// `None` also if the runtime's stop has dropped it, and at once in a forked child.
    ///
    /// ```
    /// use parkade::Runtime;
    ///
    /// let runtime = Runtime::builder().build()?;
    /// let task = runtime.spawn_async(std::future::pending::<()>());
    /// assert!(!task.is_finished());
    /// assert!(parkade::block_on(task.cancel()).is_none(), "it had no outcome");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn cancel(self) -> Option<Result<T, JoinError>> {
        match self.state {
            State::Accepted(task) if self.home.is_in_this_process() => {
                task.cancel().await.map(Ended::into_outcome)
            }
            State::Accepted(_) => None,
            State::Refused(reason) => Some(Err(JoinError::Refused(reason))),
        }
    }

    /// Blocks until the future has ended and returns its output.
    ///
    /// For threads outside; a future awaits the task instead. On a worker it blocks as [`block_on`] does: the worker
    /// polls nothing meanwhile, so the only worker of the future's own tag would wait for ever, unless the tag may
    /// replace it ([`max_blocked`](crate::Tag::max_blocked)).
    ///
    /// # Errors
    ///
    /// [`JoinError`]: the future panicked (with the payload), was dropped by a stopping runtime, or had been
    /// refused; or it is the future of the process that this one was forked from.
    ///
    /// ```
    /// use parkade::Runtime;
    ///
    /// let runtime = Runtime::builder().build()?;
    /// let task = runtime.spawn_async(async { 6 * 7 });
    /// assert_eq!(task.join()?, 42);
    /// let failed = runtime.spawn_async(async { panic!("out of tea") });
    /// assert!(failed.join().is_err_and(|error| error.is_panic()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn join(self) -> Result<T, JoinError> {
        block_on(self)
    }

    /// Whether the future has ended or was dropped, so that [`join`](Task::join) would not wait.
    /// See [`Task::cancel`] for an example.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        match &self.state {
            State::Accepted(task) => task.is_finished(),
            State::Refused(_) => true,
        }
    }
}

impl<T: 'static> Future for Task<T> {
    type Output = Result<T, JoinError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let home = self.home;
        match &mut self.state {
            State::Refused(reason) => Poll::Ready(Err(JoinError::Refused(*reason))),
            State::Accepted(task) if home.is_in_this_process() || task.is_finished() => {
                match Pin::new(task).poll(context) {
                    Poll::Ready(ended) => {
                        Poll::Ready(ended.map_or(Err(JoinError::Dropped), Ended::into_outcome))
                    }
                    // Whoever was dropping the future at the fork is not there to go on.
                    Poll::Pending if !home.is_in_this_process() => {
                        Poll::Ready(Err(JoinError::Forked))
                    }
                    Poll::Pending => Poll::Pending,
                }
            }
            State::Accepted(_) => Poll::Ready(Err(JoinError::Forked)),
        }
    }
}

// As for `JoinHandle`.
impl<T: 'static> UnwindSafe for Task<T> {}
impl<T: 'static> RefUnwindSafe for Task<T> {}

impl<T: 'static> fmt::Debug for Task<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match &self.state {
            State::Accepted(task) if task.is_finished() => "ended",
            State::Accepted(_) => "accepted",
            State::Refused(_) => "refused",
        };
        f.debug_struct("Task")
            .field("state", &format_args!("{state}"))
            .finish_non_exhaustive()
    }
}
