//! Events for the crate `tracing`, with the feature of that name; the other half of this file is `trace_off.rs`.
//!
//! What a subscriber does with an event is the user's code: it is called outside of every lock of the runtime, and
//! a panic of it ends here. Events of workers come where hooks are called, so it may spawn there.

use std::any::Any;
use std::fmt;
use std::io;
use std::panic::{self, AssertUnwindSafe};

use tracing::{debug, error, trace, warn};

use crate::hooks::WorkerInfo;
use crate::job::drop_quietly;
use crate::panics::message;

pub(crate) fn worker_starts(worker: &WorkerInfo) {
    quietly(|| {
        debug!(
            target: "parkade",
            tag = worker.tag(),
            worker = worker.index(),
            thread = worker.thread_name(),
            "worker starts"
        );
    });
}

pub(crate) fn worker_stops(worker: &WorkerInfo) {
    quietly(
        || debug!(target: "parkade", tag = worker.tag(), worker = worker.index(), "worker stops"),
    );
}

pub(crate) fn worker_parks(worker: &WorkerInfo) {
    quietly(
        || trace!(target: "parkade", tag = worker.tag(), worker = worker.index(), "worker parks"),
    );
}

pub(crate) fn worker_unparks(worker: &WorkerInfo) {
    quietly(
        || trace!(target: "parkade", tag = worker.tag(), worker = worker.index(), "worker unparks"),
    );
}

/// Of a task or a hook; without a worker, of an alarm.
pub(crate) fn panicked(worker: Option<&WorkerInfo>, payload: &(dyn Any + Send)) {
    let panic = message(payload).unwrap_or("a value that is no message");
    quietly(|| match worker {
        Some(worker) => error!(
            target: "parkade",
            tag = worker.tag(),
            worker = worker.index(),
            panic,
            "panic on a worker"
        ),
        None => error!(target: "parkade", panic, "panic of an alarm"),
    });
}

pub(crate) fn worker_not_started(worker: &WorkerInfo, refused: &io::Error) {
    quietly(|| {
        warn!(
            target: "parkade",
            tag = worker.tag(),
            worker = worker.index(),
            error = %refused,
            "thread not started"
        );
    });
}

pub(crate) fn timer_thread_not_started(refused: &io::Error) {
    quietly(|| warn!(target: "parkade", error = %refused, "timer thread not started"));
}

/// Of the five steps of a stop, of one tag or of the runtime; said when it is done.
pub(crate) fn stop_step(step: u8, tag: Option<&str>, policy: impl fmt::Debug) {
    quietly(|| debug!(target: "parkade", step, tag, ?policy, "stop step done"));
}

fn quietly(event: impl FnOnce()) {
    drop_quietly(panic::catch_unwind(AssertUnwindSafe(event)));
}
