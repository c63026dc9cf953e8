//! `cargo xtask proof`: every checker of the core and the runtime, each bounded in time.
//!
//! The same commands without these bounds explore more: whole models, more seeds, more time. A check whose
//! toolchain is missing is skipped here, and the table says so; called by itself it fails.

use std::time::Duration;

use anyhow::Result;
use clap::Args;

use crate::nightly::Component;
use crate::run::Step;
use crate::table::{self, Row};
use crate::{miri, tsan};

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Go on after a step that failed, and fail at the end.
    #[arg(long)]
    keep_going: bool,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    table::run(steps(), options.keep_going)
}

struct Check {
    name: &'static str,
    line: &'static str,
    /// When it counts as hanging: some three times what it takes on two quiet cores, its build included.
    minutes: u64,
    /// What it needs of a nightly toolchain.
    needs: &'static [Component],
}

const CHECKS: [Check; 6] = [
    Check {
        name: "models",
        line: "xtask loom --seconds 5",
        minutes: 12,
        needs: &[],
    },
    Check {
        name: "mutants",
        line: "xtask mutants --no-miri",
        minutes: 8,
        needs: &[],
    },
    Check {
        name: "mutants that only Miri kills",
        line: "xtask mutants queue.pop",
        minutes: 8,
        needs: &miri::NEEDS,
    },
    Check {
        name: "Miri",
        line: "xtask miri --quick",
        minutes: 16,
        needs: &miri::NEEDS,
    },
    Check {
        name: "ThreadSanitizer",
        line: "xtask tsan",
        minutes: 20,
        needs: &tsan::NEEDS,
    },
    Check {
        name: "stress",
        line: "xtask stress --seconds 20",
        minutes: 8,
        needs: &[],
    },
];

pub(crate) fn steps() -> Vec<(&'static str, Row)> {
    CHECKS
        .iter()
        .map(|check| (check.name, check.row()))
        .collect()
}

impl Check {
    fn row(&self) -> Row {
        let limit = Duration::from_secs(self.minutes * 60);
        Row::needing(self.needs, Step::cargo(self.line).limit(limit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_needs_nightly_may_be_skipped() {
        for check in CHECKS {
            let on_nightly = [
                "xtask mutants queue.pop",
                "xtask miri --quick",
                "xtask tsan",
            ];
            assert_eq!(
                !check.needs.is_empty(),
                on_nightly.contains(&check.line),
                "{}",
                check.line
            );
        }
    }
}
