//! One run of the bench program: its command, its line of JSON, and how it is shown.

use std::fmt;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::PROGRAM;
use crate::run::Step;

/// A cell takes a few seconds; one that takes this long hangs.
pub(super) const LIMIT: Duration = Duration::from_secs(120);

/// A measured cell, as the bench program prints it, and the command that measured it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Cell {
    pub(super) row: String,
    pub(super) contender: String,
    pub(super) workers: u16,
    pub(super) metrics: Vec<Metric>,
    #[serde(default)]
    pub(super) command: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Metric {
    pub(super) name: String,
    pub(super) unit: String,
    pub(super) value: f64,
}

pub(super) fn measure(row: &str, contender: &str, workers: u16) -> Result<Cell> {
    let step = Step::new(PROGRAM, args(row, contender, workers)).limit(LIMIT);
    let line = step.capture()?;
    let cell = serde_json::from_str(&line)
        .with_context(|| format!("`{step}` printed no cell but `{}`", line.trim()))?;
    Ok(Cell {
        command: step.to_string(),
        ..cell
    })
}

/// What the bench program is called with for one cell.
pub(super) fn args(row: &str, contender: &str, workers: u16) -> Vec<String> {
    let workers = workers.to_string();
    [
        "cell",
        "--row",
        row,
        "--contender",
        contender,
        "--workers",
        &workers,
    ]
    .map(str::to_owned)
    .to_vec()
}

impl Cell {
    pub(super) fn add(&mut self, metrics: impl IntoIterator<Item = Metric>) {
        self.metrics.extend(metrics);
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}:", self.row, self.contender, self.workers)?;
        for (index, metric) in self.metrics.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            write!(
                f,
                "{comma} {} {} {}",
                metric.name,
                figure(metric.value),
                metric.unit
            )?;
        }
        write!(f, "\n    {}", self.command)
    }
}

/// A figure with at least three significant digits, and no decimals that mean nothing.
pub(super) fn figure(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 || size == 0.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_keep_what_matters() {
        let shown = [0.0, 0.0314, 2.0, 12.34, 345.6, 10407.0].map(figure);
        assert_eq!(shown, ["0", "0.031", "2.00", "12.3", "346", "10407"]);
    }

    #[test]
    fn a_line_of_the_bench_program_is_read() -> Result<()> {
        let line = r#"{"row":"idle","contender":"std","workers":2,"metrics":[{"name":"processor time","unit":"ms","value":0.5}]}"#;
        let cell: Cell = serde_json::from_str(line)?;
        assert_eq!(cell.workers, 2);
        assert_eq!(cell.metrics[0].value, 0.5);
        Ok(())
    }
}
