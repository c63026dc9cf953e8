//! Measuring the planned cells in an order that is fair on a machine that is not quiet.
//!
//! Every round runs every cell once, contender next to contender, and the contender that goes first changes from
//! round to round. Between the rounds the machine itself is looked at.

use anyhow::Result;
use indicatif::{ProgressBar, ProgressStyle};

use super::calibration::Calibration;
use super::cell::{self, Cell};
use super::plan::Planned;
use super::strace::Tracer;

/// How often the plan is measured, and who counts system calls.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rounds<'a> {
    pub(super) number: u32,
    pub(super) tracer: Option<&'a Tracer>,
    /// Whether calls are counted in every round, or only in the first.
    pub(super) trace_each: bool,
}

pub(super) fn measure(
    plan: &[Planned],
    rounds: Rounds<'_>,
    calibration: &mut Calibration,
) -> Result<Vec<Cell>> {
    let a_round: usize = plan.iter().map(|planned| planned.contenders.len()).sum();
    let total = a_round * rounds.number as usize;
    let bar = ProgressBar::new(total as u64);
    bar.set_style(ProgressStyle::with_template(
        "[{elapsed_precise}] {bar:30} {pos}/{len}  {msg}  (some {eta} left)",
    )?);
    let mut cells = Vec::with_capacity(total);
    for round in 0..rounds.number as usize {
        let tracer = rounds.tracer.filter(|_| round == 0 || rounds.trace_each);
        for planned in plan {
            for contender in rotated(&planned.contenders, round) {
                bar.set_message(format!("{} {contender} {}", planned.row, planned.shape));
                let mut cell = cell::measure(planned, contender)?;
                if let (Some(tracer), Some(tasks)) = (tracer, planned.traced_tasks) {
                    tracer.count(&mut cell, planned, tasks)?;
                }
                bar.suspend(|| println!("{cell}"));
                bar.inc(1);
                cells.push(cell);
            }
        }
        calibration.look()?;
    }
    bar.finish_and_clear();
    Ok(cells)
}

/// The contenders in order, beginning with another each round.
fn rotated(contenders: &[String], round: usize) -> impl Iterator<Item = &str> {
    let all = contenders.iter().map(String::as_str);
    all.cycle()
        .skip(round % contenders.len().max(1))
        .take(contenders.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_round_begins_with_another_contender_and_has_them_all() {
        let contenders = ["a", "b", "c"].map(str::to_owned);
        let order = |round| rotated(&contenders, round).collect::<String>();
        assert_eq!([0, 1, 2, 3].map(order), ["abc", "bca", "cab", "abc"]);
        assert_eq!(rotated(&[], 1).count(), 0);
    }
}
