//! What parked harts cost the host: processor time of the emulator's threads, from the host's own accounts.
//!
//! Each hart is a thread of the emulator. The kernel says on its serial line that all harts are about to park,
//! and stays parked for longer than the window that is measured here. Time is real: an emulator that counts
//! instructions would skip the wait.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::machine::Machine;
use super::plan::{Boot, Clock, IDLE};

/// How long harts are watched.
pub(super) const WINDOW: Duration = Duration::from_secs(3);

/// How many times. At the same time: whoever sleeps is in nobody's way.
const RUNS: u32 = 3;

/// What the kernel says before its harts park.
const MARKER: &str = "parked";

/// How long the kernel may take to say it, and its harts to fall asleep after.
const UNTIL_PARKED: Duration = Duration::from_secs(20);
const FALLING_ASLEEP: Duration = Duration::from_millis(300);

/// The most processor time that one hart, and the whole emulator, may gain in the window.
const HART: Duration = Duration::from_millis(1);
const EMULATOR: Duration = Duration::from_millis(60);

/// What the emulator's threads gained in the window.
#[derive(Debug, PartialEq, Eq)]
struct Cost {
    /// Of each hart's thread.
    harts: Vec<Duration>,
    /// Of all threads.
    all: Duration,
}

/// Watches a few boots; returns what did not hold.
pub(super) fn check(machine: &Machine, harts: u8) -> Vec<String> {
    let watch = |seed| {
        let boot = Boot {
            mode: &IDLE,
            harts,
            seed,
            clock: Clock::Real,
        };
        let watched = machine.run_while(&boot, |pid| watch(machine, &boot, pid));
        let cost = watched
            .with_context(|| format!("{boot}\n{}", machine.last_words(&boot)))
            .and_then(|cost| cost);
        match cost {
            Ok(cost) => {
                println!("  {boot}: {cost}");
                cost.faults(harts)
            }
            Err(error) => vec![format!("{error:#}")],
        }
    };
    thread::scope(|scope| {
        let runs: Vec<_> = (0..RUNS)
            .map(|seed| scope.spawn(move || watch(seed)))
            .collect();
        runs.into_iter()
            .flat_map(|run| {
                run.join()
                    .unwrap_or_else(|_| vec!["a run panicked".to_owned()])
            })
            .collect()
    })
}

fn watch(machine: &Machine, boot: &Boot, pid: u32) -> Result<Cost> {
    let (serial, started) = (machine.serial(boot), Instant::now());
    while !fs::read_to_string(&serial).is_ok_and(|text| text.contains(MARKER)) {
        if started.elapsed() > UNTIL_PARKED {
            bail!("the kernel did not say `{MARKER}`");
        }
        thread::sleep(Duration::from_millis(50));
    }
    thread::sleep(FALLING_ASLEEP);
    let before = threads(pid)?;
    thread::sleep(WINDOW);
    let after = threads(pid)?;
    Ok(Cost::between(&before, &after))
}

/// Name and processor time of each thread of a process, by thread id.
type Threads = BTreeMap<String, (String, Duration)>;

fn threads(pid: u32) -> Result<Threads> {
    let folder = format!("/proc/{pid}/task");
    let mut threads = Threads::new();
    for task in fs::read_dir(&folder).with_context(|| folder.clone())? {
        let task = task.with_context(|| folder.clone())?.path();
        // A helper thread of the emulator may end meanwhile.
        let (Ok(name), Ok(account)) = (read(&task, "comm"), read(&task, "schedstat")) else {
            continue;
        };
        let id = task.display().to_string();
        threads.insert(id, (name.trim().to_owned(), processor_time(&account)?));
    }
    Ok(threads)
}

fn read(task: &Path, file: &str) -> std::io::Result<String> {
    fs::read_to_string(task.join(file))
}

/// The first number of a `schedstat` file: nanoseconds on a processor.
fn processor_time(schedstat: &str) -> Result<Duration> {
    let first = schedstat.split_whitespace().next().unwrap_or_default();
    let nanoseconds = first
        .parse()
        .with_context(|| format!("no processor time in `{}`", schedstat.trim()))?;
    Ok(Duration::from_nanos(nanoseconds))
}

impl Cost {
    fn between(before: &Threads, after: &Threads) -> Self {
        let mut cost = Self {
            harts: Vec::new(),
            all: Duration::ZERO,
        };
        for (id, (name, now)) in after {
            let then = before.get(id).map_or(Duration::ZERO, |(_, then)| *then);
            let gained = now.saturating_sub(then);
            cost.all += gained;
            if name.starts_with("CPU ") && name.ends_with("/TCG") {
                cost.harts.push(gained);
            }
        }
        cost
    }

    fn faults(&self, harts: u8) -> Vec<String> {
        let mut faults = Vec::new();
        if self.harts.len() != usize::from(harts) {
            faults.push(format!(
                "{} threads of harts, not {harts}",
                self.harts.len()
            ));
        }
        let dearest = self.harts.iter().max().copied().unwrap_or_default();
        if dearest >= HART {
            faults.push(format!("a parked hart used {dearest:?} of the host's time"));
        }
        if self.all >= EMULATOR {
            faults.push(format!(
                "the idle emulator used {:?} of the host's time",
                self.all
            ));
        }
        faults
    }
}

impl std::fmt::Display for Cost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let dearest = self.harts.iter().max().copied().unwrap_or_default();
        write!(
            f,
            "{} harts, at most {:.3} ms each; the whole emulator {:.2} ms",
            self.harts.len(),
            dearest.as_secs_f64() * 1e3,
            self.all.as_secs_f64() * 1e3
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn threads(list: &[(&str, &str, u64)]) -> Threads {
        let thread = |&(id, name, ns): &(&str, &str, u64)| {
            (id.to_owned(), (name.to_owned(), Duration::from_nanos(ns)))
        };
        list.iter().map(thread).collect()
    }

    #[test]
    fn harts_are_told_from_the_rest_of_the_emulator() {
        let before = threads(&[
            ("1", "qemu", 500),
            ("2", "CPU 0/TCG", 70),
            ("3", "CPU 1/TCG", 0),
        ]);
        let after = threads(&[
            ("1", "qemu", 900),
            ("2", "CPU 0/TCG", 80),
            ("3", "CPU 1/TCG", 0),
        ]);
        let cost = Cost::between(&before, &after);
        assert_eq!(cost.harts, [10, 0].map(Duration::from_nanos));
        assert_eq!(cost.all, Duration::from_nanos(410));
        assert!(cost.faults(2).is_empty());
        assert_eq!(cost.faults(4).len(), 1);
    }

    #[test]
    fn a_hart_that_spins_and_a_busy_emulator_are_faults() {
        let spins = Cost {
            harts: vec![HART, Duration::ZERO],
            all: HART,
        };
        assert_eq!(spins.faults(2).len(), 1);
        let busy = Cost {
            harts: vec![Duration::ZERO],
            all: EMULATOR,
        };
        assert_eq!(busy.faults(1).len(), 1);
    }

    #[test]
    fn processor_time_is_the_first_number() {
        assert_eq!(
            processor_time("12345 6 7\n").ok(),
            Some(Duration::from_nanos(12_345))
        );
        assert!(processor_time("").is_err());
    }
}
