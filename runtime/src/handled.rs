//! A job with a handle: closure first, outcome later, in the same place.
//!
//! Two references hold the job: the queues' [`Entry`] and the spawner's [`Promised`]. Whoever takes the
//! closure has claimed it in the [`State`](crate::state::State), so it is taken once, either by the one
//! who took the entry out of the queues or by the handle, which then runs it itself and leaves an empty
//! *husk* in the queue. Whoever leaves last frees the memory, and the outcome with it if nobody took it.
//!
//! The handle knows the result's type but not the closure's; what depends on the latter goes through
//! [`HandleOps`].

use std::fmt;
use std::mem::ManuallyDrop;
use std::panic::{self, AssertUnwindSafe};
use std::ptr::NonNull;
use std::task::{Context, Poll};
use std::time::Instant;

use crate::counts::WorkerCounts;
use crate::job::{Body, Entry, Header, Order, RefusedEntry, drop_quietly};
use crate::join_error::{JoinError, PanicPayload};
use crate::latch::Latch;
use crate::refused::Refused;
use crate::state::Left;
use crate::sync::UnsafeCell;

/// What a task came to.
pub(crate) type Outcome<T> = Result<T, JoinError>;

/// The part of a job that its handle can reach.
#[repr(C)]
struct Head<T: 'static> {
    header: Header,
    ops: &'static HandleOps<T>,
    latch: Latch,
}

/// What the handle does that depends on the closure's type.
struct HandleOps<T: 'static> {
    /// Runs the claimed closure on this thread.
    run: unsafe fn(NonNull<Head<T>>) -> Outcome<T>,
    /// Moves the outcome out of a job that is done.
    take: unsafe fn(NonNull<Head<T>>) -> Option<Outcome<T>>,
    /// Frees a job that nobody else refers to.
    free: unsafe fn(NonNull<Head<T>>),
}

#[repr(C)]
struct Handled<F, T: 'static> {
    head: Head<T>,
    stage: UnsafeCell<Stage<F, T>>,
}

enum Stage<F, T> {
    Waiting(F),
    Finished(Outcome<T>),
    /// Claimed, or taken by the handle.
    Empty,
}

