//! `cargo xtask mutants`: weakens the core one step at a time and sees the named check fail.
//!
//! The table `core/tests/MUTANTS.md` says which check kills which mutant. One build serves all: the
//! environment variable `PARKADE_MUTANT` names the step that `core/src/sync.rs` weakens in that run. A
//! check that fails only by running out of time has not killed anything.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Args;
use comfy_table::{Table, presets};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::Value;

use crate::run::{Step, StepError, root};

const TABLE: &str = "core/tests/MUTANTS.md";
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
    #[arg(long, default_value_t = 64)]
    seeds: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tool {
    Loom,
    Miri,
    Argued,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Mutant {
    id: String,
    change: String,
    tool: Tool,
    check: String,
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
    let table = fs::read_to_string(root().join(TABLE)).with_context(|| TABLE.to_owned())?;
    let mutants = parse(&table)?;
    compare(&mutants, &named_in_code()?)?;
    argued_in_prose(&mutants)?;
    let chosen: Vec<_> = mutants
        .into_iter()
        .filter(|mutant| {
            let wanted = options.filter.as_ref();
            wanted.is_none_or(|filter| mutant.id.contains(filter))
                && !(options.no_miri && mutant.tool == Tool::Miri)
        })
        .collect();
    let chosen = sample(chosen, options.sample);
    if chosen.is_empty() {
        bail!("no mutant of {TABLE} is chosen");
    }
    let models = build_models()?;
    let checks = Checks { models, options };
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

/// The rows of the table.
fn parse(table: &str) -> Result<Vec<Mutant>> {
    let rows = table.lines().filter(|line| line.starts_with("| "));
    let cells = rows.map(|row| {
        let inner = row.trim().trim_start_matches('|').trim_end_matches('|');
        inner.split('|').map(str::trim).collect::<Vec<_>>()
    });
    cells
        .skip(1)
        .map(|cells| {
            let [id, change, tool, check] = cells[..] else {
                bail!("a row of {TABLE} has not four cells: {cells:?}");
            };
            let tool = match tool {
                "loom" => Tool::Loom,
                "miri" => Tool::Miri,
                "argued" => Tool::Argued,
                other => bail!("{TABLE}: {id}: there is no tool `{other}`"),
            };
            if check.is_empty() != (tool == Tool::Argued) {
                bail!("{TABLE}: {id}: a check is named exactly if a tool runs it");
            }
            Ok(Mutant {
                id: id.to_owned(),
                change: change.to_owned(),
                tool,
                check: check.to_owned(),
            })
        })
        .collect()
}

/// The names that code can be mutated by: string literals in calls of the doors of `sync`, and those that
/// the models ask for themselves.
fn named_in_code() -> Result<BTreeSet<String>> {
    const DOORS: [&str; 5] = [
        "order(\"",
        "fence(\"",
        "light(\"",
        "heavy(\"",
        "left_out(\"",
    ];
    let mut names = BTreeSet::from(["fences.pair".to_owned()]);
    let listed = Step::new("git", ["ls-files", "core/src", "core/tests/models"]).capture()?;
    for file in listed.lines().filter(|file| file.ends_with(".rs")) {
        let text = fs::read_to_string(root().join(file)).with_context(|| file.to_owned())?;
        let code = text
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"));
        for line in code {
            let called = DOORS.iter().flat_map(|door| line.split(door).skip(1));
            let asked = line.split("== \"model.").skip(1);
            for name in called.filter_map(|rest| rest.split_once('"')) {
                names.insert(name.0.to_owned());
            }
            for name in asked.filter_map(|rest| rest.split_once('"')) {
                names.insert(format!("model.{}", name.0));
            }
        }
    }
    Ok(names)
}

/// The table and the code name the same mutants, once each.
fn compare(mutants: &[Mutant], named: &BTreeSet<String>) -> Result<()> {
    let mut listed = BTreeSet::new();
    let mut wrong = Vec::new();
    for mutant in mutants {
        if !listed.insert(mutant.id.clone()) {
            wrong.push(format!("{} is listed twice", mutant.id));
        }
    }
    wrong.extend(
        listed
            .difference(named)
            .map(|id| format!("{id} is not in the code")),
    );
    wrong.extend(
        named
            .difference(&listed)
            .map(|id| format!("{id} is not in {TABLE}")),
    );
    if !wrong.is_empty() {
        bail!("{}", wrong.join("; "));
    }
    Ok(())
}

/// Whoever survives by argument has it in ARCHITECTURE.md.
fn argued_in_prose(mutants: &[Mutant]) -> Result<()> {
    let prose = fs::read_to_string(root().join("ARCHITECTURE.md")).context("ARCHITECTURE.md")?;
    let argued = mutants.iter().filter(|mutant| mutant.tool == Tool::Argued);
    for mutant in argued {
        if !prose.contains(&format!("`{}`", mutant.id)) {
            bail!(
                "{} is said to be argued, but ARCHITECTURE.md does not",
                mutant.id
            );
        }
    }
    Ok(())
}

/// Builds the models once; returns the path of their program.
fn build_models() -> Result<String> {
    println!("building the models");
    let messages = Step::cargo(
        "test -p parkade-core --all-features --release --test models --no-run --quiet \
         --message-format json",
    )
    .env("RUSTFLAGS", "--cfg parkade_loom")
    .env("CARGO_TARGET_DIR", "target/loom")
    .capture()?;
    messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|message| message["target"]["name"] == "models")
        .find_map(|message| message["executable"].as_str().map(str::to_owned))
        .context("cargo names no program for the models")
}

struct Checks<'o> {
    models: String,
    options: &'o Options,
}

