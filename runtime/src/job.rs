//! A job: the memory behind a task word.
//!
//! The core moves words; here a word is a pointer to a [`Header`], which is one function pointer. That
//! function knows the type behind it and carries out an [`Order`]: run, abandon, refuse, or clear a husk. An [`Entry`]
//! is the owning form of such a word: it is used exactly once, and one that is lost resolves as dropped.
//!
//! This file also has the simplest job, a detached closure: header and closure, so that a closure with
//! one captured pointer takes [two words](DETACHED_WORDS), cut off a block of many (`slab.rs`). A job with a handle is in `handled.rs`.
//!
//! A future that is to be polled is an entry too. Its memory is async-task's, and begins with no header of ours:
//! the lowest bit of the word, which is clear in the address of a job, [tells](POLL) the two apart. So a future takes
//! no second allocation, and a closure one predictable branch.
//!
//! # Panics
//!
//! Whatever belongs to the user is called or dropped inside `catch_unwind`: a worker survives its tasks.

use std::alloc::Layout;
use std::fmt;
use std::mem::{self, ManuallyDrop};
use std::num::NonZero;
use std::panic::{self, AssertUnwindSafe};
use std::ptr::NonNull;

use async_task::Runnable;
use parkade_core::Task;

use crate::counts::{DropCount, WorkerCounts};
use crate::refused::{Refused, RefusedReason};
use crate::slab;

/// The size of a detached job whose closure captures one pointer, in words.
#[cfg(test)]
const DETACHED_WORDS: usize = 2;

/// The bit of an entry's word that says: not a job, but a [`Runnable`]. Both are aligned to words, and the
/// runnable's memory begins with an atomic one.
const POLL: usize = 1;

