//! Running a list of named steps, with a table of how each ended and what it took.

use anyhow::{Result, bail};
use comfy_table::{CellAlignment, Table, presets};

use crate::run::Step;

/// Runs the steps in order, to the first that fails unless `keep_going`.
pub(crate) fn run(steps: Vec<(&'static str, Step)>, keep_going: bool) -> Result<()> {
    let mut summary = Table::new();
    summary
        .load_style(presets::NOTHING)
        .set_header(["step", "result", "seconds"]);
    if let Some(seconds) = summary.column_mut(2) {
        seconds.set_cell_alignment(CellAlignment::Right);
    }
    let mut failed = Vec::new();
    for (name, step) in steps {
        println!("\n=== {name}");
        match step.run() {
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
