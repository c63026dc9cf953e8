//! How far a runtime's end has come, and that of each of its tags: what those that stop it, its threads and whoever
//! sleeps in it tell each other.
//!
//! All of it is under one lock with one condition variable. A tag may be stopped alone, and the runtime while that goes
//! on; each has a [`Course`] of its own. The runtime's end waits for those of its tags that are under way, and what
//! hastens it hastens them.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::{self, JoinHandle, ThreadId};
use std::time::{Duration, Instant};

use parkade_core::{Slot, TagIndex};

use crate::report::Report;
use crate::scaler::Driver;
use crate::sleep::Stopped;
use crate::stop::Policy;

/// What is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    Runtime,
    Tag(TagIndex),
}

/// The progress, shared by all threads.
pub(crate) struct Stopping {
    progress: Mutex<Progress>,
    pub(crate) changed: Condvar,
}

pub(crate) struct Progress {
    whole: Course,
    /// Of each tag that is stopped alone.
    tags: Vec<Course>,
    /// Workers whose threads have started, or are about to, and have not ended.
    pub(crate) running: BTreeSet<Slot>,
    pub(crate) threads: Vec<(Slot, JoinHandle<()>)>,
    /// Workers that have left and whose threads the scaler is joining.
    joining: BTreeSet<Slot>,
    /// How many workers have started, those that have ended included.
    started: usize,
    /// The threads that are no workers, have started and not ended.
    drivers: Drivers,
    /// Of each pair a worker of the one tag waits for the end of the other.
    waits: Vec<(TagIndex, TagIndex)>,
    /// Counts what the performers of stops wait for: workers that leave, callers that hasten.
    pub(crate) events: u64,
}

/// How far one end has come, and what callers want so far.
#[derive(Default)]
pub(crate) struct Course {
    pub(crate) phase: Phase,
    abandon: bool,
    deadline: Option<Instant>,
}

#[derive(Debug, Clone, Default)]
pub(crate) enum Phase {
    #[default]
    Running,
    Stopping {
        by: ThreadId,
    },
    Stopped(Report),
}

/// Whose threads have not ended.
pub(crate) struct Left {
    pub(crate) workers: BTreeSet<Slot>,
    pub(crate) drivers: Drivers,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Drivers {
    pub(crate) timers: bool,
    pub(crate) scaler: bool,
}

/// Says, when dropped, that a worker has left.
pub(crate) struct LeavesAtEnd<'a> {
    stopping: &'a Stopping,
    slot: Slot,
}

/// Says, when dropped, that a thread that is no worker has left.
pub(crate) struct DriverLeavesAtEnd<'a>(&'a Stopping, Driver);

impl Reach {
    pub(crate) fn includes(self, slot: Slot) -> bool {
        match self {
            Self::Runtime => true,
            Self::Tag(tag) => slot.tag == tag,
        }
    }

    /// Of a list with an item per tag, those that it includes.
    pub(crate) fn of<T>(self, tags: &[T]) -> &[T] {
        match self {
            Self::Runtime => tags,
            Self::Tag(TagIndex(tag)) => &tags[tag..=tag],
        }
    }
}

impl Drivers {
    fn of(&mut self, driver: Driver) -> &mut bool {
        match driver {
            Driver::Timers => &mut self.timers,
            Driver::Scaler => &mut self.scaler,
        }
    }
}

impl Stopping {
    pub(crate) fn new(tags: usize) -> Self {
        Self {
            progress: Mutex::new(Progress {
                whole: Course::default(),
                tags: (0..tags).map(|_| Course::default()).collect(),
                running: BTreeSet::new(),
                threads: Vec::new(),
                joining: BTreeSet::new(),
                started: 0,
                drivers: Drivers::default(),
                waits: Vec::new(),
                events: 0,
            }),
            changed: Condvar::new(),
        }
    }

    /// Takes note of the threads that have started with the runtime.
    pub(crate) fn has_started(&self, threads: Vec<(Slot, JoinHandle<()>)>) {
        let mut progress = self.lock();
        progress.running = threads.iter().map(|(slot, _)| *slot).collect();
        progress.started = threads.len();
        progress.threads = threads;
    }

