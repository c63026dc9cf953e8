//! Jobs with handles, without a scheduler: every way in which the two references can end.

use super::*;
use crate::counts::DropCount;
use crate::refused::RefusedReason;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Wake, Waker};
use std::thread;
use std::time::Duration;

#[test]
fn run_then_take() {
    let counts = WorkerCounts::default();
    let (entry, promised) = promised(|| 7);
    let promised = promised.take().unwrap_err();
    entry.run(&counts);
    assert!(promised.is_done());
    assert_eq!(promised.take().unwrap().unwrap(), 7);
    assert_eq!(counts.ran(), 1);
}

#[test]
fn run_by_the_handle_leaves_a_husk() {
    let counts = WorkerCounts::default();
    let dropped = DropCount::default();
    let token = Arc::new(());
    let in_job = Arc::clone(&token);
    let (entry, promised) = promised(move || in_job);
    assert!(promised.run_here(&counts, |_| ()).unwrap().is_ok());
    entry.abandon(&dropped);
    assert_eq!((counts.ran(), dropped.get()), (1, 0));
    assert_eq!(Arc::strong_count(&token), 1);
}

#[test]
fn whoever_leaves_last_drops_the_outcome() {
    let counts = WorkerCounts::default();
    let token = Arc::new(());
    for handle_first in [true, false] {
        let in_job = Arc::clone(&token);
        let (entry, promised) = promised(move || in_job);
        if handle_first {
            drop(promised);
            entry.run(&counts);
        } else {
            entry.run(&counts);
            drop(promised);
        }
        assert_eq!(Arc::strong_count(&token), 1);
    }
}

#[test]
fn unrun_jobs_tell_their_handles() {
    let (entry, abandoned) = promised(|| ());
    entry.abandon(&DropCount::default());
    assert!(matches!(abandoned.take(), Ok(Err(JoinError::Dropped))));
    let (entry, refused) = promised(|| ());
    entry.refuse(RefusedReason::Full);
    let outcome = refused.take();
    assert!(matches!(
        outcome,
        Ok(Err(JoinError::Refused(RefusedReason::Full)))
    ));
    let (entry, lost) = promised(|| ());
    drop(entry);
    assert!(matches!(lost.take(), Ok(Err(JoinError::Dropped))));
}

#[test]
fn a_result_whose_destructor_panics_harms_nobody() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("in the destructor of a result");
        }
    }
    let counts = WorkerCounts::default();
    let (entry, promised) = promised(|| Bomb);
    drop(promised);
    entry.run(&counts);
    assert_eq!(counts.ran(), 1);
}

/// S12, in small: the waiter returns and frees its job while the finisher is between store and wake.
#[test]
fn finisher_and_waiter_race() {
    for round in 0..if cfg!(miri) { 20 } else { 2_000 } {
        let (entry, mut promised) = promised(move || Box::new(round));
        let finisher = thread::spawn(move || entry.run(&WorkerCounts::default()));
        if round % 3 == 0 {
            let soon = Instant::now() + Duration::from_micros(round % 50);
            while !promised.wait(Some(soon)) {
                thread::yield_now();
            }
        } else {
            assert!(promised.wait(None));
        }
        assert_eq!(*promised.take().unwrap().unwrap(), round);
        finisher.join().unwrap();
    }
}

#[test]
fn a_refused_closure_comes_back() {
    let refused = offer_promised(
        || 3,
        |entry| {
            Err(RefusedEntry {
                entry,
                reason: RefusedReason::Stopped,
            })
        },
    )
    .unwrap_err();
    assert_eq!((refused.task)(), 3);
}

/// A scope's job that a stop drops, or that no queue took, is left to its handle.
#[test]
fn a_dropped_job_of_a_scope_is_its_handles_to_run() {
    let dropped = DropCount::default();
    let mut ran = 0;
    in_scope(|| ran += 1, |entry| entry.refuse(RefusedReason::Full));
    in_scope(|| ran += 1, |entry| entry.abandon(&dropped));
    assert_eq!((ran, dropped.get()), (2, 0));
}

/// The husk of a scope's job outlives what its closure has borrowed.
#[test]
fn a_husk_of_a_scope_may_be_dropped_later() {
    let dropped = DropCount::default();
    let mut entries = Vec::new();
    for _ in 0..3 {
        let borrowed = String::from("borrowed");
        in_scope(
            || assert_eq!(borrowed, "borrowed"),
            |entry| entries.push(entry),
        );
    }
    let counts = WorkerCounts::default();
    entries.pop().unwrap().run(&counts);
    entries.pop().unwrap().abandon(&dropped);
    assert!(entries.pop().unwrap().clear().is_none());
    assert_eq!((counts.ran(), dropped.get()), (0, 0));
}

/// A scope that ends while a worker, or a stopper, is on its way out of the job.
#[test]
fn a_scope_ends_under_its_workers() {
    const JOBS: usize = if cfg!(miri) { 10 } else { 5000 };
    thread::scope(|threads| {
        let (entries, queue) = std::sync::mpsc::channel::<Entry>();
        threads.spawn(move || {
            let (counts, dropped) = (WorkerCounts::default(), DropCount::default());
            for (turn, entry) in queue.into_iter().enumerate() {
                match turn % 3 {
                    0 => entry.abandon(&dropped),
                    _ => entry.run(&counts),
                }
            }
        });
        for number in 0..JOBS {
            let mut out = Box::new(0);
            in_scope(|| *out = number, |entry| entries.send(entry).unwrap());
            assert_eq!(*out, number);
        }
    });
}

/// Counts how often it is woken.
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A counter, and a waker for it.
fn waker() -> (Arc<Woken>, Waker) {
    let woken = Arc::new(Woken(AtomicUsize::new(0)));
    (Arc::clone(&woken), woken.into())
}

#[test]
fn the_last_waker_is_woken_once() {
    let (entry, mut promised) = promised(|| 7);
    let wakers = [waker(), waker()];
    for (_, waker) in &wakers {
        assert!(promised.poll(&Context::from_waker(waker)).is_pending());
    }
    entry.run(&WorkerCounts::default());
    let woken = wakers
        .each_ref()
        .map(|(woken, _)| woken.0.load(Ordering::Relaxed));
    assert_eq!(woken, [0, 1]);
    let polled = promised.poll(&Context::from_waker(Waker::noop()));
    assert!(matches!(polled, Poll::Ready(Ok(7))));
}

#[test]
fn a_waker_goes_with_its_handle() {
    let (entry, mut promised) = promised(|| ());
    let (woken, waker) = waker();
    assert!(promised.poll(&Context::from_waker(&waker)).is_pending());
    drop(waker);
    assert_eq!(Arc::strong_count(&woken), 2);
    drop(promised);
    assert_eq!(Arc::strong_count(&woken), 1);
    entry.run(&WorkerCounts::default());
    assert_eq!(woken.0.load(Ordering::Relaxed), 0);
}

/// W13.
#[test]
fn a_poll_that_races_the_finisher_is_woken_or_ready() {
    for _ in 0..20 {
        let (entry, mut promised) = promised(|| vec![7]);
        let worker = thread::spawn(move || entry.run(&WorkerCounts::default()));
        let (woken, waker) = waker();
        let outcome = loop {
            match promised.poll(&Context::from_waker(&waker)) {
                Poll::Ready(outcome) => break outcome,
                Poll::Pending => {
                    while woken.0.load(Ordering::Relaxed) == 0 {
                        thread::yield_now();
                    }
                }
            }
        };
        assert_eq!(outcome.unwrap(), [7]);
        worker.join().unwrap();
    }
}
