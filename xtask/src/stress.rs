//! `cargo xtask stress`: the stress tests with other dice, round after round, until the time is over.
//!
//! They are optimised, because the windows in which threads miss each other are nanoseconds wide. A hang is a
//! failure: the test prints the runtime, with what every worker does, its lot, the idle words and the queues'
//! lengths. At the end a table says which scenarios ran, in how many tests, for how many rounds.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::Args;
use comfy_table::{CellAlignment, Table, presets};
use indicatif::{ProgressBar, ProgressStyle};

use crate::run::{Step, root};

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

/// The program of the tests that scale with `PARKADE_STRESS`, optimised.
const STRESSED: &str = "test --profile stress -p parkade --test stress";

/// How long a round may take at scale 1, before it counts as hanging.
const ROUND: Duration = Duration::from_secs(240);

pub(crate) fn run(options: &Options) -> Result<()> {
    Step::cargo(STRESSED).args(["--no-run"]).run()?;
    let record = root().join("target/stress-record");
    match fs::remove_file(&record) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            return Err(error).with_context(|| record.display().to_string());
        }
        _ => {}
    }
    let (started, seconds) = (Instant::now(), u64::from(options.seconds));
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} s {msg}");
    let bar = ProgressBar::new(seconds)
        .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    let mut rounds = 0;
    while rounds == 0 || started.elapsed().as_secs() < seconds {
        let seed = options.seed.wrapping_add(rounds);
        bar.suspend(|| eprintln!("round {}, seed {seed}", rounds + 1));
        let step = round(options.scale, seed, &record);
        step.run()
            .with_context(|| format!("stress failed in the round of seed {seed}"))?;
        rounds += 1;
        bar.set_position(started.elapsed().as_secs().min(seconds));
    }
    bar.finish_and_clear();
    let text = fs::read_to_string(&record).with_context(|| record.display().to_string())?;
    println!("{}", table(&tally(&text)?));
    println!(
        "{rounds} rounds at scale {} in {:.0} s, seeds from {}",
        options.scale,
        started.elapsed().as_secs_f64(),
        options.seed
    );
    Ok(())
}

/// One test at a time: each has more threads than the machine has cores.
fn round(scale: u32, seed: u64, record: &Path) -> Step {
    Step::cargo(STRESSED)
        .args(["--quiet", "--", "--test-threads=1"])
        .env("PARKADE_STRESS", scale.to_string())
        .env("PARKADE_SEED", seed.to_string())
        .env("PARKADE_STRESS_RECORD", record.display().to_string())
        .limit(ROUND * scale)
}

/// A scenario's letter and number, so that 2 comes before 12.
type Scenario = (String, u32);

/// What was run of a scenario.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Runs {
    tests: u64,
    rounds: u64,
}

/// Sums the lines that the tests have written: a scenario and its rounds.
fn tally(text: &str) -> Result<BTreeMap<Scenario, Runs>> {
    let mut scenarios = BTreeMap::new();
    for line in text.lines() {
        let (scenario, rounds) = read(line).with_context(|| format!("no record: {line:?}"))?;
        let runs: &mut Runs = scenarios.entry(scenario).or_default();
        runs.tests += 1;
        runs.rounds += rounds;
    }
    Ok(scenarios)
}

fn read(line: &str) -> Option<(Scenario, u64)> {
    let (id, rounds) = line.split_once(' ')?;
    let (letter, number) = id.split_at_checked(1)?;
    Some((
        (letter.to_owned(), number.parse().ok()?),
        rounds.parse().ok()?,
    ))
}

fn table(scenarios: &BTreeMap<Scenario, Runs>) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_header(["scenario", "tests run", "rounds"]);
    for ((letter, number), runs) in scenarios {
        table.add_row([
            format!("{letter}{number}"),
            runs.tests.to_string(),
            runs.rounds.to_string(),
        ]);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_setting_scales_and_the_seed_is_passed_on() {
        assert_eq!(
            round(3, 7, Path::new("record")).to_string(),
            "PARKADE_STRESS=3 PARKADE_SEED=7 PARKADE_STRESS_RECORD=record cargo test \
             --profile stress -p parkade --test stress --quiet -- --test-threads=1"
        );
    }

    #[test]
    fn rounds_are_summed_by_scenario_in_the_order_of_their_numbers() -> Result<()> {
        let scenarios = tally("W12 200\nW2 1000\nW12 300\nB1 7\n")?;
        let table = table(&scenarios).to_string();
        let rows: Vec<Vec<_>> = table
            .lines()
            .map(|row| row.split_whitespace().collect())
            .collect();
        assert_eq!(
            rows[1..],
            [["B1", "1", "7"], ["W2", "1", "1000"], ["W12", "2", "500"]]
        );
        Ok(())
    }

    #[test]
    fn a_line_that_is_no_record_is_named() {
        for line in ["W1", "W1 many", "1 W", "é 1", ""] {
            let text = format!("{line}\n");
            let error = tally(&text).map(|_| ()).unwrap_err().to_string();
            assert_eq!(error, format!("no record: {line:?}"));
        }
    }
}
