//! Models of a job and its handle, or its waiter's frame, under loom: state, latch and memory, as they are shipped.
//!
//! ```text
//! RUSTFLAGS="--cfg parkade_loom" CARGO_TARGET_DIR=target/loom \
//!     cargo test -p parkade --no-default-features --release --lib models
//! ```
//!
//! Only these tests run under that cfg, hence the filter. `PARKADE_MUTANT` weakens one ordering or leaves out
//! one step (see `sync.rs`); the model named beside it in `MUTANTS.md` must then fail.
//!
//! Each job counts what it runs and drops, loom's `Track` in its atomic says whether its memory was freed, and
//! a freed cell or atomic that is still in use is a race that loom reports.

use std::cell::Cell;
use std::mem::MaybeUninit;
use std::panic;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Once};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Instant;

use loom::thread;

use crate::counts::{DropCount, WorkerCounts};
use crate::handled::{Promised, in_scope, promised};
use crate::job::Entry;
use crate::join_error::JoinError;
use crate::linger::Looks;
use crate::slab::{Last, Users};
use crate::stack_job::{Ended, StackJob};
use crate::sync;

/// What a closure captures and a task returns; its uses are counted.
struct Token {
    value: loom::cell::UnsafeCell<()>,
    dropped: Arc<AtomicUsize>,
}

impl Token {
    /// An access that may not meet another one.
    fn write(&self) {
        self.value.with_mut(|_| ());
    }

    fn read(&self) {
        self.value.with(|_| ());
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        self.value.with_mut(|_| ());
        self.dropped.fetch_add(1, Relaxed);
    }
}

type Job = (Entry, Promised<Token>);

fn token(dropped: &Arc<AtomicUsize>) -> Token {
    Token {
        value: loom::cell::UnsafeCell::new(()),
        dropped: Arc::clone(dropped),
    }
}

/// A job whose closure writes a token and returns it.
fn job(dropped: &Arc<AtomicUsize>) -> Job {
    let token = token(dropped);
    promised(move || {
        token.write();
        token
    })
}

/// Explores `body`, which gets a fresh job; see [`explore_tokens`].
fn explore(at_least: usize, body: impl Fn(Entry, Promised<Token>) + Send + Sync + 'static) {
    explore_tokens(at_least, move |dropped| {
        let (entry, promised) = job(dropped);
        body(entry, promised);
    });
}

/// Explores `body`, which makes one token, and is told where the token counts its drop; at its end, with all threads
/// joined, the token has been dropped once.
fn explore_tokens(at_least: usize, body: impl Fn(&Arc<AtomicUsize>) + Send + Sync + 'static) {
    thread_local! {
        static PANICKED: Cell<bool> = const { Cell::new(false) };
    }
    static HOOK: Once = Once::new();
    // What belongs to the user is dropped inside `catch_unwind`, so loom's word may go unheard otherwise.
    HOOK.call_once(|| {
        let default = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            PANICKED.set(true);
            default(info);
        }));
    });
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&runs);
    loom::model::Builder::new().check(move || {
        counted.fetch_add(1, Relaxed);
        let dropped = Arc::new(AtomicUsize::new(0));
        body(&dropped);
        assert_eq!(dropped.load(Relaxed), 1, "the token is dropped once");
        assert!(!PANICKED.get(), "a panic was caught");
    });
    let runs = runs.load(Relaxed);
    println!("{runs} interleavings");
    assert!(
        runs >= at_least,
        "{runs} interleavings, expected at least {at_least}"
    );
}

/// Runs the entry as a worker does, on a thread of its own.
fn worker(entry: Entry) -> thread::JoinHandle<usize> {
    thread::spawn(move || {
        let counts = WorkerCounts::default();
        entry.run(&counts);
        counts.ran()
    })
}

/// Waits for ever, and takes.
fn join(mut promised: Promised<Token>) -> Result<Token, JoinError> {
    assert!(promised.wait(None));
    promised.take().unwrap_or_else(|_| panic!("done, but not"))
}

/// Waits with a deadline that has passed already: a register and a withdrawal, with nothing between.
fn try_wait(promised: &mut Promised<Token>) -> bool {
    promised.wait(Some(Instant::now()))
}

/// I6, S12. The waiter takes the outcome and frees its side while the finisher is anywhere between the end of
/// the task and the unpark.
#[test]
fn a_waiter_frees_its_job_under_the_finisher() {
    explore(400, |entry, promised| {
        let worker = worker(entry);
        join(promised).unwrap().read();
        assert_eq!(worker.join().unwrap(), 1);
    });
}

