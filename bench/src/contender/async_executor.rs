//! The async-executor crate, on which smol and async-std rest: a queue for each thread that runs the executor.
//!
//! It has no threads of its own. Its users start some that run it until a channel is closed, as it is done here and in
//! its own documentation. A task is a future that is ready at once, and is detached.

use std::convert::Infallible;
use std::future;
use std::thread;

use anyhow::Result;
use async_channel::Sender;
use async_executor::Executor;
use futures_lite::future::block_on;

use super::hold::Held;
use super::{Contender, Hold, Name, Spawn};

pub(crate) struct AsyncExecutor {
    executor: &'static Executor<'static>,
    /// What each thread runs the executor until: that this is dropped.
    _until: Sender<Infallible>,
}

impl Contender for AsyncExecutor {
    const NAME: Name = Name::AsyncExecutor;

    fn start(workers: u16) -> Result<Self> {
        let executor: &'static Executor<'_> = Box::leak(Box::new(Executor::new()));
        let (_until, dropped) = async_channel::bounded::<Infallible>(1);
        for _ in 0..workers {
            let dropped = dropped.clone();
            thread::Builder::new().spawn(move || block_on(executor.run(dropped.recv())))?;
        }
        Ok(Self { executor, _until })
    }
}

impl Spawn for AsyncExecutor {
    fn spawn(&self, task: impl FnOnce() + Send + 'static) {
        self.executor.spawn(async move { task() }).detach();
    }
}

impl Hold for AsyncExecutor {
    fn hold(&'static self) -> Result<Held> {
        thread::spawn(|| block_on(self.executor.spawn(future::pending::<()>())));
        Ok(vec![Box::new(self.executor.spawn(future::pending::<()>()))])
    }
}
