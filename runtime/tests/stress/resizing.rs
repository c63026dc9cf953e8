//! A tag that is resized all the time, while tasks are submitted, fork, block and panic: each that was accepted
//! ran or was dropped, and each worker that came has gone.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use parkade::{Backend, JoinError, Policy, ResizeError, RuntimeOn, Tag};

use crate::panic_messages::expect_panics;
use crate::rounds::{Dice, Run, pause};

on_each_backend!(each_task_ends_whatever_the_size);

/// One submit of some kind, tasks that it makes included; returns how many were accepted.
fn submit<B: Backend>(
    runtime: &Arc<RuntimeOn<B>>,
    dice: &mut Dice,
    inner: &Arc<AtomicUsize>,
) -> usize {
    let hints = dice.pause();
    match dice.u32(..6) {
        0 => usize::from(runtime.spawn_detached(move || pause(hints)).is_ok()),
        1 => {
            let mut batch = runtime.batch();
            (0..9).for_each(|_| batch.spawn_detached(move || pause(hints)));
            batch.submit().unwrap_or_else(|refused| refused.accepted)
        }
        2 => match runtime.spawn(|| -> () { panic!("on purpose") }).join() {
            Err(JoinError::Panicked(_) | JoinError::Dropped) => 1,
            Err(JoinError::Refused(_)) => 0,
            other => panic!("{other:?}"),
        },
        3 => {
            let task = move || parkade::blocking(|| thread::sleep(Duration::from_micros(50)));
            usize::from(runtime.spawn_detached(task).is_ok())
        }
        4 => {
            // A worker that is asked to leave has forks, and spawns that others are to take.
            let (here, inner) = (Arc::clone(runtime), Arc::clone(inner));
            let task = move || {
                let (left, right) = parkade::join(|| pause(hints), || pause(hints / 2));
                let spawned = (0..3).filter(|_| here.spawn_detached(|| ()).is_ok());
                inner.fetch_add(spawned.count(), Ordering::Relaxed);
                let _ = (left, right);
            };
            usize::from(runtime.spawn_detached(task).is_ok())
        }
        _ => {
            let sum = AtomicUsize::new(0);
            runtime.for_each(0..40, |n| _ = sum.fetch_add(n, Ordering::Relaxed));
            assert_eq!(sum.into_inner(), 780);
            0
        }
    }
}

/// G1.
fn each_task_ends_whatever_the_size<B: Backend>() {
    expect_panics();
    let mut run = Run::new("G1", 6, 1);
    for round in run.rounds() {
        run.step();
        let hooks = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
        let (starts, stops) = (Arc::clone(&hooks), Arc::clone(&hooks));
        let tag = Tag::new("only").workers(2).max_workers(6).max_blocked(2);
        let runtime = run.watch(
            RuntimeOn::<B>::builder()
                .tag(tag.run_queue(4).keep_alive(Duration::from_millis(1)))
                .on_start(move |_| _ = starts[0].fetch_add(1, Ordering::Relaxed))
                .on_stop(move |_| _ = stops[1].fetch_add(1, Ordering::Relaxed))
                .build()
                .unwrap(),
        );
        let over = AtomicBool::new(false);
        let inner = Arc::new(AtomicUsize::new(0));
        let accepted: usize = thread::scope(|scope| {
            let submitters = [(); 2].map(|()| {
                let (runtime, over, inner) = (&runtime, &over, &inner);
                let mut dice = run.dice.fork();
                scope.spawn(move || {
                    let mut accepted = 0;
                    while !over.load(Ordering::Relaxed) {
                        accepted += submit(runtime, &mut dice, inner);
                    }
                    accepted
                })
            });
            for _ in 0..60 {
                run.step();
                match runtime.resize(run.dice.usize(1..=8)) {
                    Ok(()) => {}
                    Err(error @ ResizeError::BeyondPlaces { .. }) => panic!("{error}"),
                    Err(other) => panic!("{other}"),
                }
                for _ in 0..run.dice.u32(..20) {
                    pause(run.dice.pause());
                    thread::yield_now();
                }
            }
            over.store(true, Ordering::Relaxed);
            submitters.map(|one| one.join().unwrap()).into_iter().sum()
        });
        run.step();
        let policy = [Policy::Drain, Policy::Abandon][(round % 2) as usize];
        let report = runtime.shutdown(policy, None).unwrap();
        let metrics = runtime.metrics().total;
        assert_eq!(
            metrics.spawned,
            metrics.ran + metrics.dropped,
            "{metrics:?}"
        );
        assert_eq!((report.ran, report.dropped), (metrics.ran, metrics.dropped));
        // Forks and a loop's helpers are spawned as well.
        assert!(accepted + inner.load(Ordering::Relaxed) <= metrics.spawned);
        if policy == Policy::Drain {
            assert_eq!(report.dropped, 0, "{report}");
        }
        assert_eq!((metrics.workers, metrics.blocked), (0, 0));
        let [starts, stops] = [0, 1].map(|hook| hooks[hook].load(Ordering::Relaxed));
        assert_eq!((starts, stops), (2 + metrics.grown, 2 + metrics.grown));
    }
}
