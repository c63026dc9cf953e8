//! What a stop came to.

use std::fmt;
use std::time::Duration;

use crate::stop::Policy;

/// The outcome of [`shutdown`](crate::RuntimeOn::shutdown) of a runtime, or [of a tag](crate::TagRef::shutdown).
///
/// ```
/// use std::sync::mpsc;
/// use std::time::Duration;
///
/// use parkade::{Policy, Runtime, StillRunning, Tag};
///
/// let runtime = Runtime::builder().tag(Tag::new("io").workers(1)).build()?;
/// let (begun, begins) = mpsc::channel();
/// let (let_go, wait) = mpsc::channel::<()>();
/// let stubborn = runtime.spawn(move || {
///     begun.send(()).ok();
///     wait.recv().is_err()
/// });
/// begins.recv()?;
/// let report = runtime.shutdown(Policy::Drain, Some(Duration::from_millis(10)))?;
/// assert!(!report.is_complete());
/// let [StillRunning { tag, worker, .. }] = &report.still_running[..] else { unreachable!("it waits") };
/// assert_eq!((tag.as_str(), *worker), ("io", 0));
/// println!("{report}");
/// drop(let_go);
/// assert!(stubborn.join()?, "it was left to itself, and ends");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// The policy that the stop began with.
    pub policy: Policy,
    /// Tasks that ran in the life of the runtime or the tag, those that panicked included; of futures each poll.
    pub ran: usize,
    /// Tasks that were accepted and then dropped without having run.
    pub dropped: usize,
    /// Workers that had not left when the deadline passed; empty after a full stop. Their threads are
    /// detached: each leaves when its task ends.
    pub still_running: Vec<StillRunning>,
    /// The name of the timer thread, if an [`alarm`](crate::RuntimeOn::alarm) had not returned when the
    /// deadline passed. It is detached as well, and ends when that returns.
    pub alarm_still_running: Option<String>,
    /// How many times a worker that may have been blocked in a system call was [interrupted](crate::Interrupt).
    pub interrupts: usize,
    /// Why a worker could not be interrupted, if that was wanted and due: the last time.
    pub interrupt_failure: Option<String>,
    /// How long the stop took.
    pub elapsed: Duration,
}

/// A worker that had not left when the deadline passed.
///
/// See [`Report`] for an example.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StillRunning {
    /// The name of its tag.
    pub tag: String,
    /// Its index within the tag.
    pub worker: usize,
    /// The name of its thread.
    pub thread_name: String,
}

impl Report {
    /// Whether every worker and the timer thread have left, so that no thread of the runtime is left.
    /// See [`Report`] for an example.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.still_running.is_empty() && self.alarm_still_running.is_none()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let policy = match self.policy {
            Policy::Drain => "drained",
            Policy::Abandon => "abandoned",
        };
        write!(f, "{policy} in {:.1?}", self.elapsed)?;
        if self.interrupts > 0 {
            write!(f, " with {} interrupts", self.interrupts)?;
        }
        if let Some(why) = &self.interrupt_failure {
            write!(f, " (not interrupted: {why})")?;
        }
        write!(f, ": {} tasks ran, {} dropped", self.ran, self.dropped)?;
        if !self.still_running.is_empty() {
            write!(f, "; {} workers still run:", self.still_running.len())?;
            for worker in &self.still_running {
                write!(f, " {}", worker.thread_name)?;
            }
        }
        if let Some(thread) = &self.alarm_still_running {
            write!(f, "; an alarm still runs: {thread}")?;
        }
        Ok(())
    }
}
