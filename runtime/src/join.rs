//! Fork-join: two closures at once, one of them offered to whoever is free.
//!
//! On a worker the second closure is *forked*: it lies in the run queue, as a job on the caller's stack, while
//! the worker runs the first. Then the worker takes it back and runs it too: the usual end, for the price of a
//! push and a pop. If it was stolen, the worker waits until the thief is done: it looks for the end as long as it would look for
//! work, and then sleeps (`linger.rs`). It never runs anything else
//! meanwhile: a stranger may want a lock that the caller holds, and would stand on the caller's stack.
//!
//! A fork that is stolen has been begun, for it leaves its run queue in no other way; so waiting for it is
//! waiting for somebody who is at work on it.
//!
//! From outside the whole call is sent to a worker, and the caller sleeps.
//!
//! # Panics
//!
//! Neither side is abandoned: both end, then the panic goes on in the caller. The first closure's panic comes
//! before the second's.

use std::any::Any;
use std::mem::MaybeUninit;
use std::panic::{self, AssertUnwindSafe};
use std::thread;

use crate::backend::Backend;
use crate::control::Fork;
use crate::current::{self, Forks};
use crate::direct;
use crate::job::drop_quietly;
use crate::linger::Looks;
use crate::runtime::{RuntimeOn, TagRef};
use crate::stack_job::{Ended, Lent, StackJob};

/// Runs both closures, `second` on another worker if one is free, and returns what they return.
///
/// Use it inside a task to divide work whose parts borrow from the caller: recursively, until a part is not
/// worth some 100 ns. It belongs to the runtime and the tag whose worker calls it. On a thread that is no
/// worker, `first` and then `second` run in place; from there call [`RuntimeOn::join`], which sends the work
/// to the workers.
///
/// If nobody takes `second` before `first` has ended, the caller runs it: no allocation, no lock, no system
/// call, unless a worker is idle and has to be woken. If somebody did, the caller waits until it is done (see [`Linger`](crate::Linger)), and
/// its tag has one worker less meanwhile. A waiting worker runs no other task, so that a caller may hold a lock
/// that other tasks want.
///
/// `second` always runs, also when `first` has panicked, the queues are full, or the runtime stops.
///
/// # Panics
///
/// With the panic of `first`, else with that of `second`, when both have ended.
///
/// ```
/// use parkade::Runtime;
///
/// fn sum(numbers: &[u64]) -> u64 {
///     if numbers.len() <= 1000 {
///         return numbers.iter().sum();
///     }
///     let (left, right) = numbers.split_at(numbers.len() / 2);
///     let (left, right) = parkade::join(|| sum(left), || sum(right));
///     left + right
/// }
///
/// let runtime = Runtime::builder().build()?;
/// let numbers: Vec<u64> = (1..=100_000).collect();
/// let (all, most) = runtime.join(|| sum(&numbers), || sum(&numbers[1..]));
/// assert_eq!((all, most), (5_000_050_000, 5_000_049_999));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[inline]
pub fn join<A, B, RA, RB>(first: A, second: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    direct::with_worker(|worker| match worker {
        Some(worker) => fork_and_join(worker, first, second),
        None => join_by_table(first, second),
    })
}

impl<B: Backend> RuntimeOn<B> {
    /// Runs both closures in the default tag; see [`TagRef::join`] for more and an example.
    ///
    /// # Panics
    ///
    /// As [`join`](join()).
    pub fn join<F, S, RF, RS>(&self, first: F, second: S) -> (RF, RS)
    where
        F: FnOnce() -> RF + Send,
        S: FnOnce() -> RS + Send,
        RF: Send,
        RS: Send,
    {
        self.default_tag().join(first, second)
    }
}

