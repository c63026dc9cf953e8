//! Stopping: the five steps of the core's sequence, performed for threads.
//!
//! One caller takes the steps; whoever calls meanwhile or later waits for the same [`Report`]. A later
//! call may hasten the stop, never slow it down: the earliest deadline counts, and
//! [`Policy::Abandon`] overrules [`Policy::Drain`].
//!
//! A tag may be stopped alone, by the same steps; then the runtime's stop joins it where it has come to.
//!
//! Nobody takes the steps on a worker of the runtime that is being stopped, because step 5 would wait for
//! the caller itself: [`shutdown`](crate::RuntimeOn::shutdown) is an error there, and a runtime that is
//! dropped there begins to stop without waiting.

use std::collections::BTreeSet;
use std::mem;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use parkade_core::stop::Join;
use parkade_core::{Slot, StopPolicy};
use thiserror::Error;

use crate::backend::Backend;
use crate::blocking::Blocked;
use crate::control::Control;
use crate::current;
use crate::interrupt::Rounds;
use crate::progress::{Left, Phase, Reach};
use crate::report::{Report, StillRunning};
use crate::shared::{Shared, TagSeats};
use crate::trace;

/// What becomes of tasks that are queued when the runtime stops. Running tasks run to their end, and those blocked in
/// system calls are [interrupted](crate::Interrupt); what is still timed for later is dropped under either, and its handle
/// says so.
///
/// ```
/// use parkade::{JoinError, Policy, Runtime, Tag};
///
/// let runtime = Runtime::builder().tag(Tag::new("only").workers(1)).build()?;
/// let far = runtime.after(std::time::Duration::from_secs(3600), || 1)?;
/// let queued = runtime.spawn(|| 2);
/// let report = runtime.shutdown(Policy::Drain, None)?;
/// assert_eq!(queued.join()?, 2);
/// assert!(matches!(far.join(), Err(JoinError::Dropped)));
/// assert_eq!((report.ran, report.dropped), (1, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Policy {
    /// They run.
    Drain,
    /// They are dropped, and their handles say so.
    Abandon,
}

/// A stop that cannot be performed by its caller.
///
/// ```
/// use std::sync::Arc;
///
/// use parkade::{Policy, Runtime, ShutdownError};
///
/// let runtime = Arc::new(Runtime::builder().build()?);
/// let inside = Arc::clone(&runtime);
/// let refused = runtime.spawn(move || inside.shutdown(Policy::Drain, None)).join()?;
/// assert_eq!(refused.unwrap_err(), ShutdownError::InsideWorker);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ShutdownError {
    /// The caller is a worker of what it wants to stop, this very runtime or tag, or an alarm of the runtime, and would
    /// wait for itself.
    #[error("neither a runtime nor a tag can be shut down by one of its own threads")]
    InsideWorker,
    /// A worker of the tag waits, perhaps through others, for the end of the caller's own tag.
    #[error("two tags cannot be shut down by workers of each other at a time")]
    EachOther,
    /// The caller is stopping the runtime already: a task that it dropped in doing so calls again.
    #[error("a runtime cannot be shut down by what is dropped while it shuts down")]
    InsideShutdown,
    /// The caller is in a child process, made by `fork`; the runtime and its threads are its parent's.
    #[error("a runtime cannot be shut down by a fork of the process that it belongs to")]
    Forked,
}

/// Stops a runtime or a tag and waits for its workers, at most for `patience`.
pub(crate) fn stop<B: Backend>(
    shared: &Shared<B>,
    reach: Reach,
    policy: Policy,
    patience: Option<Duration>,
) -> Result<Report, ShutdownError> {
    // First of all: whatever lock a thread of the parent had is locked for ever here.
    if !shared.process.is_this() {
        return Err(ShutdownError::Forked);
    }
    let began = Instant::now();
    let Some(from) = current::tag_in(shared) else {
        return wait_or_perform(shared, reach, policy, patience, began);
    };
    let tag = match reach {
        // A driver, such as the timer thread, has no tag.
        Reach::Tag(tag) if tag != from && from.0 < shared.tags.len() => tag,
        Reach::Tag(_) | Reach::Runtime => return Err(ShutdownError::InsideWorker),
    };
    let _blocked = Blocked::now();
    if !shared.stopping.lock().begin_to_wait(from, tag) {
        return Err(ShutdownError::EachOther);
    }
    let report = wait_or_perform(shared, reach, policy, patience, began);
    shared.stopping.lock().waits_no_more(from, tag);
    report
}

fn wait_or_perform<B: Backend>(
    shared: &Shared<B>,
    reach: Reach,
    policy: Policy,
    patience: Option<Duration>,
    began: Instant,
) -> Result<Report, ShutdownError> {
    let stopping = &shared.stopping;
    let mut progress = stopping.lock();
    loop {
        // What this thread stops may be what the other one waits for.
        let would_wait_for_itself = progress.is_performed_by(thread::current().id());
        match &progress.course(reach).phase {
            Phase::Stopped(report) => return Ok(report.clone()),
            _ if would_wait_for_itself => return Err(ShutdownError::InsideShutdown),
            Phase::Stopping { .. } => {
                if progress.hasten(reach, policy, patience, began) {
                    stopping.changed.notify_all();
                }
                progress = stopping.wait_for_event(progress, None);
            }
            Phase::Running => {
                stopping.begin(&mut progress, reach);
                progress.hasten(reach, policy, patience, began);
                drop(progress);
                return Ok(perform(shared, reach, policy, began));
            }
        }
    }
}

