//! `cargo xtask loom`: core's models, each explored by loom to a bounded number of preemptions.
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
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let runner = Runner::find();
    println!("model runner: {}", runner.describe());
    step(runner, options).run()?;
    Ok(())
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
    match options.preemptions {
        Some(bound) => step.env("LOOM_MAX_PREEMPTIONS", bound.to_string()),
        None => step,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_cfg_and_the_bound_reach_the_build() {
        let options = Options {
            filter: Some("lot".to_owned()),
            preemptions: Some(3),
        };
        assert_eq!(
            step(Runner::Nextest, &options).to_string(),
            "RUSTFLAGS='--cfg parkade_loom' CARGO_TARGET_DIR=target/loom LOOM_MAX_PREEMPTIONS=3 \
             cargo nextest run -p parkade-core --all-features --release --test models --profile loom lot"
        );
    }
}
