//! The threadpool crate: one locked queue and one condition variable for all workers.

use anyhow::Result;
use threadpool::ThreadPool;

use super::{Contender, Hold, Name, Spawn};

pub(crate) struct Threadpool(ThreadPool);

impl Contender for Threadpool {
    const NAME: Name = Name::Threadpool;

    fn start(workers: u16) -> Result<Self> {
        Ok(Self(ThreadPool::new(usize::from(workers))))
    }
}

impl Spawn for Threadpool {
    fn spawn(&self, task: impl FnOnce() + Send + 'static) {
        self.0.execute(task);
    }
}

impl Hold for Threadpool {}
