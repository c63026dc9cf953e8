//! A task that recurs: one closure that goes round from timer to task to timer, until its handle is dropped.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::backend::Backend;
use crate::job::{Entry, detached, drop_quietly};
use crate::latency::Measured;
use crate::refused::{Refused, RefusedReason};
use crate::runtime::{RuntimeOn, TagRef};
use crate::timers::queue::{Due, TimerKey};
use crate::timers::{Action, Recurring, Route, Timers};

/// A task that recurs until this is dropped. Made by [`every`](RuntimeOn::every).
///
/// ```
/// use std::sync::mpsc;
/// use std::time::Duration;
///
/// use parkade::Runtime;
///
/// let runtime = Runtime::builder().build()?;
/// let (tick, ticks) = mpsc::channel();
/// let interval = runtime.every(Duration::from_millis(1), move || _ = tick.send(()))?;
/// ticks.recv()?;
/// assert!(interval.is_active());
/// drop(interval);
/// while ticks.recv().is_ok() {} // until the closure is dropped
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
    ///
    /// ```
    /// use std::sync::mpsc;
    /// use std::time::Duration;
    ///
    /// use parkade::Runtime;
    ///
    /// let runtime = Runtime::builder().build()?;
    /// let (tick, ticks) = mpsc::channel();
    /// runtime.every(Duration::from_millis(1), move || _ = tick.send(()))?.detach();
    /// assert_eq!(ticks.iter().take(3).count(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn detach(self) {
        if let Some(mut state) = self.0.lock() {
            state.detached = true;
        }
    }

    /// Whether there will be another turn: the closure has not panicked, and the runtime has not stopped.
    /// See [`Interval`] for an example.
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
    /// Spawns a task in the default tag every `period`; see [`TagRef::every`] for more and an example.
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
}

impl<B: Backend> TagRef<'_, B> {
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
}
