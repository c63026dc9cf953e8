//! Hashes every file below a directory: one task per file on pinned workers, large files in chunks.
//!
//! ```text
//! cargo run --release --example treehash                      # the repository itself
//! cargo run --release --example treehash -- DIR               # every file below DIR
//! cargo run --release --example treehash -- --exclude target --workers 2 --cpus 0-1 DIR
//! ```
//!
//! It does the work serially and in parallel, in turns, checks that the digests agree, and prints how much
//! the workers gained, with the runtime's own counters. What it shows of the runtime, and where:
//!
//! | file | shows |
//! |---|---|
//! | `pool.rs` | a tag whose workers are pinned to CPUs, leniently |
//! | `run.rs` | one task per file; tasks that wait for a batch of their own; outcomes in order |
//! | `app.rs` | the life of a runtime: build, use, metrics, shutdown |
//!
//! The rest is what any such program needs: `walk.rs` finds the files, `hash.rs` hashes one of them whole or
//! in chunks, `measure.rs` compares fairly, `report.rs` and `progress.rs` tell the user, `error.rs` says what
//! can go wrong.

mod app;
mod error;
mod hash;
mod measure;
mod pool;
mod progress;
mod report;
mod run;
mod walk;

use std::error::Error as _;
use std::io;
use std::process::ExitCode;

use clap::Parser;
use parkade::DefaultBackend;

use crate::error::Error;

fn main() -> ExitCode {
    let args = app::Args::parse();
    match app::run::<DefaultBackend>(&args, &mut io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever reads has seen enough, as `head` has.
        Err(Error::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprint!("treehash: {error}");
            let mut cause = error.source();
            while let Some(error) = cause {
                eprint!(": {error}");
                cause = error.source();
            }
            eprintln!();
            ExitCode::FAILURE
        }
    }
}
