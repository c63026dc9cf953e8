//! Running a list of named steps, with a table of how each ended and what it took.

use std::fmt;

use anyhow::{Result, bail};
use comfy_table::{CellAlignment, Table, presets};

use crate::nightly::{Component, missing};
use crate::run::Step;

/// A step, and what it needs of a nightly toolchain: without that it is skipped, and the table says so.
#[derive(Debug)]
pub(crate) struct Row {
    step: Step,
    needs: &'static [Component],
}

impl Row {
    pub(crate) fn needing(needs: &'static [Component], step: Step) -> Self {
        Self { step, needs }
    }
}

impl From<Step> for Row {
    fn from(step: Step) -> Self {
        Self { step, needs: &[] }
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.step.fmt(f)
    }
}

/// Runs the steps in order, to the first that fails unless `keep_going`.
pub(crate) fn run(
    steps: impl IntoIterator<Item = (&'static str, Row)>,
    keep_going: bool,
) -> Result<()> {
    let mut summary = Table::new();
    summary
        .load_style(presets::NOTHING)
        .set_header(["step", "result", "seconds"]);
    if let Some(seconds) = summary.column_mut(2) {
        seconds.set_cell_alignment(CellAlignment::Right);
    }
    let mut failed = Vec::new();
    for (name, row) in steps {
        println!("\n=== {name}");
        if let Some(advice) = missing(name, row.needs) {
            println!("SKIPPED: {advice}");
            summary.add_row([name, "SKIPPED", ""]);
            continue;
        }
        match row.step.run() {
            Ok(took) => {
                summary.add_row([name, "ok", &format!("{:.1}", took.as_secs_f64())]);
            }
            Err(error) => {
                println!("{error}");
                summary.add_row([name, "FAILED", ""]);
                failed.push(name);
                if !keep_going {
                    break;
                }
            }
        }
    }
    println!("\n{summary}");
    if !failed.is_empty() {
        bail!("failed: {}", failed.join(", "));
    }
    Ok(())
}