/// What carries out the orders for a job of this type.
type Perform = unsafe fn(NonNull<Header>, Order<'_>);

impl<F, T> Handled<F, T>
where
    F: Body<T> + Send,
    T: Send + 'static,
{
    const OPS: &'static HandleOps<T> = &HandleOps {
        run: Self::run_here,
        take: Self::take_outcome,
        free: Self::free,
    };

    /// `perform` is one of this type's two.
    fn pair(closure: F, perform: Perform) -> (Entry, Promised<T>) {
        let job = Box::new(Self {
            head: Head {
                // SAFETY: the header is the first field of the first field, both `repr(C)`; `perform` is
                // for this type; the only pointer to it is the one that is leaked below.
                header: unsafe { Header::new(perform) },
                ops: Self::OPS,
                latch: Latch::new(),
            },
            stage: UnsafeCell::new(Stage::Waiting(closure)),
        });
        let job = NonNull::from(Box::leak(job));
        // SAFETY: the job is live until both references have left; this is the only entry.
        let entry = unsafe { Entry::new(job.cast()) };
        (entry, Promised(job.cast()))
    }

    /// Carries out an order for an entry that was taken out of the queues.
    ///
    /// # Safety
    ///
    /// `header` came from [`pair`](Handled::pair), and its entry has been consumed for this call.
    unsafe fn perform(header: NonNull<Header>, mut order: Order<'_>) {
        let job = header.cast::<Self>();
        // SAFETY: the entry's reference keeps the job alive.
        let latch = unsafe { &raw const (*job.as_ptr()).head.latch };
        // SAFETY: alive, as above, until one of the two calls below gives the reference up.
        let state = unsafe { &(*latch).state };
        if let Order::Clear(back) = &mut order
            && !state.is_claimed()
        {
            // SAFETY: the entry was consumed for this call, and nothing else has been done with it.
            **back = Some(unsafe { Entry::new(header) });
            return;
        }
        let left = if state.claim() {
            // SAFETY: this thread has claimed the closure just now.
            let closure = unsafe { Self::take_closure(job) };
            let outcome = match order {
                Order::Run(counts) => {
                    let outcome = call(closure);
                    count(counts, &outcome);
                    outcome
                }
                Order::Abandon(dropped) => {
                    if let Some(dropped) = dropped {
                        dropped.count();
                    }
                    drop_quietly(closure);
                    Err(JoinError::Dropped)
                }
                Order::Refuse(reason) => {
                    drop_quietly(closure);
                    Err(JoinError::Refused(reason))
                }
                Order::Clear(_) => unreachable!("only a husk is cleared away"),
            };
            // SAFETY: the entry's reference keeps the job alive. Claimed and not done: the stage is this
            // thread's.
            let _empty = unsafe { Self::restage(job, Stage::Finished(outcome)) };
            // SAFETY: this call has the entry's reference and made the claim; of the job it uses nothing
            // after, unless it is the last.
            unsafe { Latch::set(latch) }
        } else {
            state.leave_entry()
        };
        if left == Left::Last {
            // SAFETY: the handle has left, and so has the entry.
            let job = unsafe { Box::from_raw(job.as_ptr()) };
            drop_quietly(job);
        }
    }

    /// The same for a job of a scope: one that is dropped is left to its handle, which will run it.
    ///
    /// # Safety
    ///
    /// As for [`perform`](Handled::perform).
    unsafe fn perform_scoped(header: NonNull<Header>, order: Order<'_>) {
        if !matches!(order, Order::Abandon(_) | Order::Refuse(_)) {
            // SAFETY: the caller's obligation is the same.
            return unsafe { Self::perform(header, order) };
        }
        let head = header.cast::<Head<T>>();
        // SAFETY: the entry's reference keeps the job alive until it is given up by this statement.
        let left = unsafe { &(*head.as_ptr()).latch }.state.leave_entry();
        if left == Left::Last {
            // SAFETY: the handle has left, and so has the entry.
            unsafe { Self::free(head) };
        }
    }

    /// Leaves the stage in another condition, and returns what it was.
    ///
    /// # Safety
    ///
    /// The job is alive, and its stage belongs to the caller for now.
    unsafe fn restage(job: NonNull<Self>, next: Stage<F, T>) -> Stage<F, T> {
        // SAFETY: the job is alive.
        let stage = unsafe { &(*job.as_ptr()).stage };
        stage.with_mut(|stage| {
            // SAFETY: the stage is the caller's.
            unsafe { stage.replace(next) }
        })
    }

    /// # Safety
    ///
    /// The caller has claimed the closure and has not taken it yet.
    unsafe fn take_closure(job: NonNull<Self>) -> F {
        // SAFETY: the claimant has a reference to the job, so it is alive, and between claim and done the
        // stage belongs to the claimant.
        match unsafe { Self::restage(job, Stage::Empty) } {
            Stage::Waiting(closure) => closure,
            Stage::Finished(_) | Stage::Empty => unreachable!("a claim is won once"),
        }
    }

    /// # Safety
    ///
    /// The caller is the handle, and has claimed the closure.
    unsafe fn run_here(head: NonNull<Head<T>>) -> Outcome<T> {
        // SAFETY: the caller has the claim, and the pointer comes from `pair`.
        call(unsafe { Self::take_closure(head.cast()) })
    }

    /// # Safety
    ///
    /// The caller is the handle, and has read that the job is done.
    unsafe fn take_outcome(head: NonNull<Head<T>>) -> Option<Outcome<T>> {
        // SAFETY: the handle has not left, so the job is alive, and once done the stage belongs to the handle.
        match unsafe { Self::restage(head.cast(), Stage::Empty) } {
            Stage::Finished(outcome) => Some(outcome),
            Stage::Waiting(_) | Stage::Empty => None,
        }
    }

    /// # Safety
    ///
    /// Both references have left, and the caller was the last.
    unsafe fn free(head: NonNull<Head<T>>) {
        // SAFETY: `pair` leaked a box of this type at this address; nobody else refers to it.
        drop_quietly(unsafe { Box::from_raw(head.cast::<Self>().as_ptr()) });
    }
}

