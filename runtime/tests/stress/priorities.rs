//! High priority from many threads at once, beside run queues that hold next to nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::thread;

use crate::rounds::{self, Run};
use parkade::{Backend, Priority, RuntimeOn, Tag};

on_each_backend!(each_high_task_runs_once);

/// Q3.
fn each_high_task_runs_once<B: Backend>() {
    const THREADS: usize = 8;
    const EACH: usize = if cfg!(miri) { 10 } else { 1000 };
    let run = Run::new("Q3", 12, 1);
    let tag = Tag::new("only").workers(2).run_queue(8);
    let runtime = run.watch(RuntimeOn::<B>::builder().tag(tag).build().unwrap());
    for _ in run.rounds() {
        run.step();
        let ran: Arc<Vec<AtomicU8>> =
            Arc::new((0..THREADS * EACH).map(|_| AtomicU8::new(0)).collect());
        let all = Arc::new(AtomicUsize::new(0));
        thread::scope(|threads| {
            for thread in 0..THREADS {
                let (runtime, ran, all) = (&runtime, &ran, &all);
                threads.spawn(move || {
                    let high = runtime.default_tag().with_priority(Priority::High);
                    for task in 0..EACH {
                        let (ran, all) = (Arc::clone(ran), Arc::clone(all));
                        let mark = move || {
                            ran[thread * EACH + task].fetch_add(1, Ordering::Relaxed);
                            all.fetch_add(1, Ordering::Relaxed);
                        };
                        high.spawn_detached(mark).unwrap();
                    }
                });
            }
        });
        rounds::until(|| all.load(Ordering::Relaxed) >= THREADS * EACH);
        assert!(ran.iter().all(|ran| ran.load(Ordering::Relaxed) == 1));
    }
    let metrics = runtime.metrics().total;
    let tasks = THREADS * EACH * usize::try_from(run.rounds().end).unwrap();
    assert_eq!(metrics.spawned, tasks);
}
