//! Two pools on the same CPUs, in turn: the one that has nothing to do takes nothing from the other.
//!
//! ```text
//! cargo run --release --example shared_cores
//! cargo run --release --example shared_cores -- --workers 4 --turns 20 --items 200
//! ```
//!
//! A program computes and then writes, over and over, with a pool for each. Where idle workers spin, the pools have
//! to divide the CPUs or to slow each other down; where they sleep, each may have all of them. So both tags here are
//! pinned to the same list. `turns.rs` has the program and its claim, which it checks: in the other's turn a pool
//! has no CPU time, no context switch and no sleep to be woken from. `threads.rs` reads that from the system.

mod threads;
mod turns;

use std::io;
use std::process::ExitCode;

use clap::Parser;
use parkade::DefaultBackend;

fn main() -> ExitCode {
    match turns::run::<DefaultBackend>(&turns::Args::parse(), &mut io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("shared_cores: {error}");
            ExitCode::FAILURE
        }
    }
}
