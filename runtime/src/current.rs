//! What this thread is: which worker of which runtime, or a stranger.
//!
//! A worker's thread leaves a note about itself in a thread-local, as raw pointers, because neither the
//! backend's type nor the worker's lifetime can be named there. Whoever reads the note compares the
//! runtime's address first: two live objects never share one, so an equal address means the very same
//! runtime, hence the same backend.
//!
//! Strangers have an [`Origin`], the sticky choice of an inbox that the core asks of submitting threads.

use std::cell::Cell;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parkade_core::{Origin, Priority, Slot, TagIndex, WorkerIndex};

use crate::backend::Backend;
use crate::control::Worker;
use crate::counts::WorkerCounts;
use crate::future;
use crate::job::{Entry, Header, RefusedEntry};
use crate::process::Process;
use crate::progress::Stopping;
use crate::refused::RefusedReason;
use crate::shared::Shared;

use crate::timer::Timer;
use crate::timers::queue::Due;

/// A tag of one particular runtime, or one worker of it. Only to be compared.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Home {
    runtime: usize,
    tag: TagIndex,
    /// `None`: any worker of the tag is at home there.
    worker: Option<WorkerIndex>,
    process: Process,
}

impl Home {
    /// No tag of any runtime: no worker is at home there.
    pub(crate) fn nowhere<B: Backend>(shared: &Shared<B>) -> Self {
        Self {
            runtime: 0,
            ..Self::new(shared, TagIndex(0))
        }
    }

    pub(crate) fn new<B: Backend>(shared: &Shared<B>, tag: TagIndex) -> Self {
        Self {
            runtime: ptr::from_ref(shared).addr(),
            tag,
            worker: None,
            process: shared.process,
        }
    }

    pub(crate) fn of_worker<B: Backend>(
        shared: &Shared<B>,
        tag: TagIndex,
        worker: WorkerIndex,
    ) -> Self {
        let worker = Some(worker);
        Self {
            worker,
            ..Self::new(shared, tag)
        }
    }

    /// Whether a worker at `self` is at home in `home`.
    fn is_in(&self, home: &Self) -> bool {
        (self.runtime, self.tag) == (home.runtime, home.tag)
            && (home.worker.is_none() || home.worker == self.worker)
    }

    /// Whether its workers are this process's, not those of the one that this was forked from.
    pub(crate) fn is_in_this_process(&self) -> bool {
        self.process.is_this()
    }
}

/// A worker thread's note about itself.
#[derive(Clone, Copy)]
struct Note {
    home: Home,
    /// Gone once the work is over. The rest stays: destructors of thread-locals are still to run, and
    /// whoever stops the runtime waits for them.
    work: Option<Work>,
}

/// What a worker works with; good as long as it is noted.
#[derive(Clone, Copy)]
struct Work {
    counts: NonNull<WorkerCounts>,
    /// A `Worker<'_, B>` of the runtime at `home.runtime`.
    worker: NonNull<()>,
    stopping: NonNull<Stopping>,
    /// The worker's `Arc<Shared<B>>`.
    shared: NonNull<()>,
    ops: &'static WorkerOps,
}

/// What is done with a worker whose type is not known.
struct WorkerOps {
    /// [`Worker::clear_husk`].
    clear_husk: unsafe fn(NonNull<()>, NonNull<Header>),
    /// [`Worker::fork`].
    fork: unsafe fn(NonNull<()>, Entry) -> Result<(), RefusedEntry>,
    /// [`Worker::block`].
    block: unsafe fn(NonNull<()>),
    /// [`Worker::unblock`].
    unblock: unsafe fn(NonNull<()>),
    /// [`Worker::take_fork`].
    take_fork: unsafe fn(NonNull<()>, NonNull<Header>) -> Option<Entry>,
    /// [`Worker::requeue`].
    requeue: unsafe fn(NonNull<()>, Entry, Priority) -> Result<(), RefusedEntry>,
    /// An alarm of the runtime at [`Work::shared`].
    silent_alarm: unsafe fn(NonNull<()>, Due) -> Result<Timer<()>, RefusedReason>,
}

/// The work of the worker on this thread, while it is sure to be noted.
pub(crate) struct Noted(Work);

impl Noted {
    /// This worker's counts.
    pub(crate) fn counts(&self) -> &WorkerCounts {
        // SAFETY: the work is noted as long as `self` can be had (`with_work`), so `as_worker` is running on
        // this thread, below us on the stack, and the counts that it borrows are alive.
        unsafe { self.0.counts.as_ref() }
    }

