//! `scale`: the same load on ever more workers, also on far more than there are processors.
//!
//! There are 256 *connections*; each is a task that submits the next one of its connection when it ends, until all
//! tasks have run. So there is always the same amount of work at hand, whoever runs it, and a pool that is larger
//! than the machine shows what its workers cost each other: stealing from many, waking for nothing, waiting for one
//! that holds a lock and is not running.
//!
//! The floor is one boxed task a time on one thread.

use anyhow::Result;

use super::{Floor, Page, Shape};
use crate::cell::{Measured, Options};
use crate::clocks::{self, Clocks};
use crate::contender::{Spawn, SpawnRow, spawners};
use crate::tally;

pub(super) const PAGE: Page = Page {
    like: "a server with 256 busy connections, on a machine that is smaller or larger than its pool",
    floor: Some(Floor {
        is: "one thread that allocates, calls and frees one boxed task after the other",
        measure: |options| Ok(Measured::new(clocks::run_boxed(load(options).tasks()))),
    }),
    offers: spawners::<Scale>(),
    shapes: &[
        Shape::workers(1),
        Shape::workers(2),
        Shape::workers(4),
        Shape::workers(8),
        Shape::workers(16),
        Shape::workers(64),
    ],
    traced_tasks: None,
    figures: &[clocks::UNTIL_ALL_RAN, clocks::PROCESSOR_TIME],
};

const CONNECTIONS: u64 = 256;

/// How long each connection is.
#[derive(Debug, Clone, Copy)]
struct Load {
    requests: u64,
}

impl Load {
    fn tasks(self) -> u64 {
        self.requests * CONNECTIONS
    }
}

/// As many tasks as asked for, rounded up to whole connections.
fn load(options: &Options) -> Load {
    Load {
        requests: options.tasks.unwrap_or(500_000).div_ceil(CONNECTIONS),
    }
}

struct Scale;

impl SpawnRow for Scale {
    fn measure<C: Spawn>(options: &Options) -> Result<Measured> {
        let pool = C::start_for_good(options.workers)?;
        let load = load(options);
        let warm_up = Load { requests: 10 };
        connect(pool, warm_up);
        tally::wait_for(warm_up.tasks())?;
        let clocks = Clocks::start();
        connect(pool, load);
        tally::wait_for(warm_up.tasks() + load.tasks())?;
        Ok(Measured::new(clocks.all_ran(load.tasks())))
    }
}

/// Opens all connections.
fn connect<C: Spawn>(pool: &'static C, load: Load) {
    for _ in 0..CONNECTIONS {
        pool.spawn(move || serve(pool, load.requests));
    }
}

/// Serves one request of a connection that has so many left.
fn serve<C: Spawn>(pool: &'static C, requests: u64) {
    tally::count(1);
    if requests > 1 {
        pool.spawn(move || serve(pool, requests - 1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contender::{ByHand, Contender};

    #[test]
    fn as_many_tasks_run_as_the_figures_are_divided_by() -> Result<()> {
        let _alone = tally::alone();
        let pool = ByHand::start_for_good(1)?;
        let load = Load { requests: 20 };
        let before = tally::counted();
        connect(pool, load);
        assert_eq!(pool.run(), 20 * 256);
        assert_eq!(tally::counted() - before, load.tasks());
        Ok(())
    }
}
