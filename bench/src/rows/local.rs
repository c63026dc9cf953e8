//! `local`: many empty tasks spawned by one task, until all have run.
//!
//! The spawning task holds its worker, so with one worker this is pushing alone and then running
//! alone; with more, the others steal meanwhile.
//!
//! Scenarios: I3.

use std::time::Instant;

use anyhow::Result;
use cpu_time::ProcessTime;

use super::per_task;
use crate::cell::Metric;
use crate::contender::Contender;
use crate::mark;
use crate::tally;

/// Tasks that are run and not measured.
const WARM_UP: u64 = 1000;

pub(crate) fn measure<C: Contender>(pool: &'static C, tasks: u64) -> Result<Vec<Metric>> {
    spawn_from_inside(pool, WARM_UP);
    tally::wait_for(WARM_UP)?;
    mark::begin();
    let cpu = ProcessTime::now();
    let started = Instant::now();
    spawn_from_inside(pool, tasks);
    tally::wait_for(WARM_UP + tasks)?;
    mark::end();
    Ok(vec![
        Metric::new(
            "until all ran",
            "ns/task",
            per_task(started.elapsed(), tasks),
        ),
        Metric::new("processor time", "ns/task", per_task(cpu.elapsed(), tasks)),
    ])
}

fn spawn_from_inside<C: Contender>(pool: &'static C, tasks: u64) {
    pool.spawn(move || {
        for _ in 0..tasks {
            pool.spawn(tally::count_one);
        }
    });
}
