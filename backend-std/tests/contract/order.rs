//! Obligation 4, *no memory order is promised* by `wait` or `wake`: what the contract asks of a backend here
//! is nothing, and what it must not break is the lot, which brings its own order.
//!
//! So the lot runs on the backend with everything else Relaxed. A backend whose compare and sleep leave a gap
//! that the lot's fences cannot close shows here as a hang; under Miri, which keeps stale values in store,
//! so does an order that the lot only had by the backend's grace.

use std::hint::spin_loop;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use parkade_core::{Park, ParkingLot, Skip};

use crate::bed::{Verdict, rounds, within};

/// Pauses are up to 512 spin hints long, or 16 under Miri, where each costs as much as a look.
const PAUSE_SHIFT: u32 = if cfg!(miri) { 28 } else { 23 };

/// W1, on a bare lot: an item is published, signalled once and taken, then a pause, then the next.
pub(crate) fn the_lot_publishes<K: Park + 'static>(
    make: impl Fn() -> K,
    patience: Duration,
) -> Verdict {
    for skip in [Skip::WhenNobodyWaits, Skip::Never] {
        let lot = Arc::new(ParkingLot::new(make(), skip));
        within(patience, move |deadline| {
            let published = Arc::new(AtomicU32::new(0));
            let taken = Arc::new(AtomicU32::new(0));
            let rounds = rounds(10_000);
            let taker = thread::spawn({
                let (lot, published, taken) =
                    (Arc::clone(&lot), Arc::clone(&published), Arc::clone(&taken));
                move || {
                    for item in 1..=rounds {
                        loop {
                            let state = lot.state();
                            if published.load(Ordering::Relaxed) >= item {
                                break;
                            }
                            lot.wait(state);
                        }
                        taken.store(item, Ordering::Relaxed);
                    }
                }
            });
            for item in 1..=rounds {
                for _ in 0..item.wrapping_mul(0x9e37_79b9) >> PAUSE_SHIFT {
                    spin_loop();
                }
                published.store(item, Ordering::Relaxed);
                lot.signal(1);
                deadline.until(|| taken.load(Ordering::Relaxed) == item)?;
            }
            deadline.join(taker)
        })?;
    }
    Ok(())
}

/// W2: a signal between the state and the wait, with nobody waiting, makes the wait return at once.
pub(crate) fn a_signal_before_the_wait<K: Park + 'static>(
    make: impl Fn() -> K,
    patience: Duration,
) -> Verdict {
    for skip in [Skip::WhenNobodyWaits, Skip::Never] {
        let lot = ParkingLot::new(make(), skip);
        within(patience, move |_| {
            let state = lot.state();
            lot.signal(1);
            lot.wait(state);
            Ok(())
        })?;
    }
    Ok(())
}
