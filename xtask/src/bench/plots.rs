//! The plots: each an SVG of a phone's width, drawn in stand-ins for colours ([`palette`](super::palette)).
//!
//! Bars begin at nothing, so that their lengths compare as their figures do. Latencies lie on logarithmic axes,
//! because a tail is some hundred times its median; the more to the right, the rarer.

use anyhow::{Result, anyhow};
use plotters::chart::ChartBuilder;
use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, DrawingAreaErrorKind, IntoDrawingArea as _};
use plotters::element::{PathElement, Rectangle};
use plotters::prelude::SVGBackend;
use plotters::series::LineSeries;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color as _, IntoFont as _, RGBColor, ShapeStyle, TRANSPARENT, TextStyle};

use super::axis::{Span, compact, on_log_axes, percent, rarity, steps};
use super::cell::figure;
use super::distribution::Curves;
use super::palette::{GRID, INK, Palette};
use super::summary::{Line, Section};

const WIDTH: u32 = 380;
/// The height of a bar and of the room around it.
const BAR: u32 = 26;
const CURVES_HEIGHT: u32 = 270;

/// From a bar to the text beside it.
const GAP: i32 = 6;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn<'a> = Result<(), DrawingAreaErrorKind<std::io::Error>>;

/// A bar a contender, as long as its median, with a line from its lowest to its highest.
pub(super) fn bars(line: &Line, palette: &Palette) -> Result<String> {
    let count = u32::try_from(line.spreads.len())?;
    let highest = line
        .spreads
        .iter()
        .map(|spread| spread.highest)
        .fold(0.0, f64::max);
    let highest = if highest > 0.0 { highest } else { 1.0 };
    draw(count * BAR + 30, |area| {
        // Room on the right for the figure beside the longest bar.
        let mut chart = ChartBuilder::on(area)
            .margin(4)
            .x_label_area_size(22)
            .y_label_area_size(102)
            .build_cartesian_2d(
                Span::new(0.0, highest * 1.33, &steps(highest)),
                0.0..f64::from(count),
            )?;
        chart
            .configure_mesh()
            .disable_y_mesh()
            .y_labels(0)
            .light_line_style(TRANSPARENT)
            .bold_line_style(GRID)
            .axis_style(GRID)
            .label_style(text())
            .x_label_formatter(&|value| compact(*value))
            .draw()?;
        let (left, _) = chart.backend_coord(&(0.0, 0.0));
        let name = text().pos(Pos::new(HPos::Right, VPos::Center));
        let value = text().pos(Pos::new(HPos::Left, VPos::Center));
        for (at, spread) in (0..count).zip(&line.spreads) {
            let middle = f64::from(count - at) - 0.5;
            let colour = palette.stand_in(&spread.contender).filled();
            let bar = [(0.0, middle - 0.34), (spread.median, middle + 0.34)];
            chart.draw_series([Rectangle::new(bar, colour)])?;
            let whisker = [(spread.lowest, middle), (spread.highest, middle)];
            chart.draw_series([PathElement::new(whisker, INK.stroke_width(2))])?;
            for end in [spread.lowest, spread.highest] {
                let stop = [(end, middle - 0.18), (end, middle + 0.18)];
                chart.draw_series([PathElement::new(stop, INK.stroke_width(2))])?;
            }
            let (right, y) = chart.backend_coord(&(spread.highest, middle));
            area.draw_text(&figure(spread.median), &value, (right + GAP, y))?;
            area.draw_text(&spread.contender, &name, (left - GAP, y))?;
        }
        Ok(())
    })
}

/// A curve a contender over the quantiles; nothing where there are too few of them.
pub(super) fn quantiles(curves: &Curves, palette: &Palette) -> Result<Option<String>> {
    let series = curves.curves.iter().map(|curve| Series {
        colour: palette.stand_in(&curve.contender),
        points: curve
            .points
            .iter()
            .filter_map(|point| on_log_axes(*point))
            .collect(),
    });
    let series: Vec<_> = series.collect();
    let marks = [0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999].map(rarity);
    let decades = (-3..12)
        .flat_map(|power| [1.0, 2.0, 5.0].map(|digit: f64| digit.log10() + f64::from(power)));
    let plot = Lines {
        x: Axis {
            marks: marks.to_vec(),
            label: &|rarity| format!("{} %", percent(rarity)),
        },
        y: Axis {
            marks: decades.collect(),
            label: &|power| compact(10_f64.powf(power)),
        },
        from_nothing: false,
        dots: false,
    };
    plot.draw(&series)
}

/// A curve a contender over the number of workers; nothing where there are fewer than three numbers.
///
/// The sections are one row's; their figure is the first that the row is about.
pub(super) fn scaling(sections: &[&Section], palette: &Palette) -> Result<Option<String>> {
    let Some(first) = sections.first() else {
        return Ok(None);
    };
    // Other numbers of producers would be other curves.
    let like_first = |section: &&&Section| section.shape.producers == first.shape.producers;
    let sections: Vec<&&Section> = sections.iter().filter(like_first).collect();
    if sections.len() < 3 {
        return Ok(None);
    }
    let workers = |section: &Section| f64::from(section.shape.workers).log2();
    let series = first.commands.iter().map(|own| Series {
        colour: palette.stand_in(&own.contender),
        points: sections
            .iter()
            .filter_map(|section| {
                let spread = section.main_figures().next()?.of(&own.contender)?;
                Some((workers(section), spread.median))
            })
            .collect(),
    });
    let series: Vec<_> = series.collect();
    let values = series
        .iter()
        .flat_map(|series| &series.points)
        .map(|point| point.1);
    let plot = Lines {
        x: Axis {
            marks: sections.iter().map(|section| workers(section)).collect(),
            label: &|power| format!("{:.0}", power.exp2()),
        },
        y: Axis {
            marks: steps(values.fold(0.0, f64::max)),
            label: &|value| compact(value),
        },
        from_nothing: true,
        dots: true,
    };
    plot.draw(&series)
}

