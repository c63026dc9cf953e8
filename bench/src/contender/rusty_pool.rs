//! The rusty_pool crate: one channel, and threads that come and go.
//!
//! Core size and largest size are both the number of workers, so that they stay, and they are started at once as
//! those of the others are. Its support for futures is left out: no row needs it.

use std::thread;
use std::time::Duration;

use anyhow::Result;
use rusty_pool::ThreadPool;

use super::hold::{Held, never_ends};
use super::{Contender, Hold, Name, Spawn};

pub(crate) struct RustyPool(ThreadPool);

impl Contender for RustyPool {
    const NAME: Name = Name::RustyPool;

    fn start(workers: u16) -> Result<Self> {
        let workers = usize::from(workers);
        // The time is for threads beyond the core; there are none.
        let pool = ThreadPool::new(workers, workers, Duration::from_secs(60));
        pool.start_core_threads();
        Ok(Self(pool))
    }
}

impl Spawn for RustyPool {
    fn spawn(&self, task: impl FnOnce() + Send + 'static) {
        self.0.execute(task);
    }
}

impl Hold for RustyPool {
    fn hold(&'static self) -> Result<Held> {
        let pending = self.0.evaluate(never_ends);
        thread::spawn(|| pending.await_complete());
        Ok(Held::new())
    }
}
