//! The description of a tag: a named set of workers that no task leaves.

use parkade_core::TagConfig;

use crate::panics::PanicPolicy;

/// An isolated set of workers, to be given to [`RuntimeBuilder::tag`](crate::RuntimeBuilder::tag).
///
/// Use one tag per kind of work that must not get in another's way: a flood in one tag costs the others
/// nothing but CPU time, and with CPU lists that do not overlap not even that. Nothing is checked before
/// [`build`](crate::RuntimeBuilder::build).
///
/// ```
/// use parkade::{Pinning, Tag};
///
/// let io = Tag::new("io").workers(4);
/// let compute = Tag::new("compute").workers(2).cpus("0-1").pinning(Pinning::Lenient);
/// # let _ = (io, compute);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a tag does nothing until a builder has it"]
pub struct Tag {
    pub(crate) name: String,
    pub(crate) workers: Option<usize>,
    pub(crate) cpus: Option<String>,
    pub(crate) pinning: Pinning,
    pub(crate) on_panic: PanicPolicy,
    /// The queues; its number of workers is set from `workers` in the end.
    pub(crate) queues: TagConfig,
}

/// What to do about a CPU that a worker cannot be pinned to.
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
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            workers: None,
            cpus: None,
            pinning: Pinning::Strict,
            on_panic: PanicPolicy::Carry,
            queues: TagConfig::new(1),
        }
    }

    /// Sets the number of workers, 1 to [`MAX_WORKERS`](crate::MAX_WORKERS) over all tags.
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = Some(workers);
        self
    }

    /// Pins worker `i` to the CPU at place `i % len` of a list such as `"0-3,5"` (see
    /// [`CpuList`](crate::CpuList)), or one of [`Topology`](crate::topology::Topology): physical cores first.
    pub fn cpus(mut self, list: impl Into<String>) -> Self {
        self.cpus = Some(list.into());
        self
    }

    /// Sets what to do about a CPU that is not there; by default it is an error.
    pub fn pinning(mut self, pinning: Pinning) -> Self {
        self.pinning = pinning;
        self
    }

    /// Sets what a panic of its tasks, or of a hook on its workers, comes to; by default
    /// [`PanicPolicy::Carry`]. See there for the table of outcomes.
    pub fn on_panic(mut self, policy: PanicPolicy) -> Self {
        self.on_panic = policy;
        self
    }

    /// Sets the capacity of each worker's run queue in tasks, a power of two from 2 to
    /// [`MAX_RUN_QUEUE`](crate::MAX_RUN_QUEUE); by default 256. What does not fit spills to the inbox.
    pub fn run_queue(mut self, tasks: usize) -> Self {
        self.queues = self.queues.run_queue(tasks);
        self
    }

    /// Sets the most tasks that each inbox takes, at least 1; by default there is no limit. What does
    /// not fit anywhere is refused and comes back to its caller; but a timed task that is due, which was
    /// accepted when it was made, always fits.
    pub fn inbox_limit(mut self, tasks: usize) -> Self {
        self.queues = self.queues.inbox_limit(tasks);
        self
    }

    /// Sets every how many picks tasks of normal priority go before those of high priority, at least 2;
    /// by default 16.
    pub fn ageing(mut self, picks: u32) -> Self {
        self.queues = self.queues.ageing(picks);
        self
    }
}
