//! `memory`: what a queued task costs in bytes, and what a pool costs that is only there.
//!
//! What a server is like that accepts work faster than it is done, and a program with many pools, or a large one, that are
//! hardly used.
//!
//! **Bytes per task.** Every worker is held inside a task; then 2^20 tasks are queued from outside, each a closure that has
//! captured one pointer, and it is counted what the process has asked its allocator for meanwhile: the task itself, its
//! place in the queue, and whatever the queue grew to. A queue that is reallocated counts with what it grew by. *Held* is
//! what was not given back by then. The number of tasks is
//! that at which a doubling queue is full if it holds nothing else, and half empty if it holds one thing more.
//!
//! **Resident bytes.** Before that, the pool runs one task on every worker, parks, and what is resident is compared with
//! what was before it was started. The stacks are counted apart, because how much of them a thread touches is its tasks'
//! doing and the C library's; they are found by an address on each, see [`resident`](crate::resident).
//!
//! The floor is a queue of boxed closures, and as many threads that are parked.

use std::collections::VecDeque;
use std::hint::black_box;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use super::{Floor, Page, Shape};
use crate::allocated::Allocated;
use crate::cell::{Figure, Measured, Metric, Options};
use crate::contender::{Spawn, SpawnRow, spawners};
use crate::resident::{self, Resident};
use crate::tally;

const HELD: Figure = Figure::lower("held per queued task", "bytes").main();
const REQUESTED: Figure = Figure::lower("requested per queued task", "bytes");
const IDLE: Figure = Figure::lower("idle pool, beyond its stacks", "KiB");
const STACKS: Figure = Figure::lower("stacks of the idle pool", "KiB");

pub(super) const PAGE: Page = Page {
    like: "a server that accepts faster than it works off; a program with pools that it hardly uses",
    floor: Some(Floor {
        is: "a queue of boxed closures; as many threads, parked",
        measure: floor,
    }),
    offers: spawners::<Memory>(),
    shapes: &[Shape::workers(2), Shape::workers(64)],
    traced_tasks: None,
    figures: &[HELD, REQUESTED, IDLE, STACKS],
};

/// Tasks that are queued.
const TASKS: u64 = 1 << 20;

/// Long enough for every worker to park.
const SETTLE: Duration = Duration::from_millis(200);

/// A worker that takes no task for this long never will.
const GIVE_UP_AFTER: Duration = Duration::from_secs(10);

/// What each task has a pointer to.
static POINTED_AT: AtomicU64 = AtomicU64::new(0);

struct Memory;

impl SpawnRow for Memory {
    fn measure<C: Spawn>(options: &Options) -> Result<Measured> {
        let before = resident_before()?;
        let pool = C::start_for_good(options.workers)?;
        let spawn = |task: Held| pool.spawn(move || task.run());
        let held = Gate::hold(options.workers, spawn)?;
        let stacks = held.open();
        thread::sleep(SETTLE);
        let idle = idle(before, &stacks)?;

        let tasks = options.tasks.unwrap_or(TASKS);
        let held = Gate::hold(options.workers, spawn)?;
        let ran = tally::counted();
        let before = Allocated::so_far()?;
        for _ in 0..tasks {
            let pointer = &POINTED_AT;
            pool.spawn(move || run(pointer));
        }
        let queued = per_task(Allocated::so_far()?.since(before), tasks);
        held.open();
        tally::wait_for(ran + tasks)?;
        Ok(Measured::new(queued).and(idle))
    }
}

fn floor(options: &Options) -> Result<Measured> {
    let before = resident_before()?;
    let held = Gate::hold(options.workers, |task: Held| {
        thread::spawn(move || {
            task.run();
            loop {
                thread::park();
            }
        });
    })?;
    let stacks = held.open();
    thread::sleep(SETTLE);
    let idle = idle(before, &stacks)?;

    let tasks = options.tasks.unwrap_or(TASKS);
    let before = Allocated::so_far()?;
    let mut queue: VecDeque<Box<dyn FnOnce() + Send>> = VecDeque::new();
    for _ in 0..tasks {
        let pointer = black_box(&POINTED_AT);
        queue.push_back(Box::new(move || run(pointer)));
    }
    let queued = per_task(Allocated::so_far()?.since(before), tasks);
    queue.into_iter().for_each(|task| task());
    Ok(Measured::new(queued).and(idle))
}

/// What a queued task does in the end.
fn run(pointer: &'static AtomicU64) {
    black_box(pointer);
    tally::count(1);
}

fn per_task(allocated: Allocated, tasks: u64) -> [Metric; 2] {
    [
        HELD.of(allocated.held() as f64 / tasks as f64),
        REQUESTED.of(allocated.requested as f64 / tasks as f64),
    ]
}

/// What is resident before there is a pool, looked at twice: the first look itself makes some memory resident.
fn resident_before() -> Result<Option<Resident>> {
    resident::now(&[])?;
    resident::now(&[])
}

/// What has become resident since.
fn idle(before: Option<Resident>, stacks: &[usize]) -> Result<Vec<Metric>> {
    let now = resident::now(stacks)?;
    let kib = |bytes: u64| bytes as f64 / 1024.0;
    Ok(now.zip(before).map_or_else(Vec::new, |(now, before)| {
        vec![
            IDLE.of(kib(now.others) - kib(before.others)),
            STACKS.of(kib(now.stacks)),
        ]
    }))
}

/// Where workers are held, each inside a task.
#[derive(Default)]
struct Gate {
    is_open: Mutex<bool>,
    opened: Condvar,
    /// An address on the stack of each worker that is held.
    held: Mutex<Vec<usize>>,
}

/// A task that holds its worker.
struct Held(Arc<Gate>);

impl Held {
    fn run(self) {
        let address = resident::on_this_stack();
        let gate = self.0;
        lock(&gate.held).push(address);
        let is_open = lock(&gate.is_open);
        let _open = gate.opened.wait_while(is_open, |is_open| !*is_open);
    }
}

impl Gate {
    /// Holds every worker, one after the other.
    fn hold(workers: u16, spawn: impl Fn(Held)) -> Result<Arc<Self>> {
        let gate = Arc::new(Self::default());
        for before in 0..usize::from(workers) {
            spawn(Held(Arc::clone(&gate)));
            let spawned = Instant::now();
            while lock(&gate.held).len() == before {
                if spawned.elapsed() > GIVE_UP_AFTER {
                    bail!("{before} of {workers} workers take a task when all others are held");
                }
                thread::sleep(Duration::from_micros(20));
            }
        }
        Ok(gate)
    }

    /// Lets all of them go; returns an address on the stack of each.
    fn open(&self) -> Vec<usize> {
        *lock(&self.is_open) = true;
        self.opened.notify_all();
        lock(&self.held).clone()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;

    #[test]
    fn a_gate_holds_as_many_threads_as_it_is_told() -> Result<()> {
        let ended = Arc::new(AtomicU64::new(0));
        let gate = Gate::hold(3, |task| {
            let ended = Arc::clone(&ended);
            thread::spawn(move || {
                task.run();
                ended.fetch_add(1, Ordering::Relaxed);
            });
        })?;
        assert_eq!(ended.load(Ordering::Relaxed), 0);
        let mut stacks = gate.open();
        stacks.dedup();
        assert_eq!(stacks.len(), 3, "each has a stack of its own");
        let opened = Instant::now();
        while ended.load(Ordering::Relaxed) < 3 {
            assert!(opened.elapsed() < GIVE_UP_AFTER);
            thread::yield_now();
        }
        Ok(())
    }
}
