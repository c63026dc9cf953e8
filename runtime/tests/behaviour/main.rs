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
mod handles;
mod hooks;
mod lone;
mod lot;
mod metrics;
#[cfg(target_os = "linux")]
mod process;
mod run_queue;
mod spawn;
mod stop;
mod stop_race;
mod stress;
#[cfg(target_os = "linux")]
mod threads;
mod waiting;
mod wake_calls;
