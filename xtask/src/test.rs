//! `cargo xtask test`: every test of the workspace, in each feature set that has code of its own.
//!
//! nextest where it is installed, because it runs each test in a process of its own and ends one that
//! hangs; else `cargo test`, where a hang ends with the step's limit. Feature sets are tested package
//! by package: across a workspace cargo unifies features, and the default ones would leak in.

use std::fs;

use anyhow::{Context, Result};
use clap::Args;

use crate::run::{Step, root};

/// The packages and features of each pass, and what the pass is for.
const PASSES: [(&str, &str); 3] = [
    ("the workspace, default features", "--workspace"),
    (
        "parkade with the std backend alone",
        "-p parkade --no-default-features --features std,serde,tracing",
    ),
    ("core with every feature", "-p parkade-core --all-features"),
];

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Passed on to the test runner, for example a filter; doctests are then left out.
    #[arg(last = true)]
    args: Vec<String>,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let runner = Runner::find();
    println!("test runner: {}", runner.describe());
    for (pass, (what, packages)) in PASSES.into_iter().enumerate() {
        println!("\n== {what}");
        let tested = runner.step(packages, &options.args).run();
        // A filter runs a few tests more often; the last whole runs stay known.
        if runner == Runner::Nextest && options.args.is_empty() {
            keep_report(pass)?;
        }
        tested?;
        if options.args.is_empty() {
            Step::cargo(&format!("test --doc {packages}")).run()?;
        }
    }
    Ok(())
}

/// Keeps nextest's report of a pass, which the next pass will overwrite, for `cargo xtask scenarios`.
fn keep_report(pass: usize) -> Result<()> {
    let target = root().join("target");
    let (from, kept) = (
        target.join("nextest/default/junit.xml"),
        target.join("junit"),
    );
    // None: the build failed.
    if from.exists() {
        fs::create_dir_all(&kept).with_context(|| kept.display().to_string())?;
        fs::copy(&from, kept.join(format!("{pass}.xml")))
            .with_context(|| from.display().to_string())?;
    }
    Ok(())
}

/// What runs the tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Runner {
    Nextest,
    CargoTest,
}

impl Runner {
    pub(crate) fn find() -> Self {
        if Step::cargo("nextest --version").succeeds() {
            Self::Nextest
        } else {
            Self::CargoTest
        }
    }

    pub(crate) fn describe(self) -> &'static str {
        match self {
            Self::Nextest => "cargo nextest",
            Self::CargoTest => {
                "cargo test, because cargo-nextest is not installed (cargo install cargo-nextest --locked)"
            }
        }
    }

    fn step(self, packages: &str, args: &[String]) -> Step {
        match self {
            // A filter may leave a pass without any test; without a filter that is an error.
            Self::Nextest if !args.is_empty() => {
                Step::cargo(&format!("nextest run {packages} --no-tests=pass")).args(args)
            }
            Self::Nextest => Step::cargo(&format!("nextest run {packages}")),
            // `--all-targets` would include benchmarks; doctests have a step of their own.
            Self::CargoTest => {
                Step::cargo(&format!("test {packages} --lib --bins --tests --examples")).args(args)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_filter_allows_a_pass_without_tests() {
        let all = Runner::Nextest.step("--workspace", &[]).to_string();
        assert_eq!(all, "cargo nextest run --workspace");
        let some = Runner::Nextest
            .step("-p x", &["lot".to_owned()])
            .to_string();
        assert_eq!(some, "cargo nextest run -p x --no-tests=pass lot");
    }

    #[test]
    fn without_nextest_the_same_targets_run() {
        let step = Runner::CargoTest
            .step("-p x", &["lot".to_owned()])
            .to_string();
        assert_eq!(step, "cargo test -p x --lib --bins --tests --examples lot");
    }
}
