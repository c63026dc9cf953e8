//! One page that needs nothing but itself: the plots, all figures, the machine, and the commands.
//!
//! Its reader may have a phone: a plot is as wide as that, plots stand beside each other where there is room, and a
//! table that is wider scrolls by itself. The template escapes whatever is put into it; what is put in unescaped is
//! this program's own style sheets and the SVGs, whose writer has escaped their texts.

use anyhow::Result;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::palette::{self, Palette};
use super::plots;
use super::report::Report;
use super::summary::{Line, Section, Summary};
use super::table::{ratio, shown};

const STYLE: &str = include_str!("page.css");

/// The whole page.
pub(super) fn page(report: &Report) -> Result<String> {
    let palette = Palette::of(&report.summary);
    let rows = rows(&report.summary);
    let rows: Vec<Markup> = rows
        .iter()
        .map(|sections| row(sections, &palette))
        .collect::<Result<_>>()?;
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "Parkade bench, commit " (commit(report)) }
                style { (PreEscaped(STYLE)) (PreEscaped(palette::style())) }
            }
            body {
                h1 { "Parkade bench" }
                (head(report))
                @for row in &rows { (row) }
            }
        }
    };
    Ok(page.into_string())
}

fn commit(report: &Report) -> String {
    let [.., (_, commit)] = report.facts.listed();
    commit
}

/// What a reader must know before the first figure.
fn head(report: &Report) -> Markup {
    html! {
        @if let Some(busy) = &report.busy {
            p.alarm {
                "Compare with care: " (busy) ". Spreads are widened by a factor of "
                (ratio(Some(report.widened_by))) "."
            }
        }
        @if let Some(why) = &report.counts_missing_because {
            p.alarm { "The counts of system calls are missing: " (why) "." }
        }
        dl {
            @for (name, value) in report.facts.listed() { dt { (name) } dd { (value) } }
            dt { "measured" } dd { (report.written_at.strftime("%Y-%m-%d %H:%M UTC")) ", " (report.mode) ", " (report.rounds) " rounds" }
        }
        p.soft {
            "A bar is the median of the rounds, and the line on it goes from the lowest to the highest. A ratio is "
            "this contender's median over that of the best peer, or of the floor: the least that the row can cost "
            "without a scheduler."
        }
    }
}

/// The sections of each row, in order.
fn rows(summary: &Summary) -> Vec<Vec<&Section>> {
    let mut rows: Vec<Vec<&Section>> = Vec::new();
    for section in &summary.sections {
        match rows.last_mut() {
            Some(row) if row[0].row == section.row => row.push(section),
            _ => rows.push(vec![section]),
        }
    }
    rows
}

fn row(sections: &[&Section], palette: &Palette) -> Result<Markup> {
    let Some(first) = sections.first() else {
        return Ok(html! {});
    };
    let scaling = plots::scaling(sections, palette)?;
    let figure = first.main_figures().next();
    let parts: Vec<Markup> = sections
        .iter()
        .map(|section| part(section, palette))
        .collect::<Result<_>>()?;
    Ok(html! {
        h2 id=(first.row) { (first.row) }
        p { (first.like) }
        @if let Some(floor) = &first.floor { p.soft { "Floor: " (floor) } }
        (legend(first, palette))
        @if let (Some(svg), Some(line)) = (scaling, figure) {
            figure {
                figcaption { (line.figure) " over workers " small { (line.figure.better) } }
                (PreEscaped(svg))
            }
        }
        @for part in &parts { (part) }
    })
}

fn legend(section: &Section, palette: &Palette) -> Markup {
    html! {
        ul.legend {
            @for own in &section.commands {
                li { i class={ "series-" (palette.number(&own.contender)) } {} (own.contender) }
            }
        }
    }
}

