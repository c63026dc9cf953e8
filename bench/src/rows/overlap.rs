//! `overlap`: what a pool that has little or nothing to do takes from others on the same CPUs.
//!
//! What a library with a pool of its own is like in a program that computes: its workers share the CPUs with everything
//! else. The neighbours are plain threads, one for each worker and the same beside every contender, that compute without
//! end. Pool and neighbours are confined to the same CPUs, as many as there are workers: Parkade's by the CPU list of its
//! tag where the backend pins, all others by the process's mask.
//!
//! The neighbours' *share* is how much they get done, compared with just before, when the pool was not there: for each
//! second of processor time that they and the pool had together. All the CPUs are busy all the time, so that on a
//! quiet machine this is the same as for each second on the wall; but whatever else runs on the machine takes from both
//! and does not count.
//!
//! The pool is started, runs some tasks, and is first left alone. Then it gets an empty task each millisecond,
//! which has it idle in its own way in between: a pool that parks at once is not there, one that searches or yields
//! after its work takes what the neighbours would have had. These tasks also show how soon a pool comes by a processor
//! beside neighbours that never let go of one. The processor time of the pool's threads is read from the system.
//!
//! For reference there are pools whose threads spin, and yield, as long as they have nothing to do. The floor of
//! what is burnt is 0, and the best share 1: what is over or below it by some percent in both is the machine's noise.
//!
//! Scenarios: A5, A6.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use cpu_time::ThreadTime;
use crossbeam_utils::CachePadded;
use hdrhistogram::Histogram;

use super::{Page, Shape};
use crate::cell::{Figure, Measured, Options};
use crate::contender::{Offer, Poller, Spawn, SpawnRow, Spin, Yield, spawners};
use crate::pace::Pace;
use crate::threads::{self, Ids};
use crate::{cpus, tally, work};

const SHARE_IDLE: Figure = Figure::higher("neighbours' share beside the idle pool", "").main();
const BURNT_IDLE: Figure = Figure::lower("burnt by the idle pool", "cores");
const SHARE_TRICKLE: Figure = Figure::higher("neighbours' share beside a task each ms", "");
const BURNT_TRICKLE: Figure = Figure::lower("burnt for a task each ms", "cores");
const START_P50: Figure = Figure::lower("start beside neighbours, p50", "ns");
const START_P99: Figure = Figure::lower("start beside neighbours, p99", "ns");

pub(super) const PAGE: Page = Page {
    like: "a library with a pool of its own, in a program that computes on the same CPUs",
    floor: None,
    offers: &Offer::all::<{ spawners::<Overlap>().len() + REFERENCES.len() }>(
        spawners::<Overlap>(),
        &REFERENCES,
    ),
    shapes: &[Shape::workers(2)],
    traced_tasks: None,
    figures: &[
        SHARE_IDLE,
        BURNT_IDLE,
        SHARE_TRICKLE,
        BURNT_TRICKLE,
        START_P50,
        START_P99,
    ],
};

const REFERENCES: [Offer; 2] = [
    Offer::of::<Poller<Spin>>(Overlap::measure::<Poller<Spin>>),
    Offer::of::<Poller<Yield>>(Overlap::measure::<Poller<Yield>>),
];

/// How long the neighbours' speed is measured at a time.
const SPELL: Duration = Duration::from_millis(200);

/// Long enough for every worker to park.
const SETTLE: Duration = Duration::from_millis(50);

/// From one task to the next.
const APART: Duration = Duration::from_millis(1);

/// Rounds of arithmetic that count as one piece of the neighbours' work: some microseconds, many times what a look at
/// the clock takes.
const PIECE: u64 = 4000;

/// What the histogram holds, in nanoseconds.
const LONGEST: u64 = 60_000_000_000;

struct Overlap;

impl SpawnRow for Overlap {
    fn measure<C: Spawn>(options: &Options) -> Result<Measured> {
        let cpus = cpus::confine(options.workers)?;
        let neighbours = Neighbours::start(options.workers);
        let starts = Arc::new(Mutex::new(Histogram::new_with_max(LONGEST, 3)?));
        let (mut idle, mut trickle) = (Vec::new(), Vec::new());
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(options.seconds) {
            let alone = neighbours.watch(&Ids::new(), || thread::sleep(SPELL))?;
            let before = threads::ids()?.unwrap_or_default();
            let pool = C::start_on(options.workers, &cpus)?;
            run_some(&pool, options.workers)?;
            let with = threads::ids()?.unwrap_or_default();
            let own = with.difference(&before).copied().collect();
            thread::sleep(SETTLE);
            idle.push(neighbours.watch(&own, || thread::sleep(SPELL))?.of(&alone));
            trickle.push(
                neighbours
                    .watch(&own, || give_some(&pool, &starts))?
                    .of(&alone),
            );
            // All have run when the pool is dropped.
            run_some(&pool, options.workers)?;
            drop(pool);
            threads::wait_until_gone(&own)?;
        }
        let shares = |spells: &[Beside]| median(spells.iter().map(|spell| spell.share));
        let burnt = |spells: &[Beside]| median(spells.iter().map(|spell| spell.burnt));
        let starts = starts.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Measured::new([
            SHARE_IDLE.of(shares(&idle)),
            BURNT_IDLE.of(burnt(&idle)),
            SHARE_TRICKLE.of(shares(&trickle)),
            BURNT_TRICKLE.of(burnt(&trickle)),
            START_P50.of(starts.value_at_quantile(0.50) as f64),
            START_P99.of(starts.value_at_quantile(0.99) as f64),
        ])
        .with_distribution("start beside neighbours", "ns", &starts))
    }
}

