//! The builder: everything about a runtime that is decided before its first thread.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crossbeam_utils::CachePadded;
use parkade_core::{ConfigError, TagConfig};

use crate::backend::{Backend, FenceChoice};
use crate::build_error::BuildError;
use crate::control::Control;
use crate::counts::{DropCount, WorkerCounts};
use crate::hooks::{Hooks, WorkerInfo};
use crate::interrupt::{Interrupt, Interrupter};
use crate::latency::Recorder;
use crate::live::LiveFutures;
use crate::names;
use crate::panics::Panics;
use crate::plan::Plan;
use crate::process::Process;
use crate::progress::Stopping;
use crate::runtime::RuntimeOn;
use crate::scaler::Scaler;
use crate::scaler::tally::Tally;
use crate::shared::{Seat, Shared, TagSeats};
use crate::start::{self, Starter};
use crate::tag::Tag;
use crate::timers::{TimerThread, Timers};

/// The name of the tag that a runtime has if none is described.
///
/// ```
/// use parkade::{DEFAULT_TAG, Runtime};
///
/// let runtime = Runtime::builder().build()?;
/// assert_eq!(runtime.default_tag().name(), DEFAULT_TAG);
/// # Ok::<(), parkade::BuildError>(())
/// ```
pub const DEFAULT_TAG: &str = "default";

/// What to do when the system refuses to start a thread.
///
/// ```
/// use parkade::{OnThreadError, Runtime};
///
/// let runtime = Runtime::builder().on_thread_error(OnThreadError::RunWithFewer).build()?;
/// let total = runtime.metrics().total;
/// println!("{} workers, {} missing", total.workers, total.missing);
/// assert!(total.workers >= 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum OnThreadError {
    /// Stop those that have started, and return [`BuildError::Thread`].
    #[default]
    Fail,
    /// Run with those that have started, as long as each tag has at least one; the rest shows in
    /// [`TagMetrics::missing`](crate::TagMetrics::missing).
    RunWithFewer,
}

/// Describes a runtime; made by [`RuntimeOn::builder`].
///
/// ```
/// use parkade::{Runtime, Tag};
///
/// let runtime = Runtime::builder()
///     .tag(Tag::new("requests").workers(2))
///     .tag(Tag::new("background").workers(1))
///     .thread_name("web-")
///     .build()?;
/// let answer = runtime.tag("background")?.spawn(|| 6 * 7);
/// assert_eq!(answer.join()?, 42);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "nothing exists before `build`"]
pub struct RuntimeBuilder<B> {
    /// `None`: nothing was said about tags.
    tags: Option<Vec<Tag>>,
    prefix: String,
    stack_size: Option<usize>,
    fences: FenceChoice,
    hooks: Hooks,
    on_thread_error: OnThreadError,
    measure_latency: bool,
    max_workers: Option<usize>,
    interrupt: Interrupt,
    backend: PhantomData<fn() -> B>,
}

impl<B: Backend> RuntimeBuilder<B> {
    pub(crate) fn new() -> Self {
        Self {
            tags: None,
            prefix: "pk-".to_owned(),
            stack_size: None,
            fences: FenceChoice::Auto,
            hooks: Hooks::default(),
            on_thread_error: OnThreadError::Fail,
            measure_latency: false,
            max_workers: None,
            interrupt: Interrupt::Auto,
            backend: PhantomData,
        }
    }

    /// Adds a tag. The first one added is the default tag, which [`RuntimeOn::spawn`] uses; if none is
    /// added there is one called [`DEFAULT_TAG`] with a worker per CPU. See [`RuntimeBuilder`] for an example.
    pub fn tag(self, tag: Tag) -> Self {
        self.tags([tag])
    }

