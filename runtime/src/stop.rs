//! Stopping: the five steps of the core's sequence, performed for threads.
//!
//! One caller takes the steps; whoever calls meanwhile or later waits for the same [`Report`]. A later
//! call may hasten the stop, never slow it down: the earliest deadline counts, and
//! [`Policy::Abandon`] overrules [`Policy::Drain`].
//!
//! Nobody takes the steps on a worker of the runtime that is being stopped, because step 5 would wait for
//! the caller itself: [`shutdown`](crate::RuntimeOn::shutdown) is an error there, and a runtime that is
//! dropped there begins to stop without waiting.

use std::collections::BTreeSet;
use std::fmt;
use std::mem;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::{self, JoinHandle, ThreadId};
use std::time::{Duration, Instant};

use parkade_core::stop::Join;
use parkade_core::{Slot, StopPolicy};
use thiserror::Error;

use crate::backend::Backend;
use crate::control::Control;
use crate::current;
use crate::report::{Report, StillRunning};
use crate::scaler::Driver;
use crate::shared::{Shared, TagSeats};
use crate::sleep::Stopped;
use crate::trace;

/// What becomes of tasks that are queued when the runtime stops. Running tasks run to their end; what is still
/// timed for later is dropped under either, and its handle says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Policy {
    /// They run.
    Drain,
    /// They are dropped, and their handles say so.
    Abandon,
}

/// A stop that cannot be performed by its caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ShutdownError {
    /// The caller is a worker of this very runtime, or an alarm of it, and would wait for itself.
    #[error("a runtime cannot be shut down by one of its own threads")]
    InsideWorker,
    /// The caller is stopping the runtime already: a task that it dropped in doing so calls again.
    #[error("a runtime cannot be shut down by what is dropped while it shuts down")]
    InsideShutdown,
    /// The caller is in a child process, made by `fork`; the runtime and its threads are its parent's.
    #[error("a runtime cannot be shut down by a fork of the process that it belongs to")]
    Forked,
}

/// How far a runtime's end has come.
#[derive(Default)]
pub(crate) struct Stopping {
    progress: Mutex<Progress>,
    changed: Condvar,
}

#[derive(Default)]
struct Progress {
    phase: Phase,
    /// Workers whose threads have started and not ended.
    running: BTreeSet<Slot>,
    threads: Vec<(Slot, JoinHandle<()>)>,
    /// How many workers have started, those that have ended included.
    started: usize,
    /// The threads that are no workers, have started and not ended.
    drivers: Drivers,
    /// What callers want so far.
    abandon: bool,
    deadline: Option<Instant>,
    /// Counts what the performer of the stop waits for: workers that leave, callers that hasten.
    events: u64,
}

/// Whose threads have not ended.
struct Left {
    workers: BTreeSet<Slot>,
    drivers: Drivers,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Drivers {
    timers: bool,
    scaler: bool,
}

impl Drivers {
    fn of(&mut self, driver: Driver) -> &mut bool {
        match driver {
            Driver::Timers => &mut self.timers,
            Driver::Scaler => &mut self.scaler,
        }
    }
}

#[derive(Debug, Clone, Default)]
enum Phase {
    #[default]
    Running,
    Stopping {
        by: ThreadId,
    },
    Stopped(Report),
}

/// Says, when dropped, that a worker has left.
pub(crate) struct LeavesAtEnd<'a> {
    stopping: &'a Stopping,
    slot: Slot,
}

/// Says, when dropped, that a thread that is no worker has left.
pub(crate) struct DriverLeavesAtEnd<'a>(&'a Stopping, Driver);

impl Stopping {
    /// Takes note of the threads that have started with the runtime.
    pub(crate) fn has_started(&self, threads: Vec<(Slot, JoinHandle<()>)>) {
        let mut progress = self.lock();
        progress.running = threads.iter().map(|(slot, _)| *slot).collect();
        progress.started = threads.len();
        progress.threads = threads;
    }

