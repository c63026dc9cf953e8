//! Behaviour tests: a runtime seen from outside, on each backend, by counts and orders.
//!
//! A file is a word of the interface. Each test body is generic over the backend; `on_each_backend` makes
//! a test of it per backend and one more per backend with a faulty park, with a detector of hangs around it.

#![cfg(any(feature = "std", all(feature = "linux", target_os = "linux")))]

#[macro_use]
mod each_backend;
mod common;

mod batch;
mod builder;
#[cfg(target_os = "linux")]
mod child;
mod dropping;
mod dump;
#[cfg(target_os = "linux")]
mod fork;
mod fork_join;
mod future_crates;
mod future_stop;
mod future_turns;
mod futures;
#[cfg(target_os = "linux")]
mod global;
mod handles;
mod hooks;
mod intervals;
mod loops;
mod metrics;
#[cfg(target_os = "linux")]
mod panics;
#[cfg(target_os = "linux")]
mod process;
mod scopes;
mod sleep;
mod spawn;
mod stop;
mod stress;
#[cfg(target_os = "linux")]
mod threads;
mod timer_stop;
mod timers;
mod waiting;
mod wake_calls;
mod worker_metrics;