struct Series {
    colour: RGBColor,
    points: Vec<(f64, f64)>,
}

struct Axis<'a> {
    /// Where a line and a label may be.
    marks: Vec<f64>,
    label: &'a dyn Fn(f64) -> String,
}

struct Lines<'a> {
    x: Axis<'a>,
    y: Axis<'a>,
    /// Whether the y axis begins at 0 and not at the lowest value.
    from_nothing: bool,
    /// Whether each point is marked.
    dots: bool,
}

impl Lines<'_> {
    /// `None` when there is no line to be drawn.
    fn draw(&self, series: &[Series]) -> Result<Option<String>> {
        let points = || series.iter().flat_map(|series| &series.points);
        let (left, right) = bounds(points().map(|point| point.0));
        let (low, high) = bounds(points().map(|point| point.1));
        if !(left < right && low.is_finite() && high.is_finite()) {
            return Ok(None);
        }
        let room = ((high - low) * 0.06).max(f64::EPSILON.max(high.abs() * 0.01));
        let low = if self.from_nothing { 0.0 } else { low - room };
        let (right, high) = (right + (right - left) * 0.03, high + room);
        let (x, y) = (
            Span::new(left, right, &self.x.marks),
            Span::new(low, high, &self.y.marks),
        );
        let svg = draw(CURVES_HEIGHT, |area| {
            let mut chart = ChartBuilder::on(area)
                .margin(8)
                // Half of the last label.
                .margin_right(28)
                .x_label_area_size(24)
                .y_label_area_size(48)
                .build_cartesian_2d(x, y)?;
            chart
                .configure_mesh()
                .light_line_style(TRANSPARENT)
                .bold_line_style(GRID)
                .axis_style(GRID)
                .label_style(text())
                .x_label_formatter(&|at| (self.x.label)(*at))
                .y_label_formatter(&|at| (self.y.label)(*at))
                .draw()?;
            for series in series {
                let style = ShapeStyle::from(series.colour).stroke_width(2);
                let line = LineSeries::new(series.points.iter().copied(), style);
                let dots = if self.dots { 3 } else { 0 };
                chart.draw_series(line.point_size(dots))?;
            }
            Ok(())
        })?;
        Ok(Some(svg))
    }
}

fn draw(height: u32, content: impl FnOnce(&Area<'_>) -> Drawn<'static>) -> Result<String> {
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, (WIDTH, height)).into_drawing_area();
        content(&area)
            .and_then(|()| area.present())
            .map_err(|error| anyhow!("a plot cannot be drawn: {error}"))?;
    }
    Ok(svg)
}

fn text() -> TextStyle<'static> {
    ("sans-serif", 16).into_font().color(&INK)
}

fn bounds(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (low.min(value), high.max(value))
    })
}

#[cfg(test)]
mod tests {
    use super::super::offer::fixture::offers;
    use super::super::summary::Summary;
    use super::super::summary::fixture::{cell, lone};
    use super::*;

    #[test]
    fn bars_name_each_contender_and_its_figure() -> Result<()> {
        let summary = lone(
            1.0,
            &[("linux", [90.0, 123.0, 150.0]), ("rayon", [456.0; 3])],
        );
        let svg = bars(&summary.sections[0].figures[0], &Palette::of(&summary))?;
        for text in ["linux", "123", "rayon", "456", "#000200", "#000201"] {
            assert!(svg.contains(text), "{text} is missing in {svg}");
        }
        Ok(())
    }

    #[test]
    fn bars_of_nothing_are_drawn_too() -> Result<()> {
        let summary = lone(1.0, &[("linux", [0.0; 3])]);
        assert!(bars(&summary.sections[0].figures[0], &Palette::of(&summary))?.contains("linux"));
        Ok(())
    }

    #[test]
    fn a_distribution_has_a_curve_a_contender() -> Result<()> {
        let summary = lone(1.0, &[("linux", [100.0; 3]), ("rayon", [2000.0; 3])]);
        let palette = Palette::of(&summary);
        let svg = quantiles(&summary.sections[0].distributions[0], &palette)?.unwrap_or_default();
        assert_eq!(svg.matches("#00020").count(), 2, "{svg}");
        for mark in ["50 %", "90 %", "99 %", "1000"] {
            assert!(svg.contains(mark), "{mark} is missing in {svg}");
        }
        Ok(())
    }

    #[test]
    fn workers_are_scaled_over_from_three_numbers_on() -> Result<()> {
        let cells = [1, 2, 64].map(|workers| cell("scale", workers, "linux", "throughput", 7.0));
        let draw = |cells: &[_]| {
            let summary = Summary::new(&offers(), cells, 1.0);
            let sections: Vec<_> = summary.sections.iter().collect();
            scaling(&sections, &Palette::of(&summary))
        };
        assert!(draw(&cells[..2])?.is_none());
        assert!(draw(&cells)?.is_some_and(|svg| svg.contains("64")));
        let mut producers = cells.clone();
        producers[1].shape.producers = 4;
        assert!(draw(&producers)?.is_none());
        Ok(())
    }

    #[test]
    fn a_name_is_no_markup() -> Result<()> {
        let mut summary = lone(1.0, &[("linux", [1.0; 3])]);
        summary.sections[0].figures[0].spreads[0].contender = "<script>&".to_owned();
        let svg = bars(&summary.sections[0].figures[0], &Palette::of(&summary))?;
        assert!(
            svg.contains("&lt;script&gt;&amp;") && !svg.contains("<script"),
            "{svg}"
        );
        Ok(())
    }
}