    /// Takes note of one that has started later; before it begins.
    pub(crate) fn has_started_late(&self, slot: Slot, thread: JoinHandle<()>) {
        let mut progress = self.lock();
        progress.running.insert(slot);
        progress.started += 1;
        progress.threads.push((slot, thread));
    }

    /// Joins the thread of a worker that has left, if it has ended; false if not. The stop may have taken it.
    pub(crate) fn join_if_ended(&self, slot: Slot) -> bool {
        let mut progress = self.lock();
        let threads = &mut progress.threads;
        let Some(index) = threads.iter().position(|(of, _)| *of == slot) else {
            return true;
        };
        if !threads[index].1.is_finished() {
            return false;
        }
        let (_, thread) = threads.swap_remove(index);
        drop(progress);
        drop(thread.join());
        true
    }

    pub(crate) fn leaves_at_end(&self, slot: Slot) -> LeavesAtEnd<'_> {
        LeavesAtEnd {
            stopping: self,
            slot,
        }
    }

    /// Takes note that a thread that is no worker has started.
    pub(crate) fn driver_has_started(&self, driver: Driver) {
        *self.lock().drivers.of(driver) = true;
    }

    pub(crate) fn driver_leaves_at_end(&self, driver: Driver) -> DriverLeavesAtEnd<'_> {
        DriverLeavesAtEnd(self, driver)
    }

    /// Blocks this thread for so long, or until a stop is requested.
    pub(crate) fn sleep(&self, duration: Duration) -> Result<(), Stopped> {
        // A deadline beyond the end of time is none.
        let deadline = Instant::now().checked_add(duration);
        let mut progress = self.lock();
        while let Phase::Running = progress.phase {
            if deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                return Ok(());
            }
            progress = self.wait_for_event(progress, deadline);
        }
        Err(Stopped)
    }

    /// Marks the beginning of the stop and wakes who sleeps in [`sleep`](Stopping::sleep).
    fn begin(&self, progress: &mut Progress) {
        progress.phase = Phase::Stopping {
            by: thread::current().id(),
        };
        self.changed.notify_all();
    }

    // Nothing of the user's runs under this lock, so a poisoned one is as good as any.
    fn lock(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, progress: MutexGuard<'a, Progress>) -> MutexGuard<'a, Progress> {
        self.changed
            .wait(progress)
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for an event, at most until `until`.
    fn wait_for_event<'a>(
        &self,
        progress: MutexGuard<'a, Progress>,
        until: Option<Instant>,
    ) -> MutexGuard<'a, Progress> {
        match until {
            None => self.wait(progress),
            Some(until) => {
                let left = until.saturating_duration_since(Instant::now());
                let waited = self.changed.wait_timeout(progress, left);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
        }
    }
}

impl Drop for LeavesAtEnd<'_> {
    fn drop(&mut self) {
        let mut progress = self.stopping.lock();
        progress.running.remove(&self.slot);
        progress.events += 1;
        self.stopping.changed.notify_all();
    }
}

impl Drop for DriverLeavesAtEnd<'_> {
    fn drop(&mut self) {
        let mut progress = self.0.lock();
        *progress.drivers.of(self.1) = false;
        progress.events += 1;
        self.0.changed.notify_all();
    }
}

/// Stops a runtime and waits for its workers, at most for `patience`.
pub(crate) fn stop<B: Backend>(
    shared: &Shared<B>,
    policy: Policy,
    patience: Option<Duration>,
) -> Result<Report, ShutdownError> {
    // First of all: whatever lock a thread of the parent had is locked for ever here.
    if !shared.process.is_this() {
        return Err(ShutdownError::Forked);
    }
    if current::is_worker_of(shared) {
        return Err(ShutdownError::InsideWorker);
    }
    let began = Instant::now();
    let me = thread::current().id();
    let mut progress = shared.stopping.lock();
    loop {
        match &progress.phase {
            Phase::Stopped(report) => return Ok(report.clone()),
            Phase::Stopping { by } if *by == me => return Err(ShutdownError::InsideShutdown),
            Phase::Stopping { .. } => {
                if progress.hasten(policy, patience, began) {
                    shared.stopping.changed.notify_all();
                }
                progress = shared.stopping.wait(progress);
            }
            Phase::Running => {
                shared.stopping.begin(&mut progress);
                progress.hasten(policy, patience, began);
                drop(progress);
                return Ok(perform(shared, policy, began));
            }
        }
    }
}

