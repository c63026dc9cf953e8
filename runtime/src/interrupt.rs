//! Interrupting: how a stop reaches workers that are blocked in system calls. Its fourth step, which goes on beside
//! the fifth.
//!
//! A signal that comes just before a thread enters `read` interrupts nothing, and one that comes inside another
//! call interrupts that one. So the signal is repeated until the worker has *acknowledged* it: it is inside another
//! task, or inside none, or has left. [`Rounds`] looks at every worker again and again; who is inside the
//! very same task as at the last look is interrupted. So tasks that end soon by themselves never are, those of a drain
//! that start later are looked at as well, and a stop in which nobody stays in a task sends no signal at all.
//! The looks become rarer, until a worker is seen in a new task.
//!
//! # No thread is interrupted that has ended
//!
//! A worker's thread is known here while it is at work, and forgotten, under the lock under which signals are
//! sent, before it ends: its number may be another thread's afterwards.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use parkade_core::Slot;

use crate::backend::{Backend, InterruptError, Interrupts, ThreadNumber};
use crate::build_error::BuildError;
use crate::shared::Shared;

/// Between the first two looks of a stop.
const SHORTEST_PAUSE: Duration = Duration::from_millis(2);

/// Between two looks, while no worker comes to a new task.
const LONGEST_PAUSE: Duration = Duration::from_millis(128);

/// What a stop does about workers that are blocked in system calls.
///
/// A task that waits in `read` for bytes that never come would hold up a stop for ever. So, under either
/// [`Policy`](crate::Policy), a worker that stays inside one and the same task for 2 ms while the runtime stops is sent
/// a signal whose handler does nothing, and again after pauses that grow to 128 ms, until that task has ended or the
/// deadline has passed. The system call ends with `EINTR`, which std shows as
/// [`ErrorKind::Interrupted`](std::io::ErrorKind::Interrupted); a task that computes notices nothing. A runtime that is
/// dropped on one of its own workers interrupts nobody, because nobody waits for it; nor are hooks interrupted that run after
/// the last task, destructors of thread-locals, or alarms. How often it was done is in
/// [`Report::interrupts`](crate::Report::interrupts).
///
/// # What is not ended by it
///
/// * Whatever tries again by itself: of std `read_exact`, `read_to_end`, `write_all`, lines, [`std::thread::sleep`], locks,
///   condition variables and channels; and a loop around `read` that takes `Interrupted` for a reason to go on. Such a
///   task should look at something that tells it to end; or the stop should have a deadline.
/// * System calls that no signal interrupts, such as most reads of files on disks.
/// * Threads that have the signal blocked: they inherit that from whoever builds the runtime, and a start hook may
///   change it.
///
/// # The handler
///
/// It is the process's, so nothing is done about it before a stop needs it. Then it is installed if the signal has
/// no handler; one of the program's is never replaced, nor called. It stays, for all runtimes of the process. A child
/// that executes another program does not inherit it.
///
/// ```
/// use std::io::{ErrorKind, Read, pipe};
///
/// use parkade::backend::Backend;
/// use parkade::{DefaultBackend, Interrupt, Policy, Runtime};
///
/// let runtime = Runtime::builder().interrupt(Interrupt::Auto).build()?;
/// let (mut reader, writer) = pipe()?;
/// let (begun, begins) = std::sync::mpsc::channel();
/// let task = runtime.spawn(move || {
///     begun.send(()).unwrap();
///     reader.read(&mut [0]).map_err(|error| error.kind())
/// });
/// begins.recv()?;
/// # if DefaultBackend::interrupts().is_none() { drop(writer); return Ok(()) }
/// let report = runtime.shutdown(Policy::Drain, None)?;
/// assert_eq!(task.join()?, Err(ErrorKind::Interrupted));
/// assert!(report.interrupts > 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Interrupt {
    /// They are interrupted by the backend's signal, if it has one (on Linux `SIGURG`, which without a handler is ignored)
    /// and the program has no handler for it; else they are not, and
    /// [`Report::interrupt_failure`](crate::Report::interrupt_failure) says so.
    #[default]
    Auto,
    /// They are not: a stop waits until their tasks end, or until its deadline.
    Off,
    /// They are interrupted by this signal: on Linux `SIGURG`, `SIGUSR1`, `SIGUSR2` or a real-time one. Another, and one
    /// for which the program has a handler when the runtime is built, is an error then.
    Signal(i32),
}

/// Who interrupts the workers of one runtime.
pub(crate) struct Interrupter {
    /// None: nobody is interrupted.
    by: Option<By>,
    /// The threads of workers that are at work.
    threads: Mutex<BTreeMap<Slot, ThreadNumber>>,
    /// How many signals were sent by all stops.
    sent: AtomicUsize,
}

#[derive(Debug, Clone, Copy)]
struct By {
    system: &'static dyn Interrupts,
    signal: i32,
}

