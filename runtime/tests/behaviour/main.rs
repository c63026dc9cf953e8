//! Behaviour tests: a runtime seen from outside, on each backend, by counts and orders.
//!
//! A file is a word of the interface. Each test body is generic over the backend; `on_each_backend` makes
//! a test of it per backend and one more with a faulty park, with a detector of hangs around it.

#![cfg(any(feature = "std", all(feature = "linux", target_os = "linux")))]

#[macro_use]
mod each_backend;
mod common;

#[cfg(target_os = "linux")]
mod affinity;
mod batch;
mod blocking;
mod broadcast;
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
mod future_wakes;
mod futures;
#[cfg(target_os = "linux")]
mod global;
mod handles;
mod hooks;
#[cfg(all(feature = "linux", target_os = "linux"))]
mod interrupt;
mod intervals;
mod latency;
mod loops;
mod metrics;
mod panic_messages;
#[cfg(target_os = "linux")]
mod panics;
mod priorities;
#[cfg(target_os = "linux")]
mod process;
#[cfg(target_os = "linux")]
mod quiet;
mod scaling;
mod scopes;
mod several_tags;
mod sleep;
mod spawn;
mod spinning;
mod stop;
mod tag_stop;
#[cfg(target_os = "linux")]
mod threads;
mod timer_stop;
mod timers;
#[cfg(feature = "tracing")]
mod tracing_events;
mod tree;
mod waiting;
mod wake_calls;
#[path = "../stress/watchdog.rs"]
mod watchdog;
mod worker_metrics;
