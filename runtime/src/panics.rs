//! What a panic on a worker comes to, as its tag has it.
//!
//! A panic of what users run never unwinds through a worker. It is caught where that code is called, counted, and
//! then shown to the policy of the worker's tag, on that thread, before anybody else can know of it.

use std::any::Any;
use std::fmt;
use std::io::{self, Write};
use std::panic::{self, AssertUnwindSafe};
use std::process;
use std::sync::Arc;

use crate::hooks::WorkerInfo;
use crate::job::drop_quietly;
use crate::trace;

/// What to do about a panic on a worker; given to a tag by [`Tag::on_panic`](crate::Tag::on_panic).
///
/// Whatever is chosen, no worker is lost to a panic. What panics, and what it comes to:
///
#[doc = include_str!("../docs/panic_outcomes.md")]
///
/// *Counted* is in [`TagMetrics::panicked`](crate::TagMetrics::panicked). The panic hook of the process, which
/// prints the message, comes before all of this, as for any panic.
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicUsize, Ordering};
///
/// use parkade::{PanicPolicy, Runtime, Tag};
///
/// let seen = Arc::new(AtomicUsize::new(0));
/// let count = Arc::clone(&seen);
/// let watched = PanicPolicy::handler(move |worker, _payload| {
///     eprintln!("a panic on {}", worker.thread_name());
///     count.fetch_add(1, Ordering::Relaxed);
/// });
/// let runtime = Runtime::builder().tag(Tag::new("watched").workers(1).on_panic(watched)).build()?;
/// let error = runtime.spawn(|| panic!("out of tea")).join().unwrap_err();
/// assert_eq!(error.to_string(), "the task panicked: out of tea");
/// assert_eq!(seen.load(Ordering::Relaxed), 1);
/// # Ok::<(), parkade::BuildError>(())
/// ```
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum PanicPolicy {
    /// The panic is the task's outcome and its handle's matter; the worker goes on.
    #[default]
    Carry,
    /// The process aborts at once, after a line on standard error that names the worker and the message: for
    /// programs that must not go on with what a panic left half done.
    Abort,
    /// This is called on the worker's thread with the payload; then as `Carry`. The task's handle has no outcome
    /// before it returns, so keep it short. It may spawn.
    Handler(PanicHandler),
}

/// What [`PanicPolicy::Handler`] calls.
///
/// ```
/// use std::sync::Arc;
///
/// use parkade::{PanicHandler, PanicPolicy, Runtime, Tag};
///
/// let handler: PanicHandler = Arc::new(|worker, _payload| eprintln!("a panic on {}", worker.thread_name()));
/// let watched = |name| Tag::new(name).workers(1).on_panic(PanicPolicy::Handler(Arc::clone(&handler)));
/// let runtime = Runtime::builder().tags([watched("io"), watched("compute")]).build()?;
/// assert!(runtime.spawn(|| panic!("out of tea")).join().is_err());
/// # Ok::<(), parkade::BuildError>(())
/// ```
pub type PanicHandler = Arc<dyn Fn(&WorkerInfo, &(dyn Any + Send)) + Send + Sync>;

impl PanicPolicy {
    /// [`PanicPolicy::Handler`] of a closure. See [`PanicPolicy`] for an example.
    #[must_use]
    pub fn handler(
        handler: impl Fn(&WorkerInfo, &(dyn Any + Send)) + Send + Sync + 'static,
    ) -> Self {
        Self::Handler(Arc::new(handler))
    }
}

/// Handlers are equal if they are the same one.
impl PartialEq for PanicPolicy {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Carry, Self::Carry) | (Self::Abort, Self::Abort) => true,
            (Self::Handler(this), Self::Handler(other)) => Arc::ptr_eq(this, other),
            _ => false,
        }
    }
}

impl Eq for PanicPolicy {}

impl fmt::Debug for PanicPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Carry => "Carry",
            Self::Abort => "Abort",
            Self::Handler(_) => "Handler",
        })
    }
}

/// The policy of one worker.
#[derive(Debug, Default)]
pub(crate) struct Panics {
    policy: PanicPolicy,
    /// `None` for alarms, which no tag's policy governs, and in tests.
    worker: Option<WorkerInfo>,
}

impl Panics {
    pub(crate) fn of(policy: PanicPolicy, worker: WorkerInfo) -> Self {
        Self {
            policy,
            worker: Some(worker),
        }
    }

    /// Does what the policy says about a panic; true if its handler has panicked as well.
    #[cold]
    pub(crate) fn act(&self, payload: &(dyn Any + Send)) -> bool {
        trace::panicked(self.worker.as_ref(), payload);
        let Some(worker) = &self.worker else {
            return false;
        };
        match &self.policy {
            PanicPolicy::Carry => false,
            PanicPolicy::Abort => {
                // It may not be writable, and a panic about that would be one too many.
                let _unheard = writeln!(
                    io::stderr(),
                    "parkade: worker {} of tag {:?} aborts the process, as its panic policy says: {}",
                    worker.index(),
                    worker.tag(),
                    message(payload).unwrap_or("a value that is no message")
                );
                process::abort()
            }
            PanicPolicy::Handler(handler) => {
                let called = panic::catch_unwind(AssertUnwindSafe(|| handler(worker, payload)));
                let panicked = called.is_err();
                drop_quietly(called);
                panicked
            }
        }
    }
}

/// What a panic says, if it says something.
pub(crate) fn message(payload: &(dyn Any + Send)) -> Option<&str> {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str))
}
