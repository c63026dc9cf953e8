//! How long stress tests run, and with which dice.
//!
//! * `PARKADE_STRESS` is a whole number, by default 1: every stress test does so many times its usual
//!   rounds, and may take so many times as long. A million lone submits on each backend, for example:
//!
//!   ```text
//!   PARKADE_STRESS=50 cargo test --release -p parkade --test behaviour lone -- --test-threads=1
//!   ```
//!
//! * `PARKADE_SEED` replays the choices (not the threads' timing) of a test that failed: it prints its own.

use std::any::type_name;
use std::env;
use std::fmt::Display;
use std::ops::{Deref, DerefMut};
use std::str::FromStr;
use std::thread;
use std::time::{Duration, Instant};

use crate::each_backend::multiplier;

/// How long one thing may take that should take microseconds.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a variable says, if it is set.
fn variable<N: FromStr>(name: &str) -> Option<N>
where
    N::Err: Display,
{
    let text = env::var(name).ok()?;
    match text.parse() {
        Ok(number) => Some(number),
        Err(error) => panic!(
            "{name} is {text:?}, which is no {}: {error}",
            type_name::<N>()
        ),
    }
}

/// `usual` rounds, times `PARKADE_STRESS`; only `under_miri` there, which is some thousand times slower.
pub(crate) fn rounds(usual: u64, under_miri: u64) -> u64 {
    let rounds = if cfg!(miri) { under_miri } else { usual };
    rounds * u64::from(multiplier())
}

/// Random choices whose seed is printed if the test fails.
pub(crate) struct Dice {
    seed: u64,
    rng: fastrand::Rng,
}

impl Dice {
    pub(crate) fn new() -> Self {
        let seed = variable("PARKADE_SEED").unwrap_or_else(|| fastrand::u64(..));
        let rng = fastrand::Rng::with_seed(seed);
        Self { seed, rng }
    }

    /// Dice for another thread, which follow from these.
    pub(crate) fn fork(&mut self) -> Self {
        let (seed, rng) = (self.seed, self.rng.fork());
        Self { seed, rng }
    }

    /// Up to 600 spin hints, the shorter the more often, to find each phase of a thread's falling asleep:
    /// the early ones are the shortest.
    pub(crate) fn pause(&mut self) -> u32 {
        let longest = self.rng.u32(0..=600);
        self.rng.u32(0..=longest)
    }

    /// Half the time none, else up to 60 spin hints: as much as a thread may be held back, so that another
    /// one has time to come first.
    pub(crate) fn linger(&mut self) -> u32 {
        if self.rng.bool() {
            0
        } else {
            self.rng.u32(0..=60)
        }
    }
}

impl Deref for Dice {
    type Target = fastrand::Rng;

    fn deref(&self) -> &fastrand::Rng {
        &self.rng
    }
}

impl DerefMut for Dice {
    fn deref_mut(&mut self) -> &mut fastrand::Rng {
        &mut self.rng
    }
}

impl Drop for Dice {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("the dice were those of PARKADE_SEED={}", self.seed);
        }
    }
}

/// So many spin hints.
pub(crate) fn pause(hints: u32) {
    for _ in 0..hints {
        std::hint::spin_loop();
    }
}

/// Polls until `condition` holds, never asleep for longer than a yield; false if it does not in time.
pub(crate) fn soon(condition: impl Fn() -> bool) -> bool {
    let mut give_up = None;
    for turn in 0_u32.. {
        if condition() {
            return true;
        }
        if turn < 200 && !cfg!(miri) {
            std::hint::spin_loop();
        } else {
            thread::yield_now();
        }
        // The clock is looked at rarely, and not at all by a round that ends as it should.
        if turn % 4096 == 4095 && Instant::now() > *give_up.get_or_insert(Instant::now() + PATIENCE)
        {
            break;
        }
    }
    false
}
