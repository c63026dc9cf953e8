//! `cargo xtask ci`: everything that must pass before a change lands, as a list of commands.
//!
//! The checkers are those of `cargo xtask proof`, with its bounds.
//! Each step is a command that a person can type, so a failure is reproduced by copying one line.

use anyhow::{Result, bail};
use clap::Args;

use crate::proof;
use crate::run::{Step, root};
use crate::table::{self, Row};

/// Targets without an operating system: core must build for each.
pub(crate) const BARE_METAL: [&str; 4] = [
    "x86_64-unknown-none",
    "riscv64gc-unknown-none-elf",
    "aarch64-unknown-none",
    "thumbv7em-none-eabihf",
];

/// Systems other than the one at hand: the runtime must compile there on the std backend.
pub(crate) const FOREIGN: [&str; 2] = ["x86_64-pc-windows-gnu", "aarch64-apple-darwin"];

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Go on after a step that failed, and fail at the end.
    #[arg(long)]
    keep_going: bool,
    /// Run only the steps whose name contains this.
    #[arg(long)]
    only: Option<String>,
    /// List the steps and their commands, and run none.
    #[arg(long)]
    list: bool,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let steps = steps(root().join("bench/Cargo.toml").exists());
    let chosen: Vec<_> = steps
        .into_iter()
        .filter(|(name, _)| options.only.as_ref().is_none_or(|only| name.contains(only)))
        .collect();
    if chosen.is_empty() {
        bail!(
            "no step's name contains `{}`",
            options.only.as_deref().unwrap_or("")
        );
    }
    if options.list {
        for (name, step) in chosen {
            println!("{name}: {step}");
        }
        return Ok(());
    }
    table::run(chosen, options.keep_going)
}

fn steps(with_bench: bool) -> Vec<(&'static str, Row)> {
    let steps = [
        ("format", Step::cargo("fmt --all --check")),
        (
            "lints",
            Step::cargo("clippy --locked --workspace --all-targets -- -D warnings"),
        ),
        (
            "lints, std backend alone",
            Step::cargo(
                "clippy -p parkade --no-default-features --features std,serde,tracing --all-targets -- -D warnings",
            ),
        ),
        (
            "lints, generic runtime alone",
            Step::cargo("clippy -p parkade --no-default-features --lib -- -D warnings"),
        ),
        (
            "lints, core with every feature",
            Step::cargo("clippy -p parkade-core --all-features --all-targets -- -D warnings"),
        ),
        ("tidy", Step::cargo("xtask tidy")),
        ("core's dependencies", Step::cargo("xtask deps")),
        (
            "bare metal, no feature",
            Step::cargo("build -p parkade-core --lib").args(targets(&BARE_METAL)),
        ),
        (
            "bare metal, kernel pieces",
            Step::cargo("build -p parkade-core --lib --features spin,heapless")
                .args(targets(&BARE_METAL)),
        ),
        (
            "other systems, std backend",
            Step::cargo(
                "check -p parkade -p parkade-std --lib --no-default-features --features parkade/std",
            )
            .args(targets(&FOREIGN)),
        ),
        (
            "docs",
            Step::cargo("doc --workspace --no-deps --all-features")
                .env("RUSTDOCFLAGS", "-D warnings"),
        ),
        ("tests", Step::cargo("xtask test")),
        ("scenarios", Step::cargo("xtask scenarios")),
    ];
    let mut steps: Vec<(_, Row)> = named(steps).collect();
    steps.extend(proof::steps());
    steps.extend(named([
        (
            "kernel: format",
            Step::cargo("fmt --manifest-path kernel/Cargo.toml --check"),
        ),
        (
            "kernel: lints",
            Step::cargo(
                "clippy --locked --config kernel/.cargo/config.toml \
                 --manifest-path kernel/Cargo.toml --target riscv64gc-unknown-none-elf \
                 -- -D warnings",
            ),
        ),
        (
            "kernel: lints, second port",
            Step::cargo(
                "clippy --locked --config kernel/.cargo/config.toml \
                 --manifest-path kernel/Cargo.toml --target aarch64-unknown-none \
                 -- -D warnings",
            ),
        ),
        ("kernel", Step::cargo("xtask kernel")),
    ]));
    if with_bench {
        steps.extend(named([
            (
                "bench: format",
                Step::cargo("fmt --manifest-path bench/Cargo.toml --check"),
            ),
            (
                "bench: lints",
                Step::cargo(
                    "clippy --locked --manifest-path bench/Cargo.toml --all-targets -- -D warnings",
                ),
            ),
            (
                "bench: tests",
                Step::cargo("test --locked --manifest-path bench/Cargo.toml"),
            ),
            // For its counts, which hold on a busy machine too, not for its times.
            (
                "bench: counts",
                Step::cargo(
                    "xtask bench --rounds 1 --check --row lone --row local --row idle \
                     --contender linux --contender std",
                ),
            ),
        ]));
    }
    steps
}

fn named(
    steps: impl IntoIterator<Item = (&'static str, Step)>,
) -> impl Iterator<Item = (&'static str, Row)> {
    steps.into_iter().map(|(name, step)| (name, step.into()))
}

fn targets(triples: &[&'static str]) -> impl Iterator<Item = &'static str> {
    triples.iter().flat_map(|triple| ["--target", triple])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_step_has_a_name_of_its_own() {
        let mut names: Vec<_> = steps(true).into_iter().map(|(name, _)| name).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    #[test]
    fn the_tests_are_run_by_the_command_that_people_type() {
        let commands: Vec<_> = steps(false)
            .iter()
            .map(|(_, step)| step.to_string())
            .collect();
        assert!(commands.contains(&"cargo xtask test".to_owned()));
        assert!(
            !commands
                .iter()
                .any(|command| command.contains("bench/Cargo.toml"))
        );
    }

    /// F2, whose builds are steps of this list.
    #[test]
    fn core_is_built_for_each_bare_target_with_and_without_the_kernel_pieces() {
        let builds: Vec<_> = steps(false)
            .into_iter()
            .map(|(_, step)| step.to_string())
            .filter(|command| command.starts_with("cargo build -p parkade-core"))
            .collect();
        assert_eq!(builds.len(), 2);
        assert!(builds[1].contains("--features spin,heapless"));
        for triple in BARE_METAL {
            assert!(
                builds.iter().all(|build| build.contains(triple)),
                "{triple}"
            );
        }
    }
}