/// Calls a closure of the user's and catches its panic, destructors of its captures included.
fn call<T>(closure: impl Body<T>) -> Outcome<T> {
    panic::catch_unwind(AssertUnwindSafe(|| closure.call()))
        .map_err(|payload| JoinError::Panicked(PanicPayload::new(payload)))
}

/// Counts what a task has come to.
pub(crate) fn count<T>(counts: &WorkerCounts, outcome: &Outcome<T>) {
    match outcome {
        Err(JoinError::Panicked(payload)) => {
            payload.with(|payload| counts.count_run(Some(payload)))
        }
        _ => counts.count_run(None),
    }
}

/// The handle's reference to a job. Unique, so that what takes `self` or `&mut self` has no rival.
pub(crate) struct Promised<T: 'static>(NonNull<Head<T>>);

// SAFETY: of the job it moves at most the outcome between threads, which is `Send`; the rest is the
// latch, which is synchronised, and the closure, which is `Send` too (`pair` asks for it).
unsafe impl<T: Send> Send for Promised<T> {}
// SAFETY: through a shared reference only the latch's state is read, which is atomic.
unsafe impl<T: Send> Sync for Promised<T> {}

impl<T: 'static> Promised<T> {
    /// Whether the outcome is there.
    pub(crate) fn is_done(&self) -> bool {
        self.latch().state.is_done()
    }

    /// Whether somebody has begun to run or to drop the task. A hint.
    pub(crate) fn is_claimed(&self) -> bool {
        self.latch().state.is_claimed()
    }

    /// Sleeps until the outcome is there or the deadline has passed; true if it is there.
    pub(crate) fn wait(&mut self, deadline: Option<Instant>) -> bool {
        // SAFETY: this is the job's handle, borrowed exclusively.
        unsafe { self.latch().wait(deadline) }
    }

    /// Takes the outcome, or comes back if there is none yet.
    pub(crate) fn take(mut self) -> Result<Outcome<T>, Self> {
        self.take_now().ok_or(self)
    }

    /// Takes the outcome if it is there. Taken once more it is an error that says: dropped.
    pub(crate) fn take_now(&mut self) -> Option<Outcome<T>> {
        if !self.is_done() {
            return None;
        }
        let take = self.ops().take;
        // SAFETY: this is the handle, and the job is done.
        let outcome = unsafe { take(self.0) };
        Some(outcome.unwrap_or(Err(JoinError::Dropped)))
    }

    /// Has nobody woken any more.
    pub(crate) fn give_up(&mut self) {
        // SAFETY: this is the job's handle, borrowed exclusively.
        unsafe { self.latch().give_up() };
    }

    /// Takes the outcome, or has the context's task woken when it is there.
    pub(crate) fn poll(&mut self, context: &Context<'_>) -> Poll<Outcome<T>> {
        // SAFETY: this is the job's handle, borrowed exclusively.
        if unsafe { self.latch().poll(context) } {
            // Registered too late means done too; this reads it once more, by which the outcome is complete.
            self.take_now().map_or(Poll::Pending, Poll::Ready)
        } else {
            Poll::Pending
        }
    }

    /// Runs the task on this thread if nobody has begun with it; else comes back. Counted by whoever calls.
    ///
    /// Between claiming and running, `clear_husk` is told where the entry's job is, so that it may take the
    /// entry out of the queues. The handle is not dropped before, so no other job is at that place.
    pub(crate) fn claim_here(
        self,
        clear_husk: impl FnOnce(NonNull<Header>),
    ) -> Result<Outcome<T>, Self> {
        if self.is_claimed() || !self.latch().state.claim() {
            return Err(self);
        }
        clear_husk(self.0.cast());
        let run = self.ops().run;
        // SAFETY: this is the handle, and it has just claimed the closure.
        Ok(unsafe { run(self.0) })
    }

    /// The same on a worker, which counts it.
    pub(crate) fn run_here(
        self,
        counts: &WorkerCounts,
        clear_husk: impl FnOnce(NonNull<Header>),
    ) -> Result<Outcome<T>, Self> {
        let outcome = self.claim_here(clear_husk)?;
        count(counts, &outcome);
        counts.enter_task();
        Ok(outcome)
    }

    fn latch(&self) -> &Latch {
        // SAFETY: the handle's reference keeps the job alive as long as `self`.
        unsafe { &(*self.0.as_ptr()).latch }
    }

    fn ops(&self) -> &'static HandleOps<T> {
        // SAFETY: alive, as above; the field is never written.
        unsafe { (*self.0.as_ptr()).ops }
    }
}

