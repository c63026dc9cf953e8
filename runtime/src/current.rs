//! What this thread is: which worker of which runtime, or a stranger.
//!
//! A worker's thread leaves a note about itself in a thread-local, as raw pointers, because neither the
//! backend's type nor the worker's lifetime can be named there. Whoever reads the note compares the
//! runtime's address first: two live objects never share one, so an equal address means the very same
//! runtime, hence the same backend.
//!
//! The free `join` knows no runtime. It asks whether the backend is the default one, and then calls that worker
//! directly (`direct.rs`), so that all of a fork is inlined; any other backend's by a table of functions.
//!
//! Strangers have an [`Origin`], the sticky choice of an inbox that the core asks of submitting threads.

use std::cell::Cell;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parkade_core::{Origin, Priority, Slot, TagIndex, WorkerIndex};

use crate::backend::Backend;
use crate::control::{Fork, TakenBack, Worker};
use crate::counts::WorkerCounts;
use crate::direct;
use crate::future;
use crate::job::{Entry, Header, RefusedEntry};
use crate::linger::Looks;
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

/// A worker thread's note about what it works with: while it is noted, the frame that has it, and all that it points to,
/// is below on the stack.
pub(crate) struct Noted {
    /// A `Worker<'_, B>` of the runtime at `home.runtime`.
    worker: NonNull<()>,
    counts: NonNull<WorkerCounts>,
    /// See [`Worker::looks`].
    looks: Looks,
    ops: &'static WorkerOps,
    home: Home,
    stopping: NonNull<Stopping>,
    /// The worker's `Arc<Shared<B>>`.
    shared: NonNull<()>,
}

/// Where workers fork: what fork-join needs of one.
pub(crate) trait Forks: Copy {
    /// See [`Worker::fork`].
    fn fork(self, entry: Entry) -> Result<Fork, RefusedEntry>;
    /// See [`Worker::take_fork`].
    fn take_fork(self, fork: Fork) -> Option<TakenBack>;
    /// This worker's counts.
    fn counts(&self) -> &WorkerCounts;
    /// See [`Worker::looks`].
    fn looks(&self) -> Looks;
}

impl<B: Backend> Forks for &Worker<'_, B> {
    #[inline(always)]
    fn fork(self, entry: Entry) -> Result<Fork, RefusedEntry> {
        Worker::fork(self, entry)
    }

    #[inline(always)]
    fn take_fork(self, fork: Fork) -> Option<TakenBack> {
        Worker::take_fork(self, fork)
    }

    #[inline]
    fn counts(&self) -> &WorkerCounts {
        Worker::counts(self)
    }

    fn looks(&self) -> Looks {
        Worker::looks(self)
    }
}

impl Forks for &Noted {
    fn fork(self, entry: Entry) -> Result<Fork, RefusedEntry> {
        // SAFETY: as in `clear_husk`.
        unsafe { (self.ops.fork)(self.worker, entry) }
    }

    fn take_fork(self, fork: Fork) -> Option<TakenBack> {
        // SAFETY: as in `clear_husk`.
        unsafe { (self.ops.take_fork)(self.worker, fork) }
    }

    fn counts(&self) -> &WorkerCounts {
        Noted::counts(self)
    }

    fn looks(&self) -> Looks {
        self.looks
    }
}

/// What is done with a worker whose type is not known.
struct WorkerOps {
    /// [`Worker::clear_husk`].
    clear_husk: unsafe fn(NonNull<()>, NonNull<Header>),
    /// [`Worker::fork`].
    fork: unsafe fn(NonNull<()>, Entry) -> Result<Fork, RefusedEntry>,
    /// [`Worker::block`].
    block: unsafe fn(NonNull<()>),
    /// [`Worker::unblock`].
    unblock: unsafe fn(NonNull<()>),
    /// [`Worker::take_fork`].
    take_fork: unsafe fn(NonNull<()>, Fork) -> Option<TakenBack>,
    /// [`Worker::requeue`].
    requeue: unsafe fn(NonNull<()>, Entry, Priority) -> Result<(), RefusedEntry>,
    /// An alarm of the runtime at [`Noted::shared`].
    silent_alarm: unsafe fn(NonNull<()>, Due) -> Result<Timer<()>, RefusedReason>,
}

impl Noted {
    /// This worker's counts.
    #[inline]
    pub(crate) fn counts(&self) -> &WorkerCounts {
        // SAFETY: `self` can be had as long as it is noted (`with_note`), so `as_worker` is running on this thread, below
        // us on the stack, and the counts that it borrows are alive.
        unsafe { self.counts.as_ref() }
    }

    /// See [`Worker::clear_husk`].
    pub(crate) fn clear_husk(&self, husk: NonNull<Header>) {
        // SAFETY: noted, as above, so the worker that it borrows is alive too, and the function was noted
        // with it, for its type.
        unsafe { (self.ops.clear_husk)(self.worker, husk) };
    }

    /// See [`Worker::block`].
    pub(crate) fn block(&self) {
        // SAFETY: as in `clear_husk`.
        unsafe { (self.ops.block)(self.worker) };
    }

