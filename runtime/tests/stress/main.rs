//! Stress tests: many rounds in which threads meet, with dice for their pauses and a watchdog over their waits.
//!
//! They are a program of their own, because optimised it takes a while to build. As in the behaviour tests, each
//! body is generic over the backend.
//!
//! * `PARKADE_STRESS` is a whole number, by default 1: every stress test does so many times its usual
//!   rounds, and may take so many times as long. A million lone submits on each backend, for example:
//!
//!   ```text
//!   PARKADE_STRESS=50 cargo test --profile stress -p parkade --test stress lone -- --test-threads=1
//!   ```
//!
//! * `PARKADE_SEED` replays the choices (not the threads' timing) of a test that failed: it prints its own.
//! * `PARKADE_STRESS_RECORD` names a file; each test that has passed appends a line to it, with the id of its
//!   scenario and the number of its rounds.

#![cfg(any(feature = "std", all(feature = "linux", target_os = "linux")))]

#[macro_use]
#[path = "../behaviour/each_backend.rs"]
mod each_backend;
#[path = "../behaviour/panic_messages.rs"]
mod panic_messages;
#[path = "../behaviour/tree.rs"]
mod tree;

mod batches_of_one;
mod broadcast;
mod finishing;
mod fork_join;
mod lifetime;
mod lone;
mod loops_back_to_back;
mod lot;
mod mixed;
mod priorities;
mod resizing;
mod rounds;
mod run_queue;
mod stop_race;
mod timers;
mod watchdog;
