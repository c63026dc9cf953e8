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
        medians.map(move |(shape, median)| (limit, shape, median))
    });
    judged
        .filter(|(limit, _, median)| *median > limit.most)
        .map(|(limit, shape, median)| {
            let Limit {
                row,
                contender,
                figure,
                most,
            } = limit;
            format!("{row} on {contender} with {shape}: {median:.2} {figure}, at most {most}")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::offer::fixture::offers;
    use super::super::summary::fixture::cell;
    use super::*;

    fn summary(futex_calls: f64) -> Summary {
        let cell = cell("lone", 8, "linux", "futex calls", futex_calls);
        Summary::new(&offers(), &[cell], 1.0)
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
