//! The global runtime: for programs that need one set of workers and no configuration.
//!
//! It is made by whoever needs it first, with [`Runtime::builder`]'s defaults, unless the program has set one
//! of its own by then. There is one per process, on the [`DefaultBackend`](crate::DefaultBackend); all else is
//! a reference to it, so nothing here is on the way of a task into a queue but one load.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::sync::OnceLock;

use crate::backend::selected::Runtime;
use crate::future;
use crate::handle::JoinHandle;
use crate::refused::RefusedReason;
use crate::task::Task;
use crate::timer::Timer;
use crate::timers::queue::Due;

static GLOBAL: OnceLock<Runtime> = OnceLock::new();

/// The global runtime; made by the first call, unless [`set_global`] came before.
///
/// It has one tag, [`DEFAULT_TAG`](crate::DEFAULT_TAG), with a worker per CPU that the process may use (see
/// [`available_parallelism`](std::thread::available_parallelism)). Use it where a library or a small program
/// needs workers and has no opinion on them; a program with tags, limits or hooks builds a [`Runtime`] and
/// either keeps it or sets it as this one. Costs one load once it is there. Any thread may call it; on a
/// worker of another runtime it still is the global one.
///
/// # The end of the process
///
/// It lives in a static, so it is never dropped: when `main` returns, the process ends at once, whatever is
/// queued or running, as with detached threads. A program that wants its tasks done joins their handles, or
/// ends with `parkade::global().shutdown(Policy::Drain, None)`. After that it is stopped for good, and
/// [`spawn`] is refused. In a child process made by `fork` it still is the parent's, if that had made one, and
/// refuses as well; use it once before the fork, or not at all, so that no other thread is making it meanwhile.
///
/// # Panics
///
/// If it has to be made and the system refuses its threads; the message is the
/// [`BuildError`](crate::BuildError)'s, and the next call tries again. To handle that instead, build a runtime
/// and [set](set_global) it.
///
/// ```
/// use parkade::{DEFAULT_TAG, Policy};
///
/// let metrics = parkade::global().metrics();
/// assert_eq!(metrics.tags[0].name, DEFAULT_TAG);
/// assert_eq!(
///     metrics.total.workers,
///     std::thread::available_parallelism().map_or(1, |cpus| cpus.get()),
/// );
/// parkade::global().shutdown(Policy::Drain, None)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn global() -> &'static Runtime {
    GLOBAL.get_or_init(|| match Runtime::builder().build() {
        Ok(runtime) => runtime,
        Err(error) => panic!("the global runtime cannot be built: {error}"),
    })
}

/// Makes `runtime` the global one, before anybody has used it.
///
/// Call it early in `main`. A library should not: it is the program's decision, and the first one counts.
///
/// # Errors
///
/// [`GlobalAlreadySet`] with the runtime, if there is a global one already, set or made on first use.
///
/// ```
/// use parkade::{Runtime, Tag};
///
/// let runtime = Runtime::builder().tag(Tag::new("all").workers(2)).build()?;
/// parkade::set_global(runtime)?;
/// assert_eq!(parkade::spawn(|| 6 * 7).join()?, 42);
/// assert_eq!(parkade::global().default_tag().name(), "all");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn set_global(runtime: Runtime) -> Result<(), GlobalAlreadySet> {
    GLOBAL.set(runtime).map_err(GlobalAlreadySet)
}

/// Spawns a task in the default tag of the [`global`] runtime; see [`TagRef::spawn`](crate::TagRef::spawn).
///
/// # Panics
///
/// As for [`global`].
///
/// ```
/// let answer = parkade::spawn(|| 6 * 7);
/// assert_eq!(answer.join()?, 42);
/// # Ok::<(), parkade::JoinError>(())
/// ```
pub fn spawn<F, T>(task: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    global().spawn(task)
}

/// Spawns a future in the default tag of the [`global`] runtime; see [`TagRef::spawn_async`](crate::TagRef::spawn_async).
///
/// # Panics
///
/// As for [`global`].
///
/// ```
/// let answer = parkade::spawn_async(async { 6 * 7 });
/// assert_eq!(answer.join()?, 42);
/// # Ok::<(), parkade::JoinError>(())
/// ```
pub fn spawn_async<F>(future: F) -> Task<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    global().spawn_async(future)
}

/// An alarm of the global runtime that does nothing but end.
pub(crate) fn silent_alarm(due: Due) -> Result<Timer<()>, RefusedReason> {
    future::silent_alarm(&global().shared, due)
}

/// There is a global runtime already. The one that was to become it comes back; dropping it stops it.
///
/// ```
/// use parkade::{GlobalAlreadySet, Runtime, Tag};
///
/// parkade::spawn(|| ()).join()?; // the first use
/// let own = Runtime::builder().tag(Tag::new("own").workers(1)).build()?;
/// let GlobalAlreadySet(own) = parkade::set_global(own).unwrap_err();
/// assert_eq!(own.spawn(|| 6 * 7).join()?, 42);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct GlobalAlreadySet(
    /// The runtime, as it was given.
    pub Runtime,
);

impl fmt::Debug for GlobalAlreadySet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GlobalAlreadySet").finish_non_exhaustive()
    }
}

impl fmt::Display for GlobalAlreadySet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("there is a global runtime already")
    }
}

impl Error for GlobalAlreadySet {}
