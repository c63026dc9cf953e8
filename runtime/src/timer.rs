//! What users hold of a timer: a task that is spawned later, an alarm, or a task that recurs.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::backend::Backend;
use crate::current::Home;
use crate::handle::JoinHandle;
use crate::handled::promised;
use crate::job::{Body, Entry, detached, drop_quietly};
use crate::join_error::JoinError;
use crate::latency::Measured;
use crate::refused::{Refused, RefusedReason};
use crate::runtime::{RuntimeOn, TagRef};
use crate::shared::Shared;
use crate::timers::queue::{Due, TimerKey};
use crate::timers::{Action, Recurring, Route, Timers};

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
    /// Costs a lock and O(log n) of the pending timers; wakes nobody.
    #[must_use = "false says that the closure runs or has run, or was dropped by a stop"]
    pub fn cancel(mut self) -> bool {
        self.pending.cancel()
    }

    /// Lets the timer go on unwatched; a stop of the runtime still cancels it.
    pub fn detach(mut self) {
        self.pending.key = None;
    }

    /// Whether the timer is still to fire.
    #[must_use]
    pub fn is_pending(&self) -> bool {
        let key = self.pending.key;
        key.is_some_and(|key| self.pending.timers.is_pending(key))
    }

    /// Whether the closure has run or was dropped, so that [`join`](Timer::join) would not wait.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.handle.is_finished()
    }

    /// Waits until the closure has run and returns its value. Never runs it before its time.
    ///
    /// A worker that waits for a timed task of its own tag sleeps until the deadline and then runs the task
    /// itself, if nobody has begun with it, as in [`JoinHandle::join`].
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

/// A task that recurs until this is dropped. Made by [`every`](RuntimeOn::every).
#[must_use = "an interval that is dropped ends; `detach` lets it go on"]
#[derive(Debug)]
pub struct Interval(Arc<Series>);

/// What the turns of a recurring task and its handle share.
struct Series {
    timers: Arc<Timers>,
    state: Mutex<SeriesState>,
}

#[derive(Debug, Default)]
struct SeriesState {
    /// The next turn's timer. It may have fired already.
    next: Option<TimerKey>,
    over: bool,
    detached: bool,
}

impl Interval {
    /// Lets it go on until the runtime stops.
    pub fn detach(self) {
        if let Some(mut state) = self.0.lock() {
            state.detached = true;
        }
    }

    /// Whether there will be another turn: the closure has not panicked, and the runtime has not stopped.
    #[must_use]
    pub fn is_active(&self) -> bool {
        self.0.lock().is_some_and(|state| !state.over)
    }
}

impl Drop for Interval {
    fn drop(&mut self) {
        let Some(mut state) = self.0.lock() else {
            return;
        };
        if state.detached {
            return;
        }
        state.over = true;
        let next = state.next.take();
        drop(state);
        // The closure is dropped here, outside the lock, unless a turn has it: then by that turn.
        drop_quietly(next.and_then(|key| self.0.timers.cancel(key)));
    }
}

impl Series {
    /// `None` in a forked child, where whoever had it locked at the fork is not there to let go.
    fn lock(&self) -> Option<MutexGuard<'_, SeriesState>> {
        // Nothing of the user's runs under this lock, so a poisoned one is as good as any.
        let lock = || self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.timers.are_in_this_process().then(lock)
    }
}

impl fmt::Debug for Series {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.state.fmt(f)
    }
}

/// The user's closure on its way round: timer, task, timer, … There is one, so turns never overlap.
struct Turn<F> {
    closure: F,
    route: Route,
    due: Due,
    period: Duration,
    is_measured: bool,
    // Dropped after the closure.
    series: EndsSeries,
}

/// Says, when dropped with the closure, that there is no further turn.
struct EndsSeries(Arc<Series>);

impl Drop for EndsSeries {
    fn drop(&mut self) {
        if let Some(mut state) = self.0.lock() {
            state.over = true;
        }
    }
}

