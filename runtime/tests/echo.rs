//! The example echo: every request comes back, from a server that ends when it is told to.

#![cfg(any(feature = "std", all(feature = "linux", target_os = "linux")))]

#[macro_use]
#[path = "behaviour/each_backend.rs"]
mod each_backend;

// The example's own modules, at the same place in the crate as there.
#[path = "../examples/echo/app.rs"]
mod app;
#[path = "../examples/echo/load.rs"]
mod load;
#[path = "../examples/echo/server.rs"]
mod server;

use app::Args;
use clap::Parser;
use each_backend::runtime;
use parkade::Backend;
use server::Server;

on_each_backend!(
    every_request_is_answered,
    a_server_that_is_dropped_accepts_no_more,
);

fn args(words: &[&str]) -> Result<Args, clap::Error> {
    Args::try_parse_from(["echo"].iter().chain(words))
}

fn every_request_is_answered<B: Backend>() {
    let args = args(&["--clients", "10", "--requests", "20", "--bytes", "3000"]).unwrap();
    let mut out = Vec::new();
    let measured = app::run::<B>(&args, &mut out).unwrap();
    assert_eq!((measured.answered, measured.echoed), (200, 200));
    let report = String::from_utf8(out).unwrap();
    let words: Vec<_> = report.split_whitespace().collect();
    assert_eq!(words[..3], ["requests", "200", "answered,"]);
    for name in ["requests/s", "p50", "p90", "p99", "max"] {
        assert!(words.contains(&name), "{name} is not in {report}");
    }
    assert!(args_are_checked());
}

fn args_are_checked() -> bool {
    args(&["--clients", "0"]).is_err() && args(&["--requests", "10001"]).is_err()
}

fn a_server_that_is_dropped_accepts_no_more<B: Backend>() {
    let runtime = std::sync::Arc::new(runtime::<B>(1));
    let server = Server::start(&runtime).unwrap();
    let address = server.address();
    assert_eq!(server.stop(), 0);
    let load = load::Load {
        server: address,
        requests: 1,
        bytes: 1,
    };
    let refused = parkade::block_on(runtime.spawn_async(load::ask(load, 0))).unwrap();
    assert!(refused.is_err(), "nobody listens there any more");
}
