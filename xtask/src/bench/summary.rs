//! From many cells to one table: the median of the rounds, their spread, and the ratio between
//! contenders.

use comfy_table::{CellAlignment, LineStyle, Table, TableStyle, presets};
use serde::Serialize;

use super::cell::{Cell, figure};

/// One line under the header, and none between the figures.
const STYLE: TableStyle = presets::NOTHING.header_separator(LineStyle::new('─', '─', '─', '─'));

/// Every figure of every row, in the order in which they were first measured.
#[derive(Debug, Serialize)]
pub(super) struct Summary {
    lines: Vec<Line>,
    #[serde(skip)]
    commands: Vec<String>,
}

/// One figure of one row, for each contender.
#[derive(Debug, Serialize)]
struct Line {
    row: String,
    workers: u16,
    metric: String,
    unit: String,
    by_contender: Vec<Spread>,
}

#[derive(Debug, Serialize)]
struct Spread {
    contender: String,
    median: f64,
    lowest: f64,
    highest: f64,
    /// The median over the first contender's.
    ratio: Option<f64>,
}

impl Summary {
    /// The medians of one contender's figure in one row, by number of workers.
    pub(super) fn medians(
        &self,
        row: &str,
        contender: &str,
        figure: &str,
    ) -> impl Iterator<Item = (u16, f64)> {
        let lines = self.lines.iter();
        let lines = lines.filter(move |line| line.row == row && line.metric == figure);
        lines.filter_map(move |line| {
            let mut all = line.by_contender.iter();
            let spread = all.find(|spread| spread.contender == contender)?;
            Some((line.workers, spread.median))
        })
    }

    pub(super) fn new(cells: &[Cell], contenders: &[String]) -> Self {
        let mut lines: Vec<Line> = Vec::new();
        let mut commands: Vec<String> = Vec::new();
        for cell in cells {
            if !commands.contains(&cell.command) {
                commands.push(cell.command.clone());
            }
            for metric in &cell.metrics {
                let known = lines.iter().any(|line| {
                    (line.row.as_str(), line.workers, line.metric.as_str())
                        == (cell.row.as_str(), cell.workers, metric.name.as_str())
                });
                if !known {
                    lines.push(Line {
                        row: cell.row.clone(),
                        workers: cell.workers,
                        metric: metric.name.clone(),
                        unit: metric.unit.clone(),
                        by_contender: Vec::new(),
                    });
                }
            }
        }
        for line in &mut lines {
            for contender in contenders {
                let spread = Spread::of(line, contender, cells);
                line.by_contender.extend(spread);
            }
            let first = line.by_contender.first().map(|first| first.median);
            for spread in line.by_contender.iter_mut().skip(1) {
                spread.ratio = first
                    .filter(|first| *first > 0.0)
                    .map(|first| spread.median / first);
            }
        }
        Self { lines, commands }
    }

    /// The commands that measured the cells, each once.
    pub(super) fn commands(&self) -> &[String] {
        &self.commands
    }

    pub(super) fn table(&self, contenders: &[String]) -> Table {
        let mut header = vec!["row".to_owned(), "workers".to_owned(), "figure".to_owned()];
        header.extend(contenders.iter().cloned());
        let Some((base, others)) = contenders.split_first() else {
            return Table::new();
        };
        header.extend(others.iter().map(|other| format!("{other}/{base}")));
        let mut table = Table::new();
        table.load_style(STYLE).set_header(header);
        for line in &self.lines {
            let of = |contender: &String| {
                line.by_contender
                    .iter()
                    .find(|spread| spread.contender == *contender)
            };
            let mut cells = vec![
                line.row.clone(),
                line.workers.to_string(),
                format!("{} {}", line.metric, line.unit)
                    .trim_end()
                    .to_owned(),
            ];
            cells.extend(contenders.iter().map(|contender| {
                of(contender).map_or_else(String::new, |spread| {
                    format!(
                        "{} ({}–{})",
                        figure(spread.median),
                        figure(spread.lowest),
                        figure(spread.highest)
                    )
                })
            }));
            cells.extend(others.iter().map(|other| {
                of(other)
                    .and_then(|spread| spread.ratio)
                    .map_or_else(String::new, |ratio| format!("{ratio:.2}"))
            }));
            table.add_row(cells);
        }
        for column in table.column_iter_mut().skip(3) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        table
    }
}

impl Spread {
    fn of(line: &Line, contender: &str, cells: &[Cell]) -> Option<Self> {
        let mut values: Vec<f64> = cells
            .iter()
            .filter(|cell| {
                cell.row == line.row && cell.workers == line.workers && cell.contender == contender
            })
            .flat_map(|cell| &cell.metrics)
            .filter(|metric| metric.name == line.metric)
            .map(|metric| metric.value)
            .collect();
        values.sort_by(f64::total_cmp);
        Some(Self {
            contender: contender.to_owned(),
            median: median(&values)?,
            lowest: *values.first()?,
            highest: *values.last()?,
            ratio: None,
        })
    }
}

/// The middle of sorted values; of an even number, the mean of the two in the middle.
fn median(sorted: &[f64]) -> Option<f64> {
    let upper = *sorted.get(sorted.len() / 2)?;
    if sorted.len() % 2 == 1 {
        return Some(upper);
    }
    Some(f64::midpoint(sorted[sorted.len() / 2 - 1], upper))
}

#[cfg(test)]
mod tests {
    use super::super::cell::Metric;
    use super::*;

    fn cell(contender: &str, value: f64) -> Cell {
        Cell {
            row: "lone".to_owned(),
            contender: contender.to_owned(),
            workers: 2,
            metrics: vec![Metric {
                name: "start p50".to_owned(),
                unit: "ns".to_owned(),
                value,
            }],
            command: format!("run {contender}"),
        }
    }

    #[test]
    fn a_median_is_in_the_middle() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0]), Some(3.0));
        assert_eq!(median(&[1.0, 3.0]), Some(2.0));
        assert_eq!(median(&[1.0, 2.0, 9.0]), Some(2.0));
    }

    #[test]
    fn rounds_become_a_median_a_spread_and_a_ratio() {
        let cells: Vec<Cell> = [
            ("linux", 10.0),
            ("std", 30.0),
            ("std", 20.0),
            ("linux", 12.0),
        ]
        .into_iter()
        .chain([("linux", 8.0), ("std", 90.0)])
        .map(|(contender, value)| cell(contender, value))
        .collect();
        let contenders = ["linux".to_owned(), "std".to_owned()];
        let summary = Summary::new(&cells, &contenders);
        assert_eq!(summary.commands(), ["run linux", "run std"]);
        let table = summary.table(&contenders).to_string();
        assert!(table.contains("10.0 (8.00–12.0)"), "{table}");
        assert!(table.contains("30.0 (20.0–90.0)"), "{table}");
        assert!(table.contains("3.00"), "{table}");
    }

    #[test]
    fn a_ratio_to_nothing_is_left_out() {
        let cells = [cell("linux", 0.0), cell("std", 1.0)];
        let contenders = ["linux".to_owned(), "std".to_owned()];
        let summary = Summary::new(&cells, &contenders);
        assert_eq!(summary.lines[0].by_contender[1].ratio, None);
    }
}