/// Stops a runtime without waiting, on behalf of one of its own workers: queued tasks still run.
pub(crate) fn begin<B: Backend>(shared: &Shared<B>) {
    if !shared.process.is_this() {
        return;
    }
    let (began, reach) = (Instant::now(), Reach::Runtime);
    let mut progress = shared.stopping.lock();
    if !matches!(progress.course(reach).phase, Phase::Running) {
        return;
    }
    shared.stopping.begin(&mut progress, reach);
    // Detached: each thread keeps what it shares alive, and the last one to leave frees it.
    let threads = mem::take(&mut progress.threads);
    drop(progress);
    drop(threads);
    // Nobody waits for the drain, so there is no step 5.
    let _unattended = up_to_join(shared, reach, Policy::Drain);
    // The scaler has none to give while it drains: it ends with the last worker.
    drop(shared.timers.take_thread());
    let left = shared.stopping.lock().left(reach);
    let rounds = shared.interrupter.rounds();
    let report = Report::new(shared, reach, Policy::Drain, &left, &rounds, began);
    shared.stopping.end(reach, report);
}

/// Steps 1 to 4.
fn up_to_join<B: Backend>(shared: &Shared<B>, reach: Reach, policy: Policy) -> Option<Join<'_, B>> {
    let tag = reach.tag_name(shared);
    let core_policy = match policy {
        Policy::Drain => StopPolicy::Drain,
        Policy::Abandon => StopPolicy::Abandon,
    };
    // The phase admits one performer, so this is the only call. In step 1 the timer thread and the scaler are told,
    // and waited for with the workers; there is no reactor. They go on if it is a tag that stops.
    let drivers = match reach {
        Reach::Runtime => {
            let drivers = shared.control.stop(core_policy).ok()?;
            shared.timers.close();
            match policy {
                Policy::Drain => shared.scaler.drain(),
                Policy::Abandon => shared.scaler.close(),
            }
            drivers
        }
        Reach::Tag(tag) => {
            let drivers = shared.control.stop_tag(tag, core_policy).ok()?;
            shared.timers.close_tag(tag);
            shared.scaler.close_tag(&shared.control, tag);
            drivers
        }
    };
    let close = drivers.drivers_stopped();
    trace::stop_step(1, tag, policy);
    let lots = close.close();
    trace::stop_step(2, tag, policy);
    let interrupt = lots.stop_lots();
    trace::stop_step(3, tag, policy);
    // Step 4 goes on beside step 5: who is blocked is told again until it ends; see `interrupt`.
    trace::stop_step(4, tag, policy);
    Some(interrupt.interrupted())
}

/// All five steps.
fn perform<B: Backend>(shared: &Shared<B>, reach: Reach, policy: Policy, began: Instant) -> Report {
    let stopping = &shared.stopping;
    let Some(join) = up_to_join(shared, reach, policy) else {
        unreachable!("only one caller performs the stop")
    };
    let mut abandoned = policy == Policy::Abandon;
    let mut rounds = shared.interrupter.rounds();
    let mut progress = stopping.lock();
    loop {
        let events = progress.events;
        let (abandon, deadline) = progress.wish(reach);
        let expired = deadline.is_some_and(|deadline| deadline <= Instant::now());
        if expired || abandon {
            drop(progress);
            if !abandoned {
                join.abandon();
                if reach == Reach::Runtime {
                    shared.scaler.close();
                }
                abandoned = true;
            }
            drop_queued(shared, &join);
            progress = stopping.lock();
        }
        if expired || progress.has_ended(reach) {
            break;
        }
        if progress.events == events {
            let deadlines = deadline.into_iter().chain(rounds.next_at());
            progress = stopping.wait_for_event(progress, deadlines.min());
        }
        if rounds.is_due() {
            let running = progress.left(reach).workers;
            drop(progress);
            rounds.go(shared, &running);
            progress = stopping.lock();
        }
    }
    let left = progress.left(reach);
    let threads = progress.take_threads(reach);
    let (_, deadline) = progress.wish(reach);
    drop(progress);
    join_threads(threads, &left.workers);
    if reach == Reach::Runtime {
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
    }
    // All that was accepted has run, or a worker never started or left by a defect: then it is here.
    if left.workers.is_empty() {
        drop_queued(shared, &join);
    }
    // Futures that wait: nobody is left who would poll them. Past the deadline all is abandoned by now.
    for tag in reach.of(&shared.tags) {
        tag.live.end(deadline, || drop_queued(shared, &join));
    }
    let _stopped = join.joined();
    let tag = reach.tag_name(shared);
    trace::stop_step(5, tag, policy);
    let report = Report::new(shared, reach, policy, &left, &rounds, began);
    stopping.end(reach, report.clone());
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

impl Reach {
    /// The name of the tag, if it is one that stops.
    fn tag_name<B: Backend>(self, shared: &Shared<B>) -> Option<&str> {
        match self {
            Self::Runtime => None,
            Self::Tag(tag) => Some(&shared.tags[tag.0].name),
        }
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
    fn new<B: Backend>(
        shared: &Shared<B>,
        reach: Reach,
        policy: Policy,
        left: &Left,
        rounds: &Rounds,
        began: Instant,
    ) -> Self {
        let tags = reach.of(&shared.tags);
        Self {
            policy,
            ran: tags.iter().map(TagSeats::ran).sum(),
            dropped: tags.iter().map(|tag| tag.dropped.get()).sum(),
            still_running: left
                .workers
                .iter()
                .map(|slot| StillRunning::of(shared, *slot))
                .collect(),
            alarm_still_running: left
                .drivers
                .timers
                .then(|| shared.timers.thread_name().to_owned()),
            interrupts: rounds.sent(),
            interrupt_failure: rounds.failure(),
            elapsed: began.elapsed(),
        }
    }
}
