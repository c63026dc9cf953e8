//! Fork-join: two closures at once, one of them offered to whoever is free.
//!
//! On a worker the second closure is *forked*: it lies in the run queue, as a job on the caller's stack, while
//! the worker runs the first. Then the worker takes it back and runs it too: the usual end, for the price of a
//! push and a pop. If it was stolen, the worker sleeps until the thief is done. It never runs anything else
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

use std::panic::{self, AssertUnwindSafe};
use std::thread;

use crate::backend::Backend;
use crate::current::{self, Noted};
use crate::job::drop_quietly;
use crate::runtime::{RuntimeOn, TagRef};
use crate::stack_job::{Ended, StackJob};

/// Runs both closures, `second` on another worker if one is free, and returns what they return.
///
/// Use it inside a task to divide work whose parts borrow from the caller: recursively, until a part is not
/// worth some 100 ns. It belongs to the runtime and the tag whose worker calls it. On a thread that is no
/// worker, `first` and then `second` run in place; from there call [`RuntimeOn::join`], which sends the work
/// to the workers.
///
/// If nobody takes `second` before `first` has ended, the caller runs it: no allocation, no lock, no system
/// call, unless a worker is idle and has to be woken. If somebody did, the caller sleeps until it is done, and
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
pub fn join<A, B, RA, RB>(first: A, second: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    current::with_own_work(|work| match work {
        Some(work) => fork_and_join(work, first, second),
        None => both(run(first), run(second)),
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
        current::with_work(self.home(), |work| match work {
            Some(work) => fork_and_join(work, first, second),
            None => self.send(|| join(first, second)),
        })
    }

    /// Runs `task` on a worker and waits for it; in place, if no worker takes it.
    fn send<F, T>(&self, task: F) -> T
    where
        F: FnOnce() -> T + Send,
        T: Send,
    {
        let mut job = StackJob::new(task);
        match job.lend(|entry| self.offer(entry)) {
            Err(task) => task(),
            Ok(lent) => match lent.wait() {
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

fn fork_and_join<A, B, RA, RB>(work: &Noted, first: A, second: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    let run_and_count = |second: B| {
        let outcome = run(second);
        work.counts()
            .count_run(outcome.as_ref().err().map(|payload| &**payload));
        work.counts().enter_task();
        outcome
    };
    let mut job = StackJob::new(second);
    let forked = job.lend(|entry| work.fork(entry));
    let first = run(first);
    let second = match forked {
        // No room: it was never queued, and is a part of this task.
        Err(second) => run(second),
        Ok(lent) => match work.take_fork(lent.header()) {
            Some(entry) => run_and_count(lent.taken_back(entry)),
            None => match lent.wait() {
                Ended::Elsewhere(outcome) => outcome,
                Ended::Unrun(second) => run_and_count(second),
            },
        },
    };
    both(first, second)
}

fn run<T>(closure: impl FnOnce() -> T) -> thread::Result<T> {
    panic::catch_unwind(AssertUnwindSafe(closure))
}

/// Both values, or the first panic.
fn both<A, B>(first: thread::Result<A>, second: thread::Result<B>) -> (A, B) {
    match (first, second) {
        (Ok(first), Ok(second)) => (first, second),
        (Err(panic), second) => {
            drop_quietly(second);
            panic::resume_unwind(panic)
        }
        (Ok(first), Err(panic)) => {
            drop_quietly(first);
            panic::resume_unwind(panic)
        }
    }
}
