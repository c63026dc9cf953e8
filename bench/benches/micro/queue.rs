//! The run queue: the owner's push and pop, and what a thief pays.
//!
//! Owner and thief are one thread here, so the lines that they share never travel: this is the work itself, and the
//! rows `local` and `tree` are what it becomes with two.

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput};
use parkade::{Backend, FenceChoice};
use parkade_core::{Owner, RunQueue, Steal, Task};

const CAPACITY: usize = 256;
/// What the runtime's thieves take at most.
const BATCH: usize = 32;

pub(crate) fn measure<B: Backend>(criterion: &mut Criterion, backend: &str) {
    let victim = queue::<B>();
    let owner = victim.owner().expect("a new queue is not owned");
    let own = queue::<B>();
    let thief = own.owner().expect("a new queue is not owned");
    let mut group = criterion.benchmark_group("queue");
    group.throughput(Throughput::Elements(1));
    group.bench_function(
        format!("push and pop, one after the other/{backend}"),
        |bencher| {
            bencher.iter(|| {
                push(&owner);
                pop(&owner)
            });
        },
    );
    group.throughput(Throughput::Elements(CAPACITY as u64));
    group.bench_function(
        format!("push until full, pop until empty/{backend}"),
        |bencher| {
            bencher.iter(|| {
                (0..CAPACITY).for_each(|_| push(&owner));
                while pop(&owner).is_some() {}
            });
        },
    );
    group.throughput(Throughput::Elements(1));
    group.bench_function(format!("steal one/{backend}"), |bencher| {
        bencher.iter_custom(|times| stealing(times, &owner, || taken(victim.steal())));
    });
    group.bench_function(format!("steal a batch, and pop it/{backend}"), |bencher| {
        bencher.iter_custom(|times| {
            stealing(times, &owner, || {
                let first = taken(victim.steal_into(&thief));
                first + std::iter::from_fn(|| pop(&thief)).count() as u64
            })
        });
    });
    group.finish();
}

fn queue<B: Backend>() -> RunQueue<B> {
    let fences = B::new(FenceChoice::Auto).fences();
    RunQueue::new(fences, CAPACITY, BATCH).expect("a backend's ring has any capacity")
}

fn push<B: Backend>(owner: &Owner<'_, B>) {
    if owner.push(black_box(Task::from_word(1))).is_err() {
        unreachable!("there is room for every task that is pushed here");
    }
}

fn pop<B: Backend>(owner: &Owner<'_, B>) -> Option<usize> {
    black_box(owner.pop().map(Task::into_word))
}

/// The time for stealing so many tasks, by a step that says how many it has taken. Filling the queue is not measured.
fn stealing<B: Backend>(
    times: u64,
    owner: &Owner<'_, B>,
    mut step: impl FnMut() -> u64,
) -> Duration {
    let mut time = Duration::ZERO;
    let mut left = times;
    while left > 0 {
        let filled = left.min(CAPACITY as u64);
        (0..filled).for_each(|_| push(owner));
        let started = Instant::now();
        let mut stolen = 0;
        while stolen < filled {
            stolen += step();
        }
        time += started.elapsed();
        left -= filled;
    }
    time
}

fn taken(steal: Steal) -> u64 {
    match steal {
        Steal::Taken(task, _) => {
            black_box(task.into_word());
            1
        }
        Steal::Empty | Steal::Lost => unreachable!("nobody else steals here"),
    }
}
