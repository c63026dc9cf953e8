//! A trial of the park by itself, then a workload on a runtime that sleeps on it.

use std::error::Error;
use std::io::Write;
use std::thread;
use std::time::{Duration, Instant};

use clap::{Parser, value_parser};
use parkade::{Policy, RuntimeOn, Tag};
use parkade_core::Park;
use parkade_core::sync::{AtomicU32, Ordering};

use crate::own::{Own, OwnPark};

/// A hang detector for what should take some ms.
const LIMIT: Duration = Duration::from_secs(20);

/// Run a workload on a backend that is written in the example.
#[derive(Debug, Parser)]
#[command(name = "own_backend")]
pub(crate) struct Args {
    /// How many workers
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = value_parser!(u16).range(1..=64))]
    workers: u16,

    /// Tasks that are spawned one after the other, so that a worker falls asleep in between
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = value_parser!(u32).range(1..=10_000_000))]
    rounds: u32,
}

pub(crate) fn run(args: &Args, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    try_park()?;
    writeln!(
        out,
        "park      compares, sleeps, is woken, and tells how many"
    )?;

    let runtime = RuntimeOn::<Own>::builder()
        .tag(Tag::new("own").workers(args.workers.into()))
        .build()?;
    let mut right = 0;
    for round in 0..args.rounds {
        right += u32::from(runtime.spawn(move || round ^ 1).join()? ^ 1 == round);
    }
    writeln!(out, "rounds    {right} of {} right", args.rounds)?;
    let leaves = runtime.join(|| leaves(12), || leaves(12));
    writeln!(out, "tree      {} leaves", leaves.0 + leaves.1)?;

    let rested = eventually(|| runtime.metrics().total.idle == usize::from(args.workers));
    let before = runtime.metrics().total;
    thread::sleep(Duration::from_millis(100));
    let after = runtime.metrics().total;
    writeln!(
        out,
        "at rest   {} sleeps in 100 ms; {} until then, {} wake calls",
        after.parked - before.parked,
        before.parked,
        before.wake_calls
    )?;
    let report = runtime.shutdown(Policy::Drain, Some(LIMIT))?;
    writeln!(out, "stop      {report}")?;

    if right != args.rounds || leaves != (1 << 12, 1 << 12) {
        return Err("a task was lost".into());
    }
    if !rested || after.parked != before.parked {
        return Err("the workers do not rest".into());
    }
    if !report.is_complete() || report.dropped > 0 {
        return Err(format!("the stop is not complete: {report}").into());
    }
    Ok(())
}

/// A tree of forks, which idle workers steal.
fn leaves(depth: u32) -> u64 {
    if depth == 0 {
        return 1;
    }
    let (left, right) = parkade::join(|| leaves(depth - 1), || leaves(depth - 1));
    left + right
}

/// The obligations that one thread, or two, can see.
fn try_park() -> Result<(), String> {
    let (park, word) = (OwnPark::default(), AtomicU32::new(1));
    park.wait(&word, 0); // The word differs: it returns at once.
    if park.wake(&word, u32::MAX) != 0 {
        return Err("somebody was woken, and nobody slept".to_owned());
    }
    thread::scope(|threads| {
        let sleeper = threads.spawn(|| {
            while word.load(Ordering::Acquire) == 1 {
                park.wait(&word, 1);
            }
        });
        // Until it sleeps there is nobody to wake.
        let woken = eventually(|| park.wake(&word, 1) == 1);
        // It may be asleep again, for the word had not changed; now it has.
        word.store(2, Ordering::Release);
        let rest = park.wake(&word, u32::MAX);
        let ended = eventually(|| sleeper.is_finished());
        if woken && rest <= 1 && ended {
            Ok(())
        } else {
            Err(format!("woken: {woken}, then {rest}, ended: {ended}"))
        }
    })
}

fn eventually(is_so: impl Fn() -> bool) -> bool {
    let begun = Instant::now();
    while !is_so() {
        if begun.elapsed() > LIMIT {
            return false;
        }
        thread::yield_now();
    }
    true
}
