//! A work-stealing task scheduler in which idle workers sleep and wake-ups are counted one by one.
//!
//! This page teaches it by one example that grows; the [`guide`] has a page for each topic.
//!
//! # Step 1: a task
//!
//! Nothing is configured: the [`global`] runtime is there from its first use on, with a worker for each CPU.
//!
//! ```
//! let count = parkade::spawn(|| "to be or not to be".split_whitespace().count());
//! assert_eq!(count.join()?, 6);
//! # Ok::<(), parkade::JoinError>(())
//! ```
//!
//! [`spawn`] returns a [`JoinHandle`], which has the value, or says why there is none: a panic of the task is an
//! error of its handle, and the worker goes on.
//!
//! # Step 2: a loop over what one has
//!
//! A spawned closure owns what it uses. Loops, [`join()`] and [`scope`](RuntimeOn::scope) borrow instead, and return when
//! all is done; the caller does its share.
//!
//! ```
//! fn words(text: &str) -> usize {
//!     text.split_whitespace().count()
//! }
//!
//! let texts = ["to be or not to be", "that is the question"];
//! assert_eq!(parkade::global().map(&texts[..], |text| words(text)), [6, 4]);
//! ```
//!
//! # Step 3: a runtime, and a tag for each kind of work
//!
//! A program that has opinions builds its own [`Runtime`]. Its workers are grouped in [tags](guide::tags), which are
//! isolated: however much there is to count, saving has a worker of its own.
//!
//! ```
//! use parkade::{Runtime, Tag};
//!
//! # fn words(text: &str) -> usize {
//! #     text.split_whitespace().count()
//! # }
//! # let texts = ["to be or not to be", "that is the question"];
//! let runtime = Runtime::builder()
//!     .tag(Tag::new("count").workers(2)) // the first is the default
//!     .tag(Tag::new("save").workers(1))
//!     .build()?;
//! let save = runtime.tag("save")?;
//!
//! let counts = runtime.map(&texts[..], |text| words(text));
//! let saved = save.spawn(move || format!("{counts:?}"));
//! assert_eq!(saved.join()?, "[6, 4]");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Step 4: many tasks, one submit
//!
//! Texts that come in from outside do not wait for each other. A [`Batch`] queues them all, then wakes as many workers as
//! they need, once.
//!
//! ```
//! # use parkade::{Runtime, Tag};
//! # fn words(text: &str) -> usize {
//! #     text.split_whitespace().count()
//! # }
//! # let runtime = Runtime::builder()
//! #     .tag(Tag::new("count").workers(2))
//! #     .tag(Tag::new("save").workers(1))
//! #     .build()?;
//! let arrived = vec![String::from("to be or not to be"), String::from("that is the question")];
//!
//! let mut batch = runtime.batch();
//! let counts: Vec<_> = arrived.into_iter().map(|text| batch.spawn(move || words(&text))).collect();
//! batch.submit()?;
//! let mut sum = 0;
//! for count in counts {
//!     sum += count.join()?;
//! }
//! assert_eq!(sum, 10);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Step 5: later, and again and again
//!
//! Timers need no worker until they are due, and dropping their handle cancels them.
//!
//! ```
//! # use parkade::{Runtime, Tag};
//! # fn words(text: &str) -> usize {
//! #     text.split_whitespace().count()
//! # }
//! # let runtime = Runtime::builder()
//! #     .tag(Tag::new("count").workers(2))
//! #     .tag(Tag::new("save").workers(1))
//! #     .build()?;
//! use std::sync::Arc;
//! use std::sync::atomic::{AtomicUsize, Ordering};
//! use std::time::Duration;
//!
//! let total = Arc::new(AtomicUsize::new(0));
//! let seen = Arc::clone(&total);
//! // Each ms, while `progress` is kept: as a task of the tag that saves.
//! let progress = runtime.tag("save")?.every(Duration::from_millis(1), move || {
//!     println!("{} words so far", seen.load(Ordering::Relaxed));
//! })?;
//! let late = Arc::clone(&total);
//! let timer = runtime.after(Duration::from_millis(5), move || {
//!     late.fetch_add(words("that is the question"), Ordering::Relaxed)
//! })?;
//! assert_eq!(timer.join()?, 0, "nobody had counted before");
//! drop(progress);
//! assert_eq!(total.load(Ordering::Relaxed), 4);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Step 6: the numbers, and the end
//!
//! [`metrics`](RuntimeOn::metrics) shows what each tag has done; [`shutdown`](RuntimeOn::shutdown) lets what is queued run, or drops
//! it, and reports. Each task that was accepted has run once or was dropped once, and its handle says which.
//!
//! ```
//! # fn words(text: &str) -> usize {
//! #     text.split_whitespace().count()
//! # }
//! use std::time::Duration;
//!
//! use parkade::{Policy, Runtime, Tag};
//!
//! # let runtime = Runtime::builder()
//! #     .tag(Tag::new("count").workers(2))
//! #     .tag(Tag::new("save").workers(1))
//! #     .build()?;
//! let last = runtime.spawn(|| words("the rest is silence"));
//! let never = runtime.after(Duration::from_secs(3600), || words("too late"))?;
//!
//! println!("{}", runtime.metrics()); // a table with a row per tag
//! let report = runtime.shutdown(Policy::Drain, Some(Duration::from_secs(5)))?;
//! println!("{report}");
//! assert!(report.is_complete(), "no thread is left");
//! assert_eq!((report.ran, report.dropped), (1, 0));
//! assert_eq!(last.join()?, 4);
//! assert!(never.join().is_err(), "it was not due");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! From here: [futures](guide::futures) on the same workers, [how many workers](guide::scaling) there are and
//! [on which CPUs](guide::pinning), [what a worker does while it waits](guide::waiting), [what comes of
//! panics](guide::panics) and [of a stop](guide::stopping), and [how to see what it does](guide::observability). The
//! repository's `runtime/examples` has whole programs.
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
//! * [`shutdown`](RuntimeOn::shutdown) ends in a [`Report`], [`metrics`](RuntimeOn::metrics) in a table; [`topology`] tells
//!   which CPUs share a core.
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
#[cfg(any(feature = "std", all(feature = "linux", target_os = "linux")))]
mod direct;
#[cfg(not(any(feature = "std", all(feature = "linux", target_os = "linux"))))]
#[path = "direct_off.rs"]
mod direct;
pub mod future;
#[cfg(any(feature = "std", all(feature = "linux", target_os = "linux")))]
mod global;
#[cfg(not(any(feature = "std", all(feature = "linux", target_os = "linux"))))]
#[path = "no_global.rs"]
mod global;
pub mod guide;
mod handle;
mod handled;
mod hooks;
mod interrupt;
mod interval;
mod job;
mod join;
mod join_error;
mod latch;
mod latency;
mod linger;
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
mod slab;
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
pub use interval::Interval;
pub use join::join;
pub use join_error::{JoinError, PanicPayload};
pub use latency::Latency;
pub use linger::Linger;
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
pub use timer::Timer;
pub use worker_metrics::WorkerMetrics;
