//! The table in the terminal: for each row and shape the figures that it is about, and the ratios.
//!
//! It is narrower than 100 columns, and below it are the commands that measure each cell again.

use std::fmt::Write as _;

use comfy_table::{CellAlignment, LineStyle, Table, TableStyle, presets};

use super::cell::figure;
use super::summary::{Section, Spread, Summary};

/// One line under the header, and none between the figures.
const STYLE: TableStyle = presets::NOTHING.header_separator(LineStyle::new('─', '─', '─', '─'));

/// Where a line of prose is broken.
const COLUMNS: usize = 96;

/// The whole text: tables and commands.
pub(super) fn text(summary: &Summary) -> String {
    let mut text = String::new();
    for section in &summary.sections {
        // Writing to a string does not fail.
        let _ = write!(text, "\n{} · {}", section.row, section.shape);
        let _ = write!(text, "\n{}", wrapped(&section.like));
        if let Some(floor) = &section.floor {
            let _ = write!(text, "\n{}", wrapped(&format!("Floor: {floor}")));
        }
        let _ = write!(text, "\n\n{}\n", table(section));
    }
    text.push_str("\nEach figure is the median (lowest–highest). To run one cell again, and to count its calls:\n");
    for section in &summary.sections {
        for commands in &section.commands {
            let _ = writeln!(text, "  {}", commands.command);
            if let Some(traced_by) = &commands.traced_by {
                let _ = writeln!(text, "  {traced_by}");
            }
        }
    }
    text
}

fn table(section: &Section) -> Table {
    let mut table = Table::new();
    let header = [
        "figure",
        "contender",
        "median (low–high)",
        "to best peer",
        "to floor",
    ];
    table.load_style(STYLE).set_header(header);
    for line in section.main_figures() {
        let mut name = line.figure.to_string();
        for spread in &line.spreads {
            table.add_row([
                std::mem::take(&mut name),
                spread.contender.clone(),
                shown(spread),
                ratio(spread.to_best_peer),
                ratio(spread.to_floor),
            ]);
        }
    }
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// "12.0 (11.0–14.0)".
pub(super) fn shown(spread: &Spread) -> String {
    format!(
        "{} ({}–{})",
        figure(spread.median),
        figure(spread.lowest),
        figure(spread.highest)
    )
}

/// "0.52", or nothing where there is no ratio.
pub(super) fn ratio(ratio: Option<f64>) -> String {
    ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}"))
}

/// Prose in lines of at most [`COLUMNS`] characters.
fn wrapped(prose: &str) -> String {
    let mut text = String::new();
    let mut column = 0;
    for word in prose.split_whitespace() {
        let width = word.chars().count();
        if column > 0 && column + 1 + width > COLUMNS {
            text.push('\n');
            column = 0;
        } else if column > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += width;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::summary::fixture::lone;
    use super::*;

    #[test]
    fn the_table_has_figures_ratios_and_commands_and_fits() {
        let summary = lone(
            1.0,
            &[
                ("linux", [10_000.0, 12_000.0, 8000.0]),
                ("rayon", [123_456.0, 20_000.0, 987_654.0]),
                ("floor", [5000.0; 3]),
            ],
        );
        let text = text(&summary);
        let ours = text
            .lines()
            .find(|line| line.contains("linux"))
            .unwrap_or("");
        let words: Vec<_> = ours.split_whitespace().collect();
        assert_eq!(
            words[3..],
            ["linux", "10000", "(8000–12000)", "0.08", "2.00"],
            "{text}"
        );
        assert!(text.contains("  measure lone rayon\n"));
        let widest = text.lines().map(|line| line.chars().count()).max();
        assert!(widest.is_some_and(|widest| widest <= 100), "{text}");
    }

    #[test]
    fn prose_is_broken_between_words() {
        let text = wrapped(&"word ".repeat(40));
        assert_eq!(text.lines().count(), 3);
        assert!(
            text.lines()
                .all(|line| line.chars().count() <= COLUMNS && !line.ends_with(' '))
        );
    }
}