/// Stops a runtime without waiting, on behalf of one of its own workers: queued tasks still run.
pub(crate) fn begin<B: Backend>(shared: &Shared<B>) {
    if !shared.process.is_this() {
        return;
    }
    let began = Instant::now();
    let mut progress = shared.stopping.lock();
    if !matches!(progress.phase, Phase::Running) {
        return;
    }
    shared.stopping.begin(&mut progress);
    // Detached: each thread keeps what it shares alive, and the last one to leave frees it.
    let threads = mem::take(&mut progress.threads);
    drop(progress);
    drop(threads);
    // Nobody waits for the drain, so there is no step 5.
    let _unattended = up_to_join(shared, Policy::Drain);
    drop((shared.timers.take_thread(), shared.scaler.take_thread()));
    let mut progress = shared.stopping.lock();
    let report = Report::new(shared, Policy::Drain, &progress.left(), began);
    progress.phase = Phase::Stopped(report);
}

/// Steps 1 to 4.
fn up_to_join<B: Backend>(shared: &Shared<B>, policy: Policy) -> Option<Join<'_, B>> {
    let core_policy = match policy {
        Policy::Drain => StopPolicy::Drain,
        Policy::Abandon => StopPolicy::Abandon,
    };
    // The phase admits one performer, so this is the only call.
    let drivers = shared.control.stop(core_policy).ok()?;
    // Step 1: the timer thread and the scaler are told here, and waited for with the workers; there is no
    // reactor.
    shared.timers.close();
    match policy {
        Policy::Drain => shared.scaler.drain(),
        Policy::Abandon => shared.scaler.close(),
    }
    let close = drivers.drivers_stopped();
    trace::stop_step(1, policy);
    let lots = close.close();
    trace::stop_step(2, policy);
    let interrupt = lots.stop_lots();
    trace::stop_step(3, policy);
    interrupt_blocked_workers();
    trace::stop_step(4, policy);
    Some(interrupt.interrupted())
}

/// Step 4. A worker inside a blocking system call is not told: it ends when its task does.
const fn interrupt_blocked_workers() {}

/// All five steps.
fn perform<B: Backend>(shared: &Shared<B>, policy: Policy, began: Instant) -> Report {
    let stopping = &shared.stopping;
    let Some(join) = up_to_join(shared, policy) else {
        unreachable!("only one caller performs the stop")
    };
    let mut abandoned = policy == Policy::Abandon;
    let mut progress = stopping.lock();
    loop {
        let events = progress.events;
        let expired = progress
            .deadline
            .is_some_and(|deadline| deadline <= Instant::now());
        if expired || progress.abandon {
            drop(progress);
            if !abandoned {
                join.abandon();
                shared.scaler.close();
                abandoned = true;
            }
            drop_queued(shared, &join);
            progress = stopping.lock();
        }
        if expired || (progress.running.is_empty() && progress.drivers == Drivers::default()) {
            break;
        }
        if progress.events == events {
            let deadline = progress.deadline;
            progress = stopping.wait_for_event(progress, deadline);
        }
    }
    let threads = mem::take(&mut progress.threads);
    let (left, deadline) = (progress.left(), progress.deadline);
    drop(progress);
    join_threads(threads, &left.workers);
    shared.scaler.close();
    let drivers = [
        (shared.timers.take_thread(), left.drivers.timers),
        (shared.scaler.take_thread(), left.drivers.scaler),
    ];
    for (thread, runs) in drivers {
        if let Some(thread) = thread
            && !runs
        {
            drop(thread.join());
        }
    }
    // All that was accepted has run, or a worker never started or left by a defect: then it is here.
    if left.workers.is_empty() {
        drop_queued(shared, &join);
    }
    // Futures that wait: nobody is left who would poll them. Past the deadline all is abandoned by now.
    shared.live.end(deadline, || drop_queued(shared, &join));
    let _stopped = join.joined();
    trace::stop_step(5, policy);
    let report = Report::new(shared, policy, &left, began);
    stopping.lock().phase = Phase::Stopped(report.clone());
    stopping.changed.notify_all();
    report
}

