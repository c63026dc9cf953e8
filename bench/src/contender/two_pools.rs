//! The capability to keep two kinds of work apart: two tags of one runtime, or two pools.

use anyhow::Result;

#[cfg(target_os = "linux")]
use super::Linux;
use super::async_executor::AsyncExecutor;
use super::channel::Channel;
use super::parkade::TwoTags;
use super::rayon::Rayon;
use super::rusty_pool::RustyPool;
use super::threadpool::Threadpool;
use super::tokio::Tokio;
use super::{Name, Offer, Spawn, Std};
use crate::cell::{Measured, Options};

pub(crate) trait TwoPools: Send + Sync + Sized + 'static {
    const NAME: Name;

    /// Starts both, each with this many workers.
    fn start_two(workers: u16) -> Result<Self>;

    /// Submits a task for the first, as [`Spawn::spawn`] does.
    fn spawn_in_first(&self, task: impl FnOnce() + Send + 'static);

    /// Submits a task for the second.
    fn spawn_in_second(&self, task: impl FnOnce() + Send + 'static);
}

/// Whoever has no tags has two of itself.
impl<C: Spawn> TwoPools for (C, C) {
    const NAME: Name = C::NAME;

    fn start_two(workers: u16) -> Result<Self> {
        Ok((C::start(workers)?, C::start(workers)?))
    }

    fn spawn_in_first(&self, task: impl FnOnce() + Send + 'static) {
        self.0.spawn(task);
    }

    fn spawn_in_second(&self, task: impl FnOnce() + Send + 'static) {
        self.1.spawn(task);
    }
}

/// A row that is measured with anything of which there can be two.
pub(crate) trait TwoPoolsRow {
    fn measure<P: TwoPools>(options: &Options) -> Result<Measured>;
}

/// Those who can: all who can spawn.
pub(crate) const fn two_pools<R: TwoPoolsRow>() -> &'static [Offer] {
    const {
        &[
            #[cfg(target_os = "linux")]
            offer::<R, TwoTags<Linux>>(),
            offer::<R, TwoTags<Std>>(),
            offer::<R, (Rayon, Rayon)>(),
            offer::<R, (Tokio, Tokio)>(),
            offer::<R, (AsyncExecutor, AsyncExecutor)>(),
            offer::<R, (Threadpool, Threadpool)>(),
            offer::<R, (Channel, Channel)>(),
            offer::<R, (RustyPool, RustyPool)>(),
        ]
    }
}

const fn offer<R: TwoPoolsRow, P: TwoPools>() -> Offer {
    Offer {
        contender: P::NAME,
        measure: R::measure::<P>,
    }
}
