//! From many cells to what is shown: the median of the rounds, their spread, and the ratios to the best peer and to
//! the floor.
//!
//! A *section* is one row in one shape. The best peer of a figure is the peer with the best median, by the figure's
//! own direction; a ratio is always *this over that*, so of a figure that should be low, a ratio below 1 is better,
//! and of one that should be high, a ratio above 1.

use serde::{Deserialize, Serialize};

use super::cell::Cell;
use super::distribution::{Curves, distributions};
use super::offer::{Better, FLOOR, Figure, Offer, Shape, is_peer};
use super::strace;

/// Every figure of every row, in the order of the bench program.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Summary {
    pub(super) sections: Vec<Section>,
}

/// One row in one shape.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Section {
    pub(super) row: String,
    #[serde(flatten)]
    pub(super) shape: Shape,
    pub(super) like: String,
    pub(super) floor: Option<String>,
    pub(super) figures: Vec<Line>,
    pub(super) distributions: Vec<Curves>,
    pub(super) commands: Vec<Commands>,
}

/// One figure, for each contender.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Line {
    #[serde(flatten)]
    pub(super) figure: Figure,
    pub(super) spreads: Vec<Spread>,
}

/// One figure of one contender.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Spread {
    pub(super) contender: String,
    /// What the rounds gave, sorted.
    pub(super) values: Vec<f64>,
    pub(super) median: f64,
    /// The lowest value, widened if the machine was busy.
    pub(super) lowest: f64,
    /// The highest value, widened likewise.
    pub(super) highest: f64,
    /// The median over the best peer's.
    pub(super) to_best_peer: Option<f64>,
    /// The median over the floor's.
    pub(super) to_floor: Option<f64>,
}

/// How to measure one cell again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Commands {
    pub(super) contender: String,
    pub(super) command: String,
    /// And how to count its system calls again.
    pub(super) traced_by: Option<String>,
}

impl Summary {
    /// Sums up the cells; every spread is widened by the factor `widening`, 1 for not at all.
    pub(super) fn new(offers: &[Offer], cells: &[Cell], widening: f64) -> Self {
        let sections = offers.iter().flat_map(|offer| {
            let sections = offer.shapes.iter();
            sections.filter_map(move |shape| Section::of(offer, *shape, cells, widening))
        });
        Self {
            sections: sections.collect(),
        }
    }

    /// The medians of one contender's figure in one row, by shape.
    pub(super) fn medians(
        &self,
        row: &str,
        contender: &str,
        figure: &str,
    ) -> impl Iterator<Item = (Shape, f64)> {
        let sections = self
            .sections
            .iter()
            .filter(move |section| section.row == row);
        sections.filter_map(move |section| {
            let line = section
                .figures
                .iter()
                .find(|line| line.figure.name == figure)?;
            Some((section.shape, line.of(contender)?.median))
        })
    }
}

impl Section {
    fn of(offer: &Offer, shape: Shape, cells: &[Cell], widening: f64) -> Option<Self> {
        let cells: Vec<&Cell> = cells
            .iter()
            .filter(|cell| cell.row == offer.row && cell.shape == shape)
            .collect();
        if cells.is_empty() {
            return None;
        }
        // In the order of the offer, whatever order the rounds had.
        let contenders: Vec<&str> = offer
            .contenders
            .iter()
            .map(String::as_str)
            .filter(|name| cells.iter().any(|cell| cell.contender == *name))
            .collect();
        let figures = offer.figures.iter().cloned().chain(strace::figures());
        let figures = figures.filter_map(|figure| {
            let widening = if figure.depends_on_neighbours() {
                widening
            } else {
                1.0
            };
            let spreads = contenders.iter().filter_map(|name| {
                let own = cells.iter().filter(|cell| cell.contender == *name);
                let metrics = own.flat_map(|cell| &cell.metrics);
                let values = metrics
                    .filter(|metric| metric.name == figure.name)
                    .map(|metric| metric.value);
                Spread::of(name, values.collect(), widening)
            });
            let spreads = spreads.collect();
            Line::new(figure, spreads)
        });
        let commands = contenders.iter().filter_map(|name| {
            let mut own = cells.iter().filter(|cell| cell.contender == *name);
            Some(Commands {
                contender: (*name).to_owned(),
                command: own.clone().next()?.command.clone(),
                traced_by: own.find_map(|cell| cell.traced_by.clone()),
            })
        });
        Some(Self {
            row: offer.row.clone(),
            shape,
            like: offer.like.clone(),
            floor: offer.floor.clone(),
            figures: figures.collect(),
            distributions: distributions(&contenders, &cells),
            commands: commands.collect(),
        })
    }

