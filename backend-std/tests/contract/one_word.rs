//! Obligation 6, *one park, one word*: a park may ignore the address of its word, or use nothing else; in
//! both cases two parks with a word each do not know of each other.

use std::time::Duration;

use parkade_core::Park;

use crate::bed::{Bed, Verdict, Violation, rounds, within};

/// A wake on a park without sleepers finds nobody, while next to it a sleeper is found again and again.
pub(crate) fn parks_are_apart<K: Park + 'static>(
    make: impl Fn() -> K,
    patience: Duration,
) -> Verdict {
    let (used, unused) = (Bed::new(make()), Bed::new(make()));
    within(patience, move |deadline| {
        let sleeper = used.sleeper();
        let mut strays = 0;
        for _ in 0..rounds(1_000) {
            // Whoever is found by the second wake slept, most times, during the first as well.
            deadline.until(|| {
                strays += unused.wake(u32::MAX);
                strays > 0 || used.wake(1) == 1
            })?;
        }
        used.get_up();
        deadline.join(sleeper)?;
        match strays {
            0 => Ok(()),
            counted => Err(Violation::WrongPark { counted }),
        }
    })
}
