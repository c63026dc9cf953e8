//! `foreach`: a loop in parallel, over few items that differ much and over many that are next to nothing.
//!
//! The *shards* are 2277 pieces of work of which the largest is 48 times the smallest: in any order of size, the n-th
//! largest has the largest's work divided by the root of n, and they lie in an order that looks like none. Work is
//! so many steps of a recurrence, never a time, so that a thread that is held up has not less to do. It is good
//! luck if equal parts of such a slice are equal work; a loop must see to it that nobody idles while another has
//! several left. They are gone through in parts that the contender chooses, and with each as a part of its own, for
//! which all have a way.
//!
//! The *tiny items* are a million words to each of which a thread does two or three instructions: it is what the
//! loop itself costs.
//!
//! Perfect is the time that one thread takes alone, divided by the processors that the workers can have. It is
//! measured in the same process just before each loop, for the machine's speed varies.

use std::hint::black_box;
use std::num::NonZero;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use cpu_time::ProcessTime;

use super::{Floor, Page, Shape};
use crate::cell::{Figure, Measured, Metric, Options};
use crate::clocks::{Clocks, per_task};
use crate::contender::{ForEach, ForEachRow, InPlace, loopers};

pub(super) const PAGE: Page = Page {
    like: "hashing the files of a directory, and adding one to each pixel of a picture",
    floor: Some(Floor {
        is: "the shards' serial time divided evenly among the processors, and the tiny items in a serial loop",
        measure: floor,
    }),
    offers: loopers::<Foreach>(),
    shapes: &[Shape::workers(1), Shape::workers(2), Shape::workers(8)],
    traced_tasks: None,
    figures: &[
        SHARDS,
        SHARDS_OF_PERFECT,
        ALONE,
        ALONE_OF_PERFECT,
        SHARDS_PROCESSOR_TIME,
        TINY,
        TINY_PROCESSOR_TIME,
    ],
};

const SHARDS: Figure = Figure::lower("shards", "ns/shard").main();
const SHARDS_OF_PERFECT: Figure = Figure::higher("shards, of perfect speed-up", "");
const ALONE: Figure = Figure::lower("shards, one a part", "ns/shard");
const ALONE_OF_PERFECT: Figure = Figure::higher("shards, one a part, of perfect speed-up", "");
const SHARDS_PROCESSOR_TIME: Figure = Figure::lower("shards, processor time", "ns/shard");
const TINY: Figure = Figure::lower("tiny items", "ns/item");
const TINY_PROCESSOR_TIME: Figure = Figure::lower("tiny items, processor time", "ns/item");

/// How many shards there are.
const SHARD_COUNT: u64 = 2277;

/// The steps of the largest shard: some hundred microseconds.
const LARGEST: u64 = 100_000;

/// How many tiny items there are.
const ITEMS: usize = 1_000_000;

struct Foreach;

impl ForEachRow for Foreach {
    fn measure<C: ForEach>(options: &Options) -> Result<Measured> {
        let pool = C::start_for_good(options.workers)?;
        let rounds = rounds(options);
        let processors = processors(options)?;
        let shards = shards();
        let as_chosen = Timed::rounds(rounds, &shards, |work| pool.for_each(&shards, work))?;
        let alone = Timed::rounds(rounds, &shards, |work| pool.for_each_alone(&shards, work))?;
        let done = rounds * SHARD_COUNT;
        Ok(Measured::new([
            SHARDS.of(per_task(as_chosen.loops, done)),
            SHARDS_OF_PERFECT.of(as_chosen.of_perfect(processors)),
            ALONE.of(per_task(alone.loops, done)),
            ALONE_OF_PERFECT.of(alone.of_perfect(processors)),
            SHARDS_PROCESSOR_TIME.of(per_task(as_chosen.cost, done)),
        ])
        .and(tiny_items(pool, rounds)?))
    }
}

/// The perfect loop over the shards, and the serial one over the tiny items.
fn floor(options: &Options) -> Result<Measured> {
    let rounds = rounds(options);
    let shards = shards();
    let serial = Timed::rounds(rounds, &shards, |work| InPlace.for_each(&shards, work))?.serial;
    let done = rounds * SHARD_COUNT;
    let perfect = per_task(serial, done) / f64::from(processors(options)?);
    Ok(Measured::new([
        SHARDS.of(perfect),
        SHARDS_OF_PERFECT.of(1.0),
        ALONE.of(perfect),
        ALONE_OF_PERFECT.of(1.0),
        SHARDS_PROCESSOR_TIME.of(per_task(serial, done)),
    ])
    .and(tiny_items(&InPlace, rounds)?))
}

/// How often each loop runs.
fn rounds(options: &Options) -> u64 {
    options.tasks.unwrap_or(10)
}

