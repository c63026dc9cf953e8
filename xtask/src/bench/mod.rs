//! `cargo xtask bench`: Parkade and its peers side by side, on this machine.
//!
//! The bench program measures one cell a process: a row, a contender, a shape. What it [offers](offer) is asked of
//! it; a [plan] is made of that; the cells are [measured](measure) round by round, while the machine is
//! [watched](calibration); the rounds become a [summary]; and the summary becomes a [table], a [JSON](report) file,
//! a [page](html), a [comparison](against) with an earlier run and the README's [table](readme). Data flows in this
//! order only.

mod against;
mod axis;
mod calibration;
mod cell;
mod distribution;
mod facts;
mod html;
mod limits;
mod measure;
mod micro;
mod offer;
mod palette;
mod plan;
mod plots;
mod readme;
mod report;
mod strace;
mod summary;
mod table;

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;
use jiff::Timestamp;

use crate::run::{Step, root};
use calibration::Calibration;
use facts::Facts;
use measure::Rounds;
use report::{Parts, Report};
use strace::Tracer;
use summary::Summary;

/// The bench program, where the build puts it.
const PROGRAM: &str = "bench/target/release/parkade-bench";

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Measure only this row; may be given several times.
    #[arg(long)]
    row: Vec<String>,
    /// Measure only this contender; may be given several times.
    #[arg(long)]
    contender: Vec<String>,
    /// Rounds: each runs every cell once. 3 for a quick run, 5 for a full one.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: Option<u32>,
    /// A first look, in less than two minutes: the main rows, Parkade and three peers. The default.
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// Every row, every contender: figures to be quoted.
    #[arg(long)]
    full: bool,
    /// Where the JSON goes, and beside it the page; a file in target/bench when it is not given.
    #[arg(long, value_name = "PATH")]
    json: Option<PathBuf>,
    /// Say what has really changed since the run that wrote this JSON.
    #[arg(long, value_name = "OLD.json")]
    against: Option<PathBuf>,
    /// Write the README's table from this run, unless its spreads are too wide or the machine was busy.
    #[arg(long)]
    readme: bool,
    /// Fail where a count breaks its limit: futex calls and yields of `lone`, switches of `idle`.
    #[arg(long)]
    check: bool,
    /// Measure the parts of the core and the backends by themselves, and no row.
    #[arg(long, exclusive = true)]
    micro: bool,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    if options.micro {
        return micro::run();
    }
    let mode = if options.full {
        plan::FULL
    } else {
        plan::QUICK
    };
    let rounds = options.rounds.unwrap_or(mode.rounds);
    // What cannot be read or compared is to be known before minutes are spent.
    let earlier = options.against.as_deref().map(Report::read).transpose()?;
    if let Some(earlier) = &earlier {
        against::check_rounds(rounds.min(earlier.rounds))?;
    }
    let facts = Facts::gather()?;
    println!("{facts}");
    // Before the build, which is much of it afterwards.
    let load = facts::Load::now();
    Step::cargo(
        "build --release --locked --manifest-path bench/Cargo.toml --target-dir bench/target",
    )
    .run()?;
    let offers = offer::ask()?;
    let plan = plan::plan(&offers, &mode, &options.row, &options.contender)?;
    let tracer = Tracer::find();
    let counts_missing = tracer.as_ref().err().cloned();
    if let Some(why) = &counts_missing {
        println!("System calls are not counted: {why}.");
    }
    let mut calibration = Calibration::begin(load)?;
    warn(&calibration);
    let how = Rounds {
        number: rounds,
        tracer: tracer.as_ref().ok(),
        trace_each: mode.trace_each_round,
    };
    let cells = measure::measure(&plan, how, &mut calibration)?;

    let summary = Summary::new(&offers, &cells, calibration.widening());
    println!("{}", table::text(&summary));
    println!("{rounds} rounds on {facts}");
    if let Some(why) = &counts_missing {
        println!("The counts of system calls are missing: {why}.");
    }
    warn(&calibration);
    let parts = Parts {
        written_at: Timestamp::now(),
        facts,
        mode: mode.name.to_owned(),
        rounds,
        counts_missing_because: counts_missing,
    };
    let report = Report::new(parts, calibration, summary, cells);
    let path = options
        .json
        .clone()
        .unwrap_or_else(|| default_path(&report));
    report.write(&path)?;
    println!("JSON: {}", path.display());
    let page = path.with_extension("html");
    report::write(&page, &html::page(&report)?)?;
    println!("Page: {}", page.display());
    if let (Some(earlier), Some(path)) = (&earlier, &options.against) {
        println!(
            "\nSince {}:\n{}",
            path.display(),
            against::compare(earlier, &report)
        );
    }
    finish(options, &report)
}

/// What may fail although the run is written.
fn finish(options: &Options, report: &Report) -> Result<()> {
    let broken = limits::broken(&report.summary);
    if options.check && !broken.is_empty() {
        bail!("{}", broken.join("; "));
    }
    if options.readme {
        readme::rewrite(report).context("--readme")?;
        println!("README.md has the table of this run.");
    }
    Ok(())
}

fn warn(calibration: &Calibration) {
    if let Some(busy) = calibration.busy() {
        println!(
            "warning: {busy}. Spreads are widened by a factor of {:.2}: compare ratios, do not quote figures.",
            calibration.widening()
        );
    }
}

fn default_path(report: &Report) -> PathBuf {
    root().join(format!(
        "target/bench/{}.json",
        report.written_at.as_second()
    ))
}