impl<T: 'static> Drop for Promised<T> {
    fn drop(&mut self) {
        self.give_up();
        let free = self.ops().free;
        // The reference to the latch ends with this statement, before the other side may free the job.
        let left = self.latch().state.leave_handle();
        if left == Left::Last {
            // SAFETY: the entry has left before, the handle just now.
            unsafe { free(self.0) };
        }
    }
}

impl<T: 'static> fmt::Debug for Promised<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.latch().state.fmt(f)
    }
}

/// A job for a closure whose outcome somebody may wait for.
pub(crate) fn promised<F, T>(closure: F) -> (Entry, Promised<T>)
where
    F: Body<T> + Send + 'static,
    T: Send + 'static,
{
    Handled::pair(closure, Handled::<F, T>::perform)
}

/// A job for a closure that borrows. If its entry is dropped unrun, the handle has it to run.
///
/// # Safety
///
/// Before anything ends that the closure borrows, the caller runs it by [`Promised::claim_here`] or waits until
/// the job is done.
pub(crate) unsafe fn scoped<F>(closure: F) -> (Entry, Promised<()>)
where
    F: FnOnce() + Send,
{
    Handled::pair(closure, Handled::<F, ()>::perform_scoped)
}

/// What a scope does with one task, for tests: lends the entry out, then runs the task or waits for it.
#[cfg(test)]
pub(crate) fn in_scope<F>(closure: F, lend: impl FnOnce(Entry))
where
    F: FnOnce() + Send,
{
    // SAFETY: run or waited for below; what the tests do in `lend` does not unwind.
    let (entry, promised) = unsafe { scoped(closure) };
    lend(entry);
    if let Err(mut promised) = promised.claim_here(|_| ()) {
        assert!(promised.wait(None));
        assert!(promised.take().is_ok_and(|outcome| outcome.is_ok()));
    }
}

/// Makes a job with a handle and offers it; a refused closure comes back out of its job.
///
/// # Panics
///
/// If `offer` gives back another entry than it got, which would be a defect of this crate.
pub(crate) fn offer_promised<F, T>(
    closure: F,
    offer: impl FnOnce(Entry) -> Result<(), RefusedEntry>,
) -> Result<Promised<T>, Refused<F>>
where
    F: Body<T> + Send + 'static,
    T: Send + 'static,
{
    let (entry, promised) = promised(closure);
    let offered = entry.header();
    match offer(entry) {
        Ok(()) => Ok(promised),
        Err(RefusedEntry { entry, reason }) => {
            assert_eq!(entry.header(), offered, "another entry came back");
            let job = entry.into_header().cast::<Handled<F, T>>();
            // The box below owns the job; the handle's reference goes into it.
            let _ = ManuallyDrop::new(promised);
            // SAFETY: this is the job that was made above; both references to it have just been consumed.
            let job = unsafe { Box::from_raw(job.as_ptr()) };
            match job.stage.into_inner() {
                Stage::Waiting(task) => Err(Refused { task, reason }),
                Stage::Finished(_) | Stage::Empty => unreachable!("a refused job was not claimed"),
            }
        }
    }
}

#[cfg(test)]
mod tests;
