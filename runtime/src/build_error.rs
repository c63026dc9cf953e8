//! Why a runtime was not built. Each variant names the value at fault.

use std::io;
use std::time::Duration;

use parkade_core::{ConfigError, RegisterError};
use thiserror::Error;

use crate::backend::{AffinityError, InterruptError};
use crate::cpu_list::CpuListError;

/// A runtime that was not built. No thread of it is left.
///
/// All but the last four are found before any thread exists.
///
/// ```
/// use parkade::{BuildError, Runtime, Tag};
///
/// let error = Runtime::builder().tag(Tag::new("io").workers(0)).build().unwrap_err();
/// assert_eq!(error.to_string(), "tag \"io\" has 0 workers; it needs at least 1");
/// assert!(matches!(error, BuildError::NoWorkers { tag } if tag == "io"));
/// ```
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BuildError {
    /// An empty list of tags was given.
    #[error("a runtime needs at least one tag, and an empty list was given")]
    NoTags,
    /// A tag without a name.
    #[error("tag {index} has an empty name")]
    EmptyTagName {
        /// The tag's place in the order of [`tag`](crate::RuntimeBuilder::tag) calls, from 0.
        index: usize,
    },
    /// A tag's name or the thread-name prefix has a zero byte, which no thread name may have.
    #[error("{name:?} contains a zero byte and cannot be part of a thread name")]
    ZeroByteInName {
        /// The name or prefix.
        name: String,
    },
    /// Two tags of one name.
    #[error("there are two tags called {name:?}")]
    DuplicateTag {
        /// The name.
        name: String,
    },
    /// A tag without workers: its tasks would never run.
    #[error("tag {tag:?} has 0 workers; it needs at least 1")]
    NoWorkers {
        /// The tag.
        tag: String,
    },
    /// A tag whose most workers are fewer than its least.
    #[error("tag {tag:?} has {workers} workers at least and {max_workers} at most")]
    MaxBelowMin {
        /// The tag.
        tag: String,
        /// Its least, from [`Tag::workers`](crate::Tag::workers).
        workers: usize,
        /// Its most, from [`Tag::max_workers`](crate::Tag::max_workers).
        max_workers: usize,
    },
    /// A keep-alive time that is too short.
    #[error("tag {tag:?} keeps idle workers for {keep_alive:?}; it must be at least {shortest:?}")]
    KeepAlive {
        /// The tag.
        tag: String,
        /// The time asked for.
        keep_alive: Duration,
        /// The shortest time.
        shortest: Duration,
    },
    /// A ceiling over all tags that is below what they begin with.
    #[error("a ceiling of {ceiling} workers was asked for, but the tags begin with {sum}")]
    BelowMinimums {
        /// The ceiling, from [`RuntimeBuilder::max_workers`](crate::RuntimeBuilder::max_workers).
        ceiling: usize,
        /// The sum over all tags of [`Tag::workers`](crate::Tag::workers).
        sum: usize,
    },
    /// More workers than a runtime may have, over all tags.
    #[error("{requested} workers were asked for, but a runtime has at most {limit}")]
    TooManyWorkers {
        /// How many the tags ask for in all, up to the tag that exceeded the limit.
        requested: usize,
        /// The limit, [`MAX_WORKERS`](crate::MAX_WORKERS).
        limit: usize,
    },
    /// A run queue whose capacity is not a power of two in range.
    #[error(
        "tag {tag:?} has a run queue of {capacity} tasks; it must be a power of two from 2 to {limit}"
    )]
    RunQueue {
        /// The tag.
        tag: String,
        /// The capacity asked for, in tasks.
        capacity: usize,
        /// The largest capacity, [`MAX_RUN_QUEUE`](crate::MAX_RUN_QUEUE).
        limit: usize,
    },
    /// Another number that the tag's queues cannot be built with.
    #[error("tag {tag:?} cannot be built: {source}")]
    Queues {
        /// The tag.
        tag: String,
        /// What is wrong.
        source: ConfigError,
    },
    /// A CPU list that cannot be read.
    #[error("the CPUs of tag {tag:?} cannot be read: {source}")]
    CpuList {
        /// The tag.
        tag: String,
        /// What is wrong.
        source: CpuListError,
    },
    /// A CPU that this process may not use, or that does not exist.
    #[error("tag {tag:?} asks for CPU {cpu}, but this process may only use {allowed}")]
    CpuNotAllowed {
        /// The tag.
        tag: String,
        /// The CPU.
        cpu: usize,
        /// The CPUs that there are, as a list.
        allowed: String,
    },
    /// A CPU list where threads cannot be bound to CPUs.
    #[error("tag {tag:?} asks for CPUs {cpus}, but {reason}")]
    PinningUnavailable {
        /// The tag.
        tag: String,
        /// The list.
        cpus: String,
        /// What the backend says.
        reason: String,
    },
    /// A stack size outside its range.
    #[error("a stack of {bytes} bytes was asked for; it must be between {smallest} and {largest}")]
    StackSize {
        /// The size asked for.
        bytes: usize,
        /// The smallest size.
        smallest: usize,
        /// The largest size.
        largest: usize,
    },
    /// A signal that blocked workers cannot be interrupted by.
    #[error("blocked workers cannot be interrupted by signal {signal}: {source}")]
    Interrupt {
        /// The signal, from [`RuntimeBuilder::interrupt`](crate::RuntimeBuilder::interrupt).
        signal: i32,
        /// What the backend says.
        source: InterruptError,
    },
    /// The system does not tell a process that it is the child of a fork, so that tasks spawned there would
    /// wait for ever.
    #[error("the system does not announce forks")]
    ForkDetection(#[source] io::Error),
    /// The system refused to start a thread.
    #[error("only {started} of {requested} worker threads could be started")]
    Thread {
        /// How many threads started; they are gone again.
        started: usize,
        /// How many workers the tags ask for.
        requested: usize,
        /// What the system said.
        source: io::Error,
    },
    /// The system refused to start the thread that starts later workers. Only of tags that can grow.
    #[error("the thread that starts later workers could not be started")]
    ScalerThread(#[source] io::Error),
    /// A worker's thread could not be pinned, although its CPU had been among the allowed ones.
    #[error("worker {worker} of tag {tag:?} could not be pinned to CPU {cpu}")]
    Pin {
        /// The tag.
        tag: String,
        /// The worker's index in its tag.
        worker: usize,
        /// The CPU.
        cpu: usize,
        /// What the system said.
        source: AffinityError,
    },
    /// A worker's thread was not accepted by the core: a defect of this crate.
    #[error("a worker could not be registered")]
    Register(#[source] RegisterError),
}
