//! The bench program: one process measures one cell and prints it as one line of JSON.
//!
//! A *cell* is a row (what is measured), a contender (who is measured), a number of workers and a number of
//! producers. Each cell has a process of its own, so that no contender inherits another's threads, heap or caches;
//! `cargo xtask bench` interleaves many of them and makes the table.
//!
//! Two kinds of files say it all. `contender/` has one file for each contender, and one for each *capability*: what
//! rows may ask of contenders, and which of them have it. `rows/` has one file for each row: what it is like, its
//! figures, its floor, and how it is measured with any contender of the capability that it needs.

mod allocated;
mod cell;
mod clocks;
mod contender;
mod cpus;
mod mark;
mod pace;
mod resident;
mod rows;
mod tally;
mod threads;
mod work;

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;

/// Tests measure the row that is about bytes as well.
#[cfg(test)]
#[global_allocator]
static ALLOCATOR: &stats_alloc::StatsAlloc<std::alloc::System> = &stats_alloc::INSTRUMENTED_SYSTEM;

/// Measures schedulers, one cell a process.
#[derive(Debug, Parser)]
enum Bench {
    /// Measure one cell and print it as one line of JSON.
    Cell(cell::Options),
    /// Print all rows, as one array of JSON: what they are like, their figures, and who offers them here.
    Rows,
}

/// The program: both of its binaries are this, one of them with an allocator that counts.
///
/// # Errors
///
/// What makes a cell impossible to measure, in words.
pub fn main() -> Result<ExitCode> {
    let line = match Bench::parse() {
        Bench::Cell(options) if options.row.counts_bytes() && !allocated::is_counted() => {
            let status = allocated::run_counting()?;
            return Ok(if status.success() {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            });
        }
        Bench::Cell(options) => serde_json::to_string(&cell::measure(&options)?)?,
        Bench::Rows => serde_json::to_string(&rows::listed())?,
    };
    println!("{line}");
    Ok(ExitCode::SUCCESS)
}
