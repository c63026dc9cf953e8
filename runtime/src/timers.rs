//! Timers: what is to happen later, and the one thread that sees to it.
//!
//! The thread is started by the first timer and sleeps on a condition variable of its own until the earliest
//! deadline; without one it sleeps until it is told. [`queue`] decides; this file does it.
//!
//! # Where a timer's closure runs
//!
//! A timer must fire though every worker is blocked and every queue is full, and a long closure must not
//! delay the next timer. Both cannot hold of one closure, so there are two kinds, and the caller chooses:
//!
//! * a *timed task* (`after`, `every`) is handed to its tag at its deadline, as a task that was accepted
//!   when the timer was made: no limit of an inbox refuses it, and from then on it is a task like any other;
//! * an *alarm* runs on the timer thread itself. It needs no worker, and must therefore be short.
//!
//! Either way the thread only ever does short things, and never waits for a queue or a worker.
//!
//! # Stopping
//!
//! A stop [`close`](Timers::close)s the timers in its first step: what is pending is dropped, whatever the
//! policy, because a draining stop that waited for a timer of next week would not be one. The thread is told
//! and ends by itself; it is waited for with the workers, so that the stop's deadline bounds an alarm that does
//! not return. A tag that is stopped alone takes its timed tasks with it; alarms belong to no tag.

pub(crate) mod queue;

use std::collections::BTreeSet;
use std::fmt;
use std::mem;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;
use std::time::Instant;

use parkade_core::{Priority, TagIndex};

use crate::backend::Backend;
use crate::counts::WorkerCounts;
use crate::current;
use crate::job::{Entry, RefusedEntry, drop_quietly};
use crate::metrics::TimerMetrics;
use crate::process::Process;
use crate::refused::RefusedReason;
use crate::scaler::Driver;
use crate::shared::Shared;
use crate::trace;
use queue::{Due, Next, TimerCounts, TimerKey, TimerQueue, WakeDriver};

/// The timers of one runtime.
pub(crate) struct Timers {
    state: Mutex<State>,
    changed: Condvar,
    plan: TimerThread,
    /// Nothing here may be locked in a child of it: its thread may have held the lock at the fork.
    process: Process,
    /// What alarms came to. Only the timer thread writes them.
    alarms: WorkerCounts,
}

/// How the timer thread is to be started.
#[derive(Debug)]
pub(crate) struct TimerThread {
    pub(crate) name: String,
    pub(crate) stack_size: Option<usize>,
    /// The CPUs of the process, if they can be told: the thread may be started by a pinned worker.
    pub(crate) process_cpus: Option<Box<[usize]>>,
}

struct State {
    queue: TimerQueue<Action>,
    thread: Thread,
    /// Tags that were stopped alone.
    closed: BTreeSet<TagIndex>,
}

enum Thread {
    NotStarted,
    Started(thread::JoinHandle<()>),
    /// The runtime stops. The thread, if there was one, is still to be joined.
    Closed(Option<thread::JoinHandle<()>>),
}

/// What a timer does when it is due.
#[derive(Debug)]
pub(crate) enum Action {
    /// Hands a task to a tag.
    Submit(Route, Entry),
    /// Hands the next turn of a recurring task to a tag.
    Recur(Route, Box<dyn Recurring>),
    /// Runs right here, on the timer thread.
    Alarm(Entry),
}

/// Where a timed task goes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Route {
    pub(crate) tag: TagIndex,
    pub(crate) priority: Priority,
}

/// What runs again and again. It owns the user's closure, and becomes the task of its next turn.
pub(crate) trait Recurring: fmt::Debug + Send {
    fn into_entry(self: Box<Self>) -> Entry;
}

/// Room for one timer, with the lock held: asked for first, so that a closure that is refused has not been
/// packed away yet.
#[must_use = "the lock is held"]
pub(crate) struct Admitted<'t> {
    timers: &'t Timers,
    state: MutexGuard<'t, State>,
}

