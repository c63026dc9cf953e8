//! The axes of the plots: where their lines are, and what is written there.
//!
//! A label is to be a round number. Quantiles lie on an axis of *rarities*: 1 is one task in ten, 2 one in a
//! hundred, so that a tail gets the room that it deserves.

use std::ops::Range;

use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};

/// An axis from `low` to `high` with lines and labels where it is told.
#[derive(Debug)]
pub(super) struct Span {
    low: f64,
    high: f64,
    marks: Vec<f64>,
}

impl Span {
    pub(super) fn new(low: f64, high: f64, marks: &[f64]) -> Self {
        let marks = marks.iter().copied();
        Self {
            low,
            high,
            marks: marks.filter(|mark| (low..=high).contains(mark)).collect(),
        }
    }
}

impl Ranged for Span {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (first, last): (i32, i32)) -> i32 {
        let along = (value - self.low) / (self.high - self.low);
        first + (f64::from(last - first) * along).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if hint.weight().allow_light_points() {
            Vec::new()
        } else {
            self.marks.clone()
        }
    }

    fn range(&self) -> Range<f64> {
        self.low..self.high
    }
}

/// How rare a quantile is: 1 for one in ten, 2 for one in a hundred.
pub(super) fn rarity(quantile: f64) -> f64 {
    -(1.0 - quantile).log10()
}

/// Both axes of a latency. The largest of all is no quantile, and nothing has no logarithm.
pub(super) fn on_log_axes((quantile, value): (f64, f64)) -> Option<(f64, f64)> {
    let on_axes = (0.0..1.0).contains(&quantile) && value > 0.0;
    on_axes.then(|| (rarity(quantile), value.log10()))
}

/// A rarity as a quantile in percent, without the error of having been a logarithm.
pub(super) fn percent(rarity: f64) -> f64 {
    ((1.0 - 10_f64.powf(-rarity)) * 100_000.0).round() / 1000.0
}

/// Round numbers from 0 to at most `highest`, some four of them.
pub(super) fn steps(highest: f64) -> Vec<f64> {
    if highest.is_nan() || highest <= 0.0 {
        return vec![0.0];
    }
    let power = 10_f64.powf((highest / 4.0).log10().floor());
    let sizes = [1.0, 2.0, 2.5, 5.0, 10.0].map(|digit| digit * power);
    let step = sizes
        .into_iter()
        .find(|size| highest / size <= 4.0)
        .unwrap_or(highest);
    (0..=4)
        .map(|number| f64::from(number) * step)
        .take_while(|at| *at <= highest)
        .collect()
}

/// "250", "1.2k", "3M".
pub(super) fn compact(value: f64) -> String {
    let (scaled, suffix) = match value.abs() {
        size if size >= 1e9 => (value / 1e9, "G"),
        size if size >= 1e6 => (value / 1e6, "M"),
        size if size >= 1e4 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    format!("{}{suffix}", (scaled * 1000.0).round() / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_have_round_numbers() {
        assert_eq!(steps(0.0), [0.0]);
        assert_eq!(steps(97.0), [0.0, 25.0, 50.0, 75.0]);
        assert_eq!(steps(8.0), [0.0, 2.0, 4.0, 6.0, 8.0]);
        assert_eq!(
            [0.25, 9999.0, 12_000.0, 3.0e6].map(compact),
            ["0.25", "9999", "12k", "3M"]
        );
        assert_eq!(
            [0.5, 0.99, 0.9999].map(|quantile| percent(rarity(quantile))),
            [50.0, 99.0, 99.99]
        );
    }
}
