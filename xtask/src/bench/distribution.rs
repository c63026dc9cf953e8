//! How the single tasks of a row fared, over the rounds: one curve a contender.

use serde::{Deserialize, Serialize};

use super::cell::{Cell, Distribution};
use super::summary::median;

/// One distribution, for each contender.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Curves {
    pub(super) name: String,
    pub(super) unit: String,
    pub(super) curves: Vec<Curve>,
}

/// The value at each quantile, the median of the rounds.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Curve {
    pub(super) contender: String,
    pub(super) points: Vec<(f64, f64)>,
}

/// The distributions that any of the cells has, each with a curve a contender.
pub(super) fn distributions(contenders: &[&str], cells: &[&Cell]) -> Vec<Curves> {
    let mut all: Vec<Curves> = Vec::new();
    for distribution in cells.iter().flat_map(|cell| &cell.distributions) {
        if all.iter().any(|known| known.name == distribution.name) {
            continue;
        }
        let curves = contenders.iter().map(|name| {
            let own = cells.iter().filter(|cell| cell.contender == *name);
            let own = own.flat_map(|cell| &cell.distributions);
            let own: Vec<_> = own
                .filter(|other| other.name == distribution.name)
                .collect();
            Curve {
                contender: (*name).to_owned(),
                points: middle(&own),
            }
        });
        all.push(Curves {
            name: distribution.name.clone(),
            unit: distribution.unit.clone(),
            curves: curves.filter(|curve| !curve.points.is_empty()).collect(),
        });
    }
    all
}

/// The median of the rounds at each quantile.
fn middle(rounds: &[&Distribution]) -> Vec<(f64, f64)> {
    let quantiles = rounds.first().map_or(&[][..], |first| &first.points);
    let points = quantiles.iter().filter_map(|(quantile, _)| {
        let points = rounds.iter().flat_map(|round| &round.points);
        let mut values: Vec<f64> = points
            .filter(|point| point.0 == *quantile)
            .map(|point| point.1)
            .collect();
        values.sort_by(f64::total_cmp);
        Some((*quantile, median(&values)?))
    });
    points.collect()
}

#[cfg(test)]
mod tests {
    use super::super::summary::fixture::lone;

    #[test]
    fn a_distribution_is_the_middle_of_its_rounds() {
        let summary = lone(1.0, &[("linux", [1.0, 9.0, 2.0])]);
        let curves = &summary.sections[0].distributions[0];
        assert_eq!(curves.curves[0].points, [(0.5, 2.0), (0.99, 6.0)]);
    }
}