/// The same without a wait: the handle polls.
#[test]
fn an_outcome_that_is_seen_is_complete() {
    explore(20, |entry, promised| {
        let worker = worker(entry);
        if let Ok(outcome) = promised.take() {
            outcome.unwrap().read();
        }
        assert_eq!(worker.join().unwrap(), 1);
    });
}

/// A handle that is dropped without a look, before, while or after the task ends.
#[test]
fn a_job_is_freed_once_by_whoever_leaves_last() {
    explore(7, |entry, promised| {
        let worker = worker(entry);
        drop(promised);
        assert_eq!(worker.join().unwrap(), 1);
    });
}

/// A wait that gives up while the task ends: either it gets the outcome, or the next one does.
#[test]
fn a_wait_that_gives_up_may_be_repeated() {
    explore(4000, |entry, mut promised| {
        let worker = worker(entry);
        if try_wait(&mut promised) {
            promised.take().ok().unwrap().unwrap().read();
        } else {
            join(promised).unwrap().read();
        }
        assert_eq!(worker.join().unwrap(), 1);
    });
}

/// A wait that gives up for good: the finisher may have the thread, and then leaves last.
#[test]
fn a_wait_that_gives_up_may_be_the_last() {
    explore(400, |entry, mut promised| {
        let worker = worker(entry);
        let _done = try_wait(&mut promised);
        drop(promised);
        assert_eq!(worker.join().unwrap(), 1);
    });
}

/// Waiter and worker both want the closure: it runs once, and a husk is freed like any job.
#[test]
fn a_closure_is_claimed_once() {
    explore(400, |entry, promised| {
        let worker = worker(entry);
        let here = WorkerCounts::default();
        match promised.run_here(&here, |_| ()) {
            Ok(outcome) => outcome.unwrap().read(),
            Err(promised) => join(promised).unwrap().read(),
        }
        assert_eq!(worker.join().unwrap() + here.ran(), 1);
    });
}

