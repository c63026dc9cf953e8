//! Parkade itself, on each of its backends, with one tag for all workers.

use anyhow::Result;
use parkade::{Backend, RuntimeOn, Tag};

use super::{Contender, Name, Spawn};

pub(crate) struct Parkade<B: Backend>(RuntimeOn<B>);

/// A backend that has a name here.
pub(crate) trait Named: Backend {
    const NAME: Name;
}

#[cfg(target_os = "linux")]
impl Named for parkade::backend::Linux {
    const NAME: Name = Name::Linux;
}

impl Named for parkade::backend::Std {
    const NAME: Name = Name::Std;
}

impl<B: Named> Contender for Parkade<B> {
    const NAME: Name = B::NAME;

    fn start(workers: u16) -> Result<Self> {
        let tag = Tag::new("bench").workers(usize::from(workers));
        Ok(Self(RuntimeOn::builder().tag(tag).build()?))
    }
}

impl<B: Named> Spawn for Parkade<B> {
    fn spawn(&self, task: impl FnOnce() + Send + 'static) {
        if let Err(refused) = self.0.spawn_detached(task) {
            // A row that loses a task would wait for it for ever; nothing stops this runtime.
            panic!("a task was refused: {refused}");
        }
    }
}
