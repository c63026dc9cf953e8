//! A task that is submitted while its worker falls asleep: no submit is slept past.
//!
//! An outside thread submits one task, waits until it has run, pauses for a random moment and submits the
//! next. The pause puts that submit into every phase of the worker's way to sleep, and nothing comes after
//! it that would wake the worker by chance. The task lingers after it has told that it ran, because else
//! the worker would be past the first phases before a submit could come.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::common::runtime;
use crate::stress::{self, Dice};
use parkade::Backend;

on_each_backend!(to_one_worker, to_two_workers, to_four_workers);

/// W1, in short.
fn to_one_worker<B: Backend>() {
    lone_submits::<B>(1);
}

/// W1, in short.
fn to_two_workers<B: Backend>() {
    lone_submits::<B>(2);
}

/// W1, in short.
fn to_four_workers<B: Backend>() {
    lone_submits::<B>(4);
}

fn lone_submits<B: Backend>(workers: usize) {
    let mut dice = Dice::new();
    let runtime = runtime::<B>(workers);
    let ran = Arc::new(AtomicU64::new(0));
    let submit_and_wait = |number: u64, linger: u32| {
        let in_task = Arc::clone(&ran);
        runtime
            .spawn_detached(move || {
                in_task.store(number, Ordering::Relaxed);
                stress::pause(linger);
            })
            .unwrap();
        assert!(
            stress::soon(|| ran.load(Ordering::Relaxed) == number),
            "submit {number} is slept past: {runtime:#?}"
        );
    };
    let rounds = stress::rounds(20_000, 5);
    for round in 0..rounds {
        submit_and_wait(2 * round + 1, dice.linger());
        stress::pause(dice.pause());
        submit_and_wait(2 * round + 2, dice.linger());
    }
    let metrics = runtime.metrics().total;
    let submits = usize::try_from(2 * rounds).unwrap();
    assert_eq!((metrics.spawned, metrics.workers), (submits, workers));
    assert!(metrics.parked > 0, "nobody ever slept: {metrics:?}");
}
