//! A job on its waiter's stack: for a closure that borrows, and whose waiter goes no further without it.
//!
//! A handled job (`handled.rs`) lives on the heap, because its entry may lie in a queue for long after its
//! handle has run the closure. Here the order is turned round: the waiter stays until the entry is used up, and
//! so the job may lie in the waiter's frame, cost no allocation, and borrow what the frame can see.
//!
//! # How an entry is used up
//!
//! 1. The waiter takes it out of the queues itself, and runs the closure in place ([`Lent::taken_back`]).
//!    The usual way; no atomic of the job is touched.
//! 2. A worker takes it out and runs it; the outcome comes by the [`Latch`].
//! 3. Somebody drops it, because the runtime stops. The closure stays where it is, and the waiter, told by the
//!    latch, has it back.
//!
//! In 2 and 3 the frame is the waiter's again once the entry's reference is given up, which is after the
//! finisher's last access ([`Latch::wait_until_left`]).
//!
//! # Danger
//!
//! A waiter that unwinds past its job leaves a queue with a pointer to nothing. All that is the user's is
//! called inside `catch_unwind`, and a defect of this crate that would unwind through a [`Lent`] aborts.

use std::marker::PhantomData;
use std::mem::{self, ManuallyDrop, MaybeUninit};
use std::panic::{self, AssertUnwindSafe};
use std::process;
use std::ptr::NonNull;
use std::thread;

use crate::control::TakenBack;
use crate::job::{Entry, Header, Order, RefusedEntry};
use crate::latch::Latch;
use crate::linger::Looks;
use crate::sync::UnsafeCell;

/// A closure, later its outcome, in the frame of whoever waits for it.
///
/// Both cells belong to whoever has used the entry up. The closure is taken once: by who runs it, or else by the
/// waiter, who can tell by the outcome. That is written by who has taken the entry out, before it says so.
#[repr(C)]
pub(crate) struct StackJob<F, T> {
    header: Header,
    latch: Latch,
    closure: UnsafeCell<ManuallyDrop<F>>,
    outcome: UnsafeCell<MaybeUninit<Option<thread::Result<T>>>>,
}

/// What a waiter gets when its job's entry is used up.
pub(crate) enum Ended<F, T> {
    /// The closure has run elsewhere.
    Elsewhere(thread::Result<T>),
    /// Nobody ran the closure, and nobody else will.
    Unrun(F),
}

/// A job whose entry is in the queues; it must come to an end before the frame that it borrows does, and may be
/// forgotten by nobody but this file.
#[must_use = "the job's frame may not go before the entry is used up"]
pub(crate) struct Lent<'j, F, T> {
    /// A live job, with the provenance of the whole of it.
    job: NonNull<StackJob<F, T>>,
    _frame: PhantomData<&'j mut StackJob<F, T>>,
}

