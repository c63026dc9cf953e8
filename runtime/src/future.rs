//! What a future awaits: its next turn, some time, or another future for some time.
//!
//! All of it works with any executor; only where time comes from depends on the thread. A sleep is an alarm of the
//! timers of the runtime whose worker polls it first, which does nothing but end; whoever awaits it is woken as by any
//! [`JoinHandle`](crate::JoinHandle). So there is one timer thread, whether time is waited for by closures or futures.

use std::error::Error;
use std::fmt;
use std::future::{self, Future};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use pin_project_lite::pin_project;

use crate::backend::Backend;
use crate::blocking::blocking;
use crate::current::{self, Home};
use crate::global;
use crate::refused::RefusedReason;
use crate::shared::Shared;
use crate::sleep::Stopped;
use crate::timer::{self, Timer};
use crate::timers::queue::Due;

/// Runs a future on the calling thread, which sleeps while the future waits, and returns its output.
///
/// Any thread may call it. On a worker it counts as [`blocking`](crate::blocking()): unless the tag replaces the worker, it
/// has one less meanwhile, and a future that waits for what only this worker could do waits for ever, such as a
/// [`Task`](crate::Task) of the same tag if that has a single worker. There, spawn the future instead. Costs an
/// allocation.
///
/// ```
/// use parkade::Runtime;
///
/// let runtime = Runtime::builder().build()?;
/// let sum = parkade::block_on(async {
///     let left = runtime.spawn(|| 1);
///     let right = runtime.spawn_async(async { 2 });
///     Ok::<_, parkade::JoinError>(left.await? + right.await?)
/// })?;
/// assert_eq!(sum, 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn block_on<F: Future>(future: F) -> F::Output {
    blocking(|| pollster::block_on(future))
}

/// Lets others go first: the future goes on behind everything that is queued with its worker by then.
///
/// Use it in long computations inside a future, so that other tasks get their turn. With
/// [`Priority::High`](crate::Priority::High) it goes behind what has that priority. Costs a wake, which is an inbox's
/// lock and perhaps a system call for an idle worker, and a poll.
///
/// ```
/// use parkade::{Runtime, Tag};
///
/// let runtime = Runtime::builder().tag(Tag::new("only").workers(1)).build()?;
/// let (log, logged) = std::sync::mpsc::channel();
/// let turns = ["a", "b"].map(|name| {
///     let log = log.clone();
///     runtime.spawn_async(async move {
///         for turn in 0..2 {
///             log.send((name, turn)).ok();
///             parkade::future::yield_now().await;
///         }
///     })
/// });
/// for task in turns {
///     task.join()?;
/// }
/// assert_eq!(logged.try_iter().count(), 4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn yield_now() -> YieldNow {
    YieldNow { yielded: false }
}

/// The future of [`yield_now`].
///
/// ```
/// use parkade::future::{YieldNow, yield_now};
///
/// let runtime = parkade::Runtime::builder().build()?;
/// let turn: YieldNow = yield_now();
/// runtime.spawn_async(turn).join()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "a future does nothing unless it is awaited"]
pub struct YieldNow {
    yielded: bool,
}

impl Future for YieldNow {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.yielded {
            return Poll::Ready(());
        }
        self.yielded = true;
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

/// Waits for `duration` from this call, never less, or until the runtime stops; its worker goes on meanwhile.
///
/// On a monotonic clock; [`Duration::MAX`] is until the runtime stops. It takes a timer of the runtime whose worker
/// polls it first; on any other thread, such as one in [`block_on`], of the [global](crate::global()) runtime (without
/// the features that bring one it ends at once as if stopped). Dropping it cancels the timer. Costs what
/// [`alarm`](crate::RuntimeOn::alarm) costs, and shows in the [timers' numbers](crate::TimerMetrics).
///
/// The future's output is [`Stopped`] if the runtime stops meanwhile or has stopped, whatever the policy: under a drain the
/// future then goes on, and should end soon; where a tag is [stopped alone](crate::TagRef::shutdown), its futures that
/// sleep are dropped. The same, if the system refuses the runtime's first timer its thread,
/// and in a forked child.
///
/// # Panics
///
/// The future does when it is first polled on a thread that is no worker, if the [global](crate::global()) runtime
/// cannot be built.
///
/// ```
/// use std::time::{Duration, Instant};
///
/// use parkade::Runtime;
/// use parkade::future::sleep;
///
/// let runtime = Runtime::builder().build()?;
/// let begun = Instant::now();
/// // As many as you like: no worker sleeps.
/// let sleepers: Vec<_> = (0..100)
///     .map(|_| runtime.spawn_async(sleep(Duration::from_millis(5))))
///     .collect();
/// for sleeper in sleepers {
///     sleeper.join()??;
/// }
/// assert!(begun.elapsed() >= Duration::from_millis(5));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn sleep(duration: Duration) -> Sleep {
    Sleep {
        due: Due::after(Instant::now(), duration),
        alarm: None,
        ended: None,
    }
}

