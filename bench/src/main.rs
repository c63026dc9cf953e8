//! The bench program: one process measures one cell and prints it as one line of JSON.
//!
//! A *cell* is a row (what is measured), a contender (who is measured) and a number of workers. Each
//! cell has a process of its own, so that no contender inherits another's threads, heap or caches;
//! `cargo xtask bench` interleaves many of them and makes the table.

mod cell;
mod contender;
mod mark;
mod rows;
mod tally;

use anyhow::Result;
use clap::Parser;

/// Measures schedulers, one cell a process.
#[derive(Debug, Parser)]
enum Bench {
    /// Measure one cell and print it as one line of JSON.
    Cell(cell::Options),
    /// Print the contenders that this build has, one a line.
    Contenders,
}

fn main() -> Result<()> {
    match Bench::parse() {
        Bench::Cell(options) => println!("{}", serde_json::to_string(&cell::measure(&options)?)?),
        Bench::Contenders => {
            for name in contender::Name::all() {
                println!("{name}");
            }
        }
    }
    Ok(())
}