    /// The figures that the row is about; all of them if it says nothing.
    pub(super) fn main_figures(&self) -> impl Iterator<Item = &Line> {
        let any = self.figures.iter().any(|line| line.figure.main);
        self.figures
            .iter()
            .filter(move |line| line.figure.main || !any)
    }
}

impl Line {
    /// Adds the ratios. `None` when nobody has the figure.
    fn new(figure: Figure, mut spreads: Vec<Spread>) -> Option<Self> {
        if spreads.is_empty() {
            return None;
        }
        let best = best_peer(figure.better, &spreads).map(|spread| spread.median);
        let floor = spreads.iter().find(|spread| spread.contender == FLOOR);
        let floor = floor.map(|spread| spread.median);
        for spread in &mut spreads {
            // Over nothing there is no ratio.
            let over = |base: Option<f64>| {
                base.filter(|base| *base > 0.0)
                    .map(|base| spread.median / base)
            };
            (spread.to_best_peer, spread.to_floor) = (over(best), over(floor));
        }
        Some(Self { figure, spreads })
    }

    pub(super) fn of(&self, contender: &str) -> Option<&Spread> {
        self.spreads
            .iter()
            .find(|spread| spread.contender == contender)
    }

    pub(super) fn best_peer(&self) -> Option<&Spread> {
        best_peer(self.figure.better, &self.spreads)
    }
}

fn best_peer(better: Better, spreads: &[Spread]) -> Option<&Spread> {
    let peers = spreads.iter().filter(|spread| is_peer(&spread.contender));
    peers.reduce(|best, spread| {
        if better.prefers(spread.median, best.median) {
            spread
        } else {
            best
        }
    })
}

impl Spread {
    fn of(contender: &str, mut values: Vec<f64>, widening: f64) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        Some(Self {
            contender: contender.to_owned(),
            median: median(&values)?,
            lowest: values.first()? / widening,
            highest: values.last()? * widening,
            values,
            to_best_peer: None,
            to_floor: None,
        })
    }

    /// How wide the spread is, over the median; infinite for a spread around nothing. A width of at most
    /// `resolution` is none.
    pub(super) fn relative_width(&self, resolution: f64) -> f64 {
        let width = self.highest - self.lowest;
        if width <= resolution {
            0.0
        } else {
            width / self.median.abs()
        }
    }
}

/// The middle of sorted values; of an even number, the mean of the two in the middle.
pub(super) fn median(sorted: &[f64]) -> Option<f64> {
    let upper = *sorted.get(sorted.len() / 2)?;
    if sorted.len() % 2 == 1 {
        return Some(upper);
    }
    Some(f64::midpoint(sorted[sorted.len() / 2 - 1], upper))
}

#[cfg(test)]
pub(super) mod fixture {
    use super::super::cell::{Distribution, Metric};
    use super::super::offer::fixture::offers;
    use super::*;

    /// One cell of the fixture's rows with one figure.
    pub(in super::super) fn cell(
        row: &str,
        workers: u16,
        contender: &str,
        figure: &str,
        value: f64,
    ) -> Cell {
        Cell {
            row: row.to_owned(),
            contender: contender.to_owned(),
            shape: Shape {
                workers,
                producers: 1,
            },
            metrics: vec![Metric {
                name: figure.to_owned(),
                unit: "ns".to_owned(),
                value,
            }],
            distributions: vec![Distribution {
                name: "start".to_owned(),
                unit: "ns".to_owned(),
                points: vec![(0.5, value), (0.99, value * 3.0)],
            }],
            command: format!("measure {row} {contender}"),
            traced_by: None,
        }
    }

