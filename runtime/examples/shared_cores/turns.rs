//! The two pools, their turns, and who used what in whose turn.

use std::error::Error;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use clap::{Parser, value_parser};
use parkade::{Backend, Pinning, RuntimeOn, Tag};

use crate::threads::{Threads, Used};

const CALC: &str = "calc";
const WRITE: &str = "write";

/// The numbers in a block, and its bytes.
const NUMBERS: usize = 4096;
const BYTES: usize = NUMBERS * size_of::<u64>();

/// A pool that computes and one that writes, on the same CPUs in turn: who used what?
#[derive(Debug, Parser)]
#[command(name = "shared_cores")]
pub(crate) struct Args {
    /// Workers of each pool [default: one for each CPU]
    #[arg(long, value_name = "N")]
    workers: Option<usize>,

    /// Turns of each pool
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = value_parser!(u32).range(1..=1000))]
    turns: u32,

    /// Blocks of 32 KiB in a turn
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = value_parser!(u32).range(1..=10_000))]
    items: u32,
}

/// What both pools used in the turns of one.
#[derive(Default)]
struct Turns {
    calc: Used,
    write: Used,
}

pub(crate) fn run<B: Backend>(args: &Args, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let mut tags = [CALC, WRITE].map(|name| Tag::new(name).pinning(Pinning::Lenient));
    if let Ok(cpus) = B::allowed_cpus() {
        let cpus: Vec<_> = cpus.iter().map(usize::to_string).collect();
        tags = tags.map(|tag| tag.cpus(cpus.join(",")));
    }
    if let Some(workers) = args.workers {
        tags = tags.map(|tag| tag.workers(workers));
    }
    let runtime = RuntimeOn::<B>::builder().tags(tags).build()?;
    let (calc, write) = (Threads::of(&runtime, CALC)?, Threads::of(&runtime, WRITE)?);

    let directory = tempfile::tempdir()?;
    let (mut calc_turns, mut write_turns) = (Turns::default(), Turns::default());
    let mut written = 0;
    let (mut calc_then, mut write_then) = (calc.rest()?, write.rest()?);
    for turn in 0..args.turns {
        let blocks = compute(&runtime, turn, args.items)?;
        // The pool whose turn is over goes to sleep in its own turn's time.
        let (calc_now, write_now) = (calc.rest()?, write.used());
        calc_turns.calc += calc_now - calc_then;
        calc_turns.write += write_now - write_then;

        written += save(&runtime, directory.path(), blocks)?;
        (calc_then, write_then) = (calc.used(), write.rest()?);
        write_turns.calc += calc_then - calc_now;
        write_turns.write += write_then - write_now;
    }

    let metrics = runtime.metrics();
    for tag in &metrics.tags {
        writeln!(
            out,
            "{:9}{} workers, {} tasks ran, {} elsewhere than pinned",
            tag.name, tag.workers, tag.ran, tag.misplaced
        )?;
    }
    writeln!(out, "written  {written} bytes in {} turns each", args.turns)?;
    writeln!(out)?;
    let heading = format!("{:>12}  {:>8}  {:>6}", "CPU", "switches", "sleeps");
    writeln!(out, "{CALC:>44}{WRITE:>32}")?;
    writeln!(out, "{:14}{heading}  {heading}", "")?;
    for (name, turns) in [(CALC, &calc_turns), (WRITE, &write_turns)] {
        writeln!(
            out,
            "turns of {name:5}{}  {}",
            columns(turns.calc),
            columns(turns.write)
        )?;
    }

    let expected = args.turns as usize * args.items as usize * BYTES;
    if written != expected {
        return Err(format!("{written} bytes were written, not {expected}").into());
    }
    let idle = [(CALC, write_turns.calc), (WRITE, calc_turns.write)];
    for (name, used) in idle {
        if used.sleeps > 0
            || used
                .system
                .is_some_and(|system| system != Default::default())
        {
            return Err(format!("the pool {name} was idle and used {used:?}").into());
        }
    }
    writeln!(out, "\nin the other's turn a pool uses nothing")?;
    Ok(())
}

/// The turn of the pool that computes: a task for each block.
fn compute<B: Backend>(
    runtime: &RuntimeOn<B>,
    turn: u32,
    items: u32,
) -> Result<Vec<Vec<u64>>, Box<dyn Error>> {
    let mut batch = runtime.tag(CALC)?.batch();
    let tasks: Vec<_> = (0..items)
        .map(|item| batch.spawn(move || block(u64::from(turn) << 32 | u64::from(item))))
        .collect();
    batch.submit()?;
    let blocks: Result<Vec<_>, _> = tasks.into_iter().map(|task| task.join()).collect();
    Ok(blocks?)
}

/// The turn of the pool that writes: a file for each block. Returns how many bytes that were.
fn save<B: Backend>(
    runtime: &RuntimeOn<B>,
    directory: &Path,
    blocks: Vec<Vec<u64>>,
) -> Result<usize, Box<dyn Error>> {
    let directory: Arc<Path> = Arc::from(directory);
    let mut batch = runtime.tag(WRITE)?.batch();
    let files: Vec<_> = blocks
        .into_iter()
        .enumerate()
        .map(|(number, block)| {
            let directory = Arc::clone(&directory);
            batch.spawn(move || -> io::Result<usize> {
                let bytes: Vec<u8> = block.into_iter().flat_map(u64::to_le_bytes).collect();
                File::create(directory.join(number.to_string()))?.write_all(&bytes)?;
                Ok(bytes.len())
            })
        })
        .collect();
    batch.submit()?;
    let mut written = 0;
    for file in files {
        written += file.join()??;
    }
    Ok(written)
}

/// Numbers that take some time: each is 50 rounds of a xorshift generator (George Marsaglia).
fn block(seed: u64) -> Vec<u64> {
    let mut number = seed | 1 << 63;
    let mut next = || {
        for _ in 0..50 {
            number ^= number << 13;
            number ^= number >> 7;
            number ^= number << 17;
        }
        number
    };
    (0..NUMBERS).map(|_| next()).collect()
}

fn columns(used: Used) -> String {
    let (cpu, switches) = match used.system {
        Some(system) => (
            format!("{:.1} ms", system.cpu.as_secs_f64() * 1e3),
            system.switches.to_string(),
        ),
        None => ("not told".to_owned(), "not told".to_owned()),
    };
    format!("{cpu:>12}  {switches:>8}  {:>6}", used.sleeps)
}
