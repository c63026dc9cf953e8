//! The capability to be held on to: handles, timers, scopes and threads that wait in the contender's calls.

use std::any::Any;
use std::thread;

use anyhow::Result;

#[cfg(target_os = "linux")]
use super::Linux;
use super::async_executor::AsyncExecutor;
use super::channel::Channel;
use super::rayon::Rayon;
use super::rusty_pool::RustyPool;
use super::threadpool::Threadpool;
use super::tokio::Tokio;
use super::{Offer, Parkade, Spawn, Std};
use crate::cell::{Measured, Options};

/// What keeps handles alive by being kept.
pub(crate) type Held = Vec<Box<dyn Any>>;

pub(crate) trait Hold: Spawn {
    /// Makes one of every kind of thing that the contender's users hold while nothing runs, none of which will ever
    /// come to anything: all that a worker or a thread can be made to wait for. At most one worker is inside a task
    /// for it.
    ///
    /// A contender that has nothing but its pool holds that.
    fn hold(&'static self) -> Result<Held> {
        Ok(Held::new())
    }
}

/// Sleeps for ever, whatever wakes it.
pub(super) fn never_ends() {
    loop {
        thread::park();
    }
}

/// A row that is measured with anything that can be held on to.
pub(crate) trait HoldRow {
    fn measure<C: Hold>(options: &Options) -> Result<Measured>;
}

/// Those who can: all who can spawn.
pub(crate) const fn holders<R: HoldRow>() -> &'static [Offer] {
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

const fn offer<R: HoldRow, C: Hold>() -> Offer {
    Offer::of::<C>(R::measure::<C>)
}
