//! What users hold of a timer: a task that is spawned later, or an alarm.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::backend::Backend;
use crate::current::Home;
use crate::handle::JoinHandle;
use crate::handled::promised;
use crate::job::Body;
use crate::join_error::JoinError;
use crate::latency::Measured;
use crate::refused::Refused;
use crate::runtime::{RuntimeOn, TagRef};
use crate::shared::Shared;
use crate::timers::queue::{Due, TimerKey};
use crate::timers::{Action, Route, Timers};

/// A closure that will run at its time, unless this is dropped before.
///
/// Made by [`after`](RuntimeOn::after) and [`alarm`](RuntimeOn::alarm). Dropping it cancels what has not
/// fired; [`detach`](Timer::detach) lets it go on alone. It may outlive the runtime: by then it has an outcome.
///
/// ```
/// use std::time::Duration;
///
/// use parkade::Runtime;
///
/// let runtime = Runtime::builder().build()?;
/// let soon = runtime.after(Duration::from_millis(5), || "now")?;
/// let never = runtime.after(Duration::MAX, || "never")?;
/// assert_eq!(soon.join()?, "now");
/// assert!(never.is_pending() && !never.is_finished());
/// assert!(never.cancel(), "it had not fired");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a timer that is dropped is cancelled; `detach` lets it go on"]
pub struct Timer<T: 'static> {
    // Dropped before the handle.
    pending: Pending,
    pub(crate) handle: JoinHandle<T>,
}

/// The right to cancel one pending timer. Dropping it does.
struct Pending {
    timers: Arc<Timers>,
    key: Option<TimerKey>,
}

impl Pending {
    /// True if it was pending until now.
    fn cancel(&mut self) -> bool {
        let cancelled = self.key.take().and_then(|key| self.timers.cancel(key));
        cancelled.is_some()
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.cancel();
    }
}

impl<T: 'static> Timer<T> {
    /// Cancels the timer; true if it had not fired, so that its closure will not run and has been dropped.
    ///
    /// Costs a lock and O(log n) of the pending timers; wakes nobody. See [`Timer`] for an example.
    #[must_use = "false says that the closure runs or has run, or was dropped by a stop"]
    pub fn cancel(mut self) -> bool {
        self.pending.cancel()
    }

    /// Lets the timer go on unwatched; a stop of the runtime still cancels it.
    ///
    /// ```
    /// use std::sync::mpsc;
    /// use std::time::Duration;
    ///
    /// use parkade::Runtime;
    ///
    /// let runtime = Runtime::builder().build()?;
    /// let (ring, rung) = mpsc::channel();
    /// let timer = runtime.after(Duration::from_millis(1), move || ring.send(()))?;
    /// timer.detach();
    /// assert_eq!(rung.recv(), Ok(()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn detach(mut self) {
        self.pending.key = None;
    }

    /// Whether the timer is still to fire. See [`Timer`] for an example.
    #[must_use]
    pub fn is_pending(&self) -> bool {
        let key = self.pending.key;
        key.is_some_and(|key| self.pending.timers.is_pending(key))
    }

    /// Whether the closure has run or was dropped, so that [`join`](Timer::join) would not wait.
    /// See [`Timer`] for an example.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.handle.is_finished()
    }

    /// Waits until the closure has run and returns its value. Never runs it before its time.
    ///
    /// A worker that waits for a timed task of its own tag sleeps until the deadline and then runs the task
    /// itself, if nobody has begun with it, as in [`JoinHandle::join`]. See [`Timer`] for an example.
    ///
    /// # Errors
    ///
    /// [`JoinError`]: it panicked (with the payload), or was dropped by a stopping runtime.
    pub fn join(self) -> Result<T, JoinError> {
        let Self {
            mut pending,
            handle,
        } = self;
        let due = pending.key.take().map_or(Due::Never, TimerKey::due);
        match handle.join_timeout(due.left(Instant::now())) {
            Ok(outcome) => outcome,
            Err(handle) => handle.join(),
        }
    }
}

impl<T: 'static> fmt::Debug for Timer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let due = match self.pending.key.map(TimerKey::due) {
            Some(Due::At(due)) => Some(due.saturating_duration_since(Instant::now())),
            Some(Due::Never) | None => None,
        };
        f.debug_struct("Timer")
            .field("due_in", &due)
            .field("task", &self.handle)
            .finish()
    }
}

