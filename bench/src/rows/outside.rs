//! `outside`: many empty tasks from threads that are no workers, until all have run.
//!
//! The producers share the tasks evenly, begin at one moment, and submit as fast as they can; nothing holds them
//! back but the contender itself.

use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};

use super::{Floor, Page, Shape};
use crate::cell::{Figure, Measured, Options};
use crate::clocks::{self, Clocks, per_task};
use crate::contender::{Spawn, SpawnRow, spawners};
use crate::tally;

pub(super) const PAGE: Page = Page {
    like: "a server whose acceptor threads hand every request to the pool",
    floor: Some(Floor {
        is: "one thread that allocates, calls and frees one boxed task after the other",
        measure: |options| Ok(Measured::new(clocks::run_boxed(tasks(options)))),
    }),
    offers: spawners::<Outside>(),
    shapes: &[
        Shape::workers(2),
        Shape::workers(2).producers(4),
        Shape::workers(8),
        Shape::workers(8).producers(4),
    ],
    traced_tasks: None,
    figures: &[
        clocks::UNTIL_ALL_RAN,
        UNTIL_ALL_SUBMITTED,
        clocks::PROCESSOR_TIME,
    ],
};

const UNTIL_ALL_SUBMITTED: Figure = Figure::lower("until all submitted", "ns/task");

/// Tasks that are run and not measured.
const WARM_UP: u64 = 1000;

fn tasks(options: &Options) -> u64 {
    options.tasks.unwrap_or(300_000)
}

struct Outside;

impl SpawnRow for Outside {
    fn measure<C: Spawn>(options: &Options) -> Result<Measured> {
        let pool = C::start_for_good(options.workers)?;
        let tasks = tasks(options);
        submit(pool, WARM_UP);
        tally::wait_for(WARM_UP)?;
        let (clocks, submitted) = produce(options.producers, tasks, |share| submit(pool, share))?;
        tally::wait_for(WARM_UP + tasks)?;
        let submitted = UNTIL_ALL_SUBMITTED.of(per_task(submitted, tasks));
        Ok(Measured::new(clocks.all_ran(tasks)).and([submitted]))
    }
}

fn submit<C: Spawn>(pool: &C, tasks: u64) {
    for _ in 0..tasks {
        pool.spawn(tally::task());
    }
}

/// Has so many threads submit their shares; returns the clocks that started with them, and when the last was done.
fn produce(
    producers: u16,
    tasks: u64,
    submit: impl Fn(u64) + Sync,
) -> Result<(Clocks, Duration)> {
    let ready = Barrier::new(usize::from(producers) + 1);
    thread::scope(|threads| {
        let producing: Vec<_> = shares(tasks, producers)
            .map(|share| {
                let (ready, submit) = (&ready, &submit);
                threads.spawn(move || {
                    ready.wait();
                    submit(share);
                })
            })
            .collect();
        // Read before the producers are let go: what they do before the clock would be seen to run is measured.
        let clocks = Clocks::start();
        ready.wait();
        for producer in producing {
            producer.join().ok().context("a producer panicked")?;
        }
        let submitted = clocks.elapsed();
        Ok((clocks, submitted))
    })
}

/// As even as can be, and together all of the tasks.
fn shares(tasks: u64, producers: u16) -> impl Iterator<Item = u64> {
    let producers = u64::from(producers);
    (0..producers).map(move |producer| tasks / producers + u64::from(producer < tasks % producers))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shares_are_all_the_tasks() {
        assert_eq!(shares(10, 4).collect::<Vec<_>>(), [3, 3, 2, 2]);
        assert_eq!(shares(3, 4).sum::<u64>(), 3);
    }
}
