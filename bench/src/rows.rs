//! What is measured: one file a row.

pub(crate) mod idle;
pub(crate) mod local;
pub(crate) mod lone;
pub(crate) mod lot;
pub(crate) mod outside;

use std::time::Duration;

/// A whole time as nanoseconds per task.
fn per_task(whole: Duration, tasks: u64) -> f64 {
    whole.as_nanos() as f64 / tasks as f64
}