/// One row in one shape.
fn part(section: &Section, palette: &Palette) -> Result<Markup> {
    let bars = section
        .main_figures()
        .map(|line| Ok((line, plots::bars(line, palette)?)));
    let bars: Vec<(&Line, String)> = bars.collect::<Result<_>>()?;
    let mut curves = Vec::new();
    for distribution in &section.distributions {
        if let Some(svg) = plots::quantiles(distribution, palette)? {
            curves.push((distribution, svg));
        }
    }
    Ok(html! {
        h3 { (section.shape) }
        div.plots {
            @for (line, svg) in &bars {
                figure {
                    figcaption { (line.figure) " " small { (line.figure.better) } }
                    (PreEscaped(svg))
                }
            }
            @for (distribution, svg) in &curves {
                figure {
                    figcaption {
                        (distribution.name) @if !distribution.unit.is_empty() { ", " (distribution.unit) }
                        " " small { "of so many per cent of the tasks at most" }
                    }
                    (PreEscaped(svg))
                }
            }
        }
        details { summary { "All figures" } (table(section)) }
        details { summary { "Run a cell again" } (commands(section)) }
    })
}

fn table(section: &Section) -> Markup {
    html! {
        div.scroll {
            table {
                thead { tr {
                    th { "contender" } th { "median (low–high)" } th { "to best peer" } th { "to floor" }
                } }
                @for line in &section.figures {
                    tbody {
                        tr { th colspan="4" { (line.figure) " " small.soft { (line.figure.better) } } }
                        @for spread in &line.spreads {
                            tr {
                                td { (spread.contender) }
                                td { (shown(spread)) }
                                td { (ratio(spread.to_best_peer)) }
                                td { (ratio(spread.to_floor)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn commands(section: &Section) -> Markup {
    html! {
        pre {
            @for own in &section.commands {
                (own.command) "\n"
                @if let Some(traced_by) = &own.traced_by { (traced_by) "\n" }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::calibration::Calibration;
    use super::super::offer::fixture::offers;
    use super::super::report::fixture::report;
    use super::super::summary::fixture::{cell, lone};
    use super::*;

    #[test]
    fn every_row_and_command_is_on_the_page() -> Result<()> {
        let cells = [
            cell("lone", 2, "linux", "start p50", 5.0),
            cell("scale", 1, "rayon", "throughput", 7.0),
            cell("memory", 2, "linux", "a queued task", 40.0),
        ];
        let page = page(&report(Summary::new(&offers(), &cells, 1.0)))?;
        for text in [
            "lone",
            "scale",
            "memory",
            "a request in the night",
            "a raw futex hand-over",
        ] {
            assert!(page.contains(text), "{text}");
        }
        assert_eq!(page.matches("<h2").count(), 3);
        assert!(page.contains("measure scale rayon"));
        assert!(page.contains("rustc 1"));
        Ok(())
    }

    #[test]
    fn nothing_is_fetched() -> Result<()> {
        let page = page(&report(lone(1.0, &[("linux", [1.0; 3])])))?;
        // The only address is the name of SVG's namespace, which nobody fetches.
        let addresses = page.matches("://").count();
        assert_eq!(
            addresses,
            page.matches("http://www.w3.org/2000/svg").count()
        );
        assert!(!page.contains("src=") && !page.contains("<link") && !page.contains("url("));
        Ok(())
    }

    #[test]
    fn whatever_is_put_in_is_escaped() -> Result<()> {
        let evil = "<script>alert(1)</script>";
        let mut report = report(lone(1.0, &[("linux", [1.0; 3])]));
        report.mode = evil.to_owned();
        let section = &mut report.summary.sections[0];
        section.row = evil.to_owned();
        section.like = evil.to_owned();
        section.floor = Some(evil.to_owned());
        section.commands[0].command = evil.to_owned();
        section.commands[0].contender = evil.to_owned();
        section.distributions[0].name = evil.to_owned();
        section.distributions[0].unit = evil.to_owned();
        section.figures[0].figure.name = evil.to_owned();
        section.figures[0].spreads[0].contender = evil.to_owned();
        let page = page(&report)?;
        assert!(!page.contains("<script"), "{page}");
        assert!(page.matches("&lt;script").count() > 8);
        Ok(())
    }

    #[test]
    fn a_busy_run_says_so_first() -> Result<()> {
        let mut busy = report(lone(1.5, &[("linux", [1.0; 3])]));
        busy.busy = Calibration::fixture(0.0, &[(150.0, 100.0)]).busy();
        assert!(page(&busy)?.contains("the machine was busy: a fixed piece"));
        Ok(())
    }
}
