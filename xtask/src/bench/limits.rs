//! The counts that must hold wherever the bench runs: counts, never times.
//!
//! `--check` fails where a median breaks one. A count that could not be taken (no strace) is not judged,
//! and the table says that it is missing.

use super::summary::Summary;

/// A row's figure, and the most that its median may be.
struct Limit {
    row: &'static str,
    contender: &'static str,
    figure: &'static str,
    most: f64,
}

const LIMITS: [Limit; 4] = [
    // One call wakes, one sleeps again; a tenth for a park that returns for no reason.
    Limit {
        row: "lone",
        contender: "linux",
        figure: "futex calls",
        most: 2.1,
    },
    Limit {
        row: "lone",
        contender: "linux",
        figure: "sched_yield calls",
        most: 0.0,
    },
    Limit {
        row: "local",
        contender: "linux",
        figure: "sched_yield calls",
        most: 0.0,
    },
    Limit {
        row: "idle",
        contender: "linux",
        figure: "workers' voluntary switches",
        most: 0.0,
    },
];

/// What is broken, in words.
pub(super) fn broken(summary: &Summary) -> Vec<String> {
    let judged = LIMITS.iter().flat_map(|limit| {
        let medians = summary.medians(limit.row, limit.contender, limit.figure);
        medians.map(move |(workers, median)| (limit, workers, median))
    });
    judged
        .filter(|(limit, _, median)| *median > limit.most)
        .map(|(limit, workers, median)| {
            let Limit {
                row,
                contender,
                figure,
                most,
            } = limit;
            format!(
                "{row} on {contender} with {workers} workers: {median:.2} {figure}, at most {most}"
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::cell::{Cell, Metric};
    use super::*;

    fn summary(futex_calls: f64) -> Summary {
        let cell = Cell {
            row: "lone".to_owned(),
            contender: "linux".to_owned(),
            workers: 8,
            command: String::new(),
            metrics: vec![Metric {
                name: "futex calls".to_owned(),
                unit: "/task".to_owned(),
                value: futex_calls,
            }],
        };
        Summary::new(&[cell], &["linux".to_owned()])
    }

    #[test]
    fn a_call_too_many_is_named() {
        assert!(broken(&summary(2.0)).is_empty());
        let broken = broken(&summary(3.0));
        assert_eq!(
            broken,
            ["lone on linux with 8 workers: 3.00 futex calls, at most 2.1"]
        );
    }
}