    /// Three rounds of `lone` with two workers: each contender's lowest, middle and highest.
    pub(in super::super) fn lone(widening: f64, rounds: &[(&str, [f64; 3])]) -> Summary {
        let cells = rounds.iter().flat_map(|(contender, values)| {
            values.map(|value| cell("lone", 2, contender, "start p50", value))
        });
        Summary::new(&offers(), &cells.collect::<Vec<_>>(), widening)
    }
}

#[cfg(test)]
mod tests {
    use super::super::offer::fixture::offers;
    use super::fixture::{cell, lone};
    use super::*;

    #[test]
    fn a_median_is_in_the_middle() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0]), Some(3.0));
        assert_eq!(median(&[1.0, 3.0]), Some(2.0));
        assert_eq!(median(&[1.0, 2.0, 9.0]), Some(2.0));
    }

    #[test]
    fn rounds_become_a_median_a_spread_and_ratios() {
        let summary = lone(
            1.0,
            &[
                ("linux", [12.0, 8.0, 10.0]),
                ("rayon", [40.0, 41.0, 39.0]),
                ("tokio", [20.0, 20.0, 20.0]),
                ("floor", [5.0, 5.0, 5.0]),
            ],
        );
        let line = &summary.sections[0].figures[0];
        let ours = &line.spreads[0];
        assert_eq!((ours.lowest, ours.median, ours.highest), (8.0, 10.0, 12.0));
        assert_eq!((ours.to_best_peer, ours.to_floor), (Some(0.5), Some(2.0)));
        assert_eq!(
            line.of("rayon").and_then(|spread| spread.to_best_peer),
            Some(2.0)
        );
    }

    #[test]
    fn the_best_peer_is_the_highest_where_higher_is_better() {
        let cells: Vec<Cell> = [("linux", 30.0), ("std", 90.0), ("rayon", 20.0)]
            .map(|(contender, value)| cell("scale", 2, contender, "throughput", value))
            .to_vec();
        let mut offers = offers();
        offers[1].contenders.push("tokio".to_owned());
        let more = [cells, vec![cell("scale", 2, "tokio", "throughput", 60.0)]].concat();
        let summary = Summary::new(&offers, &more, 1.0);
        let line = &summary.sections[0].figures[0];
        assert_eq!(
            line.best_peer().map(|best| best.contender.as_str()),
            Some("tokio")
        );
        assert_eq!(line.spreads[0].to_best_peer, Some(0.5));
    }

    #[test]
    fn a_ratio_to_nothing_is_left_out() {
        let summary = lone(1.0, &[("linux", [1.0; 3]), ("rayon", [0.0; 3])]);
        assert_eq!(summary.sections[0].figures[0].spreads[0].to_best_peer, None);
    }

    #[test]
    fn a_busy_machine_widens_the_spread_and_leaves_the_median() {
        let summary = lone(2.0, &[("linux", [10.0, 12.0, 14.0])]);
        let spread = &summary.sections[0].figures[0].spreads[0];
        assert_eq!(
            (spread.lowest, spread.median, spread.highest),
            (5.0, 12.0, 28.0)
        );
        assert_eq!(spread.values, [10.0, 12.0, 14.0]);
    }

    #[test]
    fn a_width_around_nothing_is_infinite_unless_there_is_none() {
        let width = |values: [f64; 3]| {
            lone(1.0, &[("linux", values)]).sections[0].figures[0].spreads[0].relative_width(0.0)
        };
        assert_eq!(width([0.0; 3]), 0.0);
        assert_eq!(width([0.0, 0.0, 1.0]), f64::INFINITY);
        assert_eq!(width([90.0, 100.0, 110.0]), 0.2);
    }
}
