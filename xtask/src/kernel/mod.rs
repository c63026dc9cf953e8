//! `cargo xtask kernel`: boots the core on bare harts, once per mode, number of harts and seed.
//!
//! An emulator runs `kernel/` and ends with its exit code: 0 if the property of the mode held, else a code that
//! says how it ended. Where the emulator counts instructions instead of time, a run is the same every time: each
//! shift of its clock is a seed, an interleaving of its own. The mode `broken` is the negative control: a park
//! that loses wakes must be caught, or the other runs prove nothing.

mod idle;
mod image;
mod machine;
mod plan;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use clap::Args;
use comfy_table::{CellAlignment, Table, presets};
use indicatif::{ProgressBar, ProgressStyle};

use machine::{Arch, End, Machine};
use plan::{Boot, Clock, Mode};

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// How many seeds each mode is run with: shifts of an instruction-counting clock.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u8).range(0..=8))]
    seeds: u8,
    /// Run on this many harts only, 1 to 8; by default on 4, and a few times on 1, 2 and 8.
    #[arg(long, value_parser = clap::value_parser!(u8).range(1..=8))]
    harts: Option<u8>,
    /// How many times each mode is run in real time on the first number of harts; by default 20, and 3 on the
    /// second processor.
    #[arg(long)]
    runs: Option<u32>,
    /// Run this mode only.
    #[arg(long, value_parser = plan::mode)]
    mode: Option<&'static Mode>,
    /// Run on this processor only; by default on each whose emulator is installed, riscv64 in any case.
    #[arg(long)]
    arch: Option<Arch>,
}

/// A boot and how it ended.
struct Outcome {
    boot: Boot,
    end: End,
    took: Duration,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let mut failures = Vec::new();
    for machine in machine::chosen(options.arch)? {
        failures.extend(check(&machine, options)?);
    }
    if !failures.is_empty() {
        bail!("{}", failures.join("; "));
    }
    Ok(())
}

/// Builds one machine's kernel and does everything with it; returns what did not hold.
fn check(machine: &Machine, options: &Options) -> Result<Vec<String>> {
    let arch = machine.arch();
    let image = machine.build()?;
    println!("{arch}: {image}");
    let mut failures = image.faults();
    if options.mode.is_none_or(Mode::is_idle) {
        println!("{arch}: parked harts, {} s", idle::WINDOW.as_secs());
        failures.extend(idle::check(machine, options.harts.unwrap_or(plan::HARTS)));
    }
    let runs = options.runs.unwrap_or(arch.runs());
    let boots = plan::boots(options.mode, options.harts, runs, options.seeds);
    let started = Instant::now();
    let outcomes = run_all(machine, &boots);
    if boots.is_empty() {
        return Ok(failures);
    }
    println!("\n{}\n", table(&outcomes));
    println!(
        "{arch}: {} boots in {:.0} s",
        outcomes.len(),
        started.elapsed().as_secs_f64()
    );
    failures.extend(judge(&outcomes));
    Ok(failures
        .into_iter()
        .map(|what| format!("{arch}: {what}"))
        .collect())
}

/// Runs the boots, two at a time: a boot waits for its harts' timers much of its time.
fn run_all(machine: &Machine, boots: &[Boot]) -> Vec<Outcome> {
    const AT_ONCE: usize = 2;
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}");
    let bar = ProgressBar::new(boots.len() as u64)
        .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    let next = AtomicUsize::new(0);
    let outcomes = Mutex::new(Vec::new());
    let work = || {
        while let Some(boot) = boots.get(next.fetch_add(1, Ordering::Relaxed)) {
            bar.set_message(boot.to_string());
            let started = Instant::now();
            let end = machine.run(boot);
            let took = started.elapsed();
            if !end.is_meant(boot.mode) && !boot.mode.is_control() {
                bar.suspend(|| eprintln!("{boot}: {end}\n{}", machine.last_words(boot)));
            }
            if let Ok(mut outcomes) = outcomes.lock() {
                let boot = boot.clone();
                outcomes.push(Outcome { boot, end, took });
            }
            bar.inc(1);
        }
    };
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(work);
        }
    });
    bar.finish_and_clear();
    outcomes.into_inner().unwrap_or_default()
}

