//! Obligation 3, *bounded wakes*: `wake(n)` releases at most `n` sleepers and returns how many, and 0 only
//! if nobody slept.
//!
//! Whether somebody sleeps at an instant cannot be seen from outside. What can: how often `wait` was called,
//! and how many sleepers the wakes say they released. The second must never exceed the first (a sleeper
//! counted twice). The first must not exceed the second by much either: a return that no wake has counted
//! is a spurious one, and those are not the rule.

use std::time::Duration;

use parkade_core::Park;

use crate::bed::{Bed, Verdict, Violation, rounds, within};

/// A wake with nobody asleep, before and after somebody was, is 0.
pub(crate) fn nobody_slept<K: Park + 'static>(make: impl Fn() -> K, patience: Duration) -> Verdict {
    let bed = Bed::new(make());
    within(patience, move |deadline| {
        let nobody = || match [0, 1, 2, u32::MAX].map(|n| bed.wake(n)).iter().sum() {
            0 => Ok(()),
            counted => Err(Violation::CountedNobody { counted }),
        };
        nobody()?;
        let sleeper = bed.sleeper();
        deadline.until(|| bed.wake(1) == 1)?;
        bed.get_up();
        deadline.join(sleeper)?;
        nobody()
    })
}

/// Many wakes in quick succession against a few sleepers that go back to sleep each time.
pub(crate) fn counts_are_exact<K: Park + 'static>(
    make: impl Fn() -> K,
    patience: Duration,
) -> Verdict {
    const SLEEPERS: u32 = 3;
    let bed = Bed::new(make());
    within(patience, move |deadline| {
        let sleepers: Vec<_> = (0..SLEEPERS).map(|_| bed.sleeper()).collect();
        let mut counted = 0;
        let mut asked = [1, 1, 2, 0, 1, SLEEPERS, 0, 1].into_iter().cycle();
        let mut excess = None;
        let enough = deadline.until(|| {
            for asked in asked.by_ref().take(8) {
                let now = bed.wake(asked);
                counted += now;
                if now > asked {
                    excess = Some(Violation::MoreThanAsked {
                        asked,
                        counted: now,
                    });
                }
            }
            excess.is_some() || counted >= rounds(2_000)
        });
        counted += bed.get_up();
        let mut waits = 0;
        for sleeper in sleepers {
            waits += deadline.join(sleeper)?;
        }
        if let Some(violation) = excess {
            return Err(violation);
        }
        if counted > waits {
            return Err(Violation::CountedTwice { counted, waits });
        }
        // Each sleeper's last wait may have seen the changed word and returned by itself.
        if waits - counted > counted / 10 + SLEEPERS {
            return Err(Violation::NotCounted { counted, waits });
        }
        enough
    })
}