    /// See [`Worker::unblock`].
    pub(crate) fn unblock(&self) {
        // SAFETY: as in `clear_husk`.
        unsafe { (self.ops.unblock)(self.worker) };
    }

    /// See [`Worker::requeue`].
    pub(crate) fn requeue(&self, entry: Entry, priority: Priority) -> Result<(), RefusedEntry> {
        // SAFETY: as in `clear_husk`.
        unsafe { (self.ops.requeue)(self.worker, entry, priority) }
    }

    /// An alarm of this worker's runtime that does nothing but end.
    pub(crate) fn silent_alarm(&self, due: Due) -> Result<Timer<()>, RefusedReason> {
        // SAFETY: noted, as in `clear_husk`, so what the worker's thread shares is alive, and the function is for
        // its type.
        unsafe { (self.ops.silent_alarm)(self.shared, due) }
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
    /// Null, or good until it is null again.
    static NOTE: Cell<*const Noted> = const { Cell::new(ptr::null()) };
    /// Of a worker or a timer thread. It stays when the work is over: destructors of thread-locals are still to run,
    /// and whoever stops the runtime waits for them.
    static HOME: Cell<Option<Home>> = const { Cell::new(None) };
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
    worker: &Worker<'_, B>,
    body: impl FnOnce() -> R,
) -> R {
    struct Over;
    impl Drop for Over {
        fn drop(&mut self) {
            NOTE.set(ptr::null());
        }
    }
    let home = Home::of_worker(&**shared, slot.tag, slot.worker);
    let note = Noted {
        worker: NonNull::from(worker).cast(),
        counts: NonNull::from(worker.counts()),
        looks: worker.looks(),
        ops: WorkerOps::of::<B>(),
        home,
        stopping: NonNull::from(&shared.stopping),
        shared: NonNull::from(shared).cast(),
    };
    HOME.set(Some(home));
    // The references outlive this call, and the note of them goes before it ends.
    let _over = Over;
    NOTE.set(&raw const note);
    let _direct = direct::note(worker);
    body()
}

/// Runs `body` as the timer thread of `shared`: like a worker it must not wait for the runtime's end, but it
/// has no queues and belongs to no tag.
pub(crate) fn as_driver<B: Backend>(shared: &Shared<B>, body: impl FnOnce()) {
    HOME.set(Some(Home::new(shared, TagIndex(usize::MAX))));
    body();
}

/// Calls `act` with the note of whichever worker this thread is, also if it is the copy of one in a forked process.
#[inline]
pub(crate) fn with_note<R>(act: impl FnOnce(Option<&Noted>) -> R) -> R {
    // SAFETY: a note that is not null is that of `as_worker`, which is running on this thread, below us on the stack,
    // until after this call.
    act(unsafe { NOTE.get().as_ref() })
}

/// The same as [`with_note`], but nobody in a forked process: there the worker's fellows are not, nor whoever holds their locks.
pub(crate) fn with_own_work<R>(act: impl FnOnce(Option<&Noted>) -> R) -> R {
    with_note(|note| act(note.filter(|note| note.home.is_in_this_process())))
}

/// Calls `act` with how far the end of this worker's runtime has come, and its tag, if this thread is at work as one
/// and not its copy in a forked process.
pub(crate) fn with_stopping<R>(act: impl FnOnce(Option<(&Stopping, TagIndex)>) -> R) -> R {
    with_own_work(|work| {
        act(work.map(|note| {
            // SAFETY: noted, as in `counts`, so the runtime that it borrows is alive until after this call.
            let stopping = unsafe { note.stopping.as_ref() };
            (stopping, note.home.tag)
        }))
    })
}

/// Whether this thread is a worker of that runtime, of whichever tag, or was until its work was over; or its
/// timer thread.
pub(crate) fn is_worker_of<B: Backend>(shared: &Shared<B>) -> bool {
    tag_in(shared).is_some()
}

/// The tag of that runtime to which this thread belongs as a worker, as above; no tag's index if it is another thread
/// of it.
pub(crate) fn tag_in<B: Backend>(shared: &Shared<B>) -> Option<TagIndex> {
    let home = HOME.get()?;
    (home.runtime == ptr::from_ref(shared).addr()).then_some(home.tag)
}

/// Calls `act` with this thread's worker, if it is one of that tag of that runtime, also in a forked process.
#[inline]
pub(crate) fn with_worker<B: Backend, R>(
    shared: &Shared<B>,
    tag: TagIndex,
    act: impl FnOnce(Option<&Worker<'_, B>>) -> R,
) -> R {
    with_note(|note| {
        let runtime = ptr::from_ref(shared).addr();
        let there = |home: Home| (home.runtime, home.tag) == (runtime, tag);
        act(note.filter(|note| there(note.home)).map(|note| {
            // SAFETY: noted, as in `counts`, so the worker is alive. The addresses are equal and `shared` is alive: it
            // is the runtime that the note was written for, so `B` is the backend of that worker.
            unsafe { live_worker(&note.worker) }
        }))
    })
}

/// Calls `act` with this worker's work, if this thread is a worker there.
pub(crate) fn with_work<R>(home: Home, act: impl FnOnce(Option<&Noted>) -> R) -> R {
    with_own_work(|work| act(work.filter(|note| note.home.is_in(&home))))
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