impl Checks<'_> {
    fn step(&self, tool: Tool, check: &str) -> Step {
        match tool {
            Tool::Loom | Tool::Argued => Step::new(&self.models, ["--exact", check]).limit(LIMIT),
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
                    "-Zmiri-many-seeds=0..{} -Zmiri-disable-isolation",
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
            .map(|mutant| (mutant.check.as_str(), mutant.tool))
            .collect();
        let bar = bar(checks.len(), "unmutated");
        for (check, tool) in checks {
            bar.set_message(check.to_owned());
            self.step(tool, check)
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
                let step = self.step(mutant.tool, &mutant.check);
                match step.env("PARKADE_MUTANT", &mutant.id).judge() {
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

    const GOOD: &str = "# x\n\n| mutant | what | tool | check |\n|---|---|---|---|\n\
                        | a.b | left out | loom | m::t |\n| c | Release | argued | |\n";

    #[test]
    fn rows_are_read() {
        let mutants = parse(GOOD).unwrap();
        assert_eq!(mutants.len(), 2);
        assert_eq!(
            (mutants[0].id.as_str(), mutants[0].tool),
            ("a.b", Tool::Loom)
        );
        assert_eq!(mutants[1].tool, Tool::Argued);
    }

    #[test]
    fn a_row_without_a_check_or_with_one_too_many_is_refused() {
        assert!(parse(&GOOD.replace("| m::t |", "| |")).is_err());
        assert!(parse(&GOOD.replace("argued | |", "argued | m::t |")).is_err());
        assert!(parse(&GOOD.replace("loom", "lom")).is_err());
    }

    #[test]
    fn the_table_and_the_code_must_agree() {
        let mutants = parse(GOOD).unwrap();
        let named = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        assert!(compare(&mutants, &named(&["a.b", "c"])).is_ok());
        let missing = compare(&mutants, &named(&["a.b", "c", "d"])).unwrap_err();
        assert!(missing.to_string().starts_with("d is not in"), "{missing}");
        let stale = compare(&mutants, &named(&["a.b"])).unwrap_err();
        assert_eq!(stale.to_string(), "c is not in the code");
    }

    #[test]
    fn a_sample_is_spread_and_never_larger() {
        let five = || vec![parse(GOOD).unwrap().remove(0); 5];
        for (count, kept) in [(None, 5), (Some(1), 1), (Some(2), 2), (Some(9), 5)] {
            assert_eq!(sample(five(), count).len(), kept, "{count:?}");
        }
    }

    #[test]
    fn this_tree_agrees_with_its_table() {
        let table = fs::read_to_string(root().join(TABLE)).unwrap();
        let mutants = parse(&table).unwrap();
        compare(&mutants, &named_in_code().unwrap()).unwrap();
        argued_in_prose(&mutants).unwrap();
    }
}
