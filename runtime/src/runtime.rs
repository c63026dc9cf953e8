//! The runtime: the threads' owner and the way in for tasks.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parkade_core::{Priority, TagIndex};
use thiserror::Error;

use crate::backend::Backend;
use crate::batch::Batch;
use crate::builder::RuntimeBuilder;
use crate::current::{self, Home};
use crate::handle::JoinHandle;
use crate::handled::{offer_promised, promised};
use crate::job::{Entry, RefusedEntry, offer_detached};
use crate::latency::Measured;
use crate::metrics::Metrics;
use crate::progress::Reach;
use crate::refused::Refused;
use crate::report::Report;
use crate::shared::Shared;
use crate::stop::{self, Policy, ShutdownError};

/// The default tag: the first that was described.
const FIRST_TAG: TagIndex = TagIndex(0);

/// A set of worker threads, in tags, that run what is spawned; on the backend `B`.
///
/// Most programs use the alias [`Runtime`](crate::Runtime), which chooses the backend by cargo feature.
/// Share it by reference or in an [`Arc`]; every method may be called from any thread, tasks included.
///
/// Dropping it stops it: what is queued still runs, and the drop waits for that. A drop on one of its own
/// workers (the last [`Arc`] may well be in a task) waits for nothing; the workers finish by themselves.
///
/// # Forks
///
/// A child process made by `fork` has a copy of the runtime and none of its threads. There, spawning is refused
/// ([`RefusedReason::Forked`](crate::RefusedReason::Forked)), waiting for a task that has not ended and a
/// shutdown are errors at once, a drop does nothing, and a worker that called `fork` in a task ends with that
/// task. The parent notices nothing. A runtime that is built in the child works. Forks are noticed by the C
/// library's `pthread_atfork`, so a bare `clone` system call and `vfork` are not; a submit pays two loads for it.
///
/// # When it hangs
///
/// `{:#?}` prints what every worker does: ask for it from a watchdog's thread, a signal-handling thread or a
/// debugger. It takes a few loads per worker, waits for no lock, and so ends whatever the workers are at.
/// There is a line for each worker:
///
/// * `activity`: `Running` (a task, a hook, or on the way to the next task), `Searching` (for a task, after a
///   wake), `Announced` (about to sleep, or in a park hook), `Parked` (asleep), `Leaving` (the runtime stops),
///   `Gone` (no such thread any more, or none yet); `claimed` beside a sleeper is a wake on its way: one that
///   stays is a wake that was lost;
/// * its lot: the signals that it was sent, and whether it was told to stop; the tasks in its three queues
///   (its own spawns, those from outside, those for it alone); its counts;
///
/// and for each tag the mask of sleepers (lowest bit: worker 0) and the number of searchers, the tasks of high
/// priority that wait, and its counters; then how far the stop has come. The numbers are read one after the
/// other while all goes on. The form is for people and may change.
///
/// ```
/// use parkade::{Runtime, Tag};
///
/// let runtime = Runtime::builder().tag(Tag::new("io").workers(2)).build()?;
/// runtime.spawn(|| ()).join()?;
///
/// let dump = format!("{runtime:#?}");
/// assert!(dump.contains("\"io\""));
/// assert_eq!(dump.matches("activity: ").count(), 2, "one line per worker");
/// println!("{dump}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct RuntimeOn<B: Backend> {
    pub(crate) shared: Arc<Shared<B>>,
}

/// One tag of a runtime, and the way in for its tasks.
///
/// Cheap to copy; look it up once, not per spawn.
///
/// ```
/// use parkade::{Priority, Runtime, Tag};
///
/// let runtime = Runtime::builder()
///     .tag(Tag::new("requests").workers(1))
///     .tag(Tag::new("reports").workers(1))
///     .build()?;
/// let reports = runtime.tag("reports")?;
/// let urgent = reports.with_priority(Priority::High);
/// assert_eq!((reports.name(), urgent.spawn(|| 1).join()?), ("reports", 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct TagRef<'r, B: Backend> {
    pub(crate) shared: &'r Arc<Shared<B>>,
    pub(crate) tag: TagIndex,
    pub(crate) priority: Priority,
}

