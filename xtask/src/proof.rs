//! `cargo xtask proof`: every checker of the core and the runtime, each bounded in time.
//!
//! The same commands without these bounds explore more: whole models, every mutant, more seeds, more time.
//! A check whose toolchain is missing says so and is no failure here; called by itself it is one.

use std::time::Duration;

use anyhow::Result;
use clap::Args;

use crate::run::Step;
use crate::table;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Go on after a step that failed, and fail at the end.
    #[arg(long)]
    keep_going: bool,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    table::run(steps(), options.keep_going)
}

/// The checks, and the most minutes that each may take.
const CHECKS: [(&str, &str, u64); 5] = [
    ("models", "xtask loom --seconds 5", 8),
    ("mutants, a sample", "xtask mutants --no-miri --sample 8", 6),
    ("Miri", "xtask miri --quick --allow-missing", 8),
    ("ThreadSanitizer", "xtask tsan --allow-missing", 8),
    ("stress", "xtask stress --seconds 60", 6),
];

pub(crate) fn steps() -> Vec<(&'static str, Step)> {
    CHECKS
        .iter()
        .map(|&(name, line, minutes)| {
            let limit = Duration::from_secs(minutes * 60);
            (name, Step::cargo(line).limit(limit))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_needs_nightly_may_be_missing_and_nothing_else() {
        for (name, step) in steps() {
            let needs_nightly = ["Miri", "ThreadSanitizer"].contains(&name);
            let command = step.to_string();
            assert_eq!(
                command.contains("--allow-missing"),
                needs_nightly,
                "{command}"
            );
        }
    }
}