impl<B: Backend> TagRef<'_, B> {
    /// Runs both closures on workers of this tag and returns what they return.
    ///
    /// On a worker of the tag it is [`parkade::join`](join()). Any other thread sends the two to a worker, as one
    /// task without an allocation, and sleeps until they have ended; a worker of another tag or runtime is
    /// lacking there meanwhile, so two tags of one worker each that join in each other wait for ever. If the task is refused or, by a stopping runtime, dropped, the caller runs
    /// both itself.
    ///
    /// The priority is that of the task that is sent; forks have none.
    ///
    /// # Panics
    ///
    /// As [`join`](join()).
    ///
    /// ```
    /// use parkade::{Runtime, Tag};
    ///
    /// let runtime = Runtime::builder().tag(Tag::new("compute").workers(2)).build()?;
    /// let words = ["to", "join"];
    /// let compute = runtime.tag("compute")?;
    /// assert_eq!(compute.join(|| words[0].len(), || words[1].len()), (2, 4));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn join<F, S, RF, RS>(&self, first: F, second: S) -> (RF, RS)
    where
        F: FnOnce() -> RF + Send,
        S: FnOnce() -> RS + Send,
        RF: Send,
        RS: Send,
    {
        current::with_worker(self.shared, self.tag, |worker| match worker {
            Some(worker) => fork_and_join(worker, first, second),
            None => self.send(|| join(first, second)),
        })
    }

    /// Runs `task` on a worker and waits for it; in place, if no worker takes it.
    fn send<F, T>(&self, task: F) -> T
    where
        F: FnOnce() -> T + Send,
        T: Send,
    {
        let mut frame = MaybeUninit::uninit();
        match StackJob::lend(&mut frame, task, |entry| self.offer(entry)) {
            Err(task) => task(),
            Ok((lent, ())) => match lent.wait(Looks::NONE) {
                Ended::Elsewhere(outcome) => {
                    outcome.unwrap_or_else(|panic| panic::resume_unwind(panic))
                }
                Ended::Unrun(task) => {
                    self.shared.tags[self.tag.0].ran_outside.count();
                    task()
                }
            },
        }
    }
}

#[inline]
fn fork_and_join<A, B, RA, RB>(worker: impl Forks, first: A, second: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    let mut frame = MaybeUninit::uninit();
    let (lent, fork) = match StackJob::lend(&mut frame, second, |entry| worker.fork(entry)) {
        Ok(forked) => forked,
        // No room: it was never queued, and is a part of this task.
        Err(second) => return in_place(first, second),
    };
    let first = match run(first) {
        Ok(first) => first,
        Err(panic) => resume_after(worker, lent, fork, panic),
    };
    match end(worker, lent, fork) {
        Ok(second) => (first, second),
        Err(panic) => resume_without(first, panic),
    }
}

/// The end of a join whose first side has panicked.
#[cold]
fn resume_after<F, T>(
    worker: impl Forks,
    lent: Lent<'_, F, T>,
    fork: Fork,
    panic: Box<dyn Any + Send>,
) -> !
where
    F: FnOnce() -> T + Send,
    T: Send,
{
    resume_without(end(worker, lent, fork), panic)
}

/// For a worker of any backend, or none.
#[inline(never)]
fn join_by_table<A, B, RA, RB>(first: A, second: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    current::with_note(|note| match note {
        Some(worker) => fork_and_join(worker, first, second),
        None => in_place(first, second),
    })
}

/// Takes a fork back and runs it, or waits for whoever has stolen it.
#[inline(always)]
fn end<F, T>(worker: impl Forks, lent: Lent<'_, F, T>, fork: Fork) -> thread::Result<T>
where
    F: FnOnce() -> T + Send,
    T: Send,
{
    match worker.take_fork(fork) {
        Some(taken) => run_and_count(worker, lent.taken_back(taken)),
        None => wait(worker, lent),
    }
}

/// Waits until a fork that was stolen has been run, or dropped: then it is run here.
#[cold]
fn wait<F, T>(worker: impl Forks, fork: Lent<'_, F, T>) -> thread::Result<T>
where
    F: FnOnce() -> T + Send,
    T: Send,
{
    match fork.wait(worker.looks()) {
        Ended::Elsewhere(outcome) => outcome,
        Ended::Unrun(second) => run_and_count(worker, second),
    }
}

#[inline]
fn run_and_count<T>(worker: impl Forks, second: impl FnOnce() -> T) -> thread::Result<T> {
    match run(second) {
        Ok(value) => {
            worker.counts().count_run_in_place(None);
            Ok(value)
        }
        Err(panic) => {
            worker.counts().count_run_in_place(Some(&*panic));
            Err(panic)
        }
    }
}

#[inline(never)]
fn in_place<RA, RB>(first: impl FnOnce() -> RA, second: impl FnOnce() -> RB) -> (RA, RB) {
    match (run(first), run(second)) {
        (Ok(first), Ok(second)) => (first, second),
        (Err(panic), second) => resume_without(second, panic),
        (Ok(first), Err(panic)) => resume_without(first, panic),
    }
}

#[inline]
fn run<T>(closure: impl FnOnce() -> T) -> thread::Result<T> {
    panic::catch_unwind(AssertUnwindSafe(closure))
}

/// Goes on with a panic when what the other side has returned is dropped.
#[cold]
fn resume_without<V>(dropped: V, panic: Box<dyn Any + Send>) -> ! {
    drop_quietly(dropped);
    panic::resume_unwind(panic)
}