/// There is no tag of that name.
///
/// ```
/// use parkade::{Runtime, Tag};
///
/// let runtime = Runtime::builder().tag(Tag::new("io").workers(1)).build()?;
/// let unknown = runtime.tag("oi").unwrap_err();
/// assert_eq!(unknown.to_string(), "there is no tag called \"oi\"; there are [\"io\"]");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("there is no tag called {name:?}; there are {known:?}")]
pub struct UnknownTag {
    /// The name that was asked for.
    pub name: String,
    /// The names that there are.
    pub known: Vec<String>,
}

impl<B: Backend> RuntimeOn<B> {
    /// Begins to describe a runtime. See [`RuntimeBuilder`] for an example.
    pub fn builder() -> RuntimeBuilder<B> {
        RuntimeBuilder::new()
    }

    pub(crate) fn new(shared: Arc<Shared<B>>) -> Self {
        Self { shared }
    }

    /// Spawns a task in the default tag; see [`TagRef::spawn`] for more and an example.
    pub fn spawn<F, T>(&self, task: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.default_tag().spawn(task)
    }

    /// Spawns a task in the default tag, or gives it back; see [`TagRef::try_spawn`] for more and an example.
    ///
    /// # Errors
    ///
    /// [`Refused`] with the closure.
    pub fn try_spawn<F, T>(&self, task: F) -> Result<JoinHandle<T>, Refused<F>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.default_tag().try_spawn(task)
    }

    /// Spawns a task without a handle in the default tag; see [`TagRef::spawn_detached`] for more and an example.
    ///
    /// # Errors
    ///
    /// [`Refused`] with the closure.
    pub fn spawn_detached<F>(&self, task: F) -> Result<(), Refused<F>>
    where
        F: FnOnce() + Send + 'static,
    {
        self.default_tag().spawn_detached(task)
    }

    /// Begins a batch for the default tag. See [`Batch`] for an example.
    pub fn batch(&self) -> Batch<B> {
        self.default_tag().batch()
    }

    /// The tag called `name`. See [`TagRef`] for an example.
    ///
    /// # Errors
    ///
    /// [`UnknownTag`] with that name and the names that there are.
    pub fn tag(&self, name: &str) -> Result<TagRef<'_, B>, UnknownTag> {
        match self.shared.tag_index(name) {
            Some(tag) => Ok(self.tag_at(tag)),
            None => Err(UnknownTag {
                name: name.to_owned(),
                known: self
                    .shared
                    .tags
                    .iter()
                    .map(|tag| tag.name.clone())
                    .collect(),
            }),
        }
    }

    /// The default tag: the first that was described. See [`TagRef::with_priority`] for an example.
    #[must_use]
    pub fn default_tag(&self) -> TagRef<'_, B> {
        self.tag_at(FIRST_TAG)
    }

    /// A snapshot of all counters. Costs a few loads and allocations per tag and per worker, and the timers'
    /// lock for a moment; where [latency is measured](crate::RuntimeBuilder::measure_latency) also each worker's lock, for
    /// a copy of 42 KiB.
    ///
    /// ```
    /// use parkade::Runtime;
    ///
    /// let runtime = Runtime::builder().build()?;
    /// runtime.spawn(|| ()).join()?;
    /// let metrics = runtime.metrics();
    /// println!("{metrics}");
    /// assert_eq!((metrics.total.spawned, metrics.total.ran), (1, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn metrics(&self) -> Metrics {
        Metrics::of(&self.shared)
    }

    /// Stops the runtime: refuses new tasks, lets what is queued run or drops it, and joins the threads.
    ///
    /// Timers that are pending are cancelled, whatever the policy, and a task's [`sleep`](crate::sleep()) ends at
    /// once. Tasks that are blocked in a system call are [interrupted](crate::Interrupt), where the backend can; other
    /// running tasks run to their end. When `deadline` has passed (counted from the call), what is
    /// still queued is dropped whatever the policy, and workers that still run a task are reported and
    /// left to themselves. After a full stop all stop hooks and destructors of thread-locals have run;
    /// the deadline does not bound the latter.
    ///
    /// A second call, also a concurrent one, gets the same report; it may hasten a stop that is under
    /// way by an earlier deadline or by [`Policy::Abandon`].
    ///
    /// # Errors
    ///
    /// [`ShutdownError`], if the caller is a worker of this runtime or an alarm, or a task that is being dropped by
    /// the very stop, or in a child process of the runtime's.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use parkade::{Policy, Runtime};
    ///
    /// let runtime = Runtime::builder().build()?;
    /// runtime.spawn_detached(|| println!("last words"))?;
    /// let report = runtime.shutdown(Policy::Drain, Some(Duration::from_secs(5)))?;
    /// assert_eq!((report.ran, report.dropped), (1, 0));
    /// assert!(report.is_complete());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn shutdown(
        &self,
        policy: Policy,
        deadline: Option<Duration>,
    ) -> Result<Report, ShutdownError> {
        stop::stop(&self.shared, Reach::Runtime, policy, deadline)
    }

    fn tag_at(&self, tag: TagIndex) -> TagRef<'_, B> {
        TagRef {
            shared: &self.shared,
            tag,
            priority: Priority::Normal,
        }
    }
}

