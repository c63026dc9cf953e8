//! What `trace.rs` is without the feature `tracing`: nothing.

use std::any::Any;
use std::fmt;
use std::io;

use crate::hooks::WorkerInfo;

#[inline(always)]
pub(crate) fn worker_starts(_worker: &WorkerInfo) {}

#[inline(always)]
pub(crate) fn worker_stops(_worker: &WorkerInfo) {}

#[inline(always)]
pub(crate) fn worker_parks(_worker: &WorkerInfo) {}

#[inline(always)]
pub(crate) fn worker_unparks(_worker: &WorkerInfo) {}

#[inline(always)]
pub(crate) fn panicked(_worker: Option<&WorkerInfo>, _payload: &(dyn Any + Send)) {}

#[inline(always)]
pub(crate) fn worker_not_started(_worker: &WorkerInfo, _refused: &io::Error) {}

#[inline(always)]
pub(crate) fn timer_thread_not_started(_refused: &io::Error) {}

#[inline(always)]
pub(crate) fn stop_step(_step: u8, _tag: Option<&str>, _policy: impl fmt::Debug) {}
