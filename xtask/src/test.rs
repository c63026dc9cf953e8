//! `cargo xtask test`: every test of the workspace, in each feature set that has code of its own.
//!
//! nextest where it is installed, because it runs each test in a process of its own and ends one that
//! hangs; else `cargo test`, where a hang ends with the step's limit. Feature sets are tested package
//! by package: across a workspace cargo unifies features, and the default ones would leak in.

use std::fs;

use anyhow::{Context, Result};
use clap::Args;

use crate::run::{Step, root};

/// A feature set of one or more packages.
struct Pass {
    what: &'static str,
    packages: &'static str,
    /// Tests that an earlier pass has run just like that: what their names contain.
    ran: Option<&'static str>,
}

const PASSES: [Pass; 3] = [
    Pass {
        what: "the workspace, the runtime with every feature",
        packages: "--workspace --features parkade/serde,parkade/tracing",
        ran: None,
    },
    // The bodies over the std backend ran in the workspace; those over its faulty park have their turn here. And
    // what the features bring is not there.
    Pass {
        what: "parkade with the std backend alone",
        packages: "-p parkade --no-default-features --features std",
        ran: Some("portable::"),
    },
    Pass {
        what: "core with every feature",
        packages: "-p parkade-core --all-features",
        ran: None,
    },
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
    for (number, pass) in PASSES.iter().enumerate() {
        let Pass {
            what,
            packages,
            ran,
        } = pass;
        println!("\n== {what}");
        let mut args = options.args.clone();
        if let (Some(ran), true) = (ran, args.is_empty()) {
            args.extend(["--", "--skip", ran].map(str::to_owned));
        }
        let tested = runner.step(packages, &args).run();
        // A filter runs a few tests more often; the last whole runs stay known.
        if runner == Runner::Nextest && options.args.is_empty() {
            keep_report(number)?;
        }
        tested?;
        // Most tests of such a pass have run before, and all doctests.
        if options.args.is_empty() && ran.is_none() {
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
