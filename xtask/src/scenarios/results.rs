//! The last results: what the test runner has written in JUnit's form, and the bench in its own.
//!
//! A test body is run once per backend, so one function has several results; they are summed up.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Result};

use super::holders::Holder;

/// The last outcome of each test, by its name in the runner; and the rows that the bench has measured.
#[derive(Debug, Default)]
pub(super) struct Results {
    /// Whether the last run of it passed.
    tests: BTreeMap<String, bool>,
    rows: Vec<String>,
}

/// How one holder did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Last {
    NotRun,
    Passed { forms: usize },
    Failed { forms: usize, failed: usize },
    Measured,
}

impl Results {
    /// Reads what is there below `target`; a report that is newer goes before one that is older.
    pub(super) fn read(target: &Path) -> Result<Self> {
        let mut results = Self::default();
        let mut reports = Vec::new();
        for folder in ["junit", "nextest/default", "loom/nextest/loom"] {
            reports.extend(files(&target.join(folder), "xml")?);
        }
        reports.sort();
        for (_, report) in reports {
            let text = read(&report)?;
            results
                .add_report(&text)
                .with_context(|| report.display().to_string())?;
        }
        let mut measured = files(&target.join("bench"), "json")?;
        measured.sort();
        if let Some((_, newest)) = measured.pop() {
            results.rows = rows(&read(&newest)?).with_context(|| newest.display().to_string())?;
        }
        Ok(results)
    }

    fn add_report(&mut self, text: &str) -> Result<()> {
        let report = roxmltree::Document::parse(text)?;
        for case in report
            .descendants()
            .filter(|node| node.has_tag_name("testcase"))
        {
            let failed = case
                .children()
                .any(|child| child.has_tag_name("failure") || child.has_tag_name("error"));
            let program = case.attribute("classname").unwrap_or_default();
            let name = case.attribute("name").unwrap_or_default();
            self.tests.insert(format!("{program} {name}"), !failed);
        }
        Ok(())
    }

    pub(super) fn of(&self, holder: &Holder) -> Last {
        if holder.tier == "bench" {
            let measured = self.rows.contains(&holder.name);
            return if measured {
                Last::Measured
            } else {
                Last::NotRun
            };
        }
        let program = program(&holder.file);
        let forms = self.tests.iter().filter(|(test, _)| {
            let Some((in_program, name)) = test.split_once(' ') else {
                return false;
            };
            in_program.starts_with(&program) && is_form(name, holder)
        });
        let (mut all, mut failed) = (0, 0);
        for (_, passed) in forms {
            all += 1;
            failed += usize::from(!passed);
        }
        match (all, failed) {
            (0, _) => Last::NotRun,
            (forms, 0) => Last::Passed { forms },
            (forms, failed) => Last::Failed { forms, failed },
        }
    }
}

/// What the runner calls the program that this file is a part of: the package, and the test target if it is one.
fn program(file: &str) -> String {
    let (room, inside) = file.split_once('/').unwrap_or((file, ""));
    let package = match room {
        "core" => "parkade-core",
        "backend-linux" => "parkade-linux",
        "backend-std" => "parkade-std",
        "xtask" => "xtask::bin/xtask",
        _ => "parkade",
    };
    match inside.strip_prefix("tests/") {
        Some(inside) => {
            let target = inside.split(['/', '.']).next().unwrap_or_default();
            format!("{package}::{target}")
        }
        None => package.to_owned(),
    }
}

/// Whether the runner's name is that of the holder's function, in whichever backend's module.
fn is_form(name: &str, holder: &Holder) -> bool {
    let mut modules = name.rsplit("::");
    let stem = Path::new(&holder.file)
        .file_stem()
        .map(|stem| stem.display().to_string());
    modules.next() == Some(&holder.name)
        && stem.is_some_and(|stem| {
            stem == "main"
                || holder.file.matches('/').count() == 2
                || modules.any(|module| module == stem)
        })
}

/// The rows of a bench report.
fn rows(text: &str) -> Result<Vec<String>> {
    let report: serde_json::Value = serde_json::from_str(text)?;
    let cells = report.get("cells").and_then(serde_json::Value::as_array);
    let rows = cells
        .into_iter()
        .flatten()
        .filter_map(|cell| cell.get("row")?.as_str());
    Ok(rows.map(str::to_owned).collect())
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| path.display().to_string())
}

/// The files with this ending in a folder that may not be there, with the times of their last change.
fn files(folder: &Path, ending: &str) -> Result<Vec<(SystemTime, PathBuf)>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut found = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == ending)
        {
            found.push((fs::metadata(&path)?.modified()?, path));
        }
    }
    Ok(found)
}

impl fmt::Display for Last {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotRun => f.write_str("not run"),
            Self::Passed { forms: 1 } => f.write_str("passed"),
            Self::Passed { forms } => write!(f, "passed, {forms} forms"),
            Self::Failed { forms, failed } => write!(f, "FAILED, {failed} of {forms} forms"),
            Self::Measured => f.write_str("measured"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = r#"<testsuites>
        <testsuite name="parkade::behaviour">
            <testcase name="batch::linux::eight_tasks_meet" classname="parkade::behaviour"/>
            <testcase name="batch::portable::eight_tasks_meet" classname="parkade::behaviour">
                <failure type="test failure">no</failure>
            </testcase>
            <testcase name="other::portable::eight_tasks_meet" classname="parkade::behaviour"/>
        </testsuite></testsuites>"#;

    fn holder(file: &str) -> Holder {
        Holder {
            ids: Vec::new(),
            tier: "behaviour",
            file: file.to_owned(),
            name: "eight_tasks_meet".to_owned(),
        }
    }

    #[test]
    fn the_forms_of_a_test_are_summed_up() -> Result<()> {
        let mut results = Results::default();
        results.add_report(REPORT)?;
        let batch = holder("runtime/tests/behaviour/batch.rs");
        assert_eq!(
            results.of(&batch),
            Last::Failed {
                forms: 2,
                failed: 1
            }
        );
        let other = holder("runtime/tests/behaviour/other.rs");
        assert_eq!(results.of(&other), Last::Passed { forms: 1 });
        let elsewhere = holder("runtime/tests/stress/batch.rs");
        assert_eq!(results.of(&elsewhere), Last::NotRun);
        Ok(())
    }

    #[test]
    fn the_newest_result_counts() -> Result<()> {
        let mut results = Results::default();
        results.add_report(REPORT)?;
        let mended = r#"<testsuites><testsuite name="x">
            <testcase name="batch::portable::eight_tasks_meet" classname="parkade::behaviour"/>
            </testsuite></testsuites>"#;
        results.add_report(mended)?;
        let batch = holder("runtime/tests/behaviour/batch.rs");
        assert_eq!(results.of(&batch), Last::Passed { forms: 2 });
        Ok(())
    }

    #[test]
    fn a_row_is_measured_when_the_report_has_it() -> Result<()> {
        let rows = rows(r#"{"cells": [{"row": "lone"}, {"row": "idle"}]}"#)?;
        assert_eq!(rows, ["lone", "idle"]);
        Ok(())
    }
}
