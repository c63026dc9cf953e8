//! The description of a tag: a named set of workers that no task leaves.

use std::time::Duration;

use parkade_core::TagConfig;

use crate::linger::Linger;
use crate::panics::PanicPolicy;

/// How long a worker above the minimum sleeps before it is retired.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// An isolated set of workers, to be given to [`RuntimeBuilder::tag`](crate::RuntimeBuilder::tag).
///
/// Use one tag per kind of work that must not get in another's way: a flood in one tag costs the others
/// nothing but CPU time, and with CPU lists that do not overlap not even that. Nothing is checked before
/// [`build`](crate::RuntimeBuilder::build).
///
/// # Scaling
///
/// A tag begins with [`workers`](Tag::workers) of them. It grows up to [`max_workers`](Tag::max_workers), one worker after
/// the other, while tasks wait and every worker is inside a task; tasks that are spawned strictly one after the
/// other never make it grow. A worker inside [`blocking`](crate::blocking()) may be replaced
/// ([`max_blocked`](Tag::max_blocked)). Workers above the minimum that find nothing to do for
/// [`keep_alive`](Tag::keep_alive) retire: the stop hook is called, and the thread ends.
/// [`resize`](crate::TagRef::resize) sets another number at any time, and
/// [`RuntimeBuilder::max_workers`](crate::RuntimeBuilder::max_workers) a ceiling over all tags.
///
/// Late workers are started by a thread of the runtime's, never by whoever spawns a task; they run on the CPUs of
/// the process, or on their own of the tag's list, whoever made them necessary. One that cannot be started is
/// counted ([`failed_starts`](crate::TagMetrics::failed_starts)) and tried again at the next need.
///
/// ```
/// use std::sync::Barrier;
///
/// use parkade::{Runtime, Tag};
///
/// let runtime = Runtime::builder()
///     .tag(Tag::new("io").workers(1).max_workers(3))
///     .build()?;
/// let together = Barrier::new(3);
/// runtime.scope(|scope| {
///     // Each waits for the other two; so all three must run at a time, one of them here.
///     (0..3).for_each(|_| scope.spawn(|| { together.wait(); }));
/// });
/// assert!(runtime.metrics().total.grown >= 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Description
///
/// ```
/// use std::time::Duration;
///
/// use parkade::{PanicPolicy, Pinning, Runtime, Tag};
///
/// let io = Tag::new("io").workers(1).max_workers(4).keep_alive(Duration::from_secs(1));
/// let io = io.inbox_limit(1000).ageing(8).on_panic(PanicPolicy::Carry);
/// let compute = Tag::new("compute").workers(2).cpus("0-1").pinning(Pinning::Lenient);
/// let runtime = Runtime::builder().tags([io, compute]).build()?;
/// assert_eq!(runtime.metrics().total.workers, 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a tag does nothing until a builder has it"]
pub struct Tag {
    pub(crate) name: String,
    pub(crate) workers: Option<usize>,
    pub(crate) max_workers: Option<usize>,
    pub(crate) max_blocked: usize,
    pub(crate) keep_alive: Duration,
    pub(crate) cpus: Option<String>,
    pub(crate) pinning: Pinning,
    pub(crate) on_panic: PanicPolicy,
    /// The queues; its number of workers is set from `workers` in the end.
    pub(crate) linger: Linger,
    pub(crate) queues: TagConfig,
}

/// What to do about a CPU that a worker cannot be pinned to.
///
/// ```
/// use parkade::{Pinning, Runtime, Tag};
///
/// let far = Tag::new("far").workers(1).cpus("4095");
/// assert!(Runtime::builder().tag(far.clone()).build().is_err());
/// let runtime = Runtime::builder().tag(far.pinning(Pinning::Lenient)).build()?;
/// assert_eq!(runtime.metrics().total.misplaced, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Pinning {
    /// It is an error that names the CPU, and no runtime is built.
    #[default]
    Strict,
    /// The worker runs on any CPU of the process, and
    /// [`TagMetrics::misplaced`](crate::TagMetrics::misplaced) counts it.
    Lenient,
}

