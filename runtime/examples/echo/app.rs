//! The program without its `main`: arguments, and the life of the runtime from build to shutdown.

use std::error::Error;
use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Parser;
use futures_util::future::try_join_all;
use parkade::future::timeout;
use parkade::{Backend, Policy, RuntimeOn, Tag};

use crate::load::{self, Load};
use crate::server::Server;

/// How long the load may take: it ends by itself, whatever the network does.
const LIMIT: Duration = Duration::from_secs(120);

/// Serve a TCP echo on loopback, ask it, and print how fast it answers.
#[derive(Debug, Parser)]
#[command(name = "echo")]
pub(crate) struct Args {
    /// How many connections ask at the same time
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=500))]
    pub(crate) clients: u32,

    /// How many requests each of them makes, one after the other
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) requests: u32,

    /// How long a request is, in bytes
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub(crate) bytes: u32,

    /// How many workers serve, and how many ask
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=57))]
    pub(crate) workers: u32,
}

/// What was measured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Measured {
    /// How many requests were answered by their own bytes.
    pub(crate) answered: usize,
    /// How many the server has echoed.
    pub(crate) echoed: usize,
}

/// Does it all; the report goes to `out`.
pub(crate) fn run<B: Backend>(
    args: &Args,
    out: &mut impl Write,
) -> Result<Measured, Box<dyn Error>> {
    let workers = args.workers as usize;
    let runtime = RuntimeOn::<B>::builder()
        .tag(Tag::new("server").workers(workers))
        .tag(Tag::new("load").workers(workers))
        .build()?;
    let runtime = Arc::new(runtime);

    let server = Server::start(&runtime)?;
    let load = Load {
        server: server.address(),
        requests: args.requests,
        bytes: args.bytes as usize,
    };
    let clients = runtime.tag("load")?;
    let begun = Instant::now();
    let asking = (0..args.clients).map(|client| clients.spawn_async(load::ask(load, client)));
    // Dropping what has not ended cancels it.
    let all = timeout(LIMIT, try_join_all(asking.collect::<Vec<_>>()));
    let latencies = parkade::block_on(clients.spawn_async(all))???;
    let elapsed = begun.elapsed();

    let mut latencies = latencies
        .into_iter()
        .collect::<Result<Vec<_>, _>>()?
        .concat();
    latencies.sort_unstable();
    let measured = Measured {
        answered: latencies.len(),
        echoed: server.stop(),
    };
    let per_second = measured.answered as f64 / elapsed.as_secs_f64();
    let Measured { answered, echoed } = measured;
    writeln!(out, "requests  {answered} answered, {echoed} echoed")?;
    writeln!(out, "rate      {per_second:.0} requests/s")?;
    for (name, part) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1.0)] {
        writeln!(out, "{name}       {:?}", percentile(&latencies, part))?;
    }
    writeln!(out, "{}", runtime.metrics())?;
    writeln!(out, "{}", runtime.shutdown(Policy::Drain, Some(LIMIT))?)?;
    Ok(measured)
}

/// The latency that so large a part of the requests does not exceed. There is at least one.
fn percentile(sorted: &[Duration], part: f64) -> Duration {
    let rank = (sorted.len() as f64 * part).ceil() as usize;
    sorted[rank.clamp(1, sorted.len()) - 1]
}