impl Admitted<'_> {
    pub(crate) fn insert(self, due: Due, action: Action) -> TimerKey {
        let Self { timers, mut state } = self;
        let (key, wake) = state.queue.insert(due, action);
        drop(state);
        match wake {
            WakeDriver::Now => timers.changed.notify_one(),
            WakeDriver::Needless => {}
        }
        key
    }
}

impl Timers {
    pub(crate) fn new(plan: TimerThread, process: Process) -> Self {
        Self {
            state: Mutex::new(State {
                queue: TimerQueue::new(),
                thread: Thread::NotStarted,
                closed: BTreeSet::new(),
            }),
            changed: Condvar::new(),
            plan,
            process,
            alarms: WorkerCounts::default(),
        }
    }

    /// Asks for room for one timer of that tag, if it is one of a tag; the first one starts the thread.
    pub(crate) fn admit<B: Backend>(
        shared: &Arc<Shared<B>>,
        tag: Option<TagIndex>,
    ) -> Result<Admitted<'_>, RefusedReason> {
        let timers = &*shared.timers;
        if !timers.process.is_this() {
            return Err(RefusedReason::Forked);
        }
        let mut state = timers.lock();
        if tag.is_some_and(|tag| state.closed.contains(&tag)) {
            return Err(RefusedReason::Stopped);
        }
        match state.thread {
            Thread::Started(_) => {}
            Thread::Closed(_) => return Err(RefusedReason::Stopped),
            Thread::NotStarted => {
                let thread = match timers.plan.start(shared) {
                    Ok(thread) => thread,
                    Err(error) => {
                        drop(state);
                        trace::timer_thread_not_started(&error);
                        return Err(RefusedReason::NoTimerThread(error.kind()));
                    }
                };
                // It has not ended: that takes a stop, which takes the lock.
                shared.stopping.driver_has_started(Driver::Timers);
                state.thread = Thread::Started(thread);
            }
        }
        Ok(Admitted { timers, state })
    }

    /// Asks for room for a timer that follows one that has fired, so that the thread is there; `None` if the
    /// runtime or the tag stops.
    pub(crate) fn admit_next(&self, tag: TagIndex) -> Option<Admitted<'_>> {
        if !self.process.is_this() {
            return None;
        }
        let state = self.lock();
        let open = matches!(state.thread, Thread::Started(_)) && !state.closed.contains(&tag);
        open.then_some(Admitted {
            timers: self,
            state,
        })
    }

    /// Takes a timer out. What comes back is the user's, to be dropped outside of any lock.
    pub(crate) fn cancel(&self, key: TimerKey) -> Option<Action> {
        if !self.process.is_this() {
            return None;
        }
        self.lock().queue.cancel(key)
    }

    pub(crate) fn is_pending(&self, key: TimerKey) -> bool {
        self.process.is_this() && self.lock().queue.is_pending(key)
    }

    pub(crate) fn metrics(&self) -> TimerMetrics {
        if !self.process.is_this() {
            return TimerMetrics::default();
        }
        let TimerCounts {
            pending,
            fired,
            cancelled,
        } = self.lock().queue.counts();
        TimerMetrics {
            pending,
            fired,
            cancelled,
            panicked_alarms: self.alarms.panicked(),
        }
    }

    pub(crate) fn are_in_this_process(&self) -> bool {
        self.process.is_this()
    }

    pub(crate) fn thread_name(&self) -> &str {
        &self.plan.name
    }

    /// Refuses new timers, drops the pending ones, and tells the thread to end.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.thread = match mem::replace(&mut state.thread, Thread::Closed(None)) {
            Thread::NotStarted => Thread::Closed(None),
            Thread::Started(thread) => Thread::Closed(Some(thread)),
            closed @ Thread::Closed(_) => closed,
        };
        let pending = state.queue.cancel_all();
        drop(state);
        self.changed.notify_one();
        // An entry that is dropped tells its handle. Quietly: a destructor of the user's must not end the stop.
        pending.for_each(drop_quietly);
    }

    /// Refuses new timers of one tag, and drops the pending ones; alarms belong to none.
    pub(crate) fn close_tag(&self, tag: TagIndex) {
        let mut state = self.lock();
        state.closed.insert(tag);
        let of_tag = |action: &Action| match action {
            Action::Submit(route, _) | Action::Recur(route, _) => route.tag == tag,
            Action::Alarm(_) => false,
        };
        let pending = state.queue.cancel_each(of_tag);
        drop(state);
        pending.into_iter().for_each(drop_quietly);
    }

    /// The thread, after [`close`](Timers::close): to be joined, or to be left to itself.
    pub(crate) fn take_thread(&self) -> Option<thread::JoinHandle<()>> {
        match &mut self.lock().thread {
            Thread::Closed(thread) => thread.take(),
            Thread::NotStarted | Thread::Started(_) => None,
        }
    }

    /// Sleeps until a timer is due and takes it out; `None` when the runtime stops.
    fn next_due(&self) -> Option<Action> {
        let mut state = self.lock();
        loop {
            if let Thread::Closed(_) = state.thread {
                return None;
            }
            let now = Instant::now();
            state = match state.queue.next(now) {
                Next::Fire(action) => return Some(action),
                Next::SleepUntil(Due::Never) => self
                    .changed
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner),
                Next::SleepUntil(Due::At(due)) => {
                    let left = due.saturating_duration_since(now);
                    let waited = self.changed.wait_timeout(state, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    // Nothing of the user's runs under this lock, so a poisoned one is as good as any.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TimerThread {
    fn start<B: Backend>(
        &self,
        shared: &Arc<Shared<B>>,
    ) -> std::io::Result<thread::JoinHandle<()>> {
        let mut builder = thread::Builder::new().name(self.name.clone());
        if let Some(bytes) = self.stack_size {
            builder = builder.stack_size(bytes);
        }
        let shared = Arc::clone(shared);
        builder.spawn(move || drive(&shared))
    }
}

/// The whole life of the timer thread.
fn drive<B: Backend>(shared: &Shared<B>) {
    let leaves = shared.stopping.driver_leaves_at_end(Driver::Timers);
    if let Some(cpus) = &shared.timers.plan.process_cpus {
        // Without it the thread shares its creator's CPUs: later timers, no lost ones.
        let _as_it_is = B::set_current_thread_cpus(cpus);
    }
    current::as_driver(shared, || {
        while let Some(action) = shared.timers.next_due() {
            match action {
                Action::Submit(route, entry) => submit(shared, route, entry),
                Action::Recur(route, recurring) => submit(shared, route, recurring.into_entry()),
                Action::Alarm(entry) => entry.run(&shared.timers.alarms),
            }
            // An alarm has forked: what is pending is the parent's.
            if !shared.process.is_this() {
                return;
            }
        }
    });
    if !shared.process.is_this() {
        // What others had locked at the fork stays locked here, and nobody waits for this thread.
        mem::forget(leaves);
    }
}

fn submit<B: Backend>(shared: &Shared<B>, route: Route, entry: Entry) {
    let Route { tag, priority } = route;
    if let Err(RefusedEntry { entry, .. }) = shared.submit_accepted(tag, entry, priority) {
        // A stop came between: it goes the way of those that were pending.
        shared.timers.lock().queue.has_not_fired();
        drop(entry);
    }
}

/// Never waits for the lock.
impl fmt::Debug for Timers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match self.state.try_lock() {
            Ok(state) => state,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return f.write_str("changing at this moment"),
        };
        let counts = state.queue.counts();
        let thread = match state.thread {
            Thread::NotStarted => "not started",
            Thread::Started(_) => "started",
            Thread::Closed(_) => "closed",
        };
        drop(state);
        f.debug_struct("Timers")
            .field("thread", &format_args!("{thread}"))
            .field("pending", &counts.pending)
            .field("fired", &counts.fired)
            .field("cancelled", &counts.cancelled)
            .finish()
    }
}