impl Tag {
    /// A tag with as many workers as the process has CPUs to use, at least 1, pinned nowhere.
    /// See [`Tag`] for an example.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            workers: None,
            max_workers: None,
            max_blocked: 0,
            keep_alive: KEEP_ALIVE,
            cpus: None,
            pinning: Pinning::Strict,
            on_panic: PanicPolicy::Carry,
            linger: Linger::Auto,
            queues: TagConfig::new(1),
        }
    }

    /// Sets the number of workers that the tag begins with and always has, 1 to
    /// [`MAX_WORKERS`](crate::MAX_WORKERS) over all tags; unless told otherwise it has no more.
    /// See [`Tag`] for an example.
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = Some(workers);
        self
    }

    /// Sets the most workers that run tasks at a time, at least [`workers`](Tag::workers); by default as many.
    ///
    /// A worker is started when tasks wait and every worker is inside a task. Each that there may be costs a run
    /// queue, two inboxes and a lot from the start: some 3 KiB with the default run queue. See [`Tag`] for an example.
    pub fn max_workers(mut self, workers: usize) -> Self {
        self.max_workers = Some(workers);
        self
    }

    /// Sets how many workers at a time may be replaced while they are inside [`blocking`](crate::blocking()); by
    /// default none. So many places there are beside those of [`max_workers`](Tag::max_workers).
    ///
    /// ```
    /// use std::sync::mpsc;
    ///
    /// use parkade::{Runtime, Tag};
    ///
    /// let runtime = Runtime::builder().tag(Tag::new("files").workers(1).max_blocked(1)).build()?;
    /// let (answer, question) = mpsc::channel();
    /// let waits = runtime.spawn(move || parkade::blocking(|| question.recv()));
    /// runtime.spawn(move || answer.send(1)).join()?.ok(); // by another worker
    /// assert_eq!(waits.join()?, Ok(1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn max_blocked(mut self, workers: usize) -> Self {
        self.max_blocked = workers;
        self
    }

    /// Sets how long a worker above the minimum sleeps before it is retired, at least 1 ms; by default 10 s.
    ///
    /// It is looked at once in this time, so a worker leaves after one to two times as long. With the minimum of
    /// workers nothing is looked at. [`Duration::MAX`] keeps them. See [`Tag`] for an example.
    pub fn keep_alive(mut self, time: Duration) -> Self {
        self.keep_alive = time;
        self
    }

    /// Pins worker `i` to the CPU at place `i % len` of a list such as `"0-3,5"` (see
    /// [`CpuList`](crate::CpuList)), or one of [`Topology`](crate::topology::Topology): physical cores first.
    /// See [`Tag`] for an example.
    pub fn cpus(mut self, list: impl Into<String>) -> Self {
        self.cpus = Some(list.into());
        self
    }

    /// Sets what to do about a CPU that is not there; by default it is an error. See [`Tag`] for an example.
    pub fn pinning(mut self, pinning: Pinning) -> Self {
        self.pinning = pinning;
        self
    }

    /// Sets whether a worker that runs out of work looks again for some microseconds before it sleeps; by default where
    /// that keeps no other worker from a CPU. See [`Linger`] for an example.
    pub fn linger(mut self, linger: Linger) -> Self {
        self.linger = linger;
        self
    }

    /// Sets what a panic of its tasks, or of a hook on its workers, comes to; by default
    /// [`PanicPolicy::Carry`]. See there for the table of outcomes. See [`Tag`] for an example.
    pub fn on_panic(mut self, policy: PanicPolicy) -> Self {
        self.on_panic = policy;
        self
    }

    /// Sets the capacity of each worker's run queue in tasks, a power of two from 2 to
    /// [`MAX_RUN_QUEUE`](crate::MAX_RUN_QUEUE); by default 256. What does not fit spills to the inbox.
    ///
    /// ```
    /// use parkade::{BuildError, Runtime, Tag};
    ///
    /// let tag = Tag::new("narrow").workers(1).run_queue(16).inbox_limit(1000).ageing(8);
    /// let runtime = Runtime::builder().tag(tag).build()?;
    /// let error = Runtime::builder().tag(Tag::new("odd").run_queue(15)).build().unwrap_err();
    /// assert!(matches!(error, BuildError::RunQueue { capacity: 15, .. }), "{error}");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn run_queue(mut self, tasks: usize) -> Self {
        self.queues = self.queues.run_queue(tasks);
        self
    }

    /// Sets the most tasks that each inbox takes, at least 1; by default there is no limit. What does
    /// not fit anywhere is refused and comes back to its caller; but a timed task that is due, which was
    /// accepted when it was made, always fits. See [`Tag`] for an example.
    pub fn inbox_limit(mut self, tasks: usize) -> Self {
        self.queues = self.queues.inbox_limit(tasks);
        self
    }

    /// Sets every how many picks tasks of normal priority go before those of high priority, at least 2;
    /// by default 16. See [`Tag`] for an example.
    pub fn ageing(mut self, picks: u32) -> Self {
        self.queues = self.queues.ageing(picks);
        self
    }
}
