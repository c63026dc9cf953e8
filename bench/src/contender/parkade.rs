//! Parkade itself, on each of its backends.

use anyhow::Result;
use parkade::{Backend, RuntimeOn, Tag};

use super::Contender;

pub(crate) struct Parkade<B: Backend>(RuntimeOn<B>);

impl<B: Backend> Contender for Parkade<B> {
    fn start(workers: u16) -> Result<Self> {
        let tag = Tag::new("bench").workers(usize::from(workers));
        Ok(Self(RuntimeOn::builder().tag(tag).build()?))
    }

    fn spawn(&self, task: impl FnOnce() + Send + 'static) {
        if let Err(refused) = self.0.spawn_detached(task) {
            // A row that loses a task would wait for it for ever; nothing stops this runtime.
            panic!("a task was refused: {refused}");
        }
    }
}
