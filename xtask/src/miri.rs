//! `cargo xtask miri`: the plain tests on Miri's machine, over many seeds.
//!
//! Each seed is another schedule, and another choice of the stale values that Relaxed loads may return. The
//! leak check is on, as it is by default, and provenance is strict.

use std::time::Duration;

use anyhow::Result;
use clap::Args;

use crate::nightly::{Component, require};
use crate::run::Step;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// How many seeds.
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..))]
    seeds: u32,
    /// For a check that must be short: the parts that take long get a part of the seeds.
    #[arg(long)]
    quick: bool,
}

/// What it cannot do without.
pub(crate) const NEEDS: [Component; 2] = [Component::Miri, Component::RustSrc];

/// How often Miri changes from one thread to another, for a test in which what matters happens in the few
/// steps between two accesses. At the usual 1 % of the steps, most seeds run through there undisturbed.
pub(crate) const PREEMPT_OFTEN: &str = "-Zmiri-preemption-rate=0.3";

/// What runs under Miri.
struct Part {
    tests: &'static str,
    /// By what the seeds are divided when time is short: a seed takes from one second to thirty.
    divisor: u32,
    /// What Miri is told beyond what every part needs.
    flags: &'static str,
}

const PARTS: [Part; 5] = [
    Part {
        tests: "-p parkade-core --features alloc --test queue_in_threads",
        divisor: 4,
        flags: PREEMPT_OFTEN,
    },
    // One thread: the seed changes addresses, no more.
    Part {
        tests: "-p parkade-core --features alloc --test decisions",
        divisor: 32,
        flags: "",
    },
    Part {
        tests: "-p parkade-std --test contract",
        divisor: 16,
        flags: "",
    },
    Part {
        tests: "-p parkade-linux --lib futex",
        divisor: 8,
        flags: "",
    },
    Part {
        tests: "-p parkade --no-default-features --features std --lib -- control:: handled:: job:: slab:: latch:: live:: stack_job:: state::",
        divisor: 16,
        flags: "",
    },
];

/// How long a part may take: of the quick form on a slow machine, its build included, and of the whole.
const QUICK_LIMIT: Duration = Duration::from_secs(8 * 60);
const LIMIT: Duration = Duration::from_secs(60 * 60);

pub(crate) fn run(options: &Options) -> Result<()> {
    require("Miri", &NEEDS)?;
    for step in steps(options) {
        step.run()?;
    }
    Ok(())
}

fn steps(options: &Options) -> Vec<Step> {
    let parts = PARTS
        .iter()
        .filter(|part| cfg!(target_os = "linux") || !part.tests.contains("parkade-linux"));
    parts.map(|part| part.step(options)).collect()
}

impl Part {
    fn step(&self, options: &Options) -> Step {
        let (seeds, limit) = if options.quick {
            (options.seeds.div_ceil(self.divisor), QUICK_LIMIT)
        } else {
            (options.seeds, LIMIT)
        };
        let seeds = format!("-Zmiri-many-seeds=0..{seeds}");
        let flags = [
            &seeds,
            "-Zmiri-disable-isolation",
            "-Zmiri-strict-provenance",
            self.flags,
        ];
        Step::cargo(&format!("+nightly miri test {}", self.tests))
            .env("CARGO_TARGET_DIR", "target/miri")
            // A panic that a test expects costs seconds there, most of them for its backtrace.
            .env("RUST_BACKTRACE", "0")
            .env("MIRIFLAGS", flags.join(" ").trim_end())
            .limit(limit)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        options: Options,
    }

    fn commands(line: &str) -> Vec<String> {
        let words = ["miri"].into_iter().chain(line.split_whitespace());
        let line = Line::try_parse_from(words).unwrap();
        steps(&line.options).iter().map(Step::to_string).collect()
    }

    #[test]
    fn every_part_gets_every_seed_unless_time_is_short() {
        let all = commands("--seeds 64");
        assert!(
            all.iter().all(|command| command.contains("=0..64 ")),
            "{all:?}"
        );
        let quick = commands("--quick");
        assert!(
            quick[0].contains("=0..8 ") && quick[1].contains("=0..1 "),
            "{quick:?}"
        );
        assert!(Line::try_parse_from(["miri", "--seeds", "0"]).is_err());
    }

    #[test]
    fn provenance_is_strict_and_leaks_are_looked_for() {
        for command in commands("") {
            assert!(command.contains("-Zmiri-strict-provenance"), "{command}");
            assert!(!command.contains("ignore-leaks"), "{command}");
        }
    }
}
