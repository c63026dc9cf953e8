//! `local`: many empty tasks spawned by one task, until all have run.
//!
//! The spawning task holds its worker, so with one worker this is pushing alone and then running
//! alone; with more, the others steal meanwhile.
//!
//! Every contender allocates what it needs for a task that carries one word; the floor does no more than that.
//!
//! Scenarios: I3.

use anyhow::Result;

use super::{Floor, Page, Shape};
use crate::cell::{Measured, Options};
use crate::clocks::{self, Clocks};
use crate::contender::{Spawn, SpawnRow, spawners};
use crate::mark;
use crate::tally;

pub(super) const PAGE: Page = Page {
    like: "a request that a worker serves by splitting it into many small tasks",
    floor: Some(Floor {
        is: "one thread that allocates, calls and frees one boxed task after the other",
        measure: |options| Ok(Measured::new(clocks::run_boxed(tasks(options)))),
    }),
    offers: spawners::<Local>(),
    shapes: &[Shape::workers(1), Shape::workers(2), Shape::workers(8)],
    traced_tasks: Some(100_000),
    figures: &[clocks::UNTIL_ALL_RAN, clocks::PROCESSOR_TIME],
};

/// Tasks that are run and not measured.
const WARM_UP: u64 = 1000;

fn tasks(options: &Options) -> u64 {
    options.tasks.unwrap_or(1_000_000)
}

struct Local;

impl SpawnRow for Local {
    fn measure<C: Spawn>(options: &Options) -> Result<Measured> {
        let pool = C::start_for_good(options.workers)?;
        let tasks = tasks(options);
        spawn_from_inside(pool, WARM_UP);
        tally::wait_for(WARM_UP)?;
        mark::begin();
        let clocks = Clocks::start();
        spawn_from_inside(pool, tasks);
        tally::wait_for(WARM_UP + tasks)?;
        mark::end();
        Ok(Measured::new(clocks.all_ran(tasks)))
    }
}

fn spawn_from_inside<C: Spawn>(pool: &'static C, tasks: u64) {
    pool.spawn(move || {
        for _ in 0..tasks {
            pool.spawn(tally::task());
        }
    });
}