    /// See [`Worker::clear_husk`].
    pub(crate) fn clear_husk(&self, husk: NonNull<Header>) {
        // SAFETY: noted, as above, so the worker that it borrows is alive too, and the function was noted
        // with it, for its type.
        unsafe { (self.0.ops.clear_husk)(self.0.worker, husk) };
    }

    /// See [`Worker::fork`].
    pub(crate) fn fork(&self, entry: Entry) -> Result<(), RefusedEntry> {
        // SAFETY: as in `clear_husk`.
        unsafe { (self.0.ops.fork)(self.0.worker, entry) }
    }

    /// See [`Worker::block`].
    pub(crate) fn block(&self) {
        // SAFETY: as in `clear_husk`.
        unsafe { (self.0.ops.block)(self.0.worker) };
    }

    /// See [`Worker::unblock`].
    pub(crate) fn unblock(&self) {
        // SAFETY: as in `clear_husk`.
        unsafe { (self.0.ops.unblock)(self.0.worker) };
    }

    /// See [`Worker::take_fork`].
    pub(crate) fn take_fork(&self, fork: NonNull<Header>) -> Option<Entry> {
        // SAFETY: as in `clear_husk`.
        unsafe { (self.0.ops.take_fork)(self.0.worker, fork) }
    }

    /// See [`Worker::requeue`].
    pub(crate) fn requeue(&self, entry: Entry, priority: Priority) -> Result<(), RefusedEntry> {
        // SAFETY: as in `clear_husk`.
        unsafe { (self.0.ops.requeue)(self.0.worker, entry, priority) }
    }

    /// An alarm of this worker's runtime that does nothing but end.
    pub(crate) fn silent_alarm(&self, due: Due) -> Result<Timer<()>, RefusedReason> {
        // SAFETY: noted, as in `clear_husk`, so what the worker's thread shares is alive, and the function is for
        // its type.
        unsafe { (self.0.ops.silent_alarm)(self.0.shared, due) }
    }
}

impl WorkerOps {
    const fn of<B: Backend>() -> &'static Self {
        &Self {
            clear_husk: |worker, husk| {
                // SAFETY: `Noted` passes the worker that these were noted with.
                unsafe { live_worker::<B>(&worker) }.clear_husk(husk);
            },
            fork: |worker, entry| {
                // SAFETY: as above.
                unsafe { live_worker::<B>(&worker) }.fork(entry)
            },
            block: |worker| {
                // SAFETY: as above.
                unsafe { live_worker::<B>(&worker) }.block();
            },
            unblock: |worker| {
                // SAFETY: as above.
                unsafe { live_worker::<B>(&worker) }.unblock();
            },
            take_fork: |worker, fork| {
                // SAFETY: as above.
                unsafe { live_worker::<B>(&worker) }.take_fork(fork)
            },
            requeue: |worker, entry, priority| {
                // SAFETY: as above.
                unsafe { live_worker::<B>(&worker) }.requeue(entry, priority)
            },
            silent_alarm: |shared, due| {
                // SAFETY: `Noted` passes what these were noted with, which outlives the call.
                let shared = unsafe { shared.cast::<Arc<Shared<B>>>().as_ref() };
                future::silent_alarm(shared, due)
            },
        }
    }
}

