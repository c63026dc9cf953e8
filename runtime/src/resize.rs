//! Resizing: another number of workers for a tag, while it runs.

use std::io::ErrorKind;

use thiserror::Error;

use crate::backend::Backend;
use crate::runtime::{RuntimeOn, TagRef};
use crate::scaler::Scaler;

/// A tag that was not resized; each variant names the value at fault.
///
/// ```
/// use parkade::{ResizeError, Runtime, Tag};
///
/// let runtime = Runtime::builder().tag(Tag::new("io").workers(1).max_workers(4)).build()?;
/// let refused = runtime.resize(5).unwrap_err();
/// assert!(matches!(refused, ResizeError::BeyondPlaces { workers: 5, places: 4, .. }));
/// assert_eq!(
///     refused.to_string(),
///     "tag \"io\" cannot have 5 workers; it was built with room for 4"
/// );
/// # Ok::<(), parkade::BuildError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ResizeError {
    /// No workers: the tag's tasks would never run.
    #[error("tag {tag:?} cannot have 0 workers; it needs at least 1")]
    Zero {
        /// The tag.
        tag: String,
    },
    /// More workers than the tag has room for.
    #[error("tag {tag:?} cannot have {workers} workers; it was built with room for {places}")]
    BeyondPlaces {
        /// The tag.
        tag: String,
        /// The workers asked for.
        workers: usize,
        /// Its room: [`max_workers`](crate::Tag::max_workers) and [`max_blocked`](crate::Tag::max_blocked) together.
        places: usize,
    },
    /// More workers than the runtime's ceiling leaves beside the other tags' minimums.
    #[error(
        "tag {tag:?} cannot have {workers} workers: that makes {sum} over all tags, and the ceiling is {ceiling}"
    )]
    BeyondCeiling {
        /// The tag.
        tag: String,
        /// The workers asked for.
        workers: usize,
        /// What all tags would have at least.
        sum: usize,
        /// The limit, [`RuntimeBuilder::max_workers`](crate::RuntimeBuilder::max_workers).
        ceiling: usize,
    },
    /// The system did not start the thread that starts workers; here is what it said.
    #[error("the thread that starts workers could not be started: {0}")]
    NoThread(ErrorKind),
    /// The runtime or the tag is stopping or has stopped.
    #[error("the runtime or the tag has been stopped")]
    Stopping,
    /// This process is a child of the one that has the runtime's workers.
    #[error("the runtime belongs to the process that this one was forked from")]
    Forked,
}

impl<B: Backend> RuntimeOn<B> {
    /// Gives the default tag so many workers; see [`TagRef::resize`] for more and an example.
    ///
    /// # Errors
    ///
    /// As [`TagRef::resize`].
    pub fn resize(&self, workers: usize) -> Result<(), ResizeError> {
        self.default_tag().resize(workers)
    }
}

impl<B: Backend> TagRef<'_, B> {
    /// Gives this tag `workers` workers from now on: as its minimum and as its maximum.
    ///
    /// Use it to hand CPUs from one tag to another, or to follow a container's limit. Returns at once, and may be
    /// called from anywhere: tasks, hooks and alarms included. When it returns, those that are too many have
    /// been asked to leave, sleepers first: from then on at most `workers` workers of the tag look for another
    /// task; one that was just taking a task still runs it. A worker inside a task finishes it, calls the stop hook and ends; what is in its queues is
    /// the others'. New workers are started by a thread of the runtime's, in the free places of lowest index, and call
    /// the start hook. Of two calls the later one holds.
    ///
    /// Where the ceiling is reached, workers of other tags above their minimums are asked to leave as well; as long
    /// as they are inside a task, there are more threads than the ceiling says.
    ///
    /// A worker that cannot be started is counted as [`failed`](crate::TagMetrics::failed_starts) and
    /// [`missing`](crate::TagMetrics::missing), and tried again when tasks wait. The first call in a runtime whose tags
    /// cannot grow starts that thread; each call costs a lock, and a call to the backend per worker that leaves.
    ///
    /// # Errors
    ///
    /// [`ResizeError`], and nothing has changed: 0 workers, more than the tag has room for
    /// ([`max_workers`](crate::Tag::max_workers) + [`max_blocked`](crate::Tag::max_blocked)), more than the
    /// runtime's ceiling leaves, or a runtime that stops or is another process's.
    ///
    /// ```
    /// use parkade::{ResizeError, Runtime, Tag};
    ///
    /// let runtime = Runtime::builder()
    ///     .tag(Tag::new("io").workers(1).max_workers(4))
    ///     .build()?;
    /// let io = runtime.tag("io")?;
    /// io.resize(3)?;
    /// while runtime.metrics().total.workers < 3 {
    ///     std::thread::yield_now();
    /// }
    /// io.resize(1)?;
    /// assert_eq!(io.spawn(|| 6 * 7).join()?, 42);
    ///
    /// let error = io.resize(5).unwrap_err();
    /// assert!(matches!(error, ResizeError::BeyondPlaces { workers: 5, places: 4, .. }));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn resize(&self, workers: usize) -> Result<(), ResizeError> {
        Scaler::resize(self.shared, self.tag, workers)
    }
}
