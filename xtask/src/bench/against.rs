//! What has really changed since an earlier run.
//!
//! A change is real when the two spreads have no value in common and the medians are more than [`LEAST`] apart.
//! Spreads that touch are noise, however far the medians are from each other; and a difference below the bound
//! or within the figure's own resolution is not worth a look, however still the machine was. Both spreads are as widened as their runs were busy.
//! A cell that was measured by another command (more tasks, another length) is not compared.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::{Result, bail};

use super::offer::{Figure, Shape};
use super::report::Report;
use super::summary::{Spread, Summary};
use super::table::shown;

/// The least relative difference of medians that is called a change.
const LEAST: f64 = 0.03;

/// With fewer rounds a spread says nothing.
const LEAST_ROUNDS: u32 = 3;

/// The outcome of comparing two runs.
#[derive(Debug)]
pub(super) struct Comparison {
    changes: Vec<Change>,
    /// Figures that did not really change.
    same: usize,
    /// Figures that only one of the runs has.
    alone: usize,
    /// Figures that were measured by another command.
    unlike: usize,
    /// Figures that were taken too rarely: calls that were counted in one round only.
    rare: usize,
    /// How the machines differ, in words.
    differences: Vec<String>,
}

#[derive(Debug)]
struct Change {
    place: Place,
    then: Spread,
    now: Spread,
    is_better: bool,
}

/// Where a figure stands: its row, shape, name and contender.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    row: String,
    shape: Shape,
    figure: String,
    contender: String,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            row,
            shape,
            figure,
            contender,
        } = self;
        write!(f, "{row} · {shape} · {figure} · {contender}")
    }
}

/// A figure at its place.
struct Found<'a> {
    spread: &'a Spread,
    figure: &'a Figure,
    command: Option<&'a str>,
}

/// Refuses a run that has too few rounds to be compared.
pub(super) fn check_rounds(rounds: u32) -> Result<()> {
    if rounds < LEAST_ROUNDS {
        bail!(
            "a run of {rounds} rounds has no spread to compare by: it takes at least {LEAST_ROUNDS}"
        );
    }
    Ok(())
}

pub(super) fn compare(then: &Report, now: &Report) -> Comparison {
    let mut earlier = places(&then.summary);
    let mut comparison = Comparison {
        changes: Vec::new(),
        same: 0,
        alone: 0,
        unlike: 0,
        rare: 0,
        differences: now.facts.differences(&then.facts),
    };
    for (place, now) in places(&now.summary) {
        match earlier.remove(&place) {
            None => comparison.alone += 1,
            Some(then) if then.command != now.command => comparison.unlike += 1,
            Some(then) if is_rare(then.spread) || is_rare(now.spread) => comparison.rare += 1,
            Some(then) if is_real(then.spread, now.spread, now.figure.resolution) => {
                comparison.changes.push(Change {
                    place,
                    is_better: now
                        .figure
                        .better
                        .prefers(now.spread.median, then.spread.median),
                    then: then.spread.clone(),
                    now: now.spread.clone(),
                })
            }
            Some(_) => comparison.same += 1,
        }
    }
    comparison.alone += earlier.len();
    comparison
}

fn is_rare(spread: &Spread) -> bool {
    spread.values.len() < LEAST_ROUNDS as usize
}

fn is_real(then: &Spread, now: &Spread, resolution: f64) -> bool {
    let overlap = then.lowest <= now.highest && now.lowest <= then.highest;
    let apart = (now.median - then.median).abs();
    !overlap && apart > resolution.max(LEAST * then.median.abs())
}