    /// Asks whether one may be started later; whoever stops its tag waits for it from then on.
    pub(crate) fn is_about_to_start(&self, slot: Slot) -> bool {
        let mut progress = self.lock();
        let may = matches!(progress.tags[slot.tag.0].phase, Phase::Running);
        if may {
            progress.running.insert(slot);
        }
        may
    }

    /// Takes back that it would start.
    pub(crate) fn has_not_started(&self, slot: Slot) {
        drop(self.leaves_at_end(slot));
    }

    /// Takes note of one that has started later; before it begins.
    pub(crate) fn has_started_late(&self, slot: Slot, thread: JoinHandle<()>) {
        let mut progress = self.lock();
        progress.started += 1;
        progress.threads.push((slot, thread));
    }

    /// The thread of a worker that has left, to be joined by the caller, who then says
    /// [`has_joined`](Stopping::has_joined); `None` if a stop joins it.
    pub(crate) fn take_thread(&self, slot: Slot) -> Option<JoinHandle<()>> {
        let mut progress = self.lock();
        let index = progress.threads.iter().position(|(of, _)| *of == slot)?;
        progress.joining.insert(slot);
        Some(progress.threads.swap_remove(index).1)
    }

    pub(crate) fn has_joined(&self, slot: Slot) {
        let mut progress = self.lock();
        progress.joining.remove(&slot);
        self.tell(progress);
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

    /// Blocks this thread for so long, or until a stop of the runtime, or of the tag, is requested.
    pub(crate) fn sleep(&self, tag: Option<TagIndex>, duration: Duration) -> Result<(), Stopped> {
        // A deadline beyond the end of time is none.
        let deadline = Instant::now().checked_add(duration);
        let mut progress = self.lock();
        while progress.is_running(tag) {
            if deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                return Ok(());
            }
            progress = self.wait_for_event(progress, deadline);
        }
        Err(Stopped)
    }

    /// Marks the beginning of a stop and wakes who sleeps in [`sleep`](Stopping::sleep).
    pub(crate) fn begin(&self, progress: &mut Progress, reach: Reach) {
        progress.course(reach).phase = Phase::Stopping {
            by: thread::current().id(),
        };
        self.changed.notify_all();
    }

    /// Marks the end of a stop.
    pub(crate) fn end(&self, reach: Reach, report: Report) {
        let mut progress = self.lock();
        progress.course(reach).phase = Phase::Stopped(report);
        self.tell(progress);
    }

    /// Says that something was queued in what is being stopped.
    pub(crate) fn something_came(&self) {
        self.tell(self.lock());
    }

    fn tell(&self, mut progress: MutexGuard<'_, Progress>) {
        progress.events += 1;
        self.changed.notify_all();
    }

    // Nothing of the user's runs under this lock, so a poisoned one is as good as any.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for an event, at most until `until`.
    pub(crate) fn wait_for_event<'a>(
        &self,
        progress: MutexGuard<'a, Progress>,
        until: Option<Instant>,
    ) -> MutexGuard<'a, Progress> {
        match until {
            None => self
                .changed
                .wait(progress)
                .unwrap_or_else(PoisonError::into_inner),
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
        self.stopping.tell(progress);
    }
}

impl Drop for DriverLeavesAtEnd<'_> {
    fn drop(&mut self) {
        let mut progress = self.0.lock();
        *progress.drivers.of(self.1) = false;
        self.0.tell(progress);
    }
}

impl Progress {
    pub(crate) fn course(&mut self, reach: Reach) -> &mut Course {
        match reach {
            Reach::Runtime => &mut self.whole,
            Reach::Tag(TagIndex(tag)) => &mut self.tags[tag],
        }
    }

    fn courses(&self) -> impl Iterator<Item = &Course> {
        self.tags.iter().chain([&self.whole])
    }

    fn is_running(&self, tag: Option<TagIndex>) -> bool {
        let runs = |course: &Course| matches!(course.phase, Phase::Running);
        runs(&self.whole) && tag.is_none_or(|TagIndex(tag)| runs(&self.tags[tag]))
    }

    /// Whether this thread is stopping something.
    pub(crate) fn is_performed_by(&self, thread: ThreadId) -> bool {
        let mut courses = self.courses();
        courses.any(|course| matches!(course.phase, Phase::Stopping { by } if by == thread))
    }

