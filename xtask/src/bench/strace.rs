//! Counting system calls from outside the measured process.
//!
//! A second process runs the cell under `strace`, which writes down each futex call and each
//! sched_yield of every thread, and two calls by which the bench program marks where the measured part
//! begins and ends. Only what lies between them is counted: no start-up, no shut-down, no warm-up.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::PROGRAM;
use super::cell::{self, Cell, Metric};
use super::offer::{Better, FLOOR, Figure};
use super::plan::Planned;
use crate::run::{Step, root};

/// What is traced. `?` because not every machine has every way to look up a file.
const CALLS: &str = "trace=futex,sched_yield,statx,?newfstatat,?lstat";

const BEGIN: &str = "\"/parkade-bench/begin\"";
const END: &str = "\"/parkade-bench/end\"";

/// A `strace` that works here.
#[derive(Debug)]
pub(super) struct Tracer {
    /// From the root of the repository, as the printed command has it.
    output: &'static str,
}

impl Tracer {
    /// Looks for a `strace` that may trace; else says in words why there is none.
    pub(super) fn find() -> Result<Self, String> {
        if !Step::new("strace", ["-V"]).succeeds() {
            return Err("strace is not installed (Debian: apt-get install strace)".to_owned());
        }
        // Containers may forbid tracing although the program is there.
        let trial = Step::new("strace", ["-f", "-o", "/dev/null", "true"]);
        if !trial.limit(Duration::from_secs(10)).succeeds() {
            return Err("strace is installed, but may not trace here".to_owned());
        }
        Ok(Self {
            output: "target/bench/strace.txt",
        })
    }

    /// Runs the cell once more with so many tasks, traced, and adds its calls per task to it.
    pub(super) fn count(&self, cell: &mut Cell, planned: &Planned, tasks: u64) -> Result<()> {
        let output = root().join(self.output);
        if let Some(folder) = output.parent() {
            fs::create_dir_all(folder)?;
        }
        let step = Step::new("strace", ["-f", "-qq", "-e", CALLS, "-o"])
            .args([self.output, PROGRAM])
            .args(cell::args(planned, &cell.contender))
            .args(["--tasks".to_owned(), tasks.to_string()])
            .limit(cell::LIMIT);
        step.capture()?;
        let trace =
            fs::read_to_string(&output).with_context(|| format!("reading {}", output.display()))?;
        // A floor that is a mere loop has nothing to count, and marks nothing.
        if cell.contender == FLOOR && !trace.contains(BEGIN) {
            return Ok(());
        }
        let calls = Calls::between_marks(&trace).with_context(|| format!("`{step}`"))?;
        let per_task = |calls: u64| calls as f64 / tasks as f64;
        let counts = [per_task(calls.futex), per_task(calls.sched_yield)];
        cell.metrics.extend(
            figures()
                .into_iter()
                .zip(counts)
                .map(|(figure, value)| Metric {
                    name: figure.name,
                    unit: figure.unit,
                    value,
                }),
        );
        cell.traced_by = Some(step.to_string());
        Ok(())
    }
}

/// The figures that are counted here, beside those of the bench program.
pub(super) fn figures() -> [Figure; 2] {
    [("futex calls", true), ("sched_yield calls", false)].map(|(name, main)| Figure {
        name: name.to_owned(),
        unit: "/task".to_owned(),
        better: Better::Lower,
        main,
        // A park may return for no reason.
        resolution: 0.1,
    })
}

#[derive(Debug, PartialEq, Eq)]
struct Calls {
    futex: u64,
    sched_yield: u64,
}

impl Calls {
    /// Counts the calls that began between the marks, in `strace -f`'s one line an event.
    fn between_marks(trace: &str) -> Result<Self> {
        let mut calls = Self {
            futex: 0,
            sched_yield: 0,
        };
        let mut begun = false;
        for line in trace.lines() {
            if line.contains(BEGIN) {
                begun = true;
            } else if line.contains(END) {
                if !begun {
                    bail!("the trace ends before it begins");
                }
                return Ok(calls);
            } else if begun {
                // `PID call(…`: a call that blocks is written once when it begins, `<unfinished …>`,
                // and once more as `PID <... call resumed>`, which does not begin with its name.
                let event = line
                    .trim_start()
                    .split_once(' ')
                    .map_or("", |(_, event)| event);
                let event = event.trim_start();
                calls.futex += u64::from(event.starts_with("futex("));
                calls.sched_yield += u64::from(event.starts_with("sched_yield("));
            }
        }
        bail!("the trace has no end mark")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = r#"11 futex(0x1, FUTEX_WAIT_PRIVATE, 0, NULL <unfinished ...>
10 statx(AT_FDCWD, "/parkade-bench/begin", 0) = -1 ENOENT (No such file or directory)
10    futex(0x1, FUTEX_WAKE_PRIVATE, 1) = 1
11 <... futex resumed>) = 0
11 futex(0x1, FUTEX_WAIT_PRIVATE, 2, NULL <unfinished ...>
12 sched_yield() = 0
10 statx(AT_FDCWD, "/parkade-bench/end", 0) = -1 ENOENT (No such file or directory)
10 futex(0x1, FUTEX_WAKE_PRIVATE, 1) = 1
"#;

    #[test]
    fn calls_are_counted_once_and_only_between_the_marks() -> Result<()> {
        let calls = Calls::between_marks(TRACE)?;
        assert_eq!(
            calls,
            Calls {
                futex: 2,
                sched_yield: 1
            }
        );
        Ok(())
    }

    #[test]
    fn a_trace_without_marks_is_an_error_and_not_a_zero() {
        assert!(Calls::between_marks("10 futex(0x1) = 0\n").is_err());
        let no_begin = TRACE.replace("/begin", "/other");
        assert!(Calls::between_marks(&no_begin).is_err());
    }
}
