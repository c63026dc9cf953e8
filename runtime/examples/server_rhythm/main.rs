//! A server's rhythm: bursts of short requests, and rest in between.
//!
//! ```text
//! cargo run --release --example server_rhythm
//! cargo run --release --example server_rhythm -- --tasks 8 --work 20 --period 500 --bursts 4000
//! ```
//!
//! A pool that is tuned for throughput keeps its workers awake between the bursts; here they sleep, and the example
//! shows what that costs in latency and what it saves in CPU time. `rhythm.rs` sends the bursts from outside, has the
//! runtime measure how long requests wait and itself how long they take, and checks what it claims: every
//! request is answered, wakes are bounded by the requests and not by the workers, and at rest nothing happens at all.

mod rhythm;
#[path = "../shared_cores/threads.rs"]
mod threads;

use std::io;
use std::process::ExitCode;

use clap::Parser;
use parkade::DefaultBackend;

fn main() -> ExitCode {
    match rhythm::run::<DefaultBackend>(&rhythm::Args::parse(), &mut io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("server_rhythm: {error}");
            ExitCode::FAILURE
        }
    }
}
