//! One cell: its options, and its result as it is printed.

use anyhow::{Context, Result, ensure};
use clap::{Args, value_parser};
use hdrhistogram::Histogram;
use serde::Serialize;

use crate::contender;
use crate::rows::Row;

/// Where a distribution is cut: from the median to the rare case.
const QUANTILES: [f64; 10] = [0.05, 0.25, 0.50, 0.75, 0.90, 0.95, 0.99, 0.995, 0.999, 1.0];

#[derive(Debug, Clone, Args)]
pub(crate) struct Options {
    /// What is measured.
    #[arg(long)]
    pub(crate) row: Row,
    /// Who is measured.
    #[arg(long)]
    pub(crate) contender: contender::Name,
    /// Worker threads.
    #[arg(long, default_value_t = 2, value_parser = value_parser!(u16).range(1..=1024))]
    pub(crate) workers: u16,
    /// Threads that submit, where the row submits from outside.
    #[arg(long, default_value_t = 1, value_parser = value_parser!(u16).range(1..=64))]
    pub(crate) producers: u16,
    /// Tasks to measure, or what the row counts instead; each row has a default of its own.
    #[arg(long, value_parser = value_parser!(u64).range(1..))]
    pub(crate) tasks: Option<u64>,
    /// How long is measured, where the row measures for a time.
    #[arg(long, default_value_t = 3, value_parser = value_parser!(u64).range(1..=600))]
    pub(crate) seconds: u64,
}

/// A measured cell.
#[derive(Debug, Serialize)]
pub(crate) struct Cell {
    row: Row,
    contender: contender::Name,
    workers: u16,
    producers: u16,
    #[serde(flatten)]
    measured: Measured,
}

/// What a row has measured.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Measured {
    metrics: Vec<Metric>,
    distributions: Vec<Distribution>,
}

/// One value of a figure.
#[derive(Debug, Serialize)]
pub(crate) struct Metric {
    name: &'static str,
    unit: &'static str,
    value: f64,
}

/// What values there were of one thing, by quantile.
#[derive(Debug, Serialize)]
pub(crate) struct Distribution {
    name: &'static str,
    unit: &'static str,
    points: Vec<(f64, f64)>,
}

/// What a row measures, and how it is judged.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Figure {
    name: &'static str,
    unit: &'static str,
    better: Better,
    main: bool,
}

/// Which values of a figure are the good ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Better {
    Lower,
    Higher,
}

impl Figure {
    /// A figure of which less is better; its unit is empty for counts and ratios.
    pub(crate) const fn lower(name: &'static str, unit: &'static str) -> Self {
        Self {
            name,
            unit,
            better: Better::Lower,
            main: false,
        }
    }

    /// A figure of which more is better.
    pub(crate) const fn higher(name: &'static str, unit: &'static str) -> Self {
        Self {
            better: Better::Higher,
            ..Self::lower(name, unit)
        }
    }

    /// The figure that the row is about: the first to be plotted, and the one that ratios are made of.
    pub(crate) const fn main(self) -> Self {
        Self { main: true, ..self }
    }

    #[cfg(test)]
    pub(crate) const fn is_main(&self) -> bool {
        self.main
    }

    pub(crate) const fn name(&self) -> &'static str {
        self.name
    }

    /// One value of it.
    pub(crate) fn of(&self, value: f64) -> Metric {
        Metric {
            name: self.name,
            unit: self.unit,
            value,
        }
    }
}

impl Measured {
    pub(crate) fn new(metrics: impl IntoIterator<Item = Metric>) -> Self {
        Self::default().and(metrics)
    }

    pub(crate) fn and(mut self, metrics: impl IntoIterator<Item = Metric>) -> Self {
        self.metrics.extend(metrics);
        self
    }

    /// Adds what a histogram holds; an empty one holds nothing to show.
    pub(crate) fn with_distribution(
        mut self,
        name: &'static str,
        unit: &'static str,
        values: &Histogram<u64>,
    ) -> Self {
        let points = QUANTILES
            .iter()
            .map(|&at| (at, values.value_at_quantile(at) as f64));
        if !values.is_empty() {
            self.distributions.push(Distribution {
                name,
                unit,
                points: points.collect(),
            });
        }
        self
    }
}

pub(crate) fn measure(options: &Options) -> Result<Cell> {
    let Options { row, contender, .. } = *options;
    let page = row.page();
    let offer = page
        .offers()
        .find(|offer| offer.contender == contender)
        .with_context(|| format!("`{contender}` does not offer the row `{row}`"))?;
    let measured = (offer.measure)(options)?;
    for metric in &measured.metrics {
        // Who reads the rows first would never look for it.
        let known = page.figures.iter().any(|figure| figure.name == metric.name);
        ensure!(
            known,
            "the row `{row}` does not list its figure `{}`",
            metric.name
        );
    }
    Ok(Cell {
        row,
        contender,
        workers: options.workers,
        producers: options.producers,
        measured,
    })
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;
    use crate::tally;

    fn cell(row: Row, contender: contender::Name) -> Result<Cell> {
        measure(&Options {
            row,
            contender,
            workers: 2,
            producers: 1,
            tasks: Some(1),
            seconds: 1,
        })
    }

    #[test]
    fn a_pair_that_is_not_offered_is_an_error_that_names_it() {
        let error = cell(Row::Join, contender::Name::Threadpool).expect_err("it has no join");
        let said = error.to_string();
        assert_eq!(said, "`threadpool` does not offer the row `join`");
    }

    #[test]
    fn every_floor_measures_the_figure_that_ratios_are_made_of() -> Result<()> {
        let _alone = tally::alone();
        for row in Row::value_variants() {
            if row.page().floor.is_none() {
                continue;
            }
            let measured = cell(*row, contender::Name::Floor)?.measured;
            let main = row.page().figures.iter().find(|figure| figure.main);
            let name = main.map(|figure| figure.name);
            let value = measured
                .metrics
                .iter()
                .find(|metric| Some(metric.name) == name);
            assert!(value.is_some_and(|metric| metric.value > 0.0), "{row}");
        }
        Ok(())
    }
}
