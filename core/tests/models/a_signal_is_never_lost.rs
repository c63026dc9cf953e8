//! The lot: whoever takes a state, looks and waits, is not left asleep by a signal or a stop.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use loom::thread;
use parkade_core::{ParkingLot, Skip};

use crate::platform::{ModelPark, explore};

fn lot(skip: Skip, signals: u32) -> Arc<ParkingLot<ModelPark>> {
    Arc::new(ParkingLot::with_signals(
        ModelPark::default(),
        skip,
        signals,
    ))
}

/// Takes one unit of `work` or waits for it.
fn take_one(lot: &ParkingLot<ModelPark>, work: &AtomicUsize) {
    loop {
        // For the mutant alone: the state is taken after the look, when it is too late.
        let late = std::env::var("PARKADE_MUTANT").is_ok_and(|id| id == "model.state.late");
        let mut state = lot.state();
        let take = |seen: usize| seen.checked_sub(1);
        if work.fetch_update(Relaxed, Relaxed, take).is_ok() {
            return;
        }
        if late {
            state = lot.state();
        }
        lot.wait(state);
    }
}

fn one_waiter_one_signal(skip: Skip, signals: u32) {
    let (lot, work) = (lot(skip, signals), Arc::new(AtomicUsize::new(0)));
    let waiter = {
        let (lot, work) = (lot.clone(), work.clone());
        thread::spawn(move || take_one(&lot, &work))
    };
    work.store(1, Relaxed);
    lot.signal(1);
    waiter.join().unwrap();
}

/// W7: the signaller misses the waiter only if the waiter sees the signal, and the other way round.
#[test]
fn when_nobody_may_be_waiting() {
    explore(20, || one_waiter_one_signal(Skip::WhenNobodyWaits, 0));
}

#[test]
fn when_every_signal_wakes() {
    explore(20, || one_waiter_one_signal(Skip::Never, 0));
}

#[test]
fn across_the_wrap_of_the_count() {
    explore(20, || {
        one_waiter_one_signal(Skip::WhenNobodyWaits, u32::MAX >> 1)
    });
}

#[test]
fn with_two_waiters_and_two_signals() {
    explore(500, || {
        let lot = lot(Skip::WhenNobodyWaits, 0);
        let work = Arc::new(AtomicUsize::new(0));
        let waiters: Vec<_> = (0..2)
            .map(|_| {
                let (lot, work) = (lot.clone(), work.clone());
                thread::spawn(move || take_one(&lot, &work))
            })
            .collect();
        for _ in 0..2 {
            work.fetch_add(1, Relaxed);
            lot.signal(1);
        }
        for waiter in waiters {
            waiter.join().unwrap();
        }
    });
}

#[test]
fn when_a_stop_races_a_wait() {
    explore(10, || {
        let lot = lot(Skip::WhenNobodyWaits, 0);
        let closed = Arc::new(AtomicUsize::new(0));
        let waiter = {
            let (lot, closed) = (lot.clone(), closed.clone());
            thread::spawn(move || {
                loop {
                    let state = lot.state();
                    if state.is_stopped() {
                        assert_eq!(closed.load(Relaxed), 1, "what was closed before is seen");
                        return;
                    }
                    lot.wait(state);
                }
            })
        };
        closed.store(1, Relaxed);
        lot.stop();
        waiter.join().unwrap();
    });
}
