//! Whether the machine was busy with something else, by a measurement that no contender is part of.
//!
//! The machine is *looked at* before the first cell and after each round, while nothing of the bench runs:
//!
//! 1. This process sleeps for half a second, and the system says how much of the CPUs was used all the same: by others.
//! 2. A fixed piece of work, the *spin*, is timed on every CPU at once. The time until the last CPU has finished,
//!    divided by the least *processor* time that the spin ever took in this run, is its *stretch*: close to 1 on a
//!    quiet machine. A neighbour that takes a CPU for a part of the time stretches the wall time, and so does a machine
//!    that is clocked down half-way, but neither shortens the least processor time.
//!
//! The load average is written down and not judged: a minute of it is mostly the build that came before.
//!
//! What follows:
//!
//! * A stretch above [`BOUND`], or others that used more than [`OTHERS`] of the CPUs, is reported as *the machine was
//!   busy*.
//! * Then every spread that is shown, compared or judged is widened by the worst stretch `s` of the run: from
//!   `lowest–highest` to `lowest / s – highest × s`. A neighbour that lengthened the spin by `s` may have made a
//!   figure so much worse, or another contender's so much worse before it. Medians stay as they were measured, and so
//!   do sizes and calls per task, which no neighbour changes.
//! * A quiet run's spreads are shown as they were measured.
//!
//! What it cannot see: a neighbour that comes and goes between two looks (its round shows a spread of its own),
//! and a host that slows the machine evenly from beginning to end.

use std::hint::black_box;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use cpu_time::ThreadTime;
use serde::{Deserialize, Serialize};
use sysinfo::System;

use super::facts::{Load, cpus};

/// A stretch above this says that somebody else was at work. Timer ticks and the start of threads stay below.
pub(super) const BOUND: f64 = 1.15;

/// More use of all CPUs than this, while the bench sleeps, says the same.
pub(super) const OTHERS: f64 = 0.15;

/// How long the others are watched.
const WATCH: Duration = Duration::from_millis(500);

/// Steps of the spin: some 100 ms in this unoptimised build on a processor of these years, many times a scheduler's
/// slice.
const STEPS: u64 = 8_000_000;

/// How the spin went at one time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Spin {
    /// From the start on all CPUs to the end on the last, in milliseconds.
    wall_ms: f64,
    /// The least processor time among the CPUs, in milliseconds.
    cpu_ms: f64,
}

/// What the machine was doing around the cells.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Calibration {
    load_before: Load,
    cpus: usize,
    /// What others used of all CPUs at each look, from 0 to 1.
    others: Vec<f64>,
    spins: Vec<Spin>,
}

impl Calibration {
    /// Begins to watch the machine, which had this load.
    pub(super) fn begin(load_before: Load) -> Result<Self> {
        let mut this = Self {
            load_before,
            cpus: cpus(),
            others: Vec::new(),
            spins: Vec::new(),
        };
        // The first may be what clocks the processor up.
        spin(this.cpus)?;
        this.look()?;
        Ok(this)
    }

    /// Looks at the machine once more.
    pub(super) fn look(&mut self) -> Result<()> {
        self.others.push(watch());
        self.spins.push(spin(self.cpus)?);
        Ok(())
    }

    /// The worst wall time over the least processor time, at least 1.
    pub(super) fn stretch(&self) -> f64 {
        let walls = self.spins.iter().map(|spin| spin.wall_ms);
        let least = self
            .spins
            .iter()
            .map(|spin| spin.cpu_ms)
            .fold(f64::INFINITY, f64::min);
        (walls.fold(0.0, f64::max) / least).max(1.0)
    }

    /// By what a spread is widened: 1 when the machine was quiet.
    pub(super) fn widening(&self) -> f64 {
        if self.busy().is_some() {
            self.stretch()
        } else {
            1.0
        }
    }