/// Forgets the thread of a worker, when dropped.
#[must_use = "the thread is forgotten at once"]
pub(crate) struct AtWork<'i> {
    interrupter: &'i Interrupter,
    slot: Slot,
}

impl Interrupter {
    pub(crate) fn new(
        choice: Interrupt,
        system: Option<&'static dyn Interrupts>,
    ) -> Result<Self, BuildError> {
        let by = match (choice, system) {
            (Interrupt::Off, _) | (Interrupt::Auto, None) => None,
            (Interrupt::Auto, Some(system)) => {
                let signal = system.default_signal();
                Some(By { system, signal })
            }
            (Interrupt::Signal(signal), Some(system)) => {
                let checked = system.check(signal);
                checked.map_err(|source| BuildError::Interrupt { signal, source })?;
                Some(By { system, signal })
            }
            (Interrupt::Signal(signal), None) => {
                let source = InterruptError::Unsupported;
                return Err(BuildError::Interrupt { signal, source });
            }
        };
        Ok(Self {
            by,
            threads: Mutex::default(),
            sent: AtomicUsize::new(0),
        })
    }

    /// Makes this thread known as that of a worker, while what it returns is alive.
    pub(crate) fn at_work(&self, slot: Slot) -> AtWork<'_> {
        if let Some(by) = self.by {
            let thread = by.system.current_thread();
            self.threads().insert(slot, thread);
        }
        AtWork {
            interrupter: self,
            slot,
        }
    }

    /// The looks of a stop that begins now.
    pub(crate) fn rounds(&self) -> Rounds {
        Rounds {
            inside: BTreeMap::new(),
            pause: SHORTEST_PAUSE,
            next_at: self.by.map(|_| Instant::now()),
            sent: 0,
            failure: None,
        }
    }

    /// Interrupts the thread of a worker; false if it is not at work.
    fn interrupt(&self, By { system, signal }: By, slot: Slot) -> Result<bool, InterruptError> {
        let threads = self.threads();
        let Some(thread) = threads.get(&slot) else {
            return Ok(false);
        };
        system.interrupt(*thread, signal)?;
        self.sent.fetch_add(1, Ordering::Relaxed);
        Ok(true)
    }

    // Nothing of the user's runs under this lock, so a poisoned one is as good as any.
    fn threads(&self) -> MutexGuard<'_, BTreeMap<Slot, ThreadNumber>> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        if self.interrupter.by.is_some() {
            self.interrupter.threads().remove(&self.slot);
        }
    }
}

/// The looks of one stop.
pub(crate) struct Rounds {
    /// Which task each worker was inside at the last look.
    inside: BTreeMap<Slot, usize>,
    pause: Duration,
    /// When the next look is due; `None`: never.
    next_at: Option<Instant>,
    sent: usize,
    /// Why a signal could not be sent, the last time.
    failure: Option<InterruptError>,
}

impl Rounds {
    /// How many signals were sent.
    pub(crate) fn sent(&self) -> usize {
        self.sent
    }

    /// Why one could not be sent, the last time.
    pub(crate) fn failure(&self) -> Option<String> {
        self.failure.as_ref().map(ToString::to_string)
    }

    pub(crate) fn next_at(&self) -> Option<Instant> {
        self.next_at
    }

    pub(crate) fn is_due(&self) -> bool {
        self.next_at.is_some_and(|at| at <= Instant::now())
    }

    /// Looks at the workers that have not left, and interrupts those that are where they were.
    pub(crate) fn go<B: Backend>(&mut self, shared: &Shared<B>, running: &BTreeSet<Slot>) {
        let Some(by) = shared.interrupter.by else {
            return;
        };
        let task_of = |slot: &Slot| {
            let seat = &shared.tags[slot.tag.0].seats[slot.worker.0];
            Some((*slot, seat.counts.task()?))
        };
        let now: BTreeMap<Slot, usize> = running.iter().filter_map(task_of).collect();
        let (same, new): (Vec<_>, Vec<_>) = now
            .iter()
            .partition(|(slot, task)| self.inside.get(slot) == Some(task));
        for (slot, _) in same {
            match shared.interrupter.interrupt(by, *slot) {
                Ok(sent) => self.sent += usize::from(sent),
                Err(failure) => self.failure = Some(failure),
            }
        }
        self.pause = if new.is_empty() {
            (self.pause * 2).min(LONGEST_PAUSE)
        } else {
            SHORTEST_PAUSE
        };
        self.inside = now;
        self.next_at = Instant::now().checked_add(self.pause);
    }
}

impl fmt::Debug for Interrupter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interrupts")
            .field("signal", &self.by.map(|by| by.signal))
            .field("sent", &self.sent.load(Ordering::Relaxed))
            .finish_non_exhaustive()
    }
}
