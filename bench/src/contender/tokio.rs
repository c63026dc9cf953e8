//! Tokio's multi-threaded runtime: a ring for each worker, made for futures that wait for input and output.
//!
//! Without its drivers for sockets and time, which no row needs; everything else is its default. A task is a future
//! that is ready at once. A spawn by way of the runtime inside a task goes to the ring of its worker, as
//! `tokio::spawn` does, for the runtime knows its own threads.

use std::{future, thread};

use anyhow::Result;
use tokio::runtime::{Builder, Runtime};

use super::hold::Held;
use super::{Contender, Hold, Name, Spawn};

pub(crate) struct Tokio(Runtime);

impl Contender for Tokio {
    const NAME: Name = Name::Tokio;

    fn start(workers: u16) -> Result<Self> {
        let mut builder = Builder::new_multi_thread();
        Ok(Self(builder.worker_threads(usize::from(workers)).build()?))
    }
}

impl Spawn for Tokio {
    fn spawn(&self, task: impl FnOnce() + Send + 'static) {
        drop(self.0.spawn(async move { task() }));
    }
}

impl Hold for Tokio {
    fn hold(&'static self) -> Result<Held> {
        let pending = self.0.spawn(future::pending::<()>());
        thread::spawn(|| self.0.block_on(self.0.spawn(future::pending::<()>())));
        Ok(vec![Box::new(pending), Box::new(self.0.enter())])
    }
}
