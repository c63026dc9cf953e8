//! Threads that never sleep: hand-made references for what it costs to wait awake.

use std::hint;
use std::marker::PhantomData;
use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use anyhow::Result;

use super::{Contender, Name, Spawn};

type Task = Box<dyn FnOnce() + Send>;

/// Threads that look for tasks in one channel, again and again.
pub(crate) struct Poller<W> {
    /// The way into the channel, until the pool is dropped.
    tasks: Option<Sender<Task>>,
    threads: Vec<JoinHandle<()>>,
    waits: PhantomData<fn() -> W>,
}

/// What a thread does between two looks.
pub(crate) trait Wait: 'static {
    const NAME: Name;

    fn a_moment();
}

/// It tells the processor that it spins.
pub(crate) enum Spin {}

impl Wait for Spin {
    const NAME: Name = Name::Spinner;

    fn a_moment() {
        hint::spin_loop();
    }
}

/// It offers its processor to whoever wants it.
pub(crate) enum Yield {}

impl Wait for Yield {
    const NAME: Name = Name::Yielder;

    fn a_moment() {
        thread::yield_now();
    }
}

impl<W: Wait> Contender for Poller<W> {
    const NAME: Name = W::NAME;

    fn start(workers: u16) -> Result<Self> {
        let (tasks, queue) = mpsc::channel();
        let queue = Arc::new(Mutex::new(queue));
        let threads = (0..workers).map(|_| {
            let queue = Arc::clone(&queue);
            thread::spawn(move || poll::<W>(&queue))
        });
        Ok(Self {
            threads: threads.collect(),
            tasks: Some(tasks),
            waits: PhantomData,
        })
    }
}

fn poll<W: Wait>(queue: &Mutex<Receiver<Task>>) {
    loop {
        let next = queue
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .try_recv();
        match next {
            Ok(task) => task(),
            Err(TryRecvError::Empty) => W::a_moment(),
            Err(TryRecvError::Disconnected) => return,
        }
    }
}

impl<W: Wait> Spawn for Poller<W> {
    fn spawn(&self, task: impl FnOnce() + Send + 'static) {
        let sent = self.tasks.as_ref().map(|tasks| tasks.send(Box::new(task)));
        assert!(
            matches!(sent, Some(Ok(()))),
            "the threads live as long as the pool"
        );
    }
}

impl<W> Drop for Poller<W> {
    fn drop(&mut self) {
        self.tasks = None;
        for thread in self.threads.drain(..) {
            // One that a task's panic has ended has ended all the same.
            let _ = thread.join();
        }
    }
}
