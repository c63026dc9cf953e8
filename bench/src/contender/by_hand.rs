//! A pool without threads for tests of rows: its tasks run when the test says so, and are counted.

use std::collections::VecDeque;
use std::sync::Mutex;

use anyhow::Result;

use super::{Contender, Name, Spawn};

type Task = Box<dyn FnOnce() + Send>;

#[derive(Default)]
pub(crate) struct ByHand(Mutex<VecDeque<Task>>);

impl Contender for ByHand {
    const NAME: Name = Name::Floor;

    fn start(_: u16) -> Result<Self> {
        Ok(Self::default())
    }
}

impl Spawn for ByHand {
    fn spawn(&self, task: impl FnOnce() + Send + 'static) {
        let mut tasks = self.0.lock().expect("no task runs under the lock");
        tasks.push_back(Box::new(task));
    }
}

impl ByHand {
    /// Runs all tasks, also those that tasks spawn, and returns how many there were.
    pub(crate) fn run(&self) -> u64 {
        let next = || self.0.lock().expect("as above").pop_front();
        std::iter::from_fn(next).map(|task| task()).count() as u64
    }
}