impl<B: Backend> Drop for RuntimeOn<B> {
    fn drop(&mut self) {
        if current::is_worker_of(&self.shared) {
            stop::begin(&self.shared);
        } else {
            // The error cases are callers that still have the runtime, and nobody has, or a child process,
            // which has no thread of it.
            let _report = stop::stop(&self.shared, Reach::Runtime, Policy::Drain, None);
        }
    }
}

impl<'r, B: Backend> TagRef<'r, B> {
    /// The tag's name. See [`TagRef`] for an example.
    #[must_use]
    pub fn name(&self) -> &'r str {
        &self.shared.tags[self.tag.0].name
    }

    /// The same tag, for tasks of that priority.
    ///
    /// Tasks of [`Priority::High`] go before all normal tasks of the tag that have not started, except
    /// on every [`ageing`](crate::Tag::ageing)th pick.
    ///
    /// ```
    /// use parkade::{Priority, Runtime};
    ///
    /// let runtime = Runtime::builder().build()?;
    /// let urgent = runtime.default_tag().with_priority(Priority::High);
    /// assert_eq!(urgent.spawn(|| 1 + 1).join()?, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_priority(self, priority: Priority) -> Self {
        Self { priority, ..self }
    }

    /// Spawns a task and returns the handle to its outcome.
    ///
    /// Never waits for room: a task that is refused is dropped, and its handle says
    /// [`JoinError::Refused`](crate::JoinError::Refused) at once. On a worker of the tag it goes to that
    /// worker's own run queue, newest first; from elsewhere to an inbox, oldest first. Costs one
    /// allocation.
    ///
    /// ```
    /// use parkade::{Runtime, Tag};
    ///
    /// let runtime = Runtime::builder().tag(Tag::new("io").workers(1)).build()?;
    /// let io = runtime.tag("io")?;
    /// let lines: Vec<_> = (1..=3).map(|line| io.spawn(move || format!("line {line}"))).collect();
    /// for (number, line) in (1..).zip(lines) {
    ///     assert_eq!(line.join()?, format!("line {number}"));
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn spawn<F, T>(&self, task: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let (entry, promised) = if self.shared.measures_latency {
            promised(Measured::now(task))
        } else {
            promised(task)
        };
        if let Err(RefusedEntry { entry, reason }) = self.offer(entry) {
            entry.refuse(reason);
        }
        JoinHandle::new(promised, self.home())
    }

    /// Spawns a task, or gives it back if it is refused. Otherwise as [`spawn`](TagRef::spawn).
    ///
    /// # Errors
    ///
    /// [`Refused`] with the closure: the queues are at their limit, or the runtime is stopping.
    ///
    /// ```
    /// use parkade::Runtime;
    ///
    /// let runtime = Runtime::builder().build()?;
    /// let task = || 6 * 7;
    /// let answer = match runtime.default_tag().try_spawn(task) {
    ///     Ok(handle) => handle.join()?,
    ///     Err(refused) => (refused.task)(), // run it here, keep it, or give up
    /// };
    /// assert_eq!(answer, 42);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn try_spawn<F, T>(&self, task: F) -> Result<JoinHandle<T>, Refused<F>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let offer = |entry| self.offer(entry);
        let promised = if self.shared.measures_latency {
            offer_promised(Measured::now(task), offer).map_err(Measured::refused)?
        } else {
            offer_promised(task, offer)?
        };
        Ok(JoinHandle::new(promised, self.home()))
    }

    /// Spawns a task that nobody waits for; the cheapest way. A panic of it is
    /// counted, and dealt with as the tag's [`PanicPolicy`](crate::PanicPolicy) says.
    ///
    /// # Errors
    ///
    /// [`Refused`] with the closure: the queues are at their limit, or the runtime is stopping.
    ///
    /// ```
    /// use std::sync::mpsc;
    ///
    /// use parkade::Runtime;
    ///
    /// let runtime = Runtime::builder().build()?;
    /// let (say, said) = mpsc::channel();
    /// runtime.default_tag().spawn_detached(move || say.send("done").unwrap())?;
    /// assert_eq!(said.recv()?, "done");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn spawn_detached<F>(&self, task: F) -> Result<(), Refused<F>>
    where
        F: FnOnce() + Send + 'static,
    {
        let offer = |entry| self.offer(entry);
        if self.shared.measures_latency {
            offer_detached(Measured::now(task), offer).map_err(Measured::refused)
        } else {
            offer_detached(task, offer)
        }
    }

    /// Begins a batch for this tag and priority. See [`Batch`] for an example.
    pub fn batch(&self) -> Batch<B> {
        Batch::new(Arc::clone(self.shared), self.tag, self.priority)
    }

    /// Stops this tag alone, for good: as [`shutdown`](RuntimeOn::shutdown) does the runtime, while the other tags go
    /// on. For a part of a program that ends before the rest.
    ///
    /// From then on the tag refuses tasks, its timed tasks are cancelled, a [`sleep`](crate::sleep()) in its tasks ends
    /// at once, its futures that wait at the end of it are dropped, and no worker is started in it; what its workers had of
    /// the [ceiling](crate::RuntimeBuilder::max_workers) is the others'. Alarms are not the tag's and stay. The
    /// report is about this tag; that of the runtime's own stop, which may come meanwhile or later and then hastens this
    /// one, is about all. The default tag is no exception.
    ///
    /// A worker of another tag may call it, and counts as [`blocking`](crate::blocking()) while it waits.
    ///
    /// # Errors
    ///
    /// [`ShutdownError`], if the caller is a worker of this tag, or an alarm; if a worker of this tag waits for the end
    /// of the caller's tag; or as for the runtime.
    ///
    /// ```
    /// use parkade::{Policy, RefusedReason, Runtime, Tag};
    ///
    /// let runtime = Runtime::builder()
    ///     .tag(Tag::new("requests").workers(2))
    ///     .tag(Tag::new("import").workers(1))
    ///     .build()?;
    /// let import = runtime.tag("import")?;
    /// let last = import.spawn(|| "imported");
    ///
    /// let report = import.shutdown(Policy::Drain, None)?;
    /// assert_eq!((report.ran, last.join()?), (1, "imported"));
    /// let refused = import.try_spawn(|| ()).unwrap_err();
    /// assert_eq!(refused.reason, RefusedReason::Stopped);
    /// assert_eq!(runtime.spawn(|| 6 * 7).join()?, 42);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn shutdown(
        &self,
        policy: Policy,
        deadline: Option<Duration>,
    ) -> Result<Report, ShutdownError> {
        stop::stop(self.shared, Reach::Tag(self.tag), policy, deadline)
    }

    pub(crate) fn offer(&self, entry: Entry) -> Result<(), RefusedEntry> {
        self.shared.submit(self.tag, self.priority, entry)
    }

    pub(crate) fn home(&self) -> Home {
        Home::new(self.shared, self.tag)
    }
}

impl<B: Backend> Clone for TagRef<'_, B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B: Backend> Copy for TagRef<'_, B> {}

impl<B: Backend> fmt::Debug for TagRef<'_, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TagRef")
            .field("name", &self.name())
            .field("priority", &self.priority)
            .finish_non_exhaustive()
    }
}

impl<B: Backend> fmt::Debug for RuntimeOn<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shared.fmt(f)
    }
}