/// Has every worker run something, and waits for it.
fn run_some<C: Spawn>(pool: &C, workers: u16) -> Result<()> {
    let tasks = u64::from(workers) * 10;
    let before = tally::counted();
    for _ in 0..tasks {
        pool.spawn(tally::task());
    }
    tally::wait_for(before + tasks)
}

/// Gives the pool a task each millisecond, for a spell; each says how soon it has started.
fn give_some<C: Spawn>(pool: &C, starts: &Arc<Mutex<Histogram<u64>>>) {
    let began = Instant::now();
    let mut pace = Pace::new(APART);
    while began.elapsed() < SPELL {
        pace.wait();
        let starts = Arc::clone(starts);
        let given = Instant::now();
        pool.spawn(move || {
            let start = u64::try_from(given.elapsed().as_nanos()).unwrap_or(LONGEST);
            let mut starts = starts.lock().unwrap_or_else(PoisonError::into_inner);
            starts.saturating_record(start);
        });
    }
}

/// Threads that compute as long as the process lives.
struct Neighbours {
    each: Arc<[CachePadded<Neighbour>]>,
}

/// What one of them says of itself after each piece of work. Nobody needs the two numbers to be of the same moment: a
/// spell is some ten thousand pieces.
#[derive(Default)]
struct Neighbour {
    pieces: AtomicU64,
    /// Nanoseconds of processor time.
    used: AtomicU64,
}

/// What happened in a spell, or up to now.
#[derive(Debug, Clone, Copy, Default)]
struct Spell {
    /// Of work that the neighbours did.
    pieces: u64,
    /// Processor time that the neighbours had.
    used: Duration,
    /// Processor time that the pool had.
    burnt: Duration,
    wall: Duration,
}

/// A spell beside the pool, compared with one without.
struct Beside {
    share: f64,
    burnt: f64,
}

impl Spell {
    fn of(&self, alone: &Self) -> Beside {
        let speed = |spell: &Self| spell.pieces as f64 / (spell.used + spell.burnt).as_secs_f64();
        Beside {
            share: speed(self) / speed(alone),
            burnt: self.burnt.as_secs_f64() / self.wall.as_secs_f64(),
        }
    }
}

impl Neighbours {
    fn start(threads: u16) -> Self {
        let each: Arc<[CachePadded<Neighbour>]> = (0..threads).map(|_| Default::default()).collect();
        for own in 0..each.len() {
            let each = Arc::clone(&each);
            thread::spawn(move || {
                let used = ThreadTime::now();
                loop {
                    work::compute(PIECE);
                    each[own].pieces.fetch_add(1, Ordering::Relaxed);
                    let used = u64::try_from(used.elapsed().as_nanos()).unwrap_or(u64::MAX);
                    each[own].used.store(used, Ordering::Relaxed);
                }
            });
        }
        Self { each }
    }

    /// What the neighbours and these threads do in a spell.
    fn watch(&self, pool: &Ids, spell: impl FnOnce()) -> Result<Spell> {
        let began = Instant::now();
        let before = self.so_far(pool)?;
        spell();
        let after = self.so_far(pool)?;
        Ok(Spell {
            pieces: after.pieces - before.pieces,
            used: after.used - before.used,
            burnt: after.burnt.saturating_sub(before.burnt),
            wall: began.elapsed(),
        })
    }

    fn so_far(&self, pool: &Ids) -> Result<Spell> {
        let sum = |of: fn(&Neighbour) -> &AtomicU64| -> u64 {
            let each = self.each.iter();
            each.map(|one| of(one).load(Ordering::Relaxed)).sum()
        };
        Ok(Spell {
            pieces: sum(|one| &one.pieces),
            used: Duration::from_nanos(sum(|one| &one.used)),
            burnt: threads::on_processor(pool)?,
            wall: Duration::ZERO,
        })
    }
}

/// The middle of several, of an even number the lower one; 0 of none.
fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<_> = values.collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len().saturating_sub(1) / 2;
    values.get(middle).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median([3.0, 1.0, 2.0].into_iter()), 2.0);
        assert_eq!(median([4.0, 3.0, 1.0, 2.0].into_iter()), 2.0);
    }

    #[test]
    fn a_pool_that_has_a_quarter_of_the_time_leaves_three_quarters() {
        let second = Duration::from_secs(1);
        let alone = Spell {
            pieces: 2000,
            used: second * 2,
            burnt: Duration::ZERO,
            wall: second,
        };
        let beside = Spell {
            pieces: 1500,
            used: second * 3 / 2,
            burnt: second / 2,
            wall: second,
        };
        let beside = beside.of(&alone);
        assert_eq!((beside.share, beside.burnt), (0.75, 0.5));
    }

    #[test]
    fn what_others_take_is_not_the_pools() {
        let second = Duration::from_secs(1);
        let alone = Spell {
            pieces: 2000,
            used: second * 2,
            burnt: Duration::ZERO,
            wall: second,
        };
        let halved = Spell {
            pieces: 1000,
            used: second,
            ..alone
        };
        assert_eq!(halved.of(&alone).share, 1.0);
    }
}