/// As many processors as the workers can have.
fn processors(options: &Options) -> Result<u16> {
    let there_are = thread::available_parallelism().map(NonZero::get)?;
    Ok(u16::try_from(there_are).map_or(options.workers, |all| all.min(options.workers)))
}

/// A piece of work.
struct Shard {
    steps: u64,
    /// The results of every time that it was done, added up.
    results: AtomicU32,
}

fn shards() -> Vec<Shard> {
    (0..SHARD_COUNT)
        .map(|position| {
            // A number without a divisor in common with theirs takes each rank once.
            let rank = position * 1009 % SHARD_COUNT + 1;
            Shard {
                steps: (LARGEST as f64 / (rank as f64).sqrt()) as u64,
                results: AtomicU32::new(0),
            }
        })
        .collect()
}

impl Shard {
    fn work(&self) {
        // The steps of a well-known generator: each needs the one before it, so none can be left out.
        let last = (0..black_box(self.steps)).fold(1_u32, |state, _| {
            black_box(state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223))
        });
        self.results.fetch_add(last, Ordering::Relaxed);
    }
}

/// What the results of all shards are, and forgets them.
fn take_results(shards: &[Shard]) -> Vec<u32> {
    let results = shards.iter().map(|shard| &shard.results);
    results
        .map(|results| results.swap(0, Ordering::Relaxed))
        .collect()
}

/// The same rounds with and without a loop in parallel.
#[derive(Default)]
struct Timed {
    serial: Duration,
    loops: Duration,
    /// Processor time of the loops.
    cost: Duration,
}

impl Timed {
    fn rounds(rounds: u64, shards: &[Shard], run: impl Fn(fn(&Shard))) -> Result<Self> {
        let mut sum = Self::default();
        for _ in 0..rounds {
            let started = Instant::now();
            shards.iter().for_each(Shard::work);
            sum.serial += started.elapsed();
            let wanted = take_results(shards);
            let cost = ProcessTime::now();
            let started = Instant::now();
            run(Shard::work);
            sum.loops += started.elapsed();
            sum.cost += cost.elapsed();
            ensure!(
                take_results(shards) == wanted,
                "the loop has not done each shard once"
            );
        }
        Ok(sum)
    }

    fn of_perfect(&self, processors: u16) -> f64 {
        self.serial.as_secs_f64() / f64::from(processors) / self.loops.as_secs_f64()
    }
}

fn tiny_items<C: ForEach>(pool: &C, rounds: u64) -> Result<[Metric; 2]> {
    let items: Vec<AtomicU32> = (0..ITEMS).map(|_| AtomicU32::new(0)).collect();
    // Not one indivisible addition: that would be most of the time, and only one thread has the item.
    let add_one = |item: &AtomicU32| {
        item.store(item.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    };
    pool.for_each(&items, add_one);
    let clocks = Clocks::start();
    for _ in 0..rounds {
        pool.for_each(&items, add_one);
    }
    let figures = clocks.per(rounds * ITEMS as u64, TINY, TINY_PROCESSOR_TIME);
    let each = items.iter().map(|item| item.load(Ordering::Relaxed));
    ensure!(
        each.into_iter().all(|times| u64::from(times) == rounds + 1),
        "the loop has not met each item once"
    );
    Ok(figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contender::{Contender, Parkade, Std};

    #[test]
    fn the_work_is_the_same_whenever_it_is_made() {
        let mut steps: Vec<u64> = shards().iter().map(|shard| shard.steps).collect();
        assert_eq!(steps.iter().sum::<u64>(), 9_397_452);
        steps.sort_unstable();
        assert_eq!((steps[0], steps[2276]), (2095, LARGEST));
    }

    #[test]
    fn a_shard_that_is_left_out_or_done_twice_is_an_error() -> Result<()> {
        let pool = Parkade::<Std>::start(2)?;
        let shards: Vec<Shard> = shards().into_iter().take(20).collect();
        assert!(Timed::rounds(1, &shards, |work| pool.for_each(&shards, work)).is_ok());
        assert!(Timed::rounds(1, &shards, |work| pool.for_each_alone(&shards, work)).is_ok());
        assert!(Timed::rounds(1, &shards, |work| pool.for_each(&shards[1..], work)).is_err());
        let twice = |work: fn(&Shard)| {
            work(&shards[0]);
            pool.for_each(&shards, work);
        };
        assert!(Timed::rounds(1, &shards, twice).is_err());
        Ok(())
    }

    #[test]
    fn tiny_items_are_met_as_often_as_the_figures_are_divided_by() -> Result<()> {
        let pool = Parkade::<Std>::start(2)?;
        tiny_items(&pool, 2).map(drop)
    }
}
