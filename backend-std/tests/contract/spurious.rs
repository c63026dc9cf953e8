//! Obligation 2, *spurious returns are allowed*: `wait` returns at once when the word differs, may return
//! for no reason, and a caller that loops is right either way.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use parkade_core::{Park, ParkingLot, Skip};

use crate::bed::{Verdict, rounds, within};

/// Nobody wakes here: only the differing word brings the caller back.
pub(crate) fn a_differing_word_returns<K: Park + 'static>(
    make: impl Fn() -> K,
    patience: Duration,
) -> Verdict {
    let park = make();
    within(patience, move |_| {
        for word in [1, 2, u32::MAX / 2, u32::MAX] {
            park.wait(&AtomicU32::new(word), word - 1);
            park.wait(&AtomicU32::new(word - 1), word);
        }
        Ok(())
    })
}

/// A park that comes back without having slept, every other time.
struct Fidgety<K> {
    park: K,
    waits: AtomicU32,
}

impl<K: Park> Park for Fidgety<K> {
    fn wait(&self, word: &AtomicU32, expected: u32) {
        if self.waits.fetch_add(1, Ordering::Relaxed) % 2 == 1 {
            self.park.wait(word, expected);
        }
    }

    fn wake(&self, word: &AtomicU32, n: u32) -> u32 {
        self.park.wake(word, n)
    }
}

/// A caller that loops, as the lot's callers do, misses nothing on a park that returns for no reason.
pub(crate) fn callers_loop<K: Park + 'static>(make: impl Fn() -> K, patience: Duration) -> Verdict {
    let park = Fidgety {
        park: make(),
        waits: AtomicU32::new(0),
    };
    within(patience, move |deadline| {
        let lot = Arc::new(ParkingLot::new(park, Skip::WhenNobodyWaits));
        let items = Arc::new(AtomicU32::new(0));
        let rounds = rounds(2_000);
        let taker = thread::spawn({
            let (lot, items) = (Arc::clone(&lot), Arc::clone(&items));
            move || {
                for item in 1..=rounds {
                    loop {
                        let state = lot.state();
                        if items.load(Ordering::Relaxed) >= item {
                            break;
                        }
                        lot.wait(state);
                    }
                }
            }
        });
        for item in 1..=rounds {
            items.store(item, Ordering::Relaxed);
            lot.signal(1);
            if item % 8 == 0 {
                thread::yield_now();
            }
        }
        deadline.join(taker)
    })
}