    /// Adds tags; an empty list is an error unless others are added.
    ///
    /// ```
    /// use parkade::{Runtime, Tag};
    ///
    /// let names = ["requests", "reports"];
    /// let runtime = Runtime::builder().tags(names.map(|name| Tag::new(name).workers(1))).build()?;
    /// assert_eq!(runtime.default_tag().name(), "requests");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn tags(mut self, tags: impl IntoIterator<Item = Tag>) -> Self {
        self.tags.get_or_insert_default().extend(tags);
        self
    }

    /// Sets what thread names begin with, before tag and index; by default `pk-`. A name is at most 15
    /// bytes: a long front is cut and the tag's index put in, so that names stay unique.
    ///
    /// ```
    /// use parkade::{Runtime, Tag};
    ///
    /// let runtime = Runtime::builder()
    ///     .tag(Tag::new("analytics-heavy").workers(1))
    ///     .thread_name("db-")
    ///     .build()?;
    /// let name = runtime.spawn(|| std::thread::current().name().map(str::to_owned)).join()?;
    /// assert_eq!(name.as_deref(), Some("db-analytic~0-0"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn thread_name(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Sets the stack of each worker and of the runtime's other threads in bytes, at least 16 KiB; by default that of
    /// [`std::thread::Builder`].
    ///
    /// ```
    /// use parkade::Runtime;
    ///
    /// let runtime = Runtime::builder().stack_size(256 * 1024).build()?;
    /// assert!(Runtime::builder().stack_size(1024).build().is_err(), "too small");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.stack_size = Some(bytes);
        self
    }

    /// Sets which memory fences the queues use; by default the cheapest that the system grants.
    /// See [`FenceChoice`] for an example.
    pub fn fences(mut self, fences: FenceChoice) -> Self {
        self.fences = fences;
        self
    }

    /// Sets what each worker calls on its own thread before its first task. It may spawn. A panic of
    /// this or any hook is counted as [`panicked`](crate::TagMetrics::panicked) and dealt with as the tag's
    /// [`PanicPolicy`](crate::PanicPolicy) says.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    ///
    /// use parkade::{Policy, Runtime, Tag};
    ///
    /// let alive = Arc::new(AtomicUsize::new(0));
    /// let (up, down) = (Arc::clone(&alive), Arc::clone(&alive));
    /// let runtime = Runtime::builder()
    ///     .tag(Tag::new("io").workers(3))
    ///     .on_start(move |worker| {
    ///         println!("{} starts", worker.thread_name());
    ///         up.fetch_add(1, Ordering::Relaxed);
    ///     })
    ///     .on_stop(move |_worker| {
    ///         down.fetch_sub(1, Ordering::Relaxed);
    ///     })
    ///     .build()?;
    /// runtime.broadcast(|_| ()).into_iter().try_for_each(|copy| copy.join())?;
    /// assert_eq!(alive.load(Ordering::Relaxed), 3);
    /// runtime.shutdown(Policy::Drain, None)?;
    /// assert_eq!(alive.load(Ordering::Relaxed), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn on_start(mut self, hook: impl Fn(&WorkerInfo) + Send + Sync + 'static) -> Self {
        self.hooks.start = Some(Arc::new(hook));
        self
    }

    /// Sets what each worker calls on its own thread after its last task. What it spawns is refused when the
    /// runtime stops; a worker that retires may spawn. See [`RuntimeBuilder::on_start`] for an example.
    pub fn on_stop(mut self, hook: impl Fn(&WorkerInfo) + Send + Sync + 'static) -> Self {
        self.hooks.stop = Some(Arc::new(hook));
        self
    }

    /// Sets what each worker calls on its own thread right before it sleeps. It may spawn; then the
    /// worker does not sleep. Calls of this and of the unpark hook alternate.
    ///
    /// ```
    /// use std::sync::mpsc;
    ///
    /// use parkade::{Runtime, Tag};
    ///
    /// let (tell, told) = mpsc::channel();
    /// let tell_too = tell.clone();
    /// let runtime = Runtime::builder()
    ///     .tag(Tag::new("only").workers(1))
    ///     .on_park(move |worker| _ = tell.send((worker.index(), "sleeps")))
    ///     .on_unpark(move |worker| _ = tell_too.send((worker.index(), "wakes")))
    ///     .build()?;
    /// assert_eq!(told.recv()?, (0, "sleeps"), "it has nothing to do");
    /// runtime.spawn(|| ()).join()?;
    /// assert_eq!(told.recv()?, (0, "wakes"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn on_park(mut self, hook: impl Fn(&WorkerInfo) + Send + Sync + 'static) -> Self {
        self.hooks.park = Some(Arc::new(hook));
        self
    }

    /// Sets what each worker calls on its own thread right after it slept.
    /// See [`RuntimeBuilder::on_park`] for an example.
    pub fn on_unpark(mut self, hook: impl Fn(&WorkerInfo) + Send + Sync + 'static) -> Self {
        self.hooks.unpark = Some(Arc::new(hook));
        self
    }

    /// Sets what to do when the system refuses to start a thread; by default that is an error.
    /// See [`OnThreadError`] for an example.
    pub fn on_thread_error(mut self, policy: OnThreadError) -> Self {
        self.on_thread_error = policy;
        self
    }

    /// Sets whether it is measured how long tasks wait between their creation and their start; by default it is
    /// not, and costs nothing but a look at this.
    ///
    /// Measured are tasks that are spawned, alone or in a batch, and timed ones from the moment when they are due;
    /// not the parts of a [`join`](crate::join()), a scope or a loop. Each costs two readings of the clock and a
    /// lock that only a snapshot contends for, some 100 ns, and each worker 42 KiB. The numbers are in
    /// [`TagMetrics::latency`](crate::TagMetrics::latency). See [`Latency`](crate::Latency) for an example.
    pub fn measure_latency(mut self, on: bool) -> Self {
        self.measure_latency = on;
        self
    }

    /// Sets a ceiling over the workers of all tags, at least the sum of their minimums; by default there is none.
    ///
    /// A tag grows above its minimum only while the sum over all tags, each with its minimum at least, stays
    /// below it. So it never takes a tag's minimum, however busy the others are; and one that is
    /// [resized](crate::TagRef::resize) has the others give back what they have above theirs.
    ///
    /// ```
    /// use parkade::{BuildError, Runtime, Tag};
    ///
    /// let tags = ["hot", "quiet"].map(|name| Tag::new(name).workers(1).max_workers(4));
    /// let runtime = Runtime::builder().tags(tags.clone()).max_workers(5).build()?;
    /// let error = Runtime::builder().tags(tags).max_workers(1).build().unwrap_err();
    /// assert!(matches!(error, BuildError::BelowMinimums { ceiling: 1, sum: 2 }), "{error}");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn max_workers(mut self, workers: usize) -> Self {
        self.max_workers = Some(workers);
        self
    }

    /// Sets whether and how a stop interrupts workers that are blocked in system calls; by default
    /// [`Interrupt::Auto`]. See [`Interrupt`] for an example.
    pub fn interrupt(mut self, interrupt: Interrupt) -> Self {
        self.interrupt = interrupt;
        self
    }

    /// Checks everything, then starts the threads; returns when each has started and is in its place.
    /// See [`RuntimeBuilder`] for an example.
    ///
    /// # Errors
    ///
    /// [`BuildError`] names the value at fault. Nothing of the runtime is left.
    pub fn build(self) -> Result<RuntimeOn<B>, BuildError> {
        let tags = self.tags.unwrap_or_else(|| vec![Tag::new(DEFAULT_TAG)]);
        let plan = Plan::new::<B>(&tags, &self.prefix, self.stack_size, self.max_workers)?;
        let interrupter = Interrupter::new(self.interrupt, B::interrupts())?;
        let process = Process::this::<B>().map_err(BuildError::ForkDetection)?;
        let configs: Vec<TagConfig> = plan.tags.iter().map(|tag| tag.queues).collect();
        let control = Control::new(&B::new(self.fences), &configs)
            .map_err(|source| queues_error(source, &plan))?;
        let seats = plan.tags.iter().map(|tag| TagSeats {
            name: tag.name.clone(),
            seats: tag
                .workers
                .iter()
                .map(|worker| {
                    let info = worker.info.clone();
                    let panics = Panics::of(tag.on_panic.clone(), info.clone());
                    let latency = self.measure_latency.then(Recorder::new);
                    let counts = CachePadded::new(WorkerCounts::new(panics, latency));
                    let misplaced = AtomicBool::new(false);
                    Seat {
                        info,
                        counts,
                        misplaced,
                    }
                })
                .collect(),
            dropped: DropCount::default(),
            ran_outside: DropCount::default(),
            live: LiveFutures::new(process),
        });
        let timer_thread = TimerThread {
            name: names::own_thread(&self.prefix, "timer"),
            stack_size: self.stack_size,
            process_cpus: plan.process_cpus.as_deref().map(Box::from),
        };
        let timers = Timers::new(timer_thread, process);
        let bounds = plan.tags.iter().map(|tag| tag.bounds);
        let ceiling = self.max_workers.unwrap_or(usize::MAX);
        let scaler = Scaler::new(
            Tally::new(bounds, ceiling),
            plan.tags.len(),
            Starter::new(&plan, self.stack_size),
            names::own_thread(&self.prefix, "scaler"),
            process,
        );
        let shared = Arc::new(Shared {
            control,
            process,
            tags: seats.collect(),
            hooks: self.hooks,
            timers: Arc::new(timers),
            scaler,
            stopping: Stopping::new(plan.tags.len()),
            interrupter,
            measures_latency: self.measure_latency,
        });
        start::start(&shared, &plan, self.on_thread_error)?;
        Ok(RuntimeOn::new(shared))
    }
}

/// Puts the name of the tag to the core's complaint.
fn queues_error(source: ConfigError, plan: &Plan) -> BuildError {
    let index = match (source, source.tag()) {
        (_, Some(tag)) => tag.0,
        // The first tag that does not fit.
        (ConfigError::Tags(error), None) => error.capacity,
        (_, None) => 0,
    };
    BuildError::Queues {
        tag: plan.tags[index].name.clone(),
        source,
    }
}

impl<B> fmt::Debug for RuntimeBuilder<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RuntimeBuilder")
            .field("tags", &self.tags)
            .field("thread_name", &self.prefix)
            .field("stack_size", &self.stack_size)
            .field("fences", &self.fences)
            .field("hooks", &self.hooks)
            .field("on_thread_error", &self.on_thread_error)
            .field("measure_latency", &self.measure_latency)
            .field("max_workers", &self.max_workers)
            .field("interrupt", &self.interrupt)
            .finish()
    }
}
