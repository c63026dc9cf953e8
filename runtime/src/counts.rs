//! What the runtime counts beyond the core: tasks that ran, panicked or were dropped.

use std::sync::atomic::{AtomicUsize, Ordering};

/// The counts of one worker. Only that worker writes them, so that a count is a load and a store.
#[derive(Debug, Default)]
pub(crate) struct WorkerCounts {
    ran: AtomicUsize,
    panicked: AtomicUsize,
}

/// The accepted tasks of one tag that were dropped without having run, by whoever stops the runtime.
#[derive(Debug, Default)]
pub(crate) struct DropCount(AtomicUsize);

impl WorkerCounts {
    /// Counts a task that has run to its end. Only the worker that owns these counts may call it.
    pub(crate) fn count_run(&self, panicked: bool) {
        bump(&self.ran);
        if panicked {
            bump(&self.panicked);
        }
    }

    /// Counts a panic outside a task: of a hook. Only the worker that owns these counts may call it.
    pub(crate) fn count_panic(&self) {
        bump(&self.panicked);
    }

    pub(crate) fn ran(&self) -> usize {
        self.ran.load(Ordering::Relaxed)
    }

    pub(crate) fn panicked(&self) -> usize {
        self.panicked.load(Ordering::Relaxed)
    }
}

impl DropCount {
    pub(crate) fn count(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

fn bump(counter: &AtomicUsize) {
    let count = counter.load(Ordering::Relaxed);
    counter.store(count.wrapping_add(1), Ordering::Relaxed);
}
