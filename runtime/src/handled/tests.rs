//! Jobs with handles, without a scheduler: every way in which the two references can end.

use super::*;
use crate::counts::DropCount;
use crate::refused::RefusedReason;
use std::sync::Arc;
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