/// The first field of every job.
///
/// The function consumes the entry's claim to the job: it may be called once.
pub(crate) struct Header {
    perform: unsafe fn(NonNull<Header>, Order<'_>),
}

/// What to do with a job that was taken out of the queues.
#[derive(Debug)]
pub(crate) enum Order<'a> {
    /// Run it on this thread and count that.
    Run(&'a WorkerCounts),
    /// Drop it unrun, though it had been accepted, and count that.
    Abandon(Option<&'a DropCount>),
    /// Drop it unrun, because it was not accepted.
    Refuse(RefusedReason),
    /// Clear it away if it is a husk, whose task its handle has run; else give the entry back.
    Clear(&'a mut Option<Entry>),
}

/// The queues' claim to a job: whoever holds it decides, once, what becomes of the job.
#[must_use = "an entry that is dropped abandons its task"]
pub(crate) struct Entry(NonNull<Header>);

// SAFETY: a job's closure and result are `Send` (the constructors ask for it), and its shared parts are
// synchronised by its state.
unsafe impl Send for Entry {}
// SAFETY: a shared reference to an entry gives away its address and nothing else.
unsafe impl Sync for Entry {}

/// An entry that was not accepted.
#[derive(Debug)]
pub(crate) struct RefusedEntry {
    pub(crate) entry: Entry,
    pub(crate) reason: RefusedReason,
}

impl Header {
    /// # Safety
    ///
    /// `perform` may rely on its pointer being that of the job which this header begins, with the
    /// provenance of the whole job; so the header must be the first field of a `repr(C)` job made for
    /// this function, and be reached by such pointers alone.
    #[inline]
    pub(crate) const unsafe fn new(perform: unsafe fn(NonNull<Header>, Order<'_>)) -> Self {
        Self { perform }
    }
}

impl Entry {
    /// # Safety
    ///
    /// `header` begins a live job, has the provenance of the whole of it, and is the only claim of the
    /// queues to it.
    #[inline]
    pub(crate) unsafe fn new(header: NonNull<Header>) -> Self {
        Self(header)
    }

    /// The claim to one poll of a future, or to its end.
    pub(crate) fn of_future(runnable: Runnable) -> Self {
        let address = runnable.into_raw();
        assert_eq!(address.addr().get() & POLL, 0, "aligned");
        Self(address.map_addr(|address| address | POLL).cast())
    }

    /// The word for the core's queues.
    #[inline]
    pub(crate) fn into_task(self) -> Task {
        Task::from_ptr(self.into_header().as_ptr().cast())
    }

    /// The entry that a word stands for.
    ///
    /// # Safety
    ///
    /// The task was made by [`into_task`](Entry::into_task).
    #[inline]
    pub(crate) unsafe fn from_task(task: Task) -> Self {
        // SAFETY: `into_task` made the word from a pointer that is not null.
        Self(unsafe { NonNull::new_unchecked(task.into_ptr().cast()) })
    }

    /// Runs the task, unless its handle's owner has run it already.
    pub(crate) fn run(self, counts: &WorkerCounts) {
        self.perform(Order::Run(counts));
    }

    /// Drops the task unrun and tells its handle.
    pub(crate) fn abandon(self, dropped: &DropCount) {
        self.perform(Order::Abandon(Some(dropped)));
    }

    /// Drops the task, which no queue took, and tells its handle why.
    pub(crate) fn refuse(self, reason: RefusedReason) {
        self.perform(Order::Refuse(reason));
    }

    /// Clears a husk away; anything else comes back.
    pub(crate) fn clear(self) -> Option<Self> {
        let mut back = None;
        self.perform(Order::Clear(&mut back));
        back
    }

    /// The pointer, the entry's claim with it.
    #[inline]
    pub(crate) fn into_header(self) -> NonNull<Header> {
        ManuallyDrop::new(self).0
    }

    #[inline]
    pub(crate) fn header(&self) -> NonNull<Header> {
        self.0
    }

    /// Lets a future's entry go without a use: for the copy of one in a forked process.
    pub(crate) fn forget(self) {
        let _leaked = self.into_header();
    }

    fn perform(self, order: Order<'_>) {
        let header = self.into_header();
        if let Some(address) = NonZero::new(header.addr().get() & !POLL)
            && address != header.addr()
        {
            let runnable = header.map_addr(|_| address).cast();
            // SAFETY: the word with that bit is that of a runnable (`of_future`), whose address this is, and
            // the entry's claim to it has just been consumed.
            let runnable = unsafe { Runnable::from_raw(runnable) };
            return perform_poll(runnable, order);
        }
        // SAFETY: an entry's job lives until the entry is used, and this uses it.
        let perform = unsafe { (*header.as_ptr()).perform };
        // SAFETY: the header is the first field of the job that `perform` was written for (`Header::new`),
        // and the entry's claim has just been consumed, so this is the only call.
        unsafe { perform(header, order) };
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        Self(self.0).perform(Order::Abandon(None));
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Entry").field(&self.0).finish()
    }
}

/// What a job runs: a closure, or one with a note about it.
pub(crate) trait Body<T> {
    fn call(self) -> T;
}

impl<T, F: FnOnce() -> T> Body<T> for F {
    fn call(self) -> T {
        self()
    }
}

/// Carries out an order for a future. Not inlined: a closure runs without it.
///
/// A poll is counted before it is made, because whoever waits for the future may look when it ends. Its panic has been
/// counted and is its outcome by the time it returns (see `spawned.rs`).
#[inline(never)]
fn perform_poll(runnable: Runnable, order: Order<'_>) {
    match order {
        Order::Run(counts) => {
            counts.count_run(None);
            // Until it is over (see `spawned.rs`) or its worker looks for another task.
            counts.enter_task();
            drop_quietly(panic::catch_unwind(|| runnable.run()));
        }
        Order::Abandon(dropped) => {
            if let Some(dropped) = dropped {
                dropped.count();
            }
            drop_quietly(runnable);
        }
        Order::Refuse(_) => drop_quietly(runnable),
        Order::Clear(back) => *back = Some(Entry::of_future(runnable)),
    }
}

/// A closure that nobody waits for.
#[repr(C)]
struct Detached<F> {
    header: Header,
    closure: F,
}

impl<F: Body<()> + Send + 'static> Detached<F> {
    /// It lives while it is queued, so its memory may be that of a block.
    const FROM_SLAB: bool = slab::takes(Layout::new::<Self>());

    fn entry(closure: F) -> Entry {
        let job = Self {
            // SAFETY: the header is the first field, `perform` is for this type, and the only pointer
            // to it is that of the memory that it is put into below.
            header: unsafe { Header::new(Self::perform) },
            closure,
        };
        let job = if Self::FROM_SLAB {
            let place = slab::take(Layout::new::<Self>()).cast();
            // SAFETY: the memory is for this layout, and nobody else's.
            unsafe { place.write(job) };
            place
        } else {
            NonNull::from(Box::leak(Box::new(job)))
        };
        // SAFETY: the job is live, the pointer covers all of it, and nobody else has it.
        unsafe { Entry::new(job.cast()) }
    }

    /// # Safety
    ///
    /// `header` came from [`entry`](Detached::entry), and its entry has been consumed for this call.
    unsafe fn reclaim(header: NonNull<Header>) -> F {
        let job = header.cast::<Self>();
        if !Self::FROM_SLAB {
            // SAFETY: `entry` leaked a box of this type at this address, and the consumed entry owned it.
            let job = unsafe { Box::from_raw(job.as_ptr()) };
            return job.closure;
        }
        // SAFETY: `entry` has put a job of this type there, and the consumed entry owned it.
        let Self { closure, .. } = unsafe { job.read() };
        // SAFETY: `entry` took it from there, and it is empty now.
        unsafe { slab::give_back(job.cast()) };
        closure
    }

    /// # Safety
    ///
    /// As for [`reclaim`](Detached::reclaim).
    unsafe fn perform(header: NonNull<Header>, order: Order<'_>) {
        if let Order::Clear(back) = order {
            // SAFETY: the entry was consumed for this call, and nothing else has been done with it.
            *back = Some(unsafe { Entry::new(header) });
            return;
        }
        // SAFETY: the caller's obligation is the same. The memory is given back before the closure runs: while it is
        // warm, and however long that takes.
        let closure = unsafe { Self::reclaim(header) };
        match order {
            Order::Run(counts) => {
                let outcome = panic::catch_unwind(AssertUnwindSafe(|| closure.call()));
                counts.count_run(outcome.as_ref().err().map(|payload| &**payload));
                drop_quietly(outcome);
            }
            Order::Abandon(dropped) => {
                if let Some(dropped) = dropped {
                    dropped.count();
                }
                drop_quietly(closure);
            }
            Order::Refuse(_) | Order::Clear(_) => drop_quietly(closure),
        }
    }
}

/// A job for a closure that nobody waits for.
pub(crate) fn detached<F: Body<()> + Send + 'static>(closure: F) -> Entry {
    Detached::entry(closure)
}

/// Makes a detached job and offers it; a refused closure comes back out of its job.
///
/// # Panics
///
/// If `offer` gives back another entry than it got, which would be a defect of this crate.
pub(crate) fn offer_detached<F: Body<()> + Send + 'static>(
    closure: F,
    offer: impl FnOnce(Entry) -> Result<(), RefusedEntry>,
) -> Result<(), Refused<F>> {
    let entry = Detached::entry(closure);
    let offered = entry.header();
    offer(entry).map_err(|RefusedEntry { entry, reason }| {
        assert_eq!(entry.header(), offered, "another entry came back");
        Refused {
            // SAFETY: this is the entry that was made above, of this type, and it is consumed here.
            task: unsafe { Detached::reclaim(entry.into_header()) },
            reason,
        }
    })
}

/// Calls what is the user's, such as a waker; a panic ends here.
pub(crate) fn call_quietly(call: impl FnOnce()) {
    drop_quietly(panic::catch_unwind(AssertUnwindSafe(call)));
}

/// Drops a value of the user's; a panic of its destructor ends here.
pub(crate) fn drop_quietly<V>(value: V) {
    let mut dropped = panic::catch_unwind(AssertUnwindSafe(|| drop(value)));
    for _ in 0..PAYLOADS {
        match dropped {
            Ok(()) => return,
            Err(payload) => {
                dropped = panic::catch_unwind(AssertUnwindSafe(|| drop(payload)));
            }
        }
    }
    mem::forget(dropped);
}

/// How many payloads are dropped, each of which may panic with the next, before one is leaked: somewhere
/// this has to end.
const PAYLOADS: usize = 4;

#[cfg(test)]
mod tests;
