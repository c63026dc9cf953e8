//! Who is measured: anything that runs closures on worker threads.
//!
//! A contender has *capabilities*, each a trait: [`Spawn`] is to run a closure that nobody waits for. The file of a
//! capability lists the contenders that have it, so that a row written for it is offered by all of them and by no
//! other: who cannot do the same work is left out of a row rather than made to do something like it.
//!
//! Each is configured as its own users would do it, with the number of workers given and everything else as it comes.
//!
//! Forte is missing: its latest release, 1.0.0-beta.2, needs Rust 1.96, and this program is built with 1.95.

mod async_executor;
#[cfg(test)]
mod by_hand;
mod channel;
mod chili;
mod for_each;
mod fork_join;
mod hold;
mod in_place;
mod parkade;
mod poller;
mod rayon;
mod rusty_pool;
mod spawn;
mod threadpool;
mod tokio;
mod two_pools;

use std::fmt;

use anyhow::Result;
use clap::ValueEnum;
use serde::Serialize;

#[cfg(target_os = "linux")]
pub(crate) use ::parkade::backend::Linux;
pub(crate) use ::parkade::backend::Std;

#[cfg(test)]
pub(crate) use self::by_hand::ByHand;
pub(crate) use self::for_each::{ForEach, ForEachRow, loopers};
pub(crate) use self::fork_join::{ForkJoin, ForkJoinRow, fork_joiners};
pub(crate) use self::hold::{Hold, HoldRow, holders};
pub(crate) use self::in_place::InPlace;
pub(crate) use self::parkade::Parkade;
pub(crate) use self::poller::{Poller, Spin, Yield};
pub(crate) use self::spawn::{Spawn, SpawnRow, spawners};
pub(crate) use self::two_pools::{TwoPools, TwoPoolsRow, two_pools};
use crate::cell::{Measured, Options};

/// A pool of workers, as far as every row needs to know it.
pub(crate) trait Contender: Send + Sync + Sized + 'static {
    const NAME: Name;

    /// Starts a pool with this many workers.
    fn start(workers: u16) -> Result<Self>;

    /// Starts a pool whose workers run on these CPUs, to which the calling thread is confined already.
    ///
    /// A contender that pins its workers itself does so; the threads of all others inherit the caller's mask, as they
    /// do when their users start the program with `taskset`.
    fn start_on(workers: u16, _cpus: &[usize]) -> Result<Self> {
        Self::start(workers)
    }

    /// Starts a pool that lives as long as the process.
    ///
    /// A cell's process ends when it has printed its line, so the pool need not: leaked, it can be named by the
    /// tasks themselves, and its end is not measured by accident.
    fn start_for_good(workers: u16) -> Result<&'static Self> {
        Ok(Box::leak(Box::new(Self::start(workers)?)))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Name {
    /// Parkade on futexes and membarrier.
    #[cfg(target_os = "linux")]
    Linux,
    /// Parkade on a mutex and a condition variable.
    Std,
    /// Rayon: a deque for each worker, for fork-join and parallel iterators.
    Rayon,
    /// Tokio's multi-threaded runtime.
    Tokio,
    /// The async-executor crate, run by as many threads.
    AsyncExecutor,
    /// The threadpool crate: one locked queue, one condition variable.
    Threadpool,
    /// Threads that receive boxed closures from one channel of crossbeam's.
    Channel,
    /// The rusty_pool crate: one channel, and threads that come and go.
    RustyPool,
    /// Chili: fork-join by heartbeat.
    Chili,
    /// Threads that spin while they have nothing to do.
    Spinner,
    /// Threads that yield while they have nothing to do.
    Yielder,
    /// A ticket lock that spins.
    SpinTicket,
    /// A mutex that spins.
    SpinMutex,
    /// The mutex of `parking_lot`.
    ParkingLot,
    /// The mutex of std.
    StdMutex,
    /// The least that the row's work costs without any scheduler.
    Floor,
}

/// How a contender is measured in a row.
pub(crate) type Measure = fn(&Options) -> Result<Measured>;

/// That a contender can be measured in a row, and how.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Offer {
    pub(crate) contender: Name,
    pub(crate) measure: Measure,
}

impl Offer {
    pub(crate) const fn of<C: Contender>(measure: Measure) -> Self {
        Self {
            contender: C::NAME,
            measure,
        }
    }

    /// These and those, which are `N` together.
    pub(crate) const fn all<const N: usize>(these: &[Self], those: &[Self]) -> [Self; N] {
        assert!(these.len() + those.len() == N, "N is another number");
        let mut all = [those[0]; N];
        let mut at = 0;
        while at < N {
            all[at] = if at < these.len() {
                these[at]
            } else {
                those[at - these.len()]
            };
            at += 1;
        }
        all
    }
}

/// The name as the command line takes it.
impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.to_possible_value() {
            Some(name) => f.write_str(name.get_name()),
            None => write!(f, "{self:?}"),
        }
    }
}
