//! The bursts, their measures, and the claims about them.

use std::error::Error;
use std::hint::black_box;
use std::io::Write;
use std::thread;
use std::time::{Duration, Instant};

use clap::{Parser, value_parser};
use hdrhistogram::Histogram;
use parkade::{Backend, RuntimeOn, Tag};

use crate::threads::{Threads, Used};

const TAG: &str = "requests";

/// The most wakes for a task: one when it is submitted, one if it is moved from an inbox to a run queue, and one by
/// whoever has been woken, takes another task and sees that this one is left. Mostly it is far fewer, for those
/// who are awake already look for it.
const WAKES_A_TASK: usize = 3;

/// How long the pool is watched at rest.
const REST: Duration = Duration::from_millis(200);

/// Send bursts of short requests to a pool at a rhythm, and see what its workers do meanwhile.
#[derive(Debug, Parser)]
#[command(name = "server_rhythm")]
pub(crate) struct Args {
    /// Requests in a burst
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = value_parser!(u32).range(1..=1000))]
    tasks: u32,

    /// How long each computes, in µs
    #[arg(long, value_name = "MICROS", default_value_t = 20, value_parser = value_parser!(u32).range(1..=10_000))]
    work: u32,

    /// From one burst to the next, in µs
    #[arg(long, value_name = "MICROS", default_value_t = 500, value_parser = value_parser!(u32).range(1..=1_000_000))]
    period: u32,

    /// How many bursts
    #[arg(long, value_name = "N", default_value_t = 4000, value_parser = value_parser!(u32).range(1..=100_000))]
    bursts: u32,

    /// How many workers [default: one for each CPU]
    #[arg(long, value_name = "N")]
    workers: Option<usize>,
}

/// What the client saw.
struct Served {
    /// From the creation of a request to its end, in ns.
    response: Histogram<u64>,
    /// Bursts that began after their time, because the one before had not been answered by then.
    late: u32,
    elapsed: Duration,
}

pub(crate) fn run<B: Backend>(args: &Args, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let rounds = rounds_of(Duration::from_micros(args.work.into()));
    let mut tag = Tag::new(TAG);
    if let Some(workers) = args.workers {
        tag = tag.workers(workers);
    }
    let runtime = RuntimeOn::<B>::builder()
        .tag(tag)
        .measure_latency(true)
        .build()?;
    let threads = Threads::of(&runtime, TAG)?;
    let before = threads.rest()?;
    let counted = runtime.metrics().total;

    let served = serve(&runtime, args, rounds)?;

    let at_rest = threads.rest()?;
    thread::sleep(REST);
    let idle = threads.used() - at_rest;
    let used = at_rest - before;
    let metrics = runtime.metrics().total;
    let (ran, calls) = (
        metrics.ran - counted.ran,
        metrics.wake_calls - counted.wake_calls,
    );

    let Args {
        tasks,
        work,
        period,
        bursts,
        ..
    } = *args;
    let late = served.late;
    writeln!(
        out,
        "bursts    {bursts} of {tasks} tasks of {work} µs, every {period} µs; {late} began late"
    )?;
    writeln!(out, "workers   {}", metrics.workers)?;
    writeln!(out, "tasks     {ran} ran")?;
    if let Some(latency) = &metrics.latency {
        writeln!(
            out,
            "wait      p50 {:?}, p90 {:?}, p99 {:?}, max {:?}, from creation to start",
            latency.p50(),
            latency.p90(),
            latency.p99(),
            latency.max()
        )?;
    }
    let response = |share| Duration::from_nanos(served.response.value_at_quantile(share));
    writeln!(
        out,
        "response  p50 {:?}, p90 {:?}, p99 {:?}, max {:?}, from creation to end",
        response(0.5),
        response(0.9),
        response(0.99),
        response(1.0)
    )?;
    writeln!(
        out,
        "wakes     {calls} calls, {:.3} a task; {} sleeps, {:.2} a burst",
        calls as f64 / ran as f64,
        used.sleeps,
        used.sleeps as f64 / f64::from(bursts)
    )?;
    let useful = Duration::from_micros(work.into()) * tasks * bursts;
    writeln!(
        out,
        "CPU       {}",
        cpu(used, useful, served.elapsed, metrics.workers)
    )?;
    writeln!(
        out,
        "at rest   {} sleeps, {} in {REST:?}",
        idle.sleeps,
        system(idle)
    )?;

    let expected = tasks as usize * bursts as usize;
    if ran != expected {
        return Err(format!("{ran} of {expected} tasks ran").into());
    }
    if calls > WAKES_A_TASK * ran {
        return Err(format!("{calls} wakes for {ran} tasks").into());
    }
    if idle.sleeps > 0
        || idle
            .system
            .is_some_and(|system| system != Default::default())
    {
        return Err(format!("the pool had nothing to do and used {idle:?}").into());
    }
    Ok(())
}

/// Sends all bursts from this thread, which is no worker, and waits for each before the next.
fn serve<B: Backend>(
    runtime: &RuntimeOn<B>,
    args: &Args,
    rounds: u64,
) -> Result<Served, Box<dyn Error>> {
    let period = Duration::from_micros(args.period.into());
    let mut response = Histogram::new(3)?;
    let mut late = 0;
    let begun = Instant::now();
    for burst in 0..args.bursts {
        let due = begun + period * burst;
        let now = Instant::now();
        if burst > 0 && now > due {
            late += 1;
        }
        thread::sleep(due.saturating_duration_since(now));
        let created = Instant::now();
        // A batch: one submit, and as many wakes as it needs.
        let mut batch = runtime.batch();
        let requests: Vec<_> = (0..args.tasks)
            .map(|_| {
                batch.spawn(move || {
                    compute(rounds);
                    Instant::now()
                })
            })
            .collect();
        batch.submit()?;
        for request in requests {
            let took = request.join()?.saturating_duration_since(created);
            response.record(u64::try_from(took.as_nanos())?)?;
        }
    }
    let elapsed = begun.elapsed();
    Ok(Served {
        response,
        late,
        elapsed,
    })
}

/// So many rounds of arithmetic that nobody can leave out.
fn compute(rounds: u64) {
    let mut number = 1_u64;
    for round in 0..rounds {
        number = black_box(number.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ round);
    }
}

/// How many rounds take that long here, by the fastest of some tries.
fn rounds_of(time: Duration) -> u64 {
    const TRIED: u64 = 20_000;
    let tries = (0..20).map(|_| {
        let begun = Instant::now();
        compute(TRIED);
        begun.elapsed()
    });
    let fastest = tries.min().unwrap_or_default().max(Duration::from_nanos(1));
    let rounds = time.as_secs_f64() / fastest.as_secs_f64() * TRIED as f64;
    (rounds as u64).max(1)
}

fn cpu(used: Used, useful: Duration, elapsed: Duration, workers: usize) -> String {
    let Some(system) = used.system else {
        return "not told by this system".to_owned();
    };
    let (cpu, all) = (
        system.cpu.as_secs_f64(),
        elapsed.as_secs_f64() * workers as f64,
    );
    format!(
        "{:.1?}, {:.2} times the {useful:.1?} of use; {} switches; a worker was awake {:.0} % of the time",
        system.cpu,
        cpu / useful.as_secs_f64(),
        system.switches,
        100.0 * cpu / all
    )
}

fn system(used: Used) -> String {
    used.system.map_or_else(
        || "switches not told by this system".to_owned(),
        |system| format!("{} switches, {:?} of CPU", system.switches, system.cpu),
    )
}
