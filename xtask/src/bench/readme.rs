//! The table in the README, from a run that is good enough to be quoted.
//!
//! A table that people read without its spreads must not be made of noise. So nothing is written when the machine
//! was busy, or when the spread of a figure that would be shown is wider than [`WIDEST`] of its median
//! and than the figure's own resolution.

use std::fmt::Write as _;
use std::fs;

use anyhow::{Context, Result, bail};

use super::cell::figure;
use super::report::{Report, write};
use super::summary::{Line, Section, Spread};
use super::table::ratio;
use crate::run::root;

/// The widest spread, highest less lowest over the median, that a quoted figure may have.
const WIDEST: f64 = 0.3;

const BEGIN: &str = "<!-- bench:begin -->";
const END: &str = "<!-- bench:end -->";

/// Writes the run's table between the markers of the README, or says why not.
pub(super) fn rewrite(report: &Report) -> Result<()> {
    let path = root().join("README.md");
    let text = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    let text = between_markers(&text, &table(report)?)?;
    write(&path, &text)
}

/// The table, unless the run is too noisy.
fn table(report: &Report) -> Result<String> {
    if let Some(busy) = &report.busy {
        bail!("the README is left as it was: {busy}");
    }
    let mut too_wide = Vec::new();
    let mut table = String::from(
        "| row | figure | linux | std | best peer | linux / best peer | floor |\n\
         |---|---|--:|--:|--:|--:|--:|\n",
    );
    for section in &report.summary.sections {
        let Some(line) = section.main_figures().next() else {
            continue;
        };
        let quoted = Quoted::of(line);
        for spread in quoted.all().into_iter().flatten() {
            if spread.relative_width(line.figure.resolution) > WIDEST {
                too_wide.push(wide(section, line, spread));
            }
        }
        // Writing to a string does not fail.
        let _ = writeln!(table, "{}", quoted.row(section, line));
    }
    if !too_wide.is_empty() {
        bail!(
            "the README is left as it was, because spreads are wider than {:.0} % of their medians: {}",
            WIDEST * 100.0,
            too_wide.join("; ")
        );
    }
    let _ = write!(
        table,
        "\nMedians of {} rounds on: {}.\n",
        report.rounds,
        escaped(&report.facts.to_string())
    );
    Ok(table)
}

/// The figures of a line that the README shows.
struct Quoted<'a> {
    linux: Option<&'a Spread>,
    std: Option<&'a Spread>,
    best_peer: Option<&'a Spread>,
    floor: Option<&'a Spread>,
}

impl<'a> Quoted<'a> {
    fn of(line: &'a Line) -> Self {
        Self {
            linux: line.of("linux"),
            std: line.of("std"),
            best_peer: line.best_peer(),
            floor: line.of("floor"),
        }
    }

    fn all(&self) -> [Option<&'a Spread>; 4] {
        [self.linux, self.std, self.best_peer, self.floor]
    }

    fn row(&self, section: &Section, line: &Line) -> String {
        let median = |spread: Option<&Spread>| {
            spread.map_or_else(String::new, |spread| figure(spread.median))
        };
        let best_peer = self.best_peer.map_or_else(String::new, |peer| {
            format!("{} ({})", figure(peer.median), escaped(&peer.contender))
        });
        format!(
            "| `{}`, {} | {} | {} | {} | {best_peer} | {} | {} |",
            escaped(&section.row),
            section.shape,
            escaped(&line.figure.to_string()),
            median(self.linux),
            median(self.std),
            ratio(self.linux.and_then(|spread| spread.to_best_peer)),
            median(self.floor),
        )
    }
}

fn wide(section: &Section, line: &Line, spread: &Spread) -> String {
    format!(
        "{} · {} · {} · {}: {}–{} around {}",
        section.row,
        section.shape,
        line.figure.name,
        spread.contender,
        figure(spread.lowest),
        figure(spread.highest),
        figure(spread.median)
    )
}

/// Text that ends no cell of a table and is no markup.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '|' => safe.push_str("\\|"),
            '<' => safe.push_str("&lt;"),
            '\n' => safe.push(' '),
            c => safe.push(c),
        }
    }
    safe
}

fn between_markers(text: &str, table: &str) -> Result<String> {
    let parts = text
        .split_once(BEGIN)
        .and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
    let Some((before, after)) = parts else {
        bail!("README.md has no `{BEGIN}` followed by `{END}`");
    };
    Ok(format!("{before}{BEGIN}\n\n{table}\n{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::super::calibration::Calibration;
    use super::super::report::fixture::report;
    use super::super::summary::fixture::lone;
    use super::*;

    #[test]
    fn a_quiet_run_is_quoted_with_its_best_peer() -> Result<()> {
        let run = [
            ("linux", [99.0, 100.0, 101.0]),
            ("rayon", [400.0; 3]),
            ("tokio", [200.0; 3]),
            ("floor", [80.0; 3]),
        ];
        let table = table(&report(lone(1.0, &run)))?;
        let row = "| `lone`, 2 workers | start p50, ns | 100 |  | 200 (tokio) | 0.50 | 80.0 |";
        assert!(table.contains(row), "{table}");
        Ok(())
    }

    #[test]
    fn a_spread_that_is_too_wide_is_refused_by_name() {
        let refusal = table(&report(lone(1.0, &[("linux", [80.0, 100.0, 120.0])])));
        let refusal = refusal
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default();
        assert!(
            refusal.contains("lone · 2 workers · start p50 · linux: 80.0–120 around 100"),
            "{refusal}"
        );
    }

    #[test]
    fn a_spread_within_the_resolution_is_none() {
        let mut summary = lone(1.0, &[("linux", [0.01, 0.02, 0.05])]);
        assert!(table(&report(summary.clone())).is_err());
        summary.sections[0].figures[0].figure.resolution = 0.1;
        assert!(table(&report(summary)).is_ok());
    }

    #[test]
    fn a_spread_that_is_not_quoted_does_not_matter() {
        let run = [
            ("linux", [100.0; 3]),
            ("rayon", [300.0, 400.0, 900.0]),
            ("tokio", [200.0; 3]),
        ];
        assert!(table(&report(lone(1.0, &run))).is_ok());
    }

    #[test]
    fn a_busy_run_is_refused() {
        let mut busy = report(lone(1.0, &[("linux", [100.0; 3])]));
        busy.busy = Calibration::fixture(0.0, &[(150.0, 100.0)]).busy();
        let refusal = table(&busy)
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default();
        assert!(
            refusal.contains("the machine was busy: a fixed piece"),
            "{refusal}"
        );
    }

    #[test]
    fn only_what_is_between_the_markers_is_replaced() -> Result<()> {
        let text = format!("a\n{BEGIN}\nold\n{END}\nz\n");
        let once = between_markers(&text, "new\n")?;
        assert_eq!(once, format!("a\n{BEGIN}\n\nnew\n\n{END}\nz\n"));
        assert_eq!(between_markers(&once, "new\n")?, once);
        assert!(between_markers(&format!("{END}{BEGIN}"), "new").is_err());
        Ok(())
    }

    #[test]
    fn a_name_cannot_end_its_cell() {
        assert_eq!(escaped("a|b<c"), "a\\|b&lt;c");
    }
}
