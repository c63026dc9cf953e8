//! `cargo xtask miri`: the plain tests on Miri's machine, over many seeds.
//!
//! Each seed is another schedule, and another choice of the stale values that Relaxed loads may return. The
//! leak check is on, as it is by default, and provenance is strict.

use std::time::Duration;

use anyhow::Result;
use clap::Args;

use crate::nightly::{Component, Missing};
use crate::run::Step;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// How many seeds.
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..))]
    seeds: u32,
    /// For a check that must be short: the parts that take long get a part of the seeds.
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    missing: Missing,
}

/// What runs under Miri, and by what its seeds are divided when time is short.
const PARTS: [(&str, u32); 5] = [
    (
        "-p parkade-core --features alloc --test queue_in_threads",
        4,
    ),
    ("-p parkade-core --features alloc --test decisions", 32),
    ("-p parkade-std --test contract", 16),
    ("-p parkade-linux --lib futex", 8),
    (
        "-p parkade --no-default-features --features std --lib -- control:: handled:: job:: latch:: state::",
        16,
    ),
];

pub(crate) fn run(options: &Options) -> Result<()> {
    if !options
        .missing
        .are_there("Miri", &[Component::Miri, Component::RustSrc])?
    {
        return Ok(());
    }
    for step in steps(options) {
        step.run()?;
    }
    Ok(())
}

fn steps(options: &Options) -> Vec<Step> {
    let parts = PARTS
        .iter()
        .filter(|(part, _)| cfg!(target_os = "linux") || !part.contains("parkade-linux"));
    parts
        .map(|&(part, divisor)| {
            let seeds = if options.quick {
                options.seeds.div_ceil(divisor)
            } else {
                options.seeds
            };
            Step::cargo(&format!("+nightly miri test {part}"))
                .env("CARGO_TARGET_DIR", "target/miri")
                // A panic that a test expects costs seconds there, most of them for its backtrace.
                .env("RUST_BACKTRACE", "0")
                .env(
                    "MIRIFLAGS",
                    format!(
                        "-Zmiri-many-seeds=0..{seeds} -Zmiri-disable-isolation -Zmiri-strict-provenance"
                    ),
                )
                .limit(Duration::from_secs(if options.quick { 240 } else { 3600 }))
        })
        .collect()
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
