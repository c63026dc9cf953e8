//! `cargo xtask stress`: the stress tests with other dice, round after round, until the time is over.
//!
//! They run in release, because the windows in which threads miss each other are nanoseconds wide. A hang is a
//! failure: the test prints the runtime, with every worker's lot, the idle words and the queues' lengths.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};

use crate::run::Step;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// How long, in seconds; the round that has begun is finished.
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..))]
    seconds: u32,
    /// How many times its usual work each test does in a round.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    scale: u32,
    /// The seed of the first round, counted up from there.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Tests that scale with `PARKADE_STRESS`.
const STRESSED: &str = "stress::";

/// How long a round may take at scale 1, before it counts as hanging.
const ROUND: Duration = Duration::from_secs(240);

pub(crate) fn run(options: &Options) -> Result<()> {
    Step::cargo("test --release -p parkade --test behaviour --no-run").run()?;
    let (started, seconds) = (Instant::now(), u64::from(options.seconds));
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} s {msg}");
    let bar = ProgressBar::new(seconds)
        .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    let mut rounds = 0;
    while rounds == 0 || started.elapsed().as_secs() < seconds {
        let seed = options.seed.wrapping_add(rounds);
        bar.suspend(|| eprintln!("round {}, seed {seed}", rounds + 1));
        let step = round(options.scale, seed);
        step.run()
            .with_context(|| format!("stress failed in the round of seed {seed}"))?;
        rounds += 1;
        bar.set_position(started.elapsed().as_secs().min(seconds));
    }
    bar.finish_and_clear();
    println!(
        "{rounds} rounds at scale {} in {:.0} s, seeds from {}",
        options.scale,
        started.elapsed().as_secs_f64(),
        options.seed
    );
    Ok(())
}

/// One test at a time: each has more threads than the machine has cores.
fn round(scale: u32, seed: u64) -> Step {
    Step::cargo(&format!(
        "test --quiet --release -p parkade --test behaviour -- --test-threads=1 {STRESSED}"
    ))
    .env("PARKADE_STRESS", scale.to_string())
    .env("PARKADE_SEED", seed.to_string())
    .limit(ROUND * scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_setting_scales_and_the_seed_is_passed_on() {
        assert_eq!(
            round(3, 7).to_string(),
            "PARKADE_STRESS=3 PARKADE_SEED=7 cargo test --quiet --release -p parkade --test \
             behaviour -- --test-threads=1 stress::"
        );
    }
}
