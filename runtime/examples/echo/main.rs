//! A TCP echo server and its load, on loopback: sockets served by futures on the runtime's workers.
//!
//! ```text
//! cargo run --release --example echo
//! cargo run --release --example echo -- --clients 200 --requests 500 --bytes 1024
//! ```
//!
//! The runtime has no reactor and needs none: async-io waits for the sockets on a thread of its own and wakes the
//! futures that want them; each wake puts its future into its tag. `server.rs` accepts and echoes, `load.rs` asks
//! and measures, `app.rs` has the arguments and the life of the runtime.

mod app;
mod load;
mod server;

use std::io;
use std::process::ExitCode;

use clap::Parser;
use parkade::DefaultBackend;

fn main() -> ExitCode {
    let args = app::Args::parse();
    match app::run::<DefaultBackend>(&args, &mut io::stdout().lock()) {
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("echo: {error}");
            ExitCode::FAILURE
        }
    }
}
