//! Which process a runtime belongs to: that in which it was built, and no child of it.
//!
//! `fork` copies the memory of a process and one of its threads. In the child a runtime looks as it did, but it
//! has no workers: a task would wait for ever, and so would whoever wants a lock that some other thread held at
//! that moment. So every way into a runtime asks first whether this still is its process; but a worker's `join` asks before
//! it wakes another, as what it queues it takes back. The backend has a
//! counter that a fork leaves greater in the child; to ask is to load it, and no system call.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::backend::Backend;

/// A process, among the one that runs and those that it was forked from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Process {
    forks: &'static AtomicUsize,
    /// What `forks` is in that process.
    here: usize,
}

impl Process {
    /// The process that runs.
    pub(crate) fn this<B: Backend>() -> io::Result<Self> {
        let forks = B::forks()?;
        let here = forks.load(Ordering::Relaxed);
        Ok(Self { forks, here })
    }

    /// Whether it is the process that runs.
    ///
    /// The load is relaxed: the counter changes while a process has only the thread that forked.
    #[inline]
    pub(crate) fn is_this(self) -> bool {
        self.forks.load(Ordering::Relaxed) == self.here
    }
}