impl<F: FnMut() + Send + 'static> Turn<F> {
    fn run(mut self: Box<Self>) {
        if self.series.0.lock().is_none_or(|state| state.over) {
            return;
        }
        (self.closure)();
        self.due = self.due.next_beat(self.period, Instant::now());
        let series = Arc::clone(&self.series.0);
        let (due, route) = (self.due, self.route);
        // Under the lock, so that a handle that is dropped now finds either the end or the timer.
        let Some(mut state) = series.lock() else {
            return;
        };
        if state.over {
            drop(state);
            return;
        }
        match series.timers.admit_next(route.tag) {
            Some(admitted) => state.next = Some(admitted.insert(due, Action::Recur(route, self))),
            None => drop(state),
        }
    }
}

impl<F: FnMut() + Send + 'static> Recurring for Turn<F> {
    fn into_entry(self: Box<Self>) -> Entry {
        match self.due {
            Due::At(due) if self.is_measured => detached(Measured::since(due, move || self.run())),
            _ => detached(move || self.run()),
        }
    }
}

impl<F> fmt::Debug for Turn<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Turn")
            .field("period", &self.period)
            .finish_non_exhaustive()
    }
}

impl<B: Backend> RuntimeOn<B> {
    /// Spawns a task in the default tag after `delay`; see [`TagRef::after`].
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

    /// Spawns a task in the default tag every `period`; see [`TagRef::every`].
    ///
    /// # Errors
    ///
    /// [`Refused`] with the closure.
    pub fn every<F>(&self, period: Duration, task: F) -> Result<Interval, Refused<F>>
    where
        F: FnMut() + Send + 'static,
    {
        self.default_tag().every(period, task)
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
    /// says more.
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

    /// Spawns a task of this tag and priority every `period`, first after one period, until the
    /// [`Interval`] is dropped, the closure panics or the runtime stops.
    ///
    /// At a fixed rate: turns are due at whole multiples of the period from now, however long each takes. They
    /// never overlap, and there is no burst: what comes due while a turn runs or waits for a worker is skipped,
    /// and the next turn is at the next multiple. Otherwise as [`after`](TagRef::after).
    ///
    /// # Errors
    ///
    /// As for [`after`](TagRef::after); or the period is zero.
    ///
    /// ```
    /// use std::sync::mpsc;
    /// use std::time::Duration;
    ///
    /// use parkade::Runtime;
    ///
    /// let runtime = Runtime::builder().build()?;
    /// let (tick, ticks) = mpsc::channel();
    /// let mut turn = 0;
    /// let interval = runtime.every(Duration::from_millis(1), move || {
    ///     turn += 1;
    ///     tick.send(turn).ok();
    /// })?;
    /// assert_eq!(ticks.iter().take(3).collect::<Vec<_>>(), [1, 2, 3]);
    /// drop(interval);
    /// assert!(ticks.iter().count() < 1000, "it ends");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn every<F>(&self, period: Duration, task: F) -> Result<Interval, Refused<F>>
    where
        F: FnMut() + Send + 'static,
    {
        if period.is_zero() {
            let reason = RefusedReason::ZeroPeriod;
            return Err(Refused { task, reason });
        }
        let due = Due::after(Instant::now(), period);
        let series = Arc::new(Series {
            timers: Arc::clone(&self.shared.timers),
            state: Mutex::default(),
        });
        // Before the timers' lock, as in `Turn::run`, and until the first turn's key is stored.
        let Some(mut state) = series.lock() else {
            let reason = RefusedReason::Forked;
            return Err(Refused { task, reason });
        };
        let admitted = match Timers::admit(self.shared, Some(self.tag)) {
            Ok(admitted) => admitted,
            Err(reason) => return Err(Refused { task, reason }),
        };
        let route = self.route();
        let turn = Box::new(Turn {
            closure: task,
            route,
            due,
            period,
            is_measured: self.shared.measures_latency,
            series: EndsSeries(Arc::clone(&series)),
        });
        state.next = Some(admitted.insert(due, Action::Recur(route, turn)));
        drop(state);
        Ok(Interval(series))
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

    fn route(&self) -> Route {
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
