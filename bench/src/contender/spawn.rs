//! The capability to run a closure that nobody waits for.

use anyhow::Result;

#[cfg(target_os = "linux")]
use super::Linux;
use super::async_executor::AsyncExecutor;
use super::channel::Channel;
use super::rayon::Rayon;
use super::rusty_pool::RustyPool;
use super::threadpool::Threadpool;
use super::tokio::Tokio;
use super::{Contender, Offer, Parkade, Std};
use crate::cell::{Measured, Options};

pub(crate) trait Spawn: Contender {
    /// Submits a task that nobody waits for, in the cheapest way that the contender offers; from inside a task to
    /// the submitting worker's own queue, where there is one.
    fn spawn(&self, task: impl FnOnce() + Send + 'static);
}

/// A row that is measured with anything that can spawn.
pub(crate) trait SpawnRow {
    fn measure<C: Spawn>(options: &Options) -> Result<Measured>;
}

/// Those who can.
pub(crate) const fn spawners<R: SpawnRow>() -> &'static [Offer] {
    const {
        &[
            #[cfg(target_os = "linux")]
            offer::<R, Parkade<Linux>>(),
            offer::<R, Parkade<Std>>(),
            offer::<R, Rayon>(),
            offer::<R, Tokio>(),
            offer::<R, AsyncExecutor>(),
            offer::<R, Threadpool>(),
            offer::<R, Channel>(),
            offer::<R, RustyPool>(),
        ]
    }
}

const fn offer<R: SpawnRow, C: Spawn>() -> Offer {
    Offer::of::<C>(R::measure::<C>)
}
