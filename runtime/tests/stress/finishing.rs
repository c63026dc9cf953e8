//! A wake that meets a worker which is just finishing a task: what was written before it is seen by the task
//! that it is for.
//!
//! The next task is submitted the moment the last one has told that it ends, so the wake comes when its worker
//! finishes it, looks for another one, announces itself or sleeps. Everything between the threads is Relaxed,
//! or a plain write to memory that goes with the task, but what the scheduler brings: on its way from the
//! submitter to the task there is nothing else that orders. So Miri, which hands out stale values, sees an order
//! that is missing, and so does ThreadSanitizer.

use std::array;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::each_backend::runtime;
use crate::rounds::{self, Dice, Run};
use parkade::{Backend, Policy, RuntimeOn};

on_each_backend!(
    from_outside_to_one_worker,
    from_outside_to_two_workers,
    from_a_task_to_the_other_worker,
);

/// Words that are written before a task is submitted, and read in it.
struct Board {
    words: [AtomicU64; 4],
    /// The last task that has read the words, and is ending.
    ended: AtomicU64,
    /// Tasks that read another number than theirs.
    stale: AtomicU64,
}

impl Board {
    fn new() -> Self {
        Self {
            words: array::from_fn(|_| AtomicU64::new(0)),
            ended: AtomicU64::new(0),
            stale: AtomicU64::new(0),
        }
    }

    fn write(&self, number: u64) -> Box<[u64; 4]> {
        for word in &self.words {
            word.store(number, Ordering::Relaxed);
        }
        Box::new([number; 4])
    }

    fn read(&self, number: u64, cargo: &[u64; 4]) {
        let words = self
            .words
            .each_ref()
            .map(|word| word.load(Ordering::Relaxed));
        if words != [number; 4] || *cargo != words {
            self.stale.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn end(&self, number: u64) {
        self.ended.store(number, Ordering::Relaxed);
    }

    fn wait_for(&self, number: u64) {
        rounds::until(|| self.ended.load(Ordering::Relaxed) == number);
    }

    fn stale(&self) -> u64 {
        self.stale.load(Ordering::Relaxed)
    }
}

/// W13.
fn from_outside_to_one_worker<B: Backend>() {
    from_outside::<B>(1);
}

/// W13.
fn from_outside_to_two_workers<B: Backend>() {
    from_outside::<B>(2);
}

fn from_outside<B: Backend>(workers: usize) {
    let mut run = Run::new("W13", 10_000, 20);
    let runtime = run.watch(runtime::<B>(workers));
    let board = Arc::new(Board::new());
    for number in run.rounds().map(|round| round + 1) {
        run.step();
        let cargo = board.write(number);
        let (in_task, linger) = (Arc::clone(&board), run.dice.linger());
        let task = move || {
            in_task.read(number, &cargo);
            in_task.end(number);
            rounds::pause(linger);
        };
        runtime.spawn_detached(task).unwrap();
        board.wait_for(number);
        rounds::pause(run.dice.linger());
    }
    assert_eq!(board.stale(), 0, "tasks that missed a write");
}

/// W13, from one worker to the other: each task submits the next one to its own run queue and ends only when
/// that one has been stolen, which is when the one before it has just ended on the other worker.
fn from_a_task_to_the_other_worker<B: Backend>() {
    let mut run = Run::new("W13", 1_000, 20);
    let last = run.rounds().end;
    let runtime = run.watch(runtime::<B>(2));
    let board = Arc::new(Board::new());
    let first = Relay {
        number: 1,
        last,
        cargo: board.write(1),
        board: Arc::clone(&board),
        runtime: Arc::clone(&runtime),
        dice: run.dice.fork(),
    };
    runtime.spawn_detached(move || first.run()).unwrap();
    for number in run.rounds().map(|round| round + 1) {
        run.step();
        rounds::until(|| board.ended.load(Ordering::Relaxed) >= number);
    }
    assert_eq!(board.stale(), 0, "tasks that missed a write");
    // The counts are Relaxed: it is the end of the threads that makes them exact.
    runtime.shutdown(Policy::Drain, None).unwrap();
    let stolen = runtime.metrics().total.stolen as u64;
    assert!(stolen >= last - 1, "{stolen} of {last} were stolen");
}

/// A task that submits the next one, up to the last.
struct Relay<B: Backend> {
    number: u64,
    last: u64,
    cargo: Box<[u64; 4]>,
    board: Arc<Board>,
    runtime: Arc<RuntimeOn<B>>,
    dice: Dice,
}

impl<B: Backend> Relay<B> {
    fn run(mut self) {
        self.board.read(self.number, &self.cargo);
        self.board.end(self.number);
        if self.number == self.last {
            return;
        }
        // Meanwhile the other worker is on its way from the end of its task to its sleep.
        rounds::pause(self.dice.pause());
        let next = Self {
            number: self.number + 1,
            last: self.last,
            cargo: self.board.write(self.number + 1),
            board: Arc::clone(&self.board),
            runtime: Arc::clone(&self.runtime),
            dice: self.dice.fork(),
        };
        self.runtime.spawn_detached(move || next.run()).unwrap();
        self.board.wait_for(self.number + 1);
    }
}
