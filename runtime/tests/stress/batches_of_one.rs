//! Batches of a single task, back to back, for more workers than the machine has cores: all but one of the
//! workers look in vain, late, or asleep, while the next batch comes already.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::each_backend::runtime;
use crate::rounds::{self, Run};
use parkade::Backend;

on_each_backend!(each_batch_completes_and_leaves_nothing);

const WORKERS: usize = 8;

/// B1: nothing of a batch is touched once its task is joined, so that what it has carried is the caller's again.
fn each_batch_completes_and_leaves_nothing<B: Backend>() {
    let mut run = Run::new("B1", 10_000, 5);
    let runtime = run.watch(runtime::<B>(WORKERS));
    let mut token = Arc::new(AtomicU64::new(0));
    for round in run.rounds() {
        run.step();
        let mut batch = runtime.batch();
        let cargo = Arc::clone(&token);
        let handle = batch.spawn(move || cargo.fetch_add(1, Ordering::Relaxed));
        assert_eq!(batch.submit().unwrap(), 1);
        assert_eq!(handle.join().unwrap(), round);
        let alone = Arc::get_mut(&mut token).expect("the batch has left a reference");
        assert_eq!(*alone.get_mut(), round + 1);
        rounds::pause(run.dice.linger());
    }
    // A batch is one submit, and no worker that takes its only task sees another one to wake somebody for.
    let metrics = runtime.metrics().total;
    let rounds = usize::try_from(run.rounds().end).unwrap();
    assert_eq!((metrics.spawned, metrics.ran), (rounds, rounds));
    assert!(metrics.wakes_asked <= rounds, "{metrics:?}");
    assert_eq!((metrics.panicked, metrics.workers), (0, WORKERS));
}
