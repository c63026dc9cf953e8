//! The inbox: a push from outside, and how its worker takes what lies there, alone or in a batch.

use std::hint::black_box;

use criterion::{Criterion, Throughput};
use parkade::{Backend, FenceChoice};
use parkade_core::{Inbox, RunQueue, TAKE_BATCH, Task};

pub(crate) fn measure<B: Backend>(criterion: &mut Criterion, backend: &str) {
    let inbox = Inbox::<B>::new(usize::MAX);
    let fences = B::new(FenceChoice::Auto).fences();
    let queue = RunQueue::<B>::new(fences, 1024, 32).expect("a backend's ring has any capacity");
    let owner = queue.owner().expect("a new queue is not owned");
    let push = || {
        inbox
            .push(black_box(Task::from_word(1)))
            .expect("the inbox is open and has no limit")
    };
    let mut group = criterion.benchmark_group("inbox");
    group.throughput(Throughput::Elements(1));
    group.bench_function(
        format!("push and pop, one after the other/{backend}"),
        |bencher| {
            bencher.iter(|| {
                push();
                black_box(inbox.pop().map(Task::into_word))
            });
        },
    );
    group.throughput(Throughput::Elements(TAKE_BATCH as u64 + 1));
    group.bench_function(
        format!("push, take in one batch, pop/{backend}"),
        |bencher| {
            bencher.iter(|| {
                (0..=TAKE_BATCH).for_each(|_| push());
                let first = inbox.take(&owner, TAKE_BATCH);
                black_box(first.map(|(task, _)| task.into_word()));
                while black_box(owner.pop().map(Task::into_word)).is_some() {}
            });
        },
    );
    group.finish();
}
