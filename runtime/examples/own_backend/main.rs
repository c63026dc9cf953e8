//! A backend of one's own: how a worker sleeps is written here, and the runtime does the rest.
//!
//! ```text
//! cargo run --release --example own_backend
//! cargo run --release --example own_backend -- --workers 3 --rounds 100000
//! ```
//!
//! Bring a park if your system has a better way to sleep than std's condition variable, or if you want to see every
//! sleep and wake. `own.rs` has one of some forty lines, without unsafe code: a short spin, then std's thread park. It
//! says which obligation of the contract each line is for. `workload.rs` tries the park alone and then runs
//! [`RuntimeOn`](parkade::RuntimeOn) on it.
//!
//! A park that is wrong loses a wake once in a million; the repository's `backend-std/tests/contract` is what a new
//! one should pass before it is trusted.

mod own;
mod workload;

use std::io;
use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    match workload::run(&workload::Args::parse(), &mut io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("own_backend: {error}");
            ExitCode::FAILURE
        }
    }
}
