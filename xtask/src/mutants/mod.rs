//! `cargo xtask mutants`: weakens the core and the runtime one step at a time and sees the named check fail.
//!
//! The tables (`core/tests/MUTANTS.md`, `runtime/src/MUTANTS.md`) say which check kills which mutant. One build
//! of a room's models serves all: the environment variable `PARKADE_MUTANT` names the step that its `sync.rs`
//! weakens in that run. A check that fails only by running out of time has not killed anything.

mod table;

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Args;
use comfy_table::{Table, presets};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::Value;

use crate::miri::PREEMPT_OFTEN;
use crate::run::{Step, StepError, root};
use table::{Mutant, ROOMS, Room, Tool};

const WRITTEN: &str = "target/mutants.md";

/// How long one check may take to fail, or to pass unmutated.
const LIMIT: Duration = Duration::from_secs(60);

/// Miri is slow and runs many seeds.
const MIRI_LIMIT: Duration = Duration::from_secs(600);

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Run only the mutants whose name contains this.
    filter: Option<String>,
    /// Leave out the mutants that only Miri kills.
    #[arg(long)]
    no_miri: bool,
    /// Run only so many of them, evenly spread over the table.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    sample: Option<u32>,
    /// How many seeds Miri tries before a mutant counts as survived.
    #[arg(long, default_value_t = 32)]
    seeds: u32,
}

/// What became of a mutant.
#[derive(Debug, PartialEq, Eq)]
enum Fate {
    Killed,
    Survived,
    TimedOut,
    Argued,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let chosen: Vec<_> = table::all()?
        .into_iter()
        .filter(|mutant| {
            let wanted = options.filter.as_ref();
            wanted.is_none_or(|filter| mutant.id.contains(filter))
                && !(options.no_miri && mutant.tool == Tool::Miri)
        })
        .collect();
    let chosen = sample(chosen, options.sample);
    if chosen.is_empty() {
        bail!("no mutant is chosen");
    }
    let checks = Checks {
        models: build_models(&chosen)?,
        options,
    };
    checks.pass_unmutated(&chosen)?;
    let outcomes = checks.judge(&chosen)?;
    let report = report(&outcomes);
    println!("{report}");
    fs::write(root().join(WRITTEN), format!("{report}\n")).with_context(|| WRITTEN.to_owned())?;
    let alive: Vec<_> = outcomes
        .iter()
        .filter(|(_, fate, _)| matches!(fate, Fate::Survived | Fate::TimedOut))
        .map(|(mutant, ..)| mutant.id.as_str())
        .collect();
    if !alive.is_empty() {
        bail!("not killed: {}", alive.join(", "));
    }
    Ok(())
}

/// At most `count` of the mutants, evenly spread.
fn sample(mutants: Vec<Mutant>, count: Option<u32>) -> Vec<Mutant> {
    let count = count.map_or(mutants.len(), |count| count as usize);
    let stride = mutants.len().div_ceil(count.max(1)).max(1);
    mutants.into_iter().step_by(stride).collect()
}

/// Builds each room's models once; returns the paths of their programs.
fn build_models(chosen: &[Mutant]) -> Result<Vec<(&'static Room, String)>> {
    let by_model = |room| {
        let mut mutants = chosen.iter().filter(|mutant| mutant.tool == Tool::Loom);
        mutants.any(move |mutant| mutant.room == room)
    };
    let rooms = ROOMS.iter().filter(|&room| by_model(room));
    rooms.map(|room| Ok((room, build(room)?))).collect()
}

fn build(room: &Room) -> Result<String> {
    println!("building the models of {}", room.table);
    let messages = Step::cargo(room.models)
        .args(["--no-run", "--quiet", "--message-format", "json"])
        .env("RUSTFLAGS", "--cfg parkade_loom")
        .env("CARGO_TARGET_DIR", "target/loom")
        .capture()?;
    messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|message| message["target"]["name"] == room.target)
        .find_map(|message| message["executable"].as_str().map(str::to_owned))
        .with_context(|| format!("cargo names no program called {}", room.target))
}