/// What did not hold, a sentence per mode.
fn judge(outcomes: &[Outcome]) -> Vec<String> {
    let mut failures = Vec::new();
    for mode in plan::MODES {
        let of_mode = outcomes.iter().filter(|outcome| outcome.boot.mode == mode);
        let (meant, other): (Vec<_>, Vec<_>) = of_mode.partition(|outcome| outcome.is_meant());
        let all = meant.len() + other.len();
        if let Some(first) = other.first()
            && meant.len() < mode.needed(all)
        {
            failures.push(format!(
                "{}: {} of {all} as meant, not {}: {}",
                mode.name,
                meant.len(),
                first.boot,
                first.end
            ));
        }
    }
    failures
}

impl Outcome {
    fn is_meant(&self) -> bool {
        self.end.is_meant(self.boot.mode)
    }
}

/// A row per mode: how many of its boots ended as meant, by number of harts, and with seeds.
fn table(outcomes: &[Outcome]) -> Table {
    let mut harts: Vec<u8> = outcomes.iter().map(|outcome| outcome.boot.harts).collect();
    harts.sort_unstable();
    harts.dedup();
    let mut table = Table::new();
    let columns = harts.iter().map(|harts| format!("{harts} harts"));
    let header = ["mode".to_owned(), "meant to".to_owned()]
        .into_iter()
        .chain(columns);
    table
        .load_style(presets::NOTHING)
        .set_header(header.chain(["seeds", "mean s", "longest s"].map(str::to_owned)));
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for mode in plan::MODES {
        let of_mode: Vec<_> = outcomes
            .iter()
            .filter(|outcome| outcome.boot.mode == mode)
            .collect();
        if of_mode.is_empty() {
            continue;
        }
        let share = |wanted: &dyn Fn(&Boot) -> bool| {
            let chosen = || of_mode.iter().filter(|outcome| wanted(&outcome.boot));
            let meant = chosen().filter(|outcome| outcome.is_meant()).count();
            match chosen().count() {
                0 => String::new(),
                all => format!("{meant}/{all}"),
            }
        };
        let mut row = vec![mode.name.to_owned(), End::Code(mode.meant()).to_string()];
        row.extend(
            harts
                .iter()
                .map(|&harts| share(&|boot| boot.clock == Clock::Real && boot.harts == harts)),
        );
        row.push(share(&|boot| boot.clock != Clock::Real));
        let seconds = of_mode.iter().map(|outcome| outcome.took.as_secs_f64());
        row.push(format!(
            "{:.2}",
            seconds.clone().sum::<f64>() / of_mode.len() as f64
        ));
        row.push(format!("{:.2}", seconds.fold(0.0, f64::max)));
        table.add_row(row);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcomes(name: &str, codes: &[i32]) -> Vec<Outcome> {
        let mode = plan::mode(name).expect("there is such a mode");
        plan::boots(Some(mode), Some(4), codes.len() as u32, 0)
            .into_iter()
            .zip(codes)
            .map(|(boot, &code)| Outcome {
                boot,
                end: End::Code(code),
                took: Duration::from_millis(250),
            })
            .collect()
    }

    #[test]
    fn one_failed_check_is_a_failure_and_named() {
        assert!(judge(&outcomes("stop", &[0, 0])).is_empty());
        assert_eq!(
            judge(&outcomes("stop", &[0, 16])),
            ["stop: 1 of 2 as meant, not stop-4-harts-run-1: failed, exit code 16"]
        );
    }

    #[test]
    fn a_negative_control_that_escapes_too_often_is_a_failure() {
        let hung = plan::HUNG;
        let mut codes = [hung; 10];
        codes[..2].fill(0);
        assert!(judge(&outcomes("broken", &codes)).is_empty());
        codes[2] = 0;
        assert_eq!(judge(&outcomes("broken", &codes)).len(), 1);
    }

    #[test]
    fn the_table_has_a_row_per_mode() {
        let shown = table(&outcomes("stop", &[0, 16])).to_string();
        let rows: Vec<_> = shown.lines().map(|row| row.split_whitespace()).collect();
        let cells: Vec<_> = rows[1].clone().collect();
        assert_eq!(rows.len(), 2, "{shown}");
        assert_eq!(cells, ["stop", "passed", "1/2", "0.25", "0.25"]);
    }
}