fn places(summary: &Summary) -> BTreeMap<Place, Found<'_>> {
    let mut places = BTreeMap::new();
    for section in &summary.sections {
        for line in &section.figures {
            for spread in &line.spreads {
                let place = Place {
                    row: section.row.clone(),
                    shape: section.shape,
                    figure: line.figure.name.clone(),
                    contender: spread.contender.clone(),
                };
                let mut commands = section.commands.iter();
                let own = commands.find(|own| own.contender == spread.contender);
                let found = Found {
                    spread,
                    figure: &line.figure,
                    command: own.map(|own| own.command.as_str()),
                };
                places.insert(place, found);
            }
        }
    }
    places
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for difference in &self.differences {
            writeln!(
                f,
                "The machines differ, so the changes may be theirs: {difference}"
            )?;
        }
        for change in &self.changes {
            let percent = (change.now.median / change.then.median - 1.0) * 100.0;
            writeln!(
                f,
                "{} {}: {} → {}{}",
                if change.is_better { "better" } else { "WORSE " },
                change.place,
                shown(&change.then),
                shown(&change.now),
                if percent.is_finite() {
                    format!(", {percent:+.0} %")
                } else {
                    String::new()
                },
            )?;
        }
        write!(f, "{} changed, {} did not", self.changes.len(), self.same)?;
        let more = [
            (self.alone, "are in one run only"),
            (self.unlike, "were measured by another command"),
            (self.rare, "were taken too rarely"),
        ];
        for (number, what) in more.into_iter().filter(|(number, _)| *number > 0) {
            write!(f, "; {number} {what}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::offer::fixture::offers;
    use super::super::report::fixture::report;
    use super::super::summary::fixture::{cell, lone};
    use super::*;

    fn between(then: [f64; 3], now: [f64; 3]) -> Comparison {
        let run = |values| report(lone(1.0, &[("linux", values)]));
        compare(&run(then), &run(now))
    }

    #[test]
    fn spreads_that_overlap_are_no_change() {
        let comparison = between([100.0, 101.0, 180.0], [60.0, 61.0, 100.0]);
        assert_eq!((comparison.changes.len(), comparison.same), (0, 1));
    }

    #[test]
    fn a_small_difference_is_no_change_however_still_the_machine() {
        assert!(between([100.0; 3], [103.0; 3]).changes.is_empty());
        assert_eq!(between([100.0; 3], [104.0; 3]).changes.len(), 1);
    }

    #[test]
    fn better_is_by_the_direction_of_the_figure() {
        let slower = between([100.0; 3], [150.0; 3]).to_string();
        assert!(
            slower.starts_with("WORSE  lone · 2 workers · start p50 · linux: 100 (100–100) → 150"),
            "{slower}"
        );
        assert!(slower.contains("+50 %"), "{slower}");
        let throughput = |value| {
            let cell = cell("scale", 2, "linux", "throughput", value);
            report(Summary::new(&offers(), &vec![cell; 3], 1.0))
        };
        let comparison = compare(&throughput(100.0), &throughput(150.0));
        assert!(comparison.changes[0].is_better);
    }

    #[test]
    fn a_busy_run_changes_less() {
        let then = report(lone(1.0, &[("linux", [100.0; 3])]));
        let busy = report(lone(1.6, &[("linux", [150.0; 3])]));
        assert!(compare(&then, &busy).changes.is_empty());
    }

    #[test]
    fn what_cannot_be_compared_is_counted() {
        let then = report(lone(1.0, &[("linux", [1.0; 3]), ("std", [1.0; 3])]));
        let mut now = report(lone(1.0, &[("linux", [9.0; 3]), ("rayon", [1.0; 3])]));
        now.summary.sections[0].commands[0]
            .command
            .push_str(" --tasks 7");
        let comparison = compare(&then, &now);
        assert_eq!(
            (
                comparison.alone,
                comparison.unlike,
                comparison.changes.len()
            ),
            (2, 1, 0)
        );
    }

    #[test]
    fn other_machines_are_named() {
        let then = report(lone(1.0, &[("linux", [1.0; 3])]));
        let mut now = then.clone();
        assert!(!compare(&then, &now).to_string().contains("differ"));
        now.facts = serde_json::from_str(
            r#"{"cpu":"other","cpus":2,"kernel":"Linux","rustc":"rustc 1","commit":"b"}"#,
        )
        .expect("facts are plain data");
        assert!(
            compare(&then, &now)
                .to_string()
                .contains("processor: test then, other now")
        );
    }

    #[test]
    fn what_was_taken_once_is_not_judged() {
        let once = |value| {
            let cell = cell("lone", 2, "linux", "futex calls", value);
            report(Summary::new(&offers(), &[cell], 1.0))
        };
        let comparison = compare(&once(2.0), &once(5.0));
        assert_eq!((comparison.rare, comparison.changes.len()), (1, 0));
    }

    #[test]
    fn two_rounds_are_too_few() {
        assert!(check_rounds(2).is_err());
        assert!(check_rounds(3).is_ok());
    }
}
