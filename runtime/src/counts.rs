//! What the runtime counts beyond the core: tasks that ran, panicked or were dropped.

use std::any::Any;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::latency::{Latency, Recorder};
use crate::panics::Panics;

/// The counts of one worker, and whom to tell of its panics. Only that worker writes them, so that a count is a load and a store.
#[derive(Debug, Default)]
pub(crate) struct WorkerCounts {
    ran: AtomicUsize,
    panicked: AtomicUsize,
    panics: Panics,
    /// How long its tasks had waited, if that is measured.
    latency: Option<Recorder>,
}

/// The accepted tasks of one tag that were dropped without having run, by whoever stops the runtime.
#[derive(Debug, Default)]
pub(crate) struct DropCount(AtomicUsize);

impl WorkerCounts {
    pub(crate) fn new(panics: Panics, latency: Option<Recorder>) -> Self {
        Self {
            panics,
            latency,
            ..Self::default()
        }
    }

    /// Counts a task that has run to its end, and deals with its panic as the policy says. Only the worker that
    /// owns these counts may call it.
    pub(crate) fn count_run(&self, panic: Option<&(dyn Any + Send)>) {
        bump(&self.ran);
        if let Some(payload) = panic {
            self.count_panic(payload);
        }
    }

    /// Counts a panic, and deals with it as the policy says. Only the worker that owns these counts may call it.
    pub(crate) fn count_panic(&self, payload: &(dyn Any + Send)) {
        bump(&self.panicked);
        if self.panics.act(payload) {
            bump(&self.panicked);
        }
    }

    /// Takes note of how long a task that starts has waited.
    pub(crate) fn record_latency(&self, wait: Duration) {
        if let Some(recorder) = &self.latency {
            recorder.record(wait);
        }
    }

    /// Takes the recorder's lock for a moment.
    pub(crate) fn latency(&self) -> Option<Latency> {
        self.latency.as_ref().map(Recorder::snapshot)
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