/// A waker that unparks a thread.
struct Unpark(sync::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Polls, and sleeps until its waker is woken, as an executor does.
fn block_on(promised: &mut Promised<Token>) -> Result<Token, JoinError> {
    let waker = Waker::from(Arc::new(Unpark(sync::current())));
    loop {
        match promised.poll(&Context::from_waker(&waker)) {
            Poll::Ready(outcome) => return outcome,
            Poll::Pending => sync::park(),
        }
    }
}

/// Polls once, with a waker that wakes nobody.
fn poll(promised: &mut Promised<Token>) -> Poll<Result<Token, JoinError>> {
    promised.poll(&Context::from_waker(Waker::noop()))
}

/// W13. A future is polled while the task ends, and frees its side while the finisher is anywhere up to the wake.
#[test]
fn a_future_frees_its_job_under_the_finisher() {
    explore(200, |entry, mut promised| {
        let worker = worker(entry);
        block_on(&mut promised).unwrap().read();
        drop(promised);
        assert_eq!(worker.join().unwrap(), 1);
    });
}

/// W13. Polled with one waker and then with another, while the task ends: the latter is woken, or none is needed.
#[test]
fn a_poll_replaces_the_waker_of_the_last() {
    explore(400, |entry, mut promised| {
        let worker = worker(entry);
        let outcome = match poll(&mut promised) {
            Poll::Ready(outcome) => outcome,
            Poll::Pending => block_on(&mut promised),
        };
        outcome.unwrap().read();
        assert_eq!(worker.join().unwrap(), 1);
    });
}

/// A handle that was polled is joined by its thread, which takes the waker's place.
#[test]
fn a_thread_replaces_a_waker() {
    explore(400, |entry, mut promised| {
        let worker = worker(entry);
        match poll(&mut promised) {
            Poll::Ready(outcome) => outcome.unwrap().read(),
            Poll::Pending => join(promised).unwrap().read(),
        }
        assert_eq!(worker.join().unwrap(), 1);
    });
}

/// A handle that was polled is dropped: it takes its waker back, or the finisher has it.
#[test]
fn a_polled_handle_is_dropped_under_the_finisher() {
    explore(100, |entry, mut promised| {
        let worker = worker(entry);
        drop(poll(&mut promised));
        drop(promised);
        assert_eq!(worker.join().unwrap(), 1);
    });
}

/// An entry that is abandoned while its handle waits.
#[test]
fn a_waiter_learns_that_its_task_was_dropped() {
    explore(400, |entry, promised| {
        let stopper = thread::spawn(move || {
            let dropped = DropCount::default();
            entry.abandon(&dropped);
            dropped.get()
        });
        assert!(matches!(join(promised), Err(JoinError::Dropped)));
        assert_eq!(stopper.join().unwrap(), 1);
    });
}

/// Waits for a job in this frame whose entry another thread uses up, and lets the frame go at once. Its token
/// was written by then, here or there.
fn wait_for_frame(
    dropped: &Arc<AtomicUsize>,
    use_up: impl FnOnce(Entry) + Send + 'static,
) -> (Token, thread::JoinHandle<()>) {
    let token = token(dropped);
    let work = move || {
        token.write();
        token
    };
    let mut frame = MaybeUninit::uninit();
    let mut thread = None;
    let lent = StackJob::lend(&mut frame, work, |entry| {
        thread = Some(thread::spawn(move || use_up(entry)));
        Ok(())
    });
    let (lent, ()) = lent.unwrap_or_else(|_| unreachable!("accepted"));
    let token = match lent.wait(Looks::new(1)) {
        Ended::Elsewhere(outcome) => outcome.unwrap(),
        Ended::Unrun(closure) => closure(),
    };
    (token, thread.unwrap())
}

/// How many interleavings each of the two below has at least.
const STACK_RUN: usize = 70;

/// I6, S12 for a frame: the waiter returns while the thief is anywhere between the end of the fork and the
/// unpark.
#[test]
fn a_frame_goes_under_the_thief() {
    explore_tokens(STACK_RUN, |dropped| {
        let (token, thief) = wait_for_frame(dropped, |entry| entry.run(&WorkerCounts::default()));
        token.read();
        drop(token);
        thief.join().unwrap();
    });
}

/// A fork that a stop drops: its waiter has the closure back, and the stopper is out of the frame.
#[test]
fn a_frame_goes_under_the_stopper() {
    explore_tokens(STACK_RUN, |dropped| {
        let (token, stopper) =
            wait_for_frame(dropped, |entry| entry.abandon(&DropCount::default()));
        token.read();
        drop(token);
        stopper.join().unwrap();
    });
}

/// A job of a scope: whoever claims it, what it has borrowed is the waiter's again, and its memory is freed once.
#[test]
fn a_scope_ends_under_a_worker_or_a_stopper() {
    for stops in [false, true] {
        let at_least = if stops { 15 } else { 400 };
        explore_tokens(at_least, move |dropped| {
            let mut token = token(dropped);
            let mut other = None;
            let lend = |entry: Entry| {
                other = Some(thread::spawn(move || {
                    if stops {
                        entry.abandon(&DropCount::default());
                    } else {
                        entry.run(&WorkerCounts::default());
                    }
                }));
            };
            let borrowed = &mut token;
            in_scope(move || borrowed.write(), lend);
            token.write();
            drop(token);
            other.unwrap().join().unwrap();
        });
    }
}

/// Two jobs end on two threads, and a third on their maker's own, which leaves the block then; a cell for each job says
/// what is used when.
#[test]
fn a_block_is_freed_after_its_last_job() {
    const OWN: usize = 2;
    explore_tokens(50, |dropped| {
        drop(token(dropped));
        let users = Arc::new(Users::new());
        let block: Arc<[_; OWN + 1]> = Arc::new([(); OWN + 1].map(loom::cell::UnsafeCell::new));
        let free_if = |last: Last, block: &[loom::cell::UnsafeCell<()>]| {
            if last == Last::Yes {
                block.iter().for_each(|job| job.with_mut(|_| ()));
            }
        };
        block.iter().for_each(|job| job.with_mut(|_| ()));
        let enders: Vec<_> = (0..OWN)
            .map(|number| {
                let (users, block) = (Arc::clone(&users), Arc::clone(&block));
                thread::spawn(move || {
                    block[number].with(|_| ());
                    free_if(users.leave(1), &*block);
                })
            })
            .collect();
        // Nobody is told of this one's end, but by the leaving.
        block[OWN].with_mut(|_| ());
        free_if(users.disown(2), &*block);
        enders.into_iter().for_each(|ender| ender.join().unwrap());
    });
}
