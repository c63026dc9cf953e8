//! The async-executor crate, on which smol and async-std rest: a queue for each thread that runs the executor.
//!
//! It has no threads of its own. Its users start some that run it for ever, as it is done here and as `smol` does
//! itself. A task is a future that is ready at once, and is detached.

use std::future;
use std::thread;

use anyhow::Result;
use async_executor::Executor;
use futures_lite::future::block_on;

use super::{Contender, Name, Spawn};

pub(crate) struct AsyncExecutor(&'static Executor<'static>);

impl Contender for AsyncExecutor {
    const NAME: Name = Name::AsyncExecutor;

    fn start(workers: u16) -> Result<Self> {
        let executor: &'static Executor<'_> = Box::leak(Box::new(Executor::new()));
        for _ in 0..workers {
            thread::Builder::new().spawn(|| block_on(executor.run(future::pending::<()>())))?;
        }
        Ok(Self(executor))
    }
}

impl Spawn for AsyncExecutor {
    fn spawn(&self, task: impl FnOnce() + Send + 'static) {
        self.0.spawn(async move { task() }).detach();
    }
}
