//! What many programs have instead of a scheduler: threads that receive boxed closures from one channel.
//!
//! The channel is crossbeam's, unbounded, the fastest of those that many threads may receive from.

use std::thread;

use anyhow::Result;
use crossbeam_channel::{Sender, unbounded};

use super::hold::Held;
use super::{Contender, Hold, Name, Spawn};

type Task = Box<dyn FnOnce() + Send>;

pub(crate) struct Channel(Sender<Task>);

impl Contender for Channel {
    const NAME: Name = Name::Channel;

    fn start(workers: u16) -> Result<Self> {
        let (sender, receiver) = unbounded::<Task>();
        for _ in 0..workers {
            let receiver = receiver.clone();
            thread::Builder::new().spawn(move || receiver.into_iter().for_each(|task| task()))?;
        }
        Ok(Self(sender))
    }
}

impl Spawn for Channel {
    fn spawn(&self, task: impl FnOnce() + Send + 'static) {
        if self.0.send(Box::new(task)).is_err() {
            panic!("a task was refused: no thread is left that receives");
        }
    }
}

impl Hold for Channel {
    fn hold(&'static self) -> Result<Held> {
        Ok(vec![Box::new(self.0.clone())])
    }
}
