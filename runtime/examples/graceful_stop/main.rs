//! A graceful stop, thrice: everything that was accepted is accounted for, whatever the policy.
//!
//! ```text
//! cargo run --release --example graceful_stop
//! cargo run --release --example graceful_stop -- --tasks 10000 --deadline 50
//! ```
//!
//! Each time the same runtime is stopped while its workers are inside tasks: sleepers, a full queue, timed tasks that
//! are due and some that are not, an interval. First it drains; then it drains with a deadline that one task does not
//! care for; then it abandons what is queued. `acts.rs` has the three, and counts: each handle says whether its task
//! ran or was dropped, and the sums must be those of the report.

mod acts;

use std::io;
use std::process::ExitCode;

use clap::Parser;
use parkade::DefaultBackend;

fn main() -> ExitCode {
    match acts::run::<DefaultBackend>(&acts::Args::parse(), &mut io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("graceful_stop: {error}");
            ExitCode::FAILURE
        }
    }
}
