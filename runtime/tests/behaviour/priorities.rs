//! Priorities under load: high goes first, normal is not starved, and none is lost.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;

use crate::common::hold;
use parkade::{Backend, Priority, RuntimeOn, Tag};

on_each_backend!(
    normal_tasks_age_past_a_stream_of_high_ones,
    a_high_task_goes_before_every_worker_s_own_flood,
);

/// Q9.
fn normal_tasks_age_past_a_stream_of_high_ones<B: Backend>() {
    const AGEING: u32 = 8;
    const NORMAL: usize = 100;
    struct Stream {
        ends: AtomicBool,
        /// High tasks since a normal one has run.
        since: AtomicUsize,
        longest: AtomicUsize,
    }
    fn flow<B: Backend>(runtime: &Arc<RuntimeOn<B>>, stream: &Arc<Stream>) {
        stream.since.fetch_add(1, Ordering::Relaxed);
        if !stream.ends.load(Ordering::Relaxed) {
            let (again, next) = (Arc::clone(runtime), Arc::clone(stream));
            let high = runtime.default_tag().with_priority(Priority::High);
            high.spawn_detached(move || flow(&again, &next)).unwrap();
        }
    }
    let tag = Tag::new("only").workers(1).ageing(AGEING);
    let runtime: Arc<RuntimeOn<B>> = Arc::new(RuntimeOn::builder().tag(tag).build().unwrap());
    let stream = Arc::new(Stream {
        ends: AtomicBool::new(false),
        since: AtomicUsize::new(0),
        longest: AtomicUsize::new(0),
    });
    let held = hold(runtime.default_tag(), 1);
    let normal: Vec<_> = (0..NORMAL)
        .map(|_| {
            let stream = Arc::clone(&stream);
            runtime.spawn(move || {
                let waited = stream.since.swap(0, Ordering::Relaxed);
                stream.longest.fetch_max(waited, Ordering::Relaxed);
            })
        })
        .collect();
    for _ in 0..4 {
        flow(&runtime, &stream);
    }
    stream.since.store(0, Ordering::Relaxed);
    held.release();
    for task in normal {
        task.join().unwrap();
    }
    stream.ends.store(true, Ordering::Relaxed);
    let longest = stream.longest.load(Ordering::Relaxed);
    assert!(longest > 0, "the stream never came between");
    assert!(longest <= AGEING as usize, "{longest} high tasks in a row");
}

/// Q10. The ageing bound is out of reach, so that no pick of a worker passes the task over. Every task of the flood
/// waits at a gate until it is its turn, so that no worker picks anything between the submission and the release.
fn a_high_task_goes_before_every_worker_s_own_flood<B: Backend>() {
    const WORKERS: usize = 3;
    struct Flood {
        ends: AtomicBool,
        begun: AtomicUsize,
        /// Where each task of the flood hands in the key of its gate.
        inside: mpsc::Sender<mpsc::Sender<()>>,
    }
    fn pour<B: Backend>(runtime: &Arc<RuntimeOn<B>>, flood: &Arc<Flood>) {
        let (again, next) = (Arc::clone(runtime), Arc::clone(flood));
        let task = move || {
            next.begun.fetch_add(1, Ordering::Relaxed);
            if !next.ends.load(Ordering::Relaxed) {
                pour(&again, &next);
            }
            let (key, gate) = mpsc::channel();
            // At the end nobody takes keys any more: each gate is open.
            let _ = next.inside.send(key);
            let _ = gate.recv();
        };
        runtime.spawn_detached(task).unwrap();
    }
    let tag = Tag::new("only").workers(WORKERS).ageing(u32::MAX);
    let runtime: Arc<RuntimeOn<B>> = Arc::new(RuntimeOn::builder().tag(tag).build().unwrap());
    let (inside, keys) = mpsc::channel();
    let flood = Arc::new(Flood {
        ends: AtomicBool::new(false),
        begun: AtomicUsize::new(0),
        inside,
    });
    for _ in 0..4 * WORKERS {
        pour(&runtime, &flood);
    }
    let high = runtime.default_tag().with_priority(Priority::High);
    // The worker that has been inside for longest comes out next, so each has its turn.
    let mut held: VecDeque<_> = keys.iter().take(WORKERS).collect();
    for _ in 0..100 {
        let submitted_at = flood.begun.load(Ordering::Relaxed);
        let (begun, begins) = mpsc::channel();
        let counted = Arc::clone(&flood);
        high.spawn_detached(move || begun.send(counted.begun.load(Ordering::Relaxed)).unwrap())
            .unwrap();
        held.pop_front().unwrap().send(()).unwrap();
        let before = begins.recv().unwrap() - submitted_at;
        assert_eq!(before, 0, "tasks of the flood went first");
        held.push_back(keys.recv().unwrap());
    }
    flood.ends.store(true, Ordering::Relaxed);
}
