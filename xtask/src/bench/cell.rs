//! One run of the bench program: its command, its line of JSON, and how it is shown.

use std::fmt;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::PROGRAM;
use super::offer::Shape;
use super::plan::Planned;
use crate::run::Step;

/// A cell takes a few seconds; one that takes this long hangs.
pub(super) const LIMIT: Duration = Duration::from_secs(120);

/// A measured cell, as the bench program prints it, and the commands that measured it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Cell {
    pub(super) row: String,
    pub(super) contender: String,
    #[serde(flatten)]
    pub(super) shape: Shape,
    pub(super) metrics: Vec<Metric>,
    #[serde(default)]
    pub(super) distributions: Vec<Distribution>,
    #[serde(default)]
    pub(super) command: String,
    /// What counted the system calls.
    #[serde(default)]
    pub(super) traced_by: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Metric {
    pub(super) name: String,
    #[serde(default)]
    pub(super) unit: String,
    pub(super) value: f64,
}

/// How the single tasks of a cell fared: the value at each quantile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Distribution {
    pub(super) name: String,
    #[serde(default)]
    pub(super) unit: String,
    pub(super) points: Vec<(f64, f64)>,
}

pub(super) fn measure(planned: &Planned, contender: &str) -> Result<Cell> {
    let Planned { size, .. } = planned;
    let sizes = [("--tasks", size.tasks), ("--seconds", size.seconds)];
    let sizes = sizes
        .into_iter()
        .filter_map(|(option, size)| Some([option.to_owned(), size?.to_string()]));
    let step = Step::new(PROGRAM, args(planned, contender))
        .args(sizes.flatten())
        .limit(LIMIT);
    let line = step.capture()?;
    let cell = serde_json::from_str(&line)
        .with_context(|| format!("`{step}` printed no cell but `{}`", line.trim()))?;
    Ok(Cell {
        command: step.to_string(),
        ..cell
    })
}

/// What the bench program is called with for one cell, but for how much work it does.
pub(super) fn args(planned: &Planned, contender: &str) -> Vec<String> {
    let Shape { workers, producers } = planned.shape;
    let mut args = ["cell", "--row", &planned.row, "--contender", contender]
        .map(str::to_owned)
        .to_vec();
    args.extend(["--workers".to_owned(), workers.to_string()]);
    if producers > 1 {
        args.extend(["--producers".to_owned(), producers.to_string()]);
    }
    args
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}:", self.row, self.contender, self.shape)?;
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
        Ok(())
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
        let line = r#"{"row":"lone","contender":"std","workers":2,"producers":1,
            "metrics":[{"name":"start p50","unit":"ns","value":0.5}],
            "distributions":[{"name":"start","unit":"ns","points":[[0.5,0.5],[0.99,7.0]]}]}"#;
        let cell: Cell = serde_json::from_str(line)?;
        assert_eq!(cell.shape.workers, 2);
        assert_eq!(cell.metrics[0].value, 0.5);
        assert_eq!(cell.distributions[0].points[1], (0.99, 7.0));
        Ok(())
    }

    #[test]
    fn producers_are_named_where_there_are_several() {
        let planned = |producers| Planned {
            row: "outside".to_owned(),
            shape: Shape {
                workers: 2,
                producers,
            },
            contenders: Vec::new(),
            size: super::super::plan::Size::default(),
            traced_tasks: None,
        };
        assert_eq!(
            args(&planned(1), "std").join(" "),
            "cell --row outside --contender std --workers 2"
        );
        assert!(args(&planned(4), "std").ends_with(&["--producers".to_owned(), "4".to_owned()]));
    }
}
