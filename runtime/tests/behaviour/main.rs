//! Behaviour tests: a runtime seen from outside, on each backend, by counts and orders.
//!
//! A file is a word of the interface. Each test body is generic over the backend; `on_each_backend` makes
//! a test of it per backend, with a detector of hangs around it.

#![cfg(any(feature = "std", all(feature = "linux", target_os = "linux")))]

#[macro_use]
mod each_backend;
mod common;

mod batch;
mod builder;
mod dropping;
mod handles;
mod hooks;
mod metrics;
mod spawn;
mod stop;
#[cfg(target_os = "linux")]
mod threads;
mod waiting;
