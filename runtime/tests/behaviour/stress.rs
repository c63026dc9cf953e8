//! Stress tests: many rounds in which threads meet, with dice for their pauses and a watchdog over their waits.
//!
//! * `PARKADE_STRESS` is a whole number, by default 1: every stress test does so many times its usual
//!   rounds, and may take so many times as long. A million lone submits on each backend, for example:
//!
//!   ```text
//!   PARKADE_STRESS=50 cargo test --release -p parkade --test behaviour stress::lone -- --test-threads=1
//!   ```
//!
//! * `PARKADE_SEED` replays the choices (not the threads' timing) of a test that failed: it prints its own.
//! * `PARKADE_STRESS_RECORD` names a file; each test that has passed appends a line to it, with the id of its
//!   scenario and the number of its rounds.

mod batches_of_one;
mod finishing;
mod fork_join;
mod lifetime;
mod lone;
mod loops_back_to_back;
mod lot;
mod resizing;
mod run_queue;
mod stop_race;
mod timers;
pub(crate) mod watchdog;

use std::any::type_name;
use std::env;
use std::fmt::{Debug, Display};
use std::fs::OpenOptions;
use std::io::Write;
use std::ops::{Deref, DerefMut, Range};
use std::str::FromStr;
use std::sync::Arc;
use std::thread;

use crate::each_backend::multiplier;
use watchdog::{PATIENCE, Watchdog};

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

/// One run of a stress test. Make it before what is watched, so that it still watches when that is dropped.
pub(crate) struct Run {
    scenario: &'static str,
    rounds: u64,
    pub(crate) dice: Dice,
    watchdog: Watchdog,
}

impl Run {
    /// A run of `usual` rounds, times `PARKADE_STRESS`; of only `under_miri` there, which is some thousand times
    /// slower.
    pub(crate) fn new(scenario: &'static str, usual: u64, under_miri: u64) -> Self {
        let rounds = if cfg!(miri) { under_miri } else { usual } * u64::from(multiplier());
        let dice = Dice::new();
        let test = thread::current().name().unwrap_or("a test").to_owned();
        let seed = dice.seed;
        let fail = move |hang: String| {
            watchdog::end_with(&format!(
                "{test} ({scenario}, PARKADE_SEED={seed}) hangs: {hang}"
            ))
        };
        Self {
            scenario,
            rounds,
            dice,
            watchdog: Watchdog::new(PATIENCE, fail),
        }
    }

    pub(crate) fn rounds(&self) -> Range<u64> {
        0..self.rounds
    }

    /// Shows `subject`, instead of the last one, if the test hangs.
    pub(crate) fn watch<T: Debug + Send + Sync + 'static>(&self, subject: T) -> Arc<T> {
        let subject = Arc::new(subject);
        self.watchdog.watch(&subject);
        subject
    }

    /// Says that the test goes on: before each wait.
    pub(crate) fn step(&self) {
        self.watchdog.step();
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let Some(file) = env::var_os("PARKADE_STRESS_RECORD") else {
            return;
        };
        if !thread::panicking() {
            let mut file = OpenOptions::new()
                .create(true)
                .append(true)
                .open(file)
                .unwrap();
            writeln!(file, "{} {}", self.scenario, self.rounds).unwrap();
        }
    }
}

/// Random choices whose seed is printed if the test fails.
pub(crate) struct Dice {
    seed: u64,
    rng: fastrand::Rng,
}

impl Dice {
    fn new() -> Self {
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

/// Polls until `condition` holds, never asleep for longer than a yield. It is the watchdog that gives up.
pub(crate) fn until(condition: impl Fn() -> bool) {
    let mut turn = 0_u32;
    while !condition() {
        if turn < 200 && !cfg!(miri) {
            turn += 1;
            std::hint::spin_loop();
        } else {
            thread::yield_now();
        }
    }
}
