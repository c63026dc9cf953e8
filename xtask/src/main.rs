//! The repository's own commands, run as `cargo xtask COMMAND`.
//!
//! One file a command; [`run`] starts every process. A command that consists of other commands
//! (`ci`, `proof`) calls them as a person would type them, so that a failing step can be rerun alone.
#![forbid(unsafe_code)]

mod bench;
mod ci;
mod deps;
mod kernel;
mod loom;
mod miri;
mod mutants;
mod nightly;
mod proof;
mod run;
mod scenarios;
mod stress;
mod table;
mod test;
mod tidy;
mod tsan;

use std::process::ExitCode;

use clap::Parser;

/// The commands of this repository.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
enum Xtask {
    /// Run every test: nextest where it is installed, else cargo test; and the doctests.
    Test(test::Options),
    /// Check the rules that a compiler cannot enforce.
    Tidy(tidy::Options),
    /// Check core's dependency tree against the list of crates it may have.
    Deps,
    /// Explore core's loom models.
    Loom(loom::Options),
    /// Weaken the core one step at a time and see the named check fail.
    Mutants(mutants::Options),
    /// Run the plain tests under Miri, over many seeds.
    Miri(miri::Options),
    /// Run the runtime's stress under ThreadSanitizer.
    Tsan,
    /// Run the stress tests until the time is over.
    Stress(stress::Options),
    /// List the scenarios, the tests and bench rows that hold them, and their last results.
    Scenarios(scenarios::Options),
    /// Every checker of this repository, each within its share of CI's time.
    Proof(proof::Options),
    /// Boot the core on bare harts in QEMU, and check what each mode is about.
    Kernel(kernel::Options),
    /// Measure Parkade beside its peers.
    Bench(bench::Options),
    /// Everything that must pass before a change lands.
    Ci(ci::Options),
}

fn main() -> ExitCode {
    let outcome = match Xtask::parse() {
        Xtask::Test(options) => test::run(&options),
        Xtask::Tidy(options) => tidy::run(&options),
        Xtask::Deps => deps::run(),
        Xtask::Loom(options) => loom::run(&options),
        Xtask::Mutants(options) => mutants::run(&options),
        Xtask::Miri(options) => miri::run(&options),
        Xtask::Tsan => tsan::run(),
        Xtask::Stress(options) => stress::run(&options),
        Xtask::Scenarios(options) => scenarios::run(&options),
        Xtask::Proof(options) => proof::run(&options),
        Xtask::Kernel(options) => kernel::run(&options),
        Xtask::Bench(options) => bench::run(&options),
        Xtask::Ci(options) => ci::run(&options),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