    /// Whether all is over that the stop waits for.
    pub(crate) fn has_ended(&self, reach: Reach) -> bool {
        let mut threads = self.running.iter().chain(&self.joining);
        let stops = |course: &Course| matches!(course.phase, Phase::Stopping { .. });
        !threads.any(|slot| reach.includes(*slot))
            && (reach != Reach::Runtime
                || self.drivers == Drivers::default() && !self.tags.iter().any(stops))
    }

    pub(crate) fn left(&self, reach: Reach) -> Left {
        let workers = self.running.iter().chain(&self.joining).copied();
        Left {
            workers: workers.filter(|slot| reach.includes(*slot)).collect(),
            drivers: match reach {
                Reach::Runtime => self.drivers,
                Reach::Tag(_) => Drivers::default(),
            },
        }
    }

    /// The threads to be joined or detached. A tag that ends before its workers leaves theirs for the runtime's end.
    pub(crate) fn take_threads(&mut self, reach: Reach) -> Vec<(Slot, JoinHandle<()>)> {
        let (running, threads) = (&self.running, &mut self.threads);
        let is_due = |slot: Slot| match reach {
            Reach::Runtime => true,
            Reach::Tag(_) => reach.includes(slot) && !running.contains(&slot),
        };
        threads.extract_if(.., |(slot, _)| is_due(*slot)).collect()
    }

    /// Whether what is queued is to be dropped, and when not to wait any longer.
    pub(crate) fn wish(&self, reach: Reach) -> (bool, Option<Instant>) {
        let (abandon, deadline) = (self.whole.abandon, self.whole.deadline);
        match reach {
            Reach::Runtime => (abandon, deadline),
            Reach::Tag(TagIndex(tag)) => {
                let own = &self.tags[tag];
                let deadlines = own.deadline.into_iter().chain(deadline);
                (abandon || own.abandon, deadlines.min())
            }
        }
    }

    /// Takes over what a caller wants; true if that is more than was wanted before.
    pub(crate) fn hasten(
        &mut self,
        reach: Reach,
        policy: Policy,
        patience: Option<Duration>,
        now: Instant,
    ) -> bool {
        // A deadline beyond the end of time is none.
        let deadline = patience.and_then(|patience| now.checked_add(patience));
        let course = self.course(reach);
        let sooner = match (course.deadline, deadline) {
            (Some(old), Some(new)) => new < old,
            (None, Some(_)) => true,
            (_, None) => false,
        };
        if sooner {
            course.deadline = deadline;
        }
        let harder = policy == Policy::Abandon && !course.abandon;
        course.abandon |= harder;
        if sooner || harder {
            self.events += 1;
        }
        sooner || harder
    }

    /// Takes note that a worker of `from` waits for the end of `tag`; false if that would never come, because a worker
    /// there waits for the end of `from`, in however many steps.
    pub(crate) fn begin_to_wait(&mut self, from: TagIndex, tag: TagIndex) -> bool {
        let mut awaited = vec![tag];
        let mut next = 0;
        while let Some(at) = awaited.get(next).copied() {
            for (waiting, other) in &self.waits {
                if *waiting == at && !awaited.contains(other) {
                    awaited.push(*other);
                }
            }
            next += 1;
        }
        let ends = !awaited.contains(&from);
        if ends {
            self.waits.push((from, tag));
        }
        ends
    }

    pub(crate) fn waits_no_more(&mut self, from: TagIndex, tag: TagIndex) {
        let index = self.waits.iter().position(|wait| *wait == (from, tag));
        if let Some(index) = index {
            self.waits.swap_remove(index);
        }
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
        let (phase, abandon) = (progress.whole.phase.clone(), progress.whole.abandon);
        let left = progress.running.len();
        let (started, deadline) = (progress.started, progress.whole.deadline);
        let tags = progress.tags.iter().enumerate();
        let tags: Vec<_> = tags
            .filter(|(_, course)| !matches!(course.phase, Phase::Running))
            .map(|(tag, course)| (tag, course.phase.clone()))
            .collect();
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
            .field("tags", &tags)
            .finish()
    }
}

#[cfg(test)]
mod tests;
