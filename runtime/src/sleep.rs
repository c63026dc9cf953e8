//! Sleeping inside a task: until the time is up, or the runtime or the tag stops.
//!
//! The sleeper waits with a timeout of its own, on the condition variable on which a stop is announced: it
//! needs no timer and no other thread, and a stop reaches all sleepers by one call.

use std::thread;
use std::time::Duration;

use thiserror::Error;

use crate::blocking::blocking;
use crate::current;

/// The runtime or the tag stops, or is not this process's, so the sleep was not begun or not slept out.
///
/// See [`sleep`](sleep()) for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Error)]
#[error("the sleep ended early because the runtime or the tag is stopping")]
pub struct Stopped;

/// Blocks this task for `duration`, never less, or until its runtime or its tag stops.
///
/// Use it instead of [`std::thread::sleep`] in tasks, so that a stop need not wait for them: a stop under
/// either policy ends the sleeps that are under way and makes later ones return at once, from the moment it
/// is requested. [`Duration::MAX`] sleeps until then.
///
/// The worker's thread sleeps with the task, and counts as [`blocking`](crate::blocking()): unless the tag replaces it,
/// it has one worker less meanwhile. To do something later
/// without holding a worker use [`after`](crate::RuntimeOn::after). On a monotonic clock. Costs one
/// timed wait; takes no timer. On a thread that is no worker, an alarm's included, it is the sleep of std.
///
/// # Errors
///
/// [`Stopped`], if the runtime or the tag stops; what the task has begun it should then finish soon.
///
/// ```
/// use std::time::{Duration, Instant};
///
/// use parkade::{Policy, Runtime, Stopped};
///
/// let runtime = Runtime::builder().build()?;
/// let begun = Instant::now();
/// let cleaner = runtime.spawn(|| {
///     let mut rounds = 0;
///     while parkade::sleep(Duration::from_millis(1)).is_ok() {
///         rounds += 1;
///     }
///     rounds
/// });
/// runtime.sleep(Duration::from_millis(10))?;
/// runtime.shutdown(Policy::Drain, None)?;
/// let rounds: u32 = cleaner.join()?;
/// assert!(rounds * Duration::from_millis(1) <= begun.elapsed(), "no sleep was shorter");
/// assert_eq!(runtime.sleep(Duration::from_millis(10)), Err(Stopped));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn sleep(duration: Duration) -> Result<(), Stopped> {
    current::with_stopping(|stopping| match stopping {
        Some((stopping, tag)) => blocking(|| stopping.sleep(Some(tag), duration)),
        None => {
            thread::sleep(duration);
            Ok(())
        }
    })
}
