//! `tree`: tasks that each spawn two more, until the tree is as deep as it shall be.
//!
//! All tasks but the root are spawned by workers, and there are soon enough of them for everyone: the case for which
//! work-stealing was invented. Whoever takes the newest task first keeps a few dozen of them in memory, whoever takes
//! the oldest first keeps half the tree.
//!
//! A task carries what it needs to spawn, and counts itself on its thread's own line; there is no counter that all
//! share. The floor is the same tree on one thread with a stack of boxed tasks.

use anyhow::Result;

use super::{Floor, Page, Shape};
use crate::cell::{Measured, Options};
use crate::clocks::{self, Clocks};
use crate::contender::{Spawn, SpawnRow, spawners};
use crate::mark;
use crate::tally;

pub(super) const PAGE: Page = Page {
    like: "a search or a crawl, where each page that is looked at leads to others",
    floor: Some(Floor {
        is: "one thread with a stack of boxed tasks: an allocation and a call through a pointer for each",
        measure: |options| Ok(floor(depth(options))),
    }),
    offers: spawners::<Tree>(),
    shapes: &[Shape::workers(1), Shape::workers(2), Shape::workers(8)],
    traced_tasks: Some(100_000),
    figures: &[clocks::UNTIL_ALL_RAN, clocks::PROCESSOR_TIME],
};

/// How deep the tree is that is run and not measured.
const WARM_UP: u32 = 10;

/// Of the largest tree that has no more tasks than asked for.
fn depth(options: &Options) -> u32 {
    options.tasks.unwrap_or(1 << 20).saturating_add(1).ilog2()
}

/// How many tasks a tree of that depth has.
fn tasks(depth: u32) -> u64 {
    (1 << depth) - 1
}

struct Tree;

impl SpawnRow for Tree {
    fn measure<C: Spawn>(options: &Options) -> Result<Measured> {
        let pool = C::start_for_good(options.workers)?;
        let depth = depth(options);
        let before = tally::counted();
        pool.spawn(move || grow(pool, WARM_UP));
        tally::wait_for(before + tasks(WARM_UP))?;
        mark::begin();
        let clocks = Clocks::start();
        pool.spawn(move || grow(pool, depth));
        tally::wait_for(before + tasks(WARM_UP) + tasks(depth))?;
        mark::end();
        Ok(Measured::new(clocks.all_ran(tasks(depth))))
    }
}

/// A task of the tree.
fn grow<C: Spawn>(pool: &'static C, depth: u32) {
    tally::count(1);
    if depth > 1 {
        pool.spawn(move || grow(pool, depth - 1));
        pool.spawn(move || grow(pool, depth - 1));
    }
}

/// Tasks that are still to run.
struct Stack(Vec<Boxed>);

type Boxed = Box<dyn FnOnce(&mut Stack)>;

fn floor(depth: u32) -> Measured {
    let clocks = Clocks::start();
    let mut stack = Stack(Vec::new());
    stack.spawn(depth);
    while let Some(task) = stack.0.pop() {
        task(&mut stack);
    }
    Measured::new(clocks.all_ran(tasks(depth)))
}

impl Stack {
    fn spawn(&mut self, depth: u32) {
        self.0.push(Box::new(move |stack| {
            tally::count(1);
            if depth > 1 {
                stack.spawn(depth - 1);
                stack.spawn(depth - 1);
            }
        }));
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
        let before = tally::counted();
        pool.spawn(move || grow(pool, 12));
        assert_eq!(pool.run(), 4095);
        assert_eq!(tally::counted() - before, tasks(12));
        drop(floor(12));
        assert_eq!(tally::counted() - before, 2 * tasks(12));
        Ok(())
    }
}
