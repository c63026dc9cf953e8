//! Obligation 1, *no lost wake*: if the word changes and `wake` is called after that, no `wait` that
//! compared before the change sleeps on.
//!
//! The word changes at every distance from the sleeper's compare: after an acknowledgement the one goes to
//! sleep while the other changes the word and wakes *once*, each after a pause that grows and starts over.

use std::hint::spin_loop;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use parkade_core::{Park, ParkingLot, Skip};

use crate::bed::{Bed, Verdict, rounds, starts, within};

/// One sleeper, one change and one wake a round.
pub(crate) fn one_sleeper<K: Park + 'static>(make: impl Fn() -> K, patience: Duration) -> Verdict {
    let bed = Bed::new(make());
    within(patience, move |deadline| {
        let rounds = rounds(20_000);
        let acknowledged = Arc::new(AtomicU32::new(0));
        let sleeper = thread::spawn({
            let (bed, acknowledged) = (Arc::clone(&bed), Arc::clone(&acknowledged));
            move || {
                for round in 0..rounds {
                    for _ in 0..round % 64 {
                        spin_loop();
                    }
                    // No look before the first wait: the compare is the park's.
                    loop {
                        bed.park.wait(&bed.word, round);
                        if bed.word.load(Ordering::Relaxed) != round {
                            break;
                        }
                    }
                    acknowledged.store(round + 1, Ordering::Relaxed);
                }
            }
        });
        for round in 1..=rounds {
            for _ in 0..round % 127 {
                spin_loop();
            }
            bed.word.store(round, Ordering::Relaxed);
            bed.wake(1);
            deadline.until(|| acknowledged.load(Ordering::Relaxed) == round)?;
        }
        deadline.join(sleeper)
    })
}

/// Several sleepers, one change, one wake for all.
pub(crate) fn all_sleepers<K: Park + 'static>(make: impl Fn() -> K, patience: Duration) -> Verdict {
    const SLEEPERS: u32 = 4;
    for _ in 0..starts(12) {
        let bed = Bed::new(make());
        within(patience, move |deadline| {
            let sleepers: Vec<_> = (0..SLEEPERS).map(|_| bed.sleeper()).collect();
            // A wake for all finds all of them asleep sooner or later. The word has not changed, so they go
            // back to sleep, and the last wake meets each at another point of its way.
            deadline.until(|| bed.wake(u32::MAX) == SLEEPERS)?;
            bed.get_up();
            for sleeper in sleepers {
                deadline.join(sleeper)?;
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// A thread that wakes another and then waits itself, at once, must not take the wake for its own.
pub(crate) fn hand_over<K: Park + 'static>(make: impl Fn() -> K, patience: Duration) -> Verdict {
    let bed = Bed::new(make());
    within(patience, move |deadline| {
        let rounds = rounds(10_000);
        let players: Vec<_> = (0..2)
            .map(|me| {
                let bed = Arc::clone(&bed);
                thread::spawn(move || {
                    loop {
                        match bed.word.load(Ordering::Relaxed) {
                            over if over >= rounds => break,
                            mine if mine % 2 == me => {
                                bed.word.store(mine + 1, Ordering::Relaxed);
                                bed.wake(1);
                            }
                            yours => bed.park.wait(&bed.word, yours),
                        }
                    }
                })
            })
            .collect();
        for player in players {
            deadline.join(player)?;
        }
        Ok(())
    })
}

/// S13: a stop that races the first wait of a thread is seen by it.
pub(crate) fn stop_races_the_first_wait<K: Park + 'static>(
    make: impl Fn() -> K,
    patience: Duration,
) -> Verdict {
    for round in 0..starts(500) {
        let lot = Arc::new(ParkingLot::new(make(), Skip::WhenNobodyWaits));
        within(patience, move |deadline| {
            let started = Arc::new(AtomicBool::new(false));
            let worker = thread::spawn({
                let (lot, started) = (Arc::clone(&lot), Arc::clone(&started));
                move || {
                    started.store(true, Ordering::Relaxed);
                    while !lot.is_stopped() {
                        lot.wait(lot.state());
                    }
                }
            });
            // Every other stop races the wait alone, and not the start of the thread, which may take long.
            if round % 2 == 1 {
                deadline.until(|| started.load(Ordering::Relaxed))?;
            }
            for _ in 0..round % 64 * 16 {
                spin_loop();
            }
            lot.stop();
            deadline.join(worker)
        })?;
    }
    Ok(())
}