impl<B: Backend> RuntimeOn<B> {
    /// Spawns a task in the default tag after `delay`; see [`TagRef::after`] for more and an example.
    ///
    /// # Errors
    ///
    /// [`Refused`] with the closure.
    pub fn after<F, T>(&self, delay: Duration, task: F) -> Result<Timer<T>, Refused<F>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.default_tag().after(delay, task)
    }

    /// Calls `alarm` after `delay` on the timer thread itself, though every worker is blocked.
    ///
    /// For what must happen even if no worker is free: set a flag, send to a channel, unpark a thread, release
    /// what workers wait for. **It must be short and must not block**: every other timer waits for it. What may
    /// take longer than some microseconds is a task, for [`after`](RuntimeOn::after). Hooks are not called
    /// on that thread, and [`shutdown`](RuntimeOn::shutdown) is an error there as on a worker. A panic is
    /// in the handle, and the thread goes on. Otherwise as `after`.
    ///
    /// # Errors
    ///
    /// As for [`TagRef::after`].
    ///
    /// ```
    /// use std::sync::mpsc;
    /// use std::time::Duration;
    ///
    /// use parkade::{Runtime, Tag};
    ///
    /// let runtime = Runtime::builder().tag(Tag::new("only").workers(1)).build()?;
    /// let (release, released) = mpsc::channel();
    /// let blocked = runtime.spawn(move || released.recv());
    /// // No worker is left that could do it.
    /// runtime.alarm(Duration::from_millis(5), move || release.send("go on"))?.detach();
    /// assert_eq!(blocked.join()?, Ok("go on"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn alarm<F, T>(&self, delay: Duration, alarm: F) -> Result<Timer<T>, Refused<F>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        // Nobody runs it in the timer thread's place.
        let nowhere = Home::nowhere(&self.shared);
        self.default_tag().time(delay, alarm, None, nowhere)
    }

    /// Blocks the calling thread for `duration`, or until the runtime stops.
    ///
    /// For threads that hold the runtime; a task calls the free function [`sleep`](crate::sleep()), which
    /// says more. See [`sleep`](crate::sleep()) for an example.
    ///
    /// # Errors
    ///
    /// [`Stopped`](crate::Stopped): a stop was requested before or meanwhile, or this is a forked child of the
    /// runtime's process.
    pub fn sleep(&self, duration: Duration) -> Result<(), crate::Stopped> {
        if !self.shared.process.is_this() {
            return Err(crate::Stopped);
        }
        self.shared.stopping.sleep(None, duration)
    }
}

impl<B: Backend> TagRef<'_, B> {
    /// Spawns a task of this tag and priority after `delay`, on a monotonic clock; never earlier.
    ///
    /// Until then it takes no worker and no place in a queue. At its deadline it joins the tag's queues,
    /// whatever their limits, because it was accepted already; then it waits for a worker like any other
    /// task. [`Duration::MAX`] is never. Dropping the [`Timer`] cancels it, and so does a stop of the
    /// runtime under either policy: its handle then says [`JoinError::Dropped`].
    ///
    /// May be called from any thread, tasks included. Costs an allocation, a lock and O(log n) of the
    /// pending timers, and a system call if it is the earliest of them. The runtime's first timer starts
    /// its timer thread, which sleeps while none is due.
    ///
    /// # Errors
    ///
    /// [`Refused`] with the closure: the runtime is stopping, or its timer thread could not be started.
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    ///
    /// use parkade::{Priority, Runtime, Tag};
    ///
    /// let runtime = Runtime::builder().tag(Tag::new("io").workers(1)).build()?;
    /// let (delay, begun) = (Duration::from_millis(5), Instant::now());
    /// let urgent = runtime.tag("io")?.with_priority(Priority::High);
    /// let at = urgent.after(delay, Instant::now)?.join()?;
    /// assert!(at >= begun + delay);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn after<F, T>(&self, delay: Duration, task: F) -> Result<Timer<T>, Refused<F>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let to = Some(self.route());
        if !self.shared.measures_latency {
            return self.time(delay, task, to, self.home());
        }
        let now = Instant::now();
        // What never fires never starts either.
        let due = now.checked_add(delay).unwrap_or(now);
        let task = Measured::since(due, task);
        let timer = self.time(delay, task, to, self.home());
        timer.map_err(Measured::refused)
    }

    fn time<F, T>(
        &self,
        delay: Duration,
        closure: F,
        to: Option<Route>,
        home: Home,
    ) -> Result<Timer<T>, Refused<F>>
    where
        F: Body<T> + Send + 'static,
        T: Send + 'static,
    {
        let due = Due::after(Instant::now(), delay);
        time(self.shared, due, closure, to, home)
    }

    pub(crate) fn route(&self) -> Route {
        Route {
            tag: self.tag,
            priority: self.priority,
        }
    }
}

/// Makes a timer of a closure: a task of a tag, or an alarm.
pub(crate) fn time<B: Backend, F, T>(
    shared: &Arc<Shared<B>>,
    due: Due,
    closure: F,
    to: Option<Route>,
    home: Home,
) -> Result<Timer<T>, Refused<F>>
where
    F: Body<T> + Send + 'static,
    T: Send + 'static,
{
    let admitted = match Timers::admit(shared, to.map(|route| route.tag)) {
        Ok(admitted) => admitted,
        Err(reason) => {
            let task = closure;
            return Err(Refused { task, reason });
        }
    };
    let (entry, promised) = promised(closure);
    let key = admitted.insert(
        due,
        match to {
            Some(route) => Action::Submit(route, entry),
            None => Action::Alarm(entry),
        },
    );
    Ok(Timer {
        pending: Pending {
            timers: Arc::clone(&shared.timers),
            key: Some(key),
        },
        handle: JoinHandle::new(promised, home),
    })
}
