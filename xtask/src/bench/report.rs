//! A run as it is kept: one JSON file with the machine, the summary and every cell.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::calibration::Calibration;
use super::cell::Cell;
use super::facts::Facts;
use super::summary::Summary;

/// The number of this layout: raised whenever an older file would be misread.
const FORMAT: u64 = 2;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Report {
    format: u64,
    pub(super) written_at: Timestamp,
    pub(super) facts: Facts,
    pub(super) mode: String,
    pub(super) rounds: u32,
    pub(super) calibration: Calibration,
    /// In words, that the machine was busy.
    pub(super) busy: Option<String>,
    /// By what every spread of the summary was widened, because the machine was busy; else 1.
    pub(super) widened_by: f64,
    /// Why system calls were not counted.
    pub(super) counts_missing_because: Option<String>,
    pub(super) summary: Summary,
    pub(super) cells: Vec<Cell>,
}

/// What a report is made of, beside what follows from the calibration.
#[derive(Debug)]
pub(super) struct Parts {
    pub(super) written_at: Timestamp,
    pub(super) facts: Facts,
    pub(super) mode: String,
    pub(super) rounds: u32,
    pub(super) counts_missing_because: Option<String>,
}

impl Report {
    pub(super) fn new(
        parts: Parts,
        calibration: Calibration,
        summary: Summary,
        cells: Vec<Cell>,
    ) -> Self {
        Self {
            format: FORMAT,
            written_at: parts.written_at,
            facts: parts.facts,
            mode: parts.mode,
            rounds: parts.rounds,
            busy: calibration.busy(),
            widened_by: calibration.widening(),
            counts_missing_because: parts.counts_missing_because,
            calibration,
            summary,
            cells,
        }
    }

    pub(super) fn write(&self, path: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self)?;
        write(path, &(text + "\n"))
    }

    pub(super) fn read(path: &Path) -> Result<Self> {
        let text =
            fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
        Self::parse(&text).with_context(|| format!("reading {}", path.display()))
    }

    fn parse(text: &str) -> Result<Self> {
        let value: serde_json::Value = serde_json::from_str(text)?;
        match value.get("format").and_then(serde_json::Value::as_u64) {
            Some(FORMAT) => Ok(serde_json::from_value(value)?),
            Some(other) => {
                bail!("it is of format {other}, and only format {FORMAT} is read: measure again")
            }
            None => bail!(
                "it has no format number, so it is older than format {FORMAT} or no report: measure again"
            ),
        }
    }
}

/// Writes a file, and makes its folder.
pub(super) fn write(path: &Path, text: &str) -> Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
    }
    fs::write(path, text).with_context(|| format!("writing {}", path.display()))
}

#[cfg(test)]
pub(super) mod fixture {
    use super::*;

    /// A report of a quiet run.
    pub(in super::super) fn report(summary: Summary) -> Report {
        let parts = Parts {
            written_at: Timestamp::UNIX_EPOCH,
            facts: Facts::fixture(),
            mode: "quick".to_owned(),
            rounds: 3,
            counts_missing_because: None,
        };
        let quiet = Calibration::fixture(0.0, &[(100.0, 100.0)]);
        Report::new(parts, quiet, summary, Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::super::summary::fixture::lone;
    use super::*;

    #[test]
    fn what_was_written_is_read() -> Result<()> {
        let report = fixture::report(lone(1.0, &[("linux", [1.0, 2.0, 3.0])]));
        let read = Report::parse(&serde_json::to_string(&report)?)?;
        assert_eq!(read.summary.sections[0].figures[0].spreads[0].median, 2.0);
        assert_eq!(read.facts, report.facts);
        Ok(())
    }

    #[test]
    fn another_format_is_refused_in_words() {
        let refusal = |text: &str| Report::parse(text).err().map(|error| error.to_string());
        assert!(
            refusal(r#"{"summary":{}}"#).is_some_and(|why| why.contains("older than format 2"))
        );
        assert!(refusal(r#"{"format":3}"#).is_some_and(|why| why.contains("of format 3")));
    }
}
