//! Hooks: what users run on a worker's thread when it starts, stops, parks and unparks.

use std::fmt;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use crate::counts::WorkerCounts;
use crate::job::drop_quietly;

/// What a hook is told about the worker on whose thread it runs.
///
/// ```
/// use parkade::{Runtime, Tag};
///
/// let runtime = Runtime::builder().tag(Tag::new("io").workers(2)).build()?;
/// let seen = runtime.broadcast(|worker| (worker.tag().to_owned(), worker.index(), worker.cpu()));
/// let seen: Result<Vec<_>, _> = seen.into_iter().map(|copy| copy.join()).collect();
/// assert_eq!(seen?, [("io".to_owned(), 0, None), ("io".to_owned(), 1, None)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerInfo {
    pub(crate) tag: String,
    pub(crate) index: usize,
    pub(crate) thread_name: String,
    pub(crate) cpu: Option<usize>,
}

impl WorkerInfo {
    /// The name of the worker's tag. See [`WorkerInfo`] for an example.
    #[must_use]
    pub fn tag(&self) -> &str {
        &self.tag
    }

    /// The worker's index within its tag, from 0. See [`WorkerInfo`] for an example.
    #[must_use]
    pub fn index(&self) -> usize {
        self.index
    }

    /// The name of the worker's thread, at most 15 bytes.
    /// See [`RuntimeBuilder::on_start`](crate::RuntimeBuilder::on_start) for an example.
    #[must_use]
    pub fn thread_name(&self) -> &str {
        &self.thread_name
    }

    /// The CPU that the worker was asked to be pinned to. See [`WorkerInfo`] for an example.
    #[must_use]
    pub fn cpu(&self) -> Option<usize> {
        self.cpu
    }
}

type Hook = Arc<dyn Fn(&WorkerInfo) + Send + Sync>;

/// The hooks of one runtime.
#[derive(Clone, Default)]
pub(crate) struct Hooks {
    pub(crate) start: Option<Hook>,
    pub(crate) stop: Option<Hook>,
    pub(crate) park: Option<Hook>,
    pub(crate) unpark: Option<Hook>,
}

/// Calls a hook, if there is one. Its panic is counted and ends here: the worker goes on.
#[inline]
pub(crate) fn call(hook: Option<&Hook>, worker: &WorkerInfo, counts: &WorkerCounts) {
    if let Some(hook) = hook
        && let Err(payload) = panic::catch_unwind(AssertUnwindSafe(|| hook(worker)))
    {
        counts.count_panic(&*payload);
        drop_quietly(payload);
    }
}

impl fmt::Debug for Hooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = [
            ("start", self.start.is_some()),
            ("stop", self.stop.is_some()),
            ("park", self.park.is_some()),
            ("unpark", self.unpark.is_some()),
        ];
        let set = names.iter().filter(|(_, set)| *set);
        f.debug_set().entries(set.map(|(name, _)| name)).finish()
    }
}
