//! `cargo xtask loom`: core's models and those of the runtime's jobs, explored by loom to a bounded number
//! of preemptions.
//!
//! The cfg `parkade_loom` changes every atomic of core, so the build has a target directory of its own
//! and does not evict the normal one.

use std::time::Duration;

use anyhow::Result;
use clap::Args;

use crate::run::Step;
use crate::test::Runner;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Explore only the models whose name contains this.
    filter: Option<String>,
    /// How many times loom may preempt a thread in one execution, instead of each model's own bound.
    #[arg(long)]
    preemptions: Option<u32>,
    /// End each model after so many seconds, however much of it is left.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    seconds: Option<u32>,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let runner = Runner::find();
    println!("model runner: {}", runner.describe());
    step(runner, options).run()?;
    if options.filter.is_none() {
        jobs().run()?;
    }
    Ok(())
}

/// The runtime's models: of a job, its latch and its handle. They take a second.
fn jobs() -> Step {
    Step::cargo("test -p parkade --no-default-features --release --lib models")
        .env("RUSTFLAGS", "--cfg parkade_loom")
        .env("CARGO_TARGET_DIR", "target/loom")
}

fn step(runner: Runner, options: &Options) -> Step {
    let step = match runner {
        Runner::Nextest => Step::cargo(
            "nextest run -p parkade-core --all-features --release --test models --profile loom",
        ),
        Runner::CargoTest => {
            Step::cargo("test -p parkade-core --all-features --release --test models")
        }
    };
    let step = step
        .args(options.filter.iter())
        .env("RUSTFLAGS", "--cfg parkade_loom")
        .env("CARGO_TARGET_DIR", "target/loom")
        .limit(Duration::from_secs(15 * 60));
    let bounds = [
        ("LOOM_MAX_PREEMPTIONS", options.preemptions),
        ("LOOM_MAX_DURATION", options.seconds),
        // After so many interleavings loom looks at the clock; by default after 20 000.
        ("LOOM_CHECKPOINT_INTERVAL", options.seconds.map(|_| 500)),
    ];
    bounds
        .into_iter()
        .fold(step, |step, (name, bound)| match bound {
            Some(bound) => step.env(name, bound.to_string()),
            None => step,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_cfg_and_the_bound_reach_the_build() {
        let options = Options {
            filter: Some("lot".to_owned()),
            preemptions: Some(3),
            seconds: Some(5),
        };
        assert_eq!(
            step(Runner::Nextest, &options).to_string(),
            "RUSTFLAGS='--cfg parkade_loom' CARGO_TARGET_DIR=target/loom LOOM_MAX_PREEMPTIONS=3 \
             LOOM_MAX_DURATION=5 \
             LOOM_CHECKPOINT_INTERVAL=500 cargo nextest run -p parkade-core --all-features --release --test models --profile loom lot"
        );
    }
}
