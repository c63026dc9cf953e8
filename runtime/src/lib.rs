//! A work-stealing task scheduler in which idle workers sleep and wake-ups are counted one by one.
//!
//! ```
//! use parkade::{Policy, Runtime, Tag};
//!
//! let runtime = Runtime::builder()
//!     .tag(Tag::new("compute").workers(2))
//!     .tag(Tag::new("io").workers(1))
//!     .build()?;
//!
//! let sum = runtime.spawn(|| (1..=100_u64).sum::<u64>());
//! let line = runtime.tag("io")?.spawn(|| String::from("read"));
//! assert_eq!((sum.join()?, line.join()?.as_str()), (5050, "read"));
//!
//! println!("{}", runtime.metrics());
//! println!("{}", runtime.shutdown(Policy::Drain, None)?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A program that needs no configuration uses the [`global`] runtime, which is there from its first use on:
//!
//! ```
//! assert_eq!(parkade::spawn(|| 6 * 7).join()?, 42);
//! # Ok::<(), parkade::JoinError>(())
//! ```
//!
//! # The parts
//!
//! * A [`Runtime`] owns worker threads, grouped in *tags* ([`Tag`], [`TagRef`]): isolated sets of
//!   workers with queues, limits and CPUs of their own. No task leaves its tag.
//! * [`spawn`](RuntimeOn::spawn) returns a [`JoinHandle`]; [`try_spawn`](RuntimeOn::try_spawn) gives a
//!   refused closure back; [`spawn_detached`](RuntimeOn::spawn_detached) is the cheapest; a [`Batch`]
//!   submits many at once, a [`broadcast`](RuntimeOn::broadcast) has each worker run a copy.
//! * [`after`](RuntimeOn::after) and [`every`](RuntimeOn::every) spawn later, and again and again;
//!   [`alarm`](RuntimeOn::alarm) needs no worker; [`sleep()`] is a task's pause that a stop ends.
//! * A tag grows and shrinks within bounds ([`Tag`] says when), [`resize`](TagRef::resize) sets another number, and
//!   [`blocking()`] says that a task is about to wait, so that another worker may take its place.
//! * [`spawn_async`](RuntimeOn::spawn_async) runs a future on the same workers and returns a [`Task`]; a [`JoinHandle`]
//!   is a future too; [`block_on`] waits for one in a thread, and [`future`] has pauses and timeouts to await.
//! * Work that borrows: [`join()`] runs two closures, [`scope`](RuntimeOn::scope) any number of tasks,
//!   [`for_each`](RuntimeOn::for_each), [`map`](RuntimeOn::map) and [`chunks`](RuntimeOn::chunks) a loop over a
//!   slice or a range. They return when all has ended, and then go on with a panic if there was one. Nothing of
//!   it is refused or dropped: what no worker takes, the caller runs, and while it waits it runs nothing else.
//! * [`shutdown`](RuntimeOn::shutdown) ends in a [`Report`], [`metrics`](RuntimeOn::metrics) in a table.
//!
//! # What holds
//!
//! An accepted task runs once or is dropped once, and its handle says which; a refused one comes back.
//! Spawning never waits for room. A worker survives whatever its tasks do. An idle runtime does nothing
//! at all: no worker spins, polls or waits with a timeout.
//!
//! # Features
//!
//! `linux` (default) and `std` (default) bring backends and choose the alias [`Runtime`]; `linux` wins
//! on Linux. With neither, [`RuntimeOn`] takes a backend of your own, see [`backend`].
//!
//! `serde` lets [`Metrics`], [`Report`] and their parts be serialized.
//!
//! `tracing` emits events of the target `parkade` to the program's subscriber: at the level *trace* that a worker
//! parks and unparks; *debug* that it starts and stops, and each step of a stop; *warn* that a thread could not be
//! started; *error* a panic of a task, a hook or an alarm. Those of a worker have the fields `tag` and `worker`, its
//! index; those of a tag's own stop have `tag`. The subscriber is called on the thread concerned, like a hook. Without the feature there is no code for it.

/// The examples of the front page, so that they are run.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct FrontPage;

pub mod backend;

mod batch;
mod blocking;
mod broadcast;
mod build_error;
mod builder;
mod control;
mod counts;
mod cpu_list;
mod current;
pub mod future;
#[cfg(any(feature = "std", all(feature = "linux", target_os = "linux")))]
mod global;
#[cfg(not(any(feature = "std", all(feature = "linux", target_os = "linux"))))]
#[path = "no_global.rs"]
mod global;
mod handle;
mod handled;
mod hooks;
mod interrupt;
mod job;
mod join;
mod join_error;
mod latch;
mod latency;
mod live;
mod metrics;
#[cfg(all(test, parkade_loom))]
mod models;
mod names;
mod panics;
mod plan;
mod process;
mod progress;
mod prometheus;
mod refused;
mod report;
mod resize;
mod runtime;
mod scaler;
mod scope;
#[cfg(feature = "serde")]
mod serialize;
mod shared;
mod shared_index;
mod sleep;
mod spawned;
mod stack_job;
mod start;
mod state;
mod stop;
mod sync;
mod tag;
mod task;
mod timer;
mod timers;
pub mod topology;
#[cfg(feature = "tracing")]
mod trace;
#[cfg(not(feature = "tracing"))]
#[path = "trace_off.rs"]
mod trace;
mod worker;
mod worker_metrics;

#[doc(inline)]
pub use backend::selected::*;
pub use batch::{Batch, BatchRefused};
pub use blocking::blocking;
pub use build_error::BuildError;
pub use builder::{DEFAULT_TAG, OnThreadError, RuntimeBuilder};
pub use cpu_list::{CpuList, CpuListError};
pub use future::block_on;
#[cfg(any(feature = "std", all(feature = "linux", target_os = "linux")))]
pub use global::{GlobalAlreadySet, global, set_global, spawn, spawn_async};
pub use handle::JoinHandle;
pub use hooks::WorkerInfo;
pub use interrupt::Interrupt;
pub use join::join;
pub use join_error::{JoinError, PanicPayload};
pub use latency::Latency;
pub use metrics::{Metrics, TagMetrics, TimerMetrics};
pub use panics::{PanicHandler, PanicPolicy};
pub use parkade_core::{Activity, Priority};
pub use plan::{MAX_RUN_QUEUE, MAX_WORKERS};
pub use refused::{Refused, RefusedReason};
pub use report::{Report, StillRunning};
pub use resize::ResizeError;
pub use runtime::{RuntimeOn, TagRef, UnknownTag};
pub use scope::Scope;
pub use shared_index::Divide;
pub use sleep::{Stopped, sleep};
pub use stop::{Policy, ShutdownError};
pub use tag::{Pinning, Tag};
pub use task::Task;
pub use timer::{Interval, Timer};
pub use worker_metrics::WorkerMetrics;
