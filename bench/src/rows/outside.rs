//! `outside`: many empty tasks from one thread that is no worker, until all have run.

use std::time::Instant;

use anyhow::Result;
use cpu_time::ProcessTime;

use super::per_task;
use crate::cell::Metric;
use crate::contender::Contender;
use crate::tally;

/// Tasks that are run and not measured.
const WARM_UP: u64 = 1000;

pub(crate) fn measure<C: Contender>(pool: &'static C, tasks: u64) -> Result<Vec<Metric>> {
    for _ in 0..WARM_UP {
        pool.spawn(tally::count_one);
    }
    tally::wait_for(WARM_UP)?;
    let cpu = ProcessTime::now();
    let started = Instant::now();
    for _ in 0..tasks {
        pool.spawn(tally::count_one);
    }
    let submitted = started.elapsed();
    tally::wait_for(WARM_UP + tasks)?;
    Ok(vec![
        Metric::new(
            "until all ran",
            "ns/task",
            per_task(started.elapsed(), tasks),
        ),
        Metric::new("until all submitted", "ns/task", per_task(submitted, tasks)),
        Metric::new("processor time", "ns/task", per_task(cpu.elapsed(), tasks)),
    ])
}