impl<F, T> StackJob<F, T>
where
    F: FnOnce() -> T + Send,
    T: Send,
{
    fn new(closure: F) -> Self {
        Self {
            // SAFETY: the header is the first field, `perform` is for this type, and the one pointer that
            // entries are made of is that of `lend`, which covers the whole job.
            header: unsafe { Header::new(Self::perform) },
            latch: Latch::new(),
            closure: UnsafeCell::new(ManuallyDrop::new(closure)),
            outcome: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// Makes a job in `frame`, and offers its entry to the queues. Returns also what `offer` has.
    ///
    /// If it is not accepted, the closure comes back.
    #[inline]
    pub(crate) fn lend<R>(
        frame: &mut MaybeUninit<Self>,
        closure: F,
        offer: impl FnOnce(Entry) -> Result<R, RefusedEntry>,
    ) -> Result<(Lent<'_, F, T>, R), F> {
        // The guard first: from here on nothing may unwind.
        let lent = Lent {
            job: NonNull::from(frame.write(Self::new(closure))),
            _frame: PhantomData,
        };
        // SAFETY: the job is alive until `lent` is used up, which waits for the end of the entry; the pointer
        // covers the whole job; and `lent` has the frame to itself, so this is the only entry.
        let entry = unsafe { Entry::new(lent.header()) };
        match offer(entry) {
            Ok(accepted) => Ok((lent, accepted)),
            Err(refused) => Err(lent.came_back(refused.entry)),
        }
    }

    /// Carries out an order for an entry that was taken out of the queues.
    ///
    /// # Safety
    ///
    /// `header` came from [`lend`](StackJob::lend), and its entry has been consumed for this call.
    unsafe fn perform(header: NonNull<Header>, order: Order<'_>) {
        let job = header.cast::<Self>();
        let outcome = match order {
            Order::Clear(back) => {
                // SAFETY: the entry was consumed for this call, and nothing else has been done with it.
                *back = Some(unsafe { Entry::new(header) });
                return;
            }
            Order::Run(counts) => {
                // SAFETY: the waiter keeps the job alive until the entry's reference is given up below.
                let job = unsafe { job.as_ref() };
                // SAFETY: this call has the entry, and takes the closure once.
                let closure = unsafe { job.take_closure() };
                let outcome = panic::catch_unwind(AssertUnwindSafe(closure));
                counts.count_run(outcome.as_ref().err().map(|payload| &**payload));
                Some(outcome)
            }
            // The waiter has the closure back. It also counts what has become of it.
            Order::Abandon(_) | Order::Refuse(_) => None,
        };
        // SAFETY: alive, as above.
        let place = unsafe { &(*job.as_ptr()).outcome };
        place.with_mut(|place| {
            // SAFETY: this call has the entry.
            unsafe { place.write(MaybeUninit::new(outcome)) }
        });
        // SAFETY: alive, as above; only the place is named.
        let latch = unsafe { &raw const (*job.as_ptr()).latch };
        // SAFETY: this call has the entry's reference, which is what entitles to the closure here, and uses
        // nothing of the job after. The handle never leaves, so nobody is the last and nothing is freed.
        let _remains = unsafe { Latch::set(latch) };
    }

    /// # Safety
    ///
    /// The caller has used the entry up, or is the waiter and the entry has left; and nobody has taken the closure.
    #[inline]
    unsafe fn take_closure(&self) -> F {
        self.closure.with_mut(|closure| {
            // SAFETY: the cell is the caller's.
            let closure = unsafe { &mut *closure };
            // SAFETY: it is taken this once.
            unsafe { ManuallyDrop::take(closure) }
        })
    }
}

impl<F, T> Lent<'_, F, T>
where
    F: FnOnce() -> T + Send,
    T: Send,
{
    /// Where the job is, to find its entry in a queue.
    #[inline]
    pub(crate) fn header(&self) -> NonNull<Header> {
        self.job.cast()
    }

    /// Takes the closure back out of a job whose entry has come back.
    #[inline]
    fn came_back(self, entry: Entry) -> F {
        let used_up = entry.into_header();
        assert!(used_up == self.header(), "another entry came back");
        self.unrun()
    }

    /// Takes the closure back out of a job whose entry was taken out of the queues.
    ///
    /// The caller is believed: it is this very job's.
    #[inline(always)]
    pub(crate) fn taken_back(self, _entry: TakenBack) -> F {
        self.unrun()
    }

    /// The closure of a job whose entry is used up, and which nobody has run or waited for.
    #[inline(always)]
    fn unrun(self) -> F {
        // SAFETY: alive, as `self` is not used up.
        let job = unsafe { self.job.as_ref() };
        mem::forget(self);
        // Nothing else in the job needs to be dropped: nobody has waited or finished.
        // SAFETY: this is the waiter, it has used the entry up, and has not run it.
        unsafe { job.take_closure() }
    }

    /// Looks so often, then sleeps, until the entry is used up by others.
    pub(crate) fn wait(self, looks: Looks) -> Ended<F, T> {
        // SAFETY: alive, as `self` is not used up.
        let latch = unsafe { &self.job.as_ref().latch };
        looks.look(|| latch.state.has_entry_left());
        // SAFETY: `self` is the handle to the job: unique, and consumed here.
        unsafe { latch.wait_until_left() };
        // SAFETY: the entry has left: the job is the waiter's alone, which does not use it again.
        let job = unsafe { self.job.read() };
        mem::forget(self);
        // SAFETY: whoever had the entry has written it.
        match unsafe { job.outcome.into_inner().assume_init() } {
            Some(outcome) => Ended::Elsewhere(outcome),
            // Whoever had the entry has not run it, or there were an outcome.
            None => Ended::Unrun(ManuallyDrop::into_inner(job.closure.into_inner())),
        }
    }
}

impl<F, T> Drop for Lent<'_, F, T> {
    /// The frame is about to go while a queue may point to it: no way out is sound but this.
    fn drop(&mut self) {
        process::abort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counts::{DropCount, WorkerCounts};
    use crate::refused::RefusedReason;
    use std::cell::Cell;
    use std::sync::mpsc;

    /// Lends a job whose closure returns what it borrows; the entry is kept by whoever calls.
    fn lend<'j, F, T>(
        frame: &'j mut MaybeUninit<StackJob<F, T>>,
        closure: F,
        kept: &Cell<Option<Entry>>,
    ) -> Lent<'j, F, T>
    where
        F: FnOnce() -> T + Send,
        T: Send,
    {
        let lent = StackJob::lend(frame, closure, |entry| {
            kept.set(Some(entry));
            Ok(())
        });
        lent.unwrap_or_else(|_| unreachable!("it was accepted")).0
    }

    #[test]
    fn a_job_that_nobody_took_gives_its_closure_back() {
        let word = String::from("word");
        let kept = Cell::new(None);
        let mut frame = MaybeUninit::uninit();
        let lent = lend(&mut frame, || word.as_str(), &kept);
        let closure = lent.came_back(kept.take().unwrap());
        assert_eq!(closure(), "word");
    }

    #[test]
    fn a_refused_job_gives_its_closure_back() {
        let word = String::from("word");
        let mut frame = MaybeUninit::uninit();
        let reason = RefusedReason::Full;
        let refused = StackJob::lend(
            &mut frame,
            || word.len(),
            |entry| Err::<(), _>(RefusedEntry { entry, reason }),
        );
        assert_eq!(refused.err().unwrap()(), 4);
    }

    #[test]
    fn a_dropped_job_gives_its_closure_back() {
        let dropped = DropCount::default();
        let word = String::from("word");
        let kept = Cell::new(None);
        let mut frame = MaybeUninit::uninit();
        let lent = lend(&mut frame, || word.as_str(), &kept);
        kept.take().unwrap().abandon(&dropped);
        match lent.wait(Looks::NONE) {
            Ended::Unrun(closure) => assert_eq!(closure(), "word"),
            Ended::Elsewhere(_) => panic!("nobody has run it"),
        }
        assert_eq!(dropped.get(), 0, "that is the waiter's to count");
    }

    #[test]
    fn only_a_husk_is_cleared() {
        let kept = Cell::new(None);
        let mut frame = MaybeUninit::uninit();
        let lent = lend(&mut frame, || (), &kept);
        let entry = kept.take().unwrap().clear().expect("no husk");
        lent.came_back(entry)();
    }

    #[test]
    fn a_panic_is_an_outcome() {
        let counts = WorkerCounts::default();
        let kept = Cell::new(None);
        let mut frame = MaybeUninit::uninit();
        let lent = lend(&mut frame, || panic::panic_any(7_u8), &kept);
        kept.take().unwrap().run(&counts);
        let Ended::Elsewhere(Err(payload)) = lent.wait(Looks::NONE) else {
            panic!("it has run and panicked")
        };
        assert_eq!(payload.downcast_ref(), Some(&7_u8));
        assert_eq!((counts.ran(), counts.panicked()), (1, 1));
    }

    /// I6, S12: frames that go as soon as they may, under a finisher that may still be on its way out.
    #[test]
    fn frames_go_under_their_finisher() {
        const JOBS: usize = if cfg!(miri) { 20 } else { 20_000 };
        fn wait_for_one(number: usize, entries: &mpsc::Sender<Entry>) -> usize {
            let borrowed = Box::new(number);
            let mut frame = MaybeUninit::uninit();
            let lent = StackJob::lend(
                &mut frame,
                || *borrowed + 1,
                |entry| {
                    entries.send(entry).unwrap();
                    Ok(())
                },
            );
            let (lent, ()) = lent.unwrap_or_else(|_| unreachable!("accepted"));
            // Every other one sleeps at once.
            let looks = 2 * u32::from(number.is_multiple_of(2));
            match lent.wait(Looks::new(looks)) {
                Ended::Elsewhere(outcome) => outcome.unwrap(),
                Ended::Unrun(closure) => closure() + 1,
            }
        }
        let (entries, queue) = mpsc::channel::<Entry>();
        thread::scope(|threads| {
            threads.spawn(move || {
                let (counts, dropped) = (WorkerCounts::default(), DropCount::default());
                for (turn, entry) in queue.into_iter().enumerate() {
                    if turn % 3 == 2 {
                        entry.abandon(&dropped);
                    } else {
                        entry.run(&counts);
                    }
                }
            });
            for number in 0..JOBS {
                let unrun = usize::from(number % 3 == 2);
                assert_eq!(wait_for_one(number, &entries), number + 1 + unrun);
            }
            drop(entries);
        });
    }
}