struct Checks<'o> {
    models: Vec<(&'static Room, String)>,
    options: &'o Options,
}

impl Checks<'_> {
    fn step(&self, mutant: &Mutant) -> Step {
        let check = mutant.check.as_str();
        match mutant.tool {
            Tool::Loom | Tool::Argued => {
                let mut models = self.models.iter();
                let program = models.find(|(room, _)| *room == mutant.room);
                let program = program.map_or("", |(_, program)| program);
                Step::new(program, ["--exact", check]).limit(LIMIT)
            }
            // cargo-miri prefers the environment of the build to that of the run: what is built without a
            // mutant, as the first pass does, obeys the variable later.
            Tool::Miri => Step::cargo(
                "+nightly miri test -p parkade-core --features alloc --test queue_in_threads --",
            )
            .args([check])
            .env("RUSTFLAGS", "--cfg parkade_mutants")
            .env("CARGO_TARGET_DIR", "target/miri-mutants")
            .env(
                "MIRIFLAGS",
                format!(
                    "-Zmiri-many-seeds=0..{} -Zmiri-disable-isolation {PREEMPT_OFTEN}",
                    self.options.seeds
                ),
            )
            .limit(MIRI_LIMIT),
        }
    }

    /// A check that fails anyway kills nothing.
    fn pass_unmutated(&self, mutants: &[Mutant]) -> Result<()> {
        let checks: BTreeMap<_, _> = mutants
            .iter()
            .filter(|mutant| mutant.tool != Tool::Argued)
            .map(|mutant| (mutant.check.as_str(), mutant))
            .collect();
        let bar = bar(checks.len(), "unmutated");
        for (check, mutant) in checks {
            bar.set_message(check.to_owned());
            self.step(mutant)
                .judge()
                .with_context(|| format!("{check} fails without a mutant"))?;
            bar.inc(1);
        }
        bar.finish_and_clear();
        Ok(())
    }

    fn judge<'m>(&self, mutants: &'m [Mutant]) -> Result<Vec<(&'m Mutant, Fate, Duration)>> {
        let bar = bar(mutants.len(), "mutants");
        let mut outcomes = Vec::new();
        for mutant in mutants {
            bar.set_message(mutant.id.clone());
            let started = Instant::now();
            let fate = if mutant.tool == Tool::Argued {
                Fate::Argued
            } else {
                match self.step(mutant).env("PARKADE_MUTANT", &mutant.id).judge() {
                    Ok(()) => Fate::Survived,
                    Err(StepError::Failed { .. }) => Fate::Killed,
                    Err(StepError::TimedOut { .. }) => Fate::TimedOut,
                    Err(error) => return Err(error.into()),
                }
            };
            outcomes.push((mutant, fate, started.elapsed()));
            bar.inc(1);
        }
        bar.finish_and_clear();
        Ok(outcomes)
    }
}

fn bar(steps: usize, what: &'static str) -> ProgressBar {
    let style = ProgressStyle::with_template("{prefix} {pos}/{len} {msg}");
    ProgressBar::new(steps as u64)
        .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        .with_prefix(what)
}

fn report(outcomes: &[(&Mutant, Fate, Duration)]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN).set_header([
        "mutant",
        "what is changed",
        "check",
        "fate",
        "seconds",
    ]);
    for (mutant, fate, took) in outcomes {
        let fate = match fate {
            Fate::Killed => "killed",
            Fate::Survived => "SURVIVED",
            Fate::TimedOut => "TIMED OUT",
            Fate::Argued => "argued",
        };
        let seconds = format!("{:.1}", took.as_secs_f64());
        table.add_row([&mutant.id, &mutant.change, &mutant.check, fate, &seconds]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_spread_and_never_larger() {
        let some = || table::all().unwrap()[..5].to_vec();
        for (count, kept) in [(None, 5), (Some(1), 1), (Some(2), 2), (Some(9), 5)] {
            assert_eq!(sample(some(), count).len(), kept, "{count:?}");
        }
    }
}