/// # Safety
///
/// `worker` is a live `Worker<'_, B>` of this thread.
unsafe fn live_worker<'w, B: Backend>(worker: &'w NonNull<()>) -> &'w Worker<'w, B> {
    // SAFETY: the caller says so.
    unsafe { worker.cast::<Worker<'w, B>>().as_ref() }
}

thread_local! {
    static NOTE: Cell<Option<Note>> = const { Cell::new(None) };
    static ORIGIN: Origin = Origin::new(next_seed());
}

/// Different for each thread, and far apart, so that few threads begin with the same inbox.
fn next_seed() -> usize {
    static THREADS: AtomicUsize = AtomicUsize::new(0);
    THREADS.fetch_add(1, Ordering::Relaxed).wrapping_add(1)
}

/// Runs `body` as a worker of `shared`: until it returns or unwinds, this thread is that worker.
pub(crate) fn as_worker<B: Backend, R>(
    shared: &Arc<Shared<B>>,
    slot: Slot,
    counts: &WorkerCounts,
    worker: &Worker<'_, B>,
    body: impl FnOnce() -> R,
) -> R {
    struct Over(Home);
    impl Drop for Over {
        fn drop(&mut self) {
            NOTE.set(Some(Note {
                home: self.0,
                work: None,
            }));
        }
    }
    let home = Home::of_worker(&**shared, slot.tag, slot.worker);
    // The references outlive this call, and what is noted of them goes before it ends.
    let _over = Over(home);
    NOTE.set(Some(Note {
        home,
        work: Some(Work {
            counts: NonNull::from(counts),
            worker: NonNull::from(worker).cast(),
            stopping: NonNull::from(&shared.stopping),
            shared: NonNull::from(shared).cast(),
            ops: WorkerOps::of::<B>(),
        }),
    }));
    body()
}

/// Runs `body` as the timer thread of `shared`: like a worker it must not wait for the runtime's end, but it
/// has no queues and belongs to no tag.
pub(crate) fn as_driver<B: Backend>(shared: &Shared<B>, body: impl FnOnce()) {
    NOTE.set(Some(Note {
        home: Home::new(shared, TagIndex(usize::MAX)),
        work: None,
    }));
    body();
}

/// Calls `act` with how far the end of this worker's runtime has come, and its tag, if this thread is at work as one
/// and not its copy in a forked process.
pub(crate) fn with_stopping<R>(act: impl FnOnce(Option<(&Stopping, TagIndex)>) -> R) -> R {
    let note = NOTE.get().filter(|note| note.home.is_in_this_process());
    let work = note.and_then(|note| Some((note.work?, note.home.tag)));
    act(work.map(|(work, tag)| {
        // SAFETY: the work is noted, so `as_worker` is running on this thread, below us on the stack, and the
        // runtime that it borrows is alive until after this call.
        let stopping = unsafe { work.stopping.as_ref() };
        (stopping, tag)
    }))
}

/// Whether this thread is a worker of that runtime, of whichever tag, or was until its work was over; or its
/// timer thread.
pub(crate) fn is_worker_of<B: Backend>(shared: &Shared<B>) -> bool {
    tag_in(shared).is_some()
}

/// The tag of that runtime to which this thread belongs as a worker, as above; no tag's index if it is another thread
/// of it.
pub(crate) fn tag_in<B: Backend>(shared: &Shared<B>) -> Option<TagIndex> {
    let note = NOTE.get()?;
    (note.home.runtime == ptr::from_ref(shared).addr()).then_some(note.home.tag)
}

/// Calls `act` with this thread's worker, if it is one of that tag of that runtime.
#[inline]
pub(crate) fn with_worker<B: Backend, R>(
    shared: &Shared<B>,
    tag: TagIndex,
    act: impl FnOnce(Option<&Worker<'_, B>>) -> R,
) -> R {
    act(work_at(Home::new(shared, tag)).map(|work| {
        // SAFETY: the work is noted, so `as_worker` is running on this thread, below us on the stack, and
        // its worker is alive until after this call. The addresses are equal and `shared` is alive: it is
        // the runtime that the note was written for, so `B` is the backend of that worker.
        unsafe { work.worker.cast::<Worker<'_, B>>().as_ref() }
    }))
}

/// Calls `act` with this worker's work, if this thread is a worker there.
pub(crate) fn with_work<R>(home: Home, act: impl FnOnce(Option<&Noted>) -> R) -> R {
    // Noted until `act` returns: `as_worker` is below us on the stack.
    let work = work_at(home).filter(|_| home.is_in_this_process());
    act(work.map(Noted).as_ref())
}

/// Calls `act` with the work of whichever worker this thread is.
#[inline]
pub(crate) fn with_own_work<R>(act: impl FnOnce(Option<&Noted>) -> R) -> R {
    // As in `with_work`. In a fork the worker's fellows are not there, nor whoever holds their locks.
    let note = NOTE.get().filter(|note| note.home.is_in_this_process());
    act(note.and_then(|note| note.work).map(Noted).as_ref())
}

fn work_at(home: Home) -> Option<Work> {
    let note = NOTE.get().filter(|note| note.home.is_in(&home))?;
    note.work
}

/// Calls `act` with this thread's origin.
pub(crate) fn with_origin<R>(act: impl FnOnce(&Origin) -> R) -> R {
    let mut act = Some(act);
    let tried = ORIGIN.try_with(|origin| act.take().map(|act| act(origin)));
    match (tried, act) {
        (Ok(Some(done)), _) => done,
        // The thread is ending and its origin is gone: any other will do for the last few tasks.
        (_, Some(act)) => act(&Origin::new(next_seed())),
        (_, None) => unreachable!("the closure is used at most once"),
    }
}
