//! Metrics: sums that come out right at rest, and wake-ups that are counted one by one.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::{eventually, hold, runtime};
use parkade::{Backend, Policy, RuntimeOn, Tag};

on_each_backend!(
    a_resting_runtime_adds_up,
    nobody_is_woken_while_all_are_busy,
    a_task_is_stolen_from_a_busy_worker,
    the_table_has_a_row_per_tag;
    // It says that the counters stand still, and a spurious return is one more park.
    no_spurious_return: an_idle_runtime_does_nothing,
);

fn a_resting_runtime_adds_up<B: Backend>() {
    let runtime: Arc<RuntimeOn<B>> = Arc::new(
        RuntimeOn::builder()
            .tag(Tag::new("a").workers(2))
            .tag(Tag::new("b").workers(3))
            .build()
            .unwrap(),
    );
    let handles: Vec<_> = (0..1000)
        .map(|n| {
            let inside = Arc::clone(&runtime);
            let tag = runtime.tag(["a", "b"][n % 2]).unwrap();
            tag.spawn(move || inside.spawn(move || n).join().unwrap())
        })
        .collect();
    for (n, handle) in handles.into_iter().enumerate() {
        assert_eq!(handle.join().unwrap(), n);
    }
    eventually("everybody is idle", || {
        // A worker is idle a moment before it is counted as parked.
        let metrics = runtime.metrics();
        let all_parked = metrics.tags.iter().all(|tag| tag.parked >= tag.workers);
        all_parked && (metrics.total.idle, metrics.total.searching) == (5, 0)
    });
    let metrics = runtime.metrics();
    for (tag, spawned, workers) in [("a", 1500, 2), ("b", 500, 3)] {
        let row = metrics.tag(tag).unwrap();
        assert_eq!((row.spawned, row.ran), (spawned, spawned), "{metrics}");
        assert_eq!(
            (row.workers, row.idle, row.searching),
            (workers, workers, 0)
        );
        assert_eq!((row.panicked, row.dropped), (0, 0));
        assert_eq!((row.misplaced, row.missing), (0, 0));
        assert_eq!(row.wake_calls, row.wakes_asked, "{metrics}");
        assert!(row.parked >= workers, "{metrics}");
    }
    assert_eq!(metrics.total.spawned, 2000);
    assert_eq!(metrics.total.name, "total");
}

/// I8.
fn nobody_is_woken_while_all_are_busy<B: Backend>() {
    const TASKS: usize = 100_000;
    let runtime = runtime::<B>(2);
    let held = hold(runtime.default_tag(), 2);
    let before = runtime.metrics().total;
    assert_eq!((before.idle, before.searching), (0, 0));
    let ran = Arc::new(AtomicUsize::new(0));
    for _ in 0..TASKS {
        let ran = Arc::clone(&ran);
        runtime
            .spawn_detached(move || {
                ran.fetch_add(1, Ordering::Relaxed);
            })
            .unwrap();
    }
    let after = runtime.metrics().total;
    assert_eq!(after.wake_calls, before.wake_calls);
    assert_eq!(after.skipped_wakes - before.skipped_wakes, TASKS);
    held.release();
    runtime.shutdown(Policy::Drain, None).unwrap();
    assert_eq!(ran.load(Ordering::Relaxed), TASKS);
}

/// I2, in counters: nobody parks again without a reason.
fn an_idle_runtime_does_nothing<B: Backend>() {
    let runtime = runtime::<B>(4);
    let handle = runtime.spawn(|| ());
    // Idle comes a moment before the park that is counted.
    eventually("everybody is idle and nothing changes", || {
        let before = runtime.metrics();
        std::thread::sleep(std::time::Duration::from_millis(20));
        let is_idle = handle.is_finished() && before.total.idle == 4;
        is_idle && runtime.metrics() == before
    });
    let before = runtime.metrics();
    std::thread::sleep(std::time::Duration::from_millis(200));
    assert_eq!(runtime.metrics(), before);
}

/// Q13.
fn a_task_is_stolen_from_a_busy_worker<B: Backend>() {
    let runtime = Arc::new(runtime::<B>(2));
    let inside = Arc::clone(&runtime);
    // The owner waits for a task that lies in its own run queue, without running it.
    let parent = runtime.spawn(move || {
        let (ran, runs) = std::sync::mpsc::channel();
        inside
            .spawn_detached(move || ran.send(()).unwrap())
            .unwrap();
        runs.recv().unwrap();
    });
    parent.join().unwrap();
    assert!(runtime.metrics().total.stolen >= 1);
}

fn the_table_has_a_row_per_tag<B: Backend>() {
    let runtime: RuntimeOn<B> = RuntimeOn::builder()
        .tag(Tag::new("requests").workers(1))
        .tag(Tag::new("io").workers(1))
        .build()
        .unwrap();
    runtime.spawn(|| ()).join().unwrap();
    let table = runtime.metrics().to_string();
    let rows: Vec<Vec<&str>> = table
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(rows.len(), 4, "{table}");
    assert_eq!(rows[0][..3], ["tag", "spawned", "ran"]);
    assert_eq!(rows[1][..3], ["requests", "1", "1"]);
    assert_eq!(rows[2][..3], ["io", "0", "0"]);
    assert_eq!(rows[3][..3], ["total", "1", "1"]);
    let width = table.lines().next().unwrap().len();
    assert!(table.lines().all(|line| line.len() == width), "{table}");
}
