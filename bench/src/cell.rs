//! One cell: its options, and its result as it is printed.

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use parkade::Backend;
use serde::Serialize;

use crate::contender::{self, Contender, Parkade};
use crate::rows;

#[derive(Debug, Clone, Args)]
pub(crate) struct Options {
    /// What is measured.
    #[arg(long)]
    pub(crate) row: Row,
    /// Who is measured.
    #[arg(long)]
    pub(crate) contender: contender::Name,
    /// Worker threads.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) workers: u16,
    /// Tasks to measure; each row has a default of its own, and `idle` takes none.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) tasks: Option<u64>,
    /// How long `idle` watches.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=600))]
    pub(crate) seconds: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Row {
    /// One task at a time from outside to an idle pool: how soon it starts.
    Lone,
    /// Many tasks from one outside thread.
    Outside,
    /// Many tasks spawned by a task.
    Local,
    /// No task at all: what a parked pool costs.
    Idle,
    /// One lot without a pool: what skipping needless wakes does to those that come late.
    Lot,
}

/// A measured cell.
#[derive(Debug, Serialize)]
pub(crate) struct Cell {
    row: Row,
    contender: String,
    workers: u16,
    metrics: Vec<Metric>,
}

/// One figure of a cell.
#[derive(Debug, Serialize)]
pub(crate) struct Metric {
    name: &'static str,
    unit: &'static str,
    value: f64,
}

impl Metric {
    pub(crate) fn new(name: &'static str, unit: &'static str, value: f64) -> Self {
        Self { name, unit, value }
    }
}

pub(crate) fn measure(options: &Options) -> Result<Cell> {
    Ok(Cell {
        row: options.row,
        contender: options.contender.to_string(),
        workers: options.workers,
        metrics: options.contender.measure(options)?,
    })
}

/// Measures the row with a contender whose type is known.
pub(crate) fn measure_with<C: Contender>(options: &Options) -> Result<Vec<Metric>> {
    // A cell's process ends when it has printed its line, so the pool need not: leaked, it can be
    // named by the tasks themselves, and its end is not measured by accident.
    let pool: &'static C = Box::leak(Box::new(C::start(options.workers)?));
    match options.row {
        Row::Lone => rows::lone::measure(pool, options.tasks.unwrap_or(500)),
        Row::Outside => rows::outside::measure(pool, options.tasks.unwrap_or(300_000)),
        Row::Local => rows::local::measure(pool, options.tasks.unwrap_or(1_000_000)),
        Row::Idle => rows::idle::measure(pool, options.workers, options.seconds),
        Row::Lot => bail!("`lot` has no pool"),
    }
}

/// Measures the row with a backend, where the row has no pool.
pub(crate) fn measure_on<B: Backend>(options: &Options) -> Result<Vec<Metric>> {
    match options.row {
        Row::Lot => rows::lot::measure::<B>(options.tasks.unwrap_or(4000)),
        _ => measure_with::<Parkade<B>>(options),
    }
}
