//! `cargo xtask bench`: the contenders side by side.
//!
//! The bench program measures one cell a process. Here the cells are put in an order that is fair on a
//! machine that is not quiet: every round runs every cell once, contender next to contender, and the
//! contender that goes first changes from round to round. What is shown is the median of the rounds
//! with the lowest and the highest, never a single run.

mod cell;
mod facts;
mod limits;
mod strace;
mod summary;

use std::fs;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use crate::run::{Step, root};
use cell::Cell;
use facts::{Facts, Load};
use strace::Tracer;
use summary::Summary;

/// The bench program, where the build puts it.
const PROGRAM: &str = "bench/target/release/parkade-bench";

/// Who is measured when nobody is named: both backends. The first is what the others are compared to.
const CONTENDERS: [&str; 2] = ["linux", "std"];

/// The worker counts that each row is measured with.
const fn workers(row: Row) -> &'static [u16] {
    match row {
        Row::Lone => &[2, 8],
        Row::Outside | Row::Local | Row::Idle => &[2],
        // The waiter.
        Row::Lot => &[1],
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Row {
    /// One task at a time from outside to an idle pool.
    Lone,
    /// Many tasks from one outside thread.
    Outside,
    /// Many tasks spawned by a task.
    Local,
    /// A parked pool that is left alone.
    Idle,
    /// A lot without a pool, with and without skipped wakes.
    Lot,
}

impl Row {
    /// With how many tasks the system calls of the row are counted, if they are: so many that a stray call shows
    /// as little.
    const fn traced(self) -> Option<u64> {
        match self {
            Self::Lone => Some(200),
            Self::Local => Some(100_000),
            Self::Outside | Self::Idle | Self::Lot => None,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Lone => "lone",
            Self::Outside => "outside",
            Self::Local => "local",
            Self::Idle => "idle",
            Self::Lot => "lot",
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Measure only this row; may be given several times.
    #[arg(long)]
    row: Vec<Row>,
    /// Measure only this contender; may be given several times. The others are compared to the first.
    #[arg(long)]
    contender: Vec<String>,
    /// Rounds: each runs every cell once.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: Option<u32>,
    /// Three rounds: a first look. The default.
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// Seven rounds: figures to be quoted.
    #[arg(long)]
    full: bool,
    /// Where the JSON goes; a file in target/bench when it is not given.
    #[arg(long, value_name = "PATH")]
    json: Option<PathBuf>,
    /// Fail where a count breaks its limit: futex calls and yields of `lone`, switches of `idle`.
    #[arg(long)]
    check: bool,
}

/// What is written as JSON.
#[derive(Debug, Serialize)]
struct Report<'a> {
    facts: &'a Facts,
    load_before: Load,
    load_after: Load,
    rounds: u32,
    counts_missing_because: Option<&'a str>,
    summary: &'a Summary,
    cells: &'a [Cell],
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let load_before = Load::now();
    load_before.warn();
    let facts = Facts::gather()?;
    println!("{facts}");
    Step::cargo(
        "build --release --locked --manifest-path bench/Cargo.toml --target-dir bench/target",
    )
    .run()?;
    let contenders = contenders(&options.contender)?;
    let tracer = Tracer::find();
    if let Err(why) = &tracer {
        println!("System calls are not counted: {why}.");
    }
    let rounds = options.rounds.unwrap_or(if options.full { 7 } else { 3 });
    let cells = measure(options, &contenders, rounds, tracer.as_ref().ok())?;
    let load_after = Load::now();

    let summary = Summary::new(&cells, &contenders);
    println!("\n{}", summary.table(&contenders));
    println!("{rounds} rounds: median (lowest–highest). To run one cell again:");
    for command in summary.commands() {
        println!("  {command}");
    }
    if let Err(why) = &tracer {
        println!("The counts of system calls are missing: {why}.");
    }
    load_before.warn();
    let path = options.json.clone().unwrap_or_else(default_path);
    let report = Report {
        facts: &facts,
        load_before,
        load_after,
        rounds,
        counts_missing_because: tracer.as_ref().err().map(String::as_str),
        summary: &summary,
        cells: &cells,
    };
    write(&path, &report)?;
    println!("JSON: {}", path.display());
    let broken = limits::broken(&summary);
    if options.check && !broken.is_empty() {
        bail!("{}", broken.join("; "));
    }
    Ok(())
}

/// The contenders to be measured: those asked for, or those of the default that this system has.
fn contenders(asked: &[String]) -> Result<Vec<String>> {
    let here = Step::new(PROGRAM, ["contenders"]).capture()?;
    let here: Vec<&str> = here.split_whitespace().collect();
    if let Some(unknown) = asked.iter().find(|name| !here.contains(&name.as_str())) {
        bail!(
            "there is no contender `{unknown}` on this system, but: {}",
            here.join(", ")
        );
    }
    if !asked.is_empty() {
        return Ok(asked.to_vec());
    }
    let chosen: Vec<String> = CONTENDERS
        .iter()
        .filter(|name| here.contains(*name))
        .map(|name| (*name).to_owned())
        .collect();
    if chosen.is_empty() {
        bail!("the bench program has none of: {}", CONTENDERS.join(", "));
    }
    Ok(chosen)
}

fn measure(
    options: &Options,
    contenders: &[String],
    rounds: u32,
    tracer: Option<&Tracer>,
) -> Result<Vec<Cell>> {
    let rows = if options.row.is_empty() {
        Row::value_variants()
    } else {
        &options.row
    };
    let plan: Vec<(Row, u16)> = rows
        .iter()
        .flat_map(|row| workers(*row).iter().map(|workers| (*row, *workers)))
        .collect();
    let total = plan.len() * contenders.len() * rounds as usize;
    let bar = ProgressBar::new(total as u64);
    bar.set_style(ProgressStyle::with_template(
        "[{elapsed_precise}] {bar:30} {pos}/{len}  {msg}  (some {eta} left)",
    )?);
    let mut cells = Vec::with_capacity(total);
    for round in 0..rounds as usize {
        for (row, workers) in &plan {
            for turn in 0..contenders.len() {
                let contender = &contenders[(turn + round) % contenders.len()];
                bar.set_message(format!("{} {contender} {workers}", row.name()));
                let mut cell = cell::measure(row.name(), contender, *workers)?;
                if let (Some(tracer), Some(tasks)) = (tracer, row.traced()) {
                    cell.add(tracer.count(&cell, tasks)?);
                }
                bar.suspend(|| println!("{cell}"));
                bar.inc(1);
                cells.push(cell);
            }
        }
    }
    bar.finish_and_clear();
    Ok(cells)
}

fn default_path() -> PathBuf {
    let seconds = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs());
    root().join(format!("target/bench/{seconds}.json"))
}

fn write(path: &PathBuf, report: &Report<'_>) -> Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
    }
    let text = serde_json::to_string_pretty(report)?;
    fs::write(path, text + "\n").with_context(|| format!("writing {}", path.display()))
}