/// The future of [`sleep`]; dropping it cancels its timer.
///
/// ```
/// use parkade::future::{Sleep, sleep};
///
/// let runtime = parkade::Runtime::builder().build()?;
/// let nap: Sleep = sleep(std::time::Duration::from_millis(1));
/// assert!(runtime.spawn_async(nap).join()?.is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a future does nothing unless it is awaited"]
pub struct Sleep {
    due: Due,
    /// There from the first poll on.
    alarm: Option<Timer<()>>,
    ended: Option<Result<(), Stopped>>,
}

impl Sleep {
    fn end(&mut self, ended: Result<(), Stopped>) -> Poll<Result<(), Stopped>> {
        self.ended = Some(ended);
        Poll::Ready(ended)
    }
}

impl Future for Sleep {
    type Output = Result<(), Stopped>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        if let Some(ended) = this.ended {
            return Poll::Ready(ended);
        }
        let alarm = match this.alarm.take().map_or_else(|| alarm(this.due), Ok) {
            Ok(alarm) => this.alarm.insert(alarm),
            Err(_) => return this.end(Err(Stopped)),
        };
        match Pin::new(&mut alarm.handle).poll(context) {
            Poll::Pending => Poll::Pending,
            // What the alarm does cannot panic, and it is not cancelled here: only a stop or a fork is left.
            Poll::Ready(outcome) => this.end(outcome.map_err(|_| Stopped)),
        }
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some(alarm) = &mut self.alarm {
            // Else the cancelled alarm would wake whoever has just lost interest.
            alarm.handle.give_up();
        }
    }
}

impl fmt::Debug for Sleep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sleep")
            .field("due", &self.due)
            .field("ended", &self.ended)
            .finish_non_exhaustive()
    }
}

fn alarm(due: Due) -> Result<Timer<()>, RefusedReason> {
    let own = current::with_own_work(|work| work.map(|work| work.silent_alarm(due)));
    own.unwrap_or_else(|| global::silent_alarm(due))
}

/// An alarm that does nothing but end.
pub(crate) fn silent_alarm<B: Backend>(
    shared: &Arc<Shared<B>>,
    due: Due,
) -> Result<Timer<()>, RefusedReason> {
    let alarm = timer::time(shared, due, || (), None, Home::nowhere(shared));
    alarm.map_err(|refused| refused.reason)
}

pin_project! {
    /// The future of [`timeout`].
    ///
    /// ```
    /// use parkade::future::{Timeout, timeout};
    ///
    /// let runtime = parkade::Runtime::builder().build()?;
    /// let answer: Timeout<_> = timeout(std::time::Duration::from_secs(60), async { 42 });
    /// assert_eq!(runtime.spawn_async(answer).join()?, Ok(42));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[derive(Debug)]
    #[must_use = "a future does nothing unless it is awaited"]
    pub struct Timeout<F> {
        #[pin]
        future: F,
        sleep: Sleep,
    }
}

/// Waits for a future, at most for `limit` from this call.
///
/// The future is polled first, so one that is ready wins whatever the limit. When the time is up, it stops being
/// polled, and is dropped with this. Time comes from where [`sleep`] has it.
///
/// # Errors
///
/// The output is [`TimeoutError`]: the time was up, or the runtime stops and has no more time to give.
///
/// # Panics
///
/// As that of [`sleep`] does, if the future is not ready at once.
///
/// ```
/// use std::time::Duration;
///
/// use parkade::Runtime;
/// use parkade::future::{TimeoutError, timeout};
///
/// let runtime = Runtime::builder().build()?;
/// let never = timeout(Duration::from_millis(5), std::future::pending::<()>());
/// assert_eq!(runtime.spawn_async(never).join()?, Err(TimeoutError::Elapsed));
/// let at_once = timeout(Duration::ZERO, async { "ready" });
/// assert_eq!(runtime.spawn_async(at_once).join()?, Ok("ready"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn timeout<F: future::IntoFuture>(limit: Duration, future: F) -> Timeout<F::IntoFuture> {
    Timeout {
        future: future.into_future(),
        sleep: sleep(limit),
    }
}

impl<F: Future> Future for Timeout<F> {
    type Output = Result<F::Output, TimeoutError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        if let Poll::Ready(output) = this.future.poll(context) {
            return Poll::Ready(Ok(output));
        }
        Pin::new(this.sleep).poll(context).map(|slept| {
            Err(match slept {
                Ok(()) => TimeoutError::Elapsed,
                Err(Stopped) => TimeoutError::Stopped,
            })
        })
    }
}

/// Why a [`timeout`] has no output.
///
/// ```
/// use std::future::pending;
/// use std::time::Duration;
///
/// use parkade::Runtime;
/// use parkade::future::{TimeoutError, timeout};
///
/// let runtime = Runtime::builder().build()?;
/// let task = runtime.spawn_async(timeout(Duration::from_millis(1), pending::<()>()));
/// assert_eq!(task.join()?, Err(TimeoutError::Elapsed));
/// assert_eq!(TimeoutError::Elapsed.to_string(), "the time was up");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TimeoutError {
    /// The time was up.
    Elapsed,
    /// The runtime whose timers it would have taken stops; as for [`sleep`].
    Stopped,
}

impl fmt::Display for TimeoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Elapsed => f.write_str("the time was up"),
            Self::Stopped => Stopped.fmt(f),
        }
    }
}

impl Error for TimeoutError {}
