//! A task that is submitted while its worker falls asleep: no submit is slept past.
//!
//! An outside thread submits one task, waits until it has run, pauses for a random moment and submits the
//! next. The pause puts that submit into every phase of the worker's way to sleep, and nothing comes after
//! it that would wake the worker by chance. The task lingers after it has told that it ran, because else
//! the worker would be past the first phases before a submit could come.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::each_backend::runtime;
use crate::rounds::{self, Run};
use parkade::{Backend, RuntimeOn, Tag};

on_each_backend!(
    to_one_worker,
    to_two_workers,
    to_four_workers,
    to_one_worker_in_each_of_three_tags,
);

/// W1.
fn to_one_worker<B: Backend>() {
    lone_submits::<B>(1);
}

/// W1.
fn to_two_workers<B: Backend>() {
    lone_submits::<B>(2);
}

/// W1.
fn to_four_workers<B: Backend>() {
    lone_submits::<B>(4);
}

/// W3: the tags take turns, so that two sleep while one is woken.
fn to_one_worker_in_each_of_three_tags<B: Backend>() {
    const NAMES: [&str; 3] = ["a", "b", "c"];
    let run = Run::new("W3", 10_000, 5);
    let tags = NAMES.map(|name| Tag::new(name).workers(1));
    let runtime = RuntimeOn::<B>::builder().tags(tags).build().unwrap();
    submit_in_pairs(run, runtime, &NAMES);
}

fn lone_submits<B: Backend>(workers: usize) {
    let run = Run::new("W1", 20_000, 5);
    submit_in_pairs(run, runtime::<B>(workers), &["only"]);
}

fn submit_in_pairs<B: Backend>(mut run: Run, runtime: RuntimeOn<B>, tags: &[&str]) {
    let runtime = run.watch(runtime);
    let workers = runtime.metrics().total.workers;
    let ran = Arc::new(AtomicU64::new(0));
    let mut submits = 0_u64;
    let mut submit_and_wait = |run: &mut Run| {
        run.step();
        let tag = submits % tags.len() as u64;
        submits += 1;
        let (in_task, number, linger) = (Arc::clone(&ran), submits, run.dice.linger());
        let tag = runtime.tag(tags[tag as usize]).unwrap();
        let task = move || {
            in_task.store(number, Ordering::Relaxed);
            rounds::pause(linger);
        };
        tag.spawn_detached(task).unwrap();
        rounds::until(|| ran.load(Ordering::Relaxed) == number);
    };
    for _ in run.rounds() {
        submit_and_wait(&mut run);
        rounds::pause(run.dice.pause());
        submit_and_wait(&mut run);
    }
    let metrics = runtime.metrics().total;
    assert_eq!(
        (metrics.spawned as u64, metrics.workers),
        (submits, workers)
    );
    assert!(metrics.parked > 0, "nobody ever slept: {metrics:?}");
}
