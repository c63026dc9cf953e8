//! Forks in great numbers, in each phase of their thieves' falling asleep, and beside the stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::each_backend::runtime;
use crate::rounds::{self, Run};
use crate::tree::tree_among_strangers;
use parkade::{Backend, Policy};

on_each_backend!(
    a_million_leaves_among_strangers,
    lone_forks_meet_their_thief_anywhere,
    forks_race_the_stop,
);

/// N2.
fn a_million_leaves_among_strangers<B: Backend>() {
    let run = Run::new("N2", 1, 1);
    let depth = if cfg!(miri) { 4 } else { 20 };
    let steps = run.steps();
    for _ in run.rounds() {
        // One step for the whole tree would be long: under a sanitizer, minutes.
        tree_among_strangers::<B>(depth, 10_000.min(1 << depth), &steps);
    }
}

/// A fork whose waiter comes for it when its thief is on the way, at work, done, or not awake yet.
fn lone_forks_meet_their_thief_anywhere<B: Backend>() {
    let mut run = Run::new("S12", 20_000, 5);
    let runtime = run.watch(runtime::<B>(2));
    let rounds = run.rounds();
    for round in rounds {
        run.step();
        let (first, second) = (run.dice.linger(), run.dice.linger());
        let cargo = Box::new(round);
        let sides = runtime.join(
            || {
                rounds::pause(first);
                *cargo + 1
            },
            || {
                rounds::pause(second);
                *cargo + 2
            },
        );
        assert_eq!(sides, (round + 1, round + 2));
    }
    let metrics = runtime.metrics().total;
    assert_eq!(metrics.spawned, metrics.ran);
}

/// Trees that are joined while the runtime stops, by either policy: whoever runs it, each leaf runs once.
fn forks_race_the_stop<B: Backend>() {
    fn grow(depth: u32, leaves: &AtomicUsize) {
        if depth == 0 {
            leaves.fetch_add(1, Ordering::Relaxed);
        } else {
            parkade::join(|| grow(depth - 1, leaves), || grow(depth - 1, leaves));
        }
    }
    const TREES: usize = 3;
    let mut run = Run::new("S1", 300, 2);
    for _ in run.rounds() {
        run.step();
        let workers = run.dice.usize(1..=3);
        let runtime = run.watch(runtime::<B>(workers));
        let leaves = Arc::new(AtomicUsize::new(0));
        let policy = [Policy::Drain, Policy::Abandon][run.dice.usize(..2)];
        let pause = run.dice.pause();
        thread::scope(|threads| {
            for _ in 0..TREES {
                threads.spawn(|| runtime.join(|| grow(6, &leaves), || grow(6, &leaves)));
            }
            rounds::pause(pause);
            let report = runtime.shutdown(policy, None).unwrap();
            assert!(report.is_complete(), "{report}");
        });
        assert_eq!(leaves.load(Ordering::Relaxed), TREES * 128);
        let metrics = runtime.metrics().total;
        assert_eq!(metrics.spawned, metrics.ran + metrics.dropped);
    }
}