    /// Says in words that the machine was busy, if it was.
    pub(super) fn busy(&self) -> Option<String> {
        let mut reasons = Vec::new();
        let others = self.others.iter().copied().fold(0.0, f64::max);
        if others > OTHERS {
            reasons.push(format!(
                "others used up to {:.0} % of its CPUs",
                others * 100.0
            ));
        }
        let stretch = self.stretch();
        if stretch > BOUND {
            reasons.push(format!(
                "a fixed piece of work took up to {stretch:.2} times its processor time"
            ));
        }
        (!reasons.is_empty()).then(|| format!("the machine was busy: {}", reasons.join(", and ")))
    }

    #[cfg(test)]
    pub(super) fn fixture(others: f64, spins: &[(f64, f64)]) -> Self {
        let spins = spins
            .iter()
            .map(|&(wall_ms, cpu_ms)| Spin { wall_ms, cpu_ms });
        Self {
            load_before: Load::now(),
            cpus: 2,
            others: vec![0.0, others],
            spins: spins.collect(),
        }
    }
}

/// What is used of all CPUs while this process sleeps.
fn watch() -> f64 {
    let mut system = System::new();
    system.refresh_cpu_usage();
    thread::sleep(WATCH);
    system.refresh_cpu_usage();
    f64::from(system.global_cpu_usage()) / 100.0
}

fn spin(cpus: usize) -> Result<Spin> {
    let together = Barrier::new(cpus);
    let times: Option<Vec<(Instant, Instant, Duration)>> = thread::scope(|threads| {
        let spinning: Vec<_> = (0..cpus)
            .map(|_| {
                threads.spawn(|| {
                    together.wait();
                    let started = Instant::now();
                    let cpu = ThreadTime::now();
                    work();
                    (started, Instant::now(), cpu.elapsed())
                })
            })
            .collect();
        spinning
            .into_iter()
            .map(|thread| thread.join().ok())
            .collect()
    });
    let times = times.context("a calibrating thread panicked")?;
    let started = times.iter().map(|time| time.0).min();
    let ended = times.iter().map(|time| time.1).max();
    let cpu = times.iter().map(|time| time.2).min();
    let wall = started.zip(ended).map(|(started, ended)| ended - started);
    let ms = |time: Option<Duration>| time.unwrap_or_default().as_secs_f64() * 1000.0;
    Ok(Spin {
        wall_ms: ms(wall),
        cpu_ms: ms(cpu),
    })
}

/// A chain of steps each of which needs the one before.
fn work() {
    let mut state = black_box(1_u64);
    for _ in 0..STEPS {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    black_box(state);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quiet_machine_widens_nothing() {
        let quiet = Calibration::fixture(0.1, &[(100.0, 99.0), (104.0, 100.0)]);
        assert_eq!(quiet.busy(), None);
        assert_eq!(quiet.widening(), 1.0);
    }

    #[test]
    fn a_neighbour_during_the_run_is_said_and_widens() {
        let busy = Calibration::fixture(0.1, &[(101.0, 100.0), (150.0, 100.0), (102.0, 101.0)]);
        assert_eq!(busy.widening(), 1.5);
        assert_eq!(
            busy.busy().as_deref(),
            Some(
                "the machine was busy: \
                 a fixed piece of work took up to 1.50 times its processor time"
            )
        );
    }

    #[test]
    fn a_neighbour_from_beginning_to_end_is_seen_although_all_spins_are_alike() {
        assert!(
            Calibration::fixture(0.0, &[(200.0, 100.0), (200.0, 100.0)])
                .busy()
                .is_some()
        );
    }

    #[test]
    fn others_at_one_look_are_said() {
        let busy = Calibration::fixture(0.6, &[(100.0, 100.0)]).busy();
        assert!(busy.is_some_and(|why| why.contains("others used up to 60 %")));
    }

    #[test]
    fn a_spin_takes_at_least_its_processor_time() -> Result<()> {
        let spin = spin(1)?;
        assert!(spin.cpu_ms > 0.0 && spin.wall_ms >= spin.cpu_ms, "{spin:?}");
        Ok(())
    }
}