/// Joins the threads of workers that have left, so that their thread-locals are gone; detaches the others.
fn join_threads(threads: Vec<(Slot, JoinHandle<()>)>, running: &BTreeSet<Slot>) {
    for (slot, thread) in threads {
        if !running.contains(&slot) {
            // A panic here would be a defect of this crate, reported by the panic hook already.
            drop(thread.join());
        }
    }
}

/// Drops what is queued.
fn drop_queued<B: Backend>(shared: &Shared<B>, join: &Join<'_, B>) {
    while let Some((tag, entry)) = Control::take_queued(join) {
        entry.abandon(&shared.tags[tag.0].dropped);
    }
}

impl Progress {
    fn left(&self) -> Left {
        Left {
            workers: self.running.clone(),
            drivers: self.drivers,
        }
    }

    /// Takes over what a caller wants; true if that is more than was wanted before.
    fn hasten(&mut self, policy: Policy, patience: Option<Duration>, now: Instant) -> bool {
        // A deadline beyond the end of time is none.
        let deadline = patience.and_then(|patience| now.checked_add(patience));
        let sooner = match (self.deadline, deadline) {
            (Some(old), Some(new)) => new < old,
            (None, Some(_)) => true,
            (_, None) => false,
        };
        if sooner {
            self.deadline = deadline;
        }
        let harder = policy == Policy::Abandon && !self.abandon;
        self.abandon |= harder;
        if sooner || harder {
            self.events += 1;
        }
        sooner || harder
    }
}

/// Never waits for the lock, whose holder may be what is looked into, and holds it for no write.
impl fmt::Debug for Stopping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let progress = match self.progress.try_lock() {
            Ok(progress) => progress,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return f.write_str("changing at this moment"),
        };
        let (phase, abandon) = (progress.phase.clone(), progress.abandon);
        let left = progress.running.len();
        let (started, deadline) = (progress.started, progress.deadline);
        drop(progress);
        let deadline = deadline.map(|at| at.saturating_duration_since(Instant::now()));
        f.debug_struct("Stop")
            .field("phase", &phase)
            .field(
                "threads",
                &format_args!("{left} of {started} have not ended"),
            )
            .field("abandon", &abandon)
            .field("deadline_in", &deadline)
            .finish()
    }
}

impl StillRunning {
    fn of<B: Backend>(shared: &Shared<B>, slot: Slot) -> Self {
        let info = &shared.tags[slot.tag.0].seats[slot.worker.0].info;
        Self {
            tag: info.tag.clone(),
            worker: info.index,
            thread_name: info.thread_name.clone(),
        }
    }
}

impl Report {
    fn new<B: Backend>(shared: &Shared<B>, policy: Policy, left: &Left, began: Instant) -> Self {
        Self {
            policy,
            ran: shared.tags.iter().map(TagSeats::ran).sum(),
            dropped: shared.tags.iter().map(|tag| tag.dropped.get()).sum(),
            still_running: left
                .workers
                .iter()
                .map(|slot| StillRunning::of(shared, *slot))
                .collect(),
            alarm_still_running: left
                .drivers
                .timers
                .then(|| shared.timers.thread_name().to_owned()),
            elapsed: began.elapsed(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_shown_without_its_lock() {
        let stopping = Stopping::default();
        let progress = stopping.lock();
        assert_eq!(format!("{stopping:?}"), "changing at this moment");
        drop(progress);
        assert!(format!("{stopping:?}").starts_with("Stop { phase: Running, "));
    }
}
