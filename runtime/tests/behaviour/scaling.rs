//! Scaling: tags that grow when all are busy, shrink when told or when idle, and lose nothing by either.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, OnceLock};
use std::thread;
use std::time::Duration;

use parkade::{Backend, BuildError, Policy, ResizeError, RuntimeOn, Tag, TagMetrics};

use crate::common::{eventually, hold, module_of};

on_each_backend!(
    there_and_back_while_submitting,
    a_shrink_holds_from_its_return_on,
    those_that_stay_wake_up,
    the_last_word_holds,
    sequential_work_grows_nothing,
    blocking_tasks_get_their_width,
    tasks_of_one_worker_get_theirs,
    each_task_that_finds_all_busy_gets_its_worker,
    what_woken_workers_leave_gets_its_worker,
    idle_workers_retire_and_then_nothing_ticks,
    a_tag_is_resized_from_anywhere,
    what_cannot_be_is_an_error,
    what_a_stop_finds_half_grown_ends,
);

/// A runtime with one tag, between these bounds.
fn between<B: Backend>(min: usize, max: usize) -> RuntimeOn<B> {
    let tag = Tag::new("only").workers(min).max_workers(max);
    RuntimeOn::builder().tag(tag).build().unwrap()
}

fn total<B: Backend>(runtime: &RuntimeOn<B>) -> TagMetrics {
    runtime.metrics().total
}

fn eventually_has<B: Backend>(runtime: &RuntimeOn<B>, workers: usize) {
    eventually(&format!("there are {workers} workers"), || {
        total(runtime).workers == workers
    });
}

/// So many tasks that wait for each other, on as many workers.
fn meet<B: Backend>(runtime: &RuntimeOn<B>, workers: usize) {
    drop(hold(runtime.default_tag(), workers));
}

/// G1.
fn there_and_back_while_submitting<B: Backend>() {
    let hooks = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
    let (starts, stops) = (Arc::clone(&hooks), Arc::clone(&hooks));
    let runtime = RuntimeOn::<B>::builder()
        .tag(Tag::new("a").workers(2).max_workers(32))
        .tag(Tag::new("b").workers(2).max_workers(32))
        .on_start(move |_| _ = starts[0].fetch_add(1, Ordering::Relaxed))
        .on_stop(move |_| _ = stops[1].fetch_add(1, Ordering::Relaxed))
        .build()
        .unwrap();
    let over = AtomicBool::new(false);
    let ran = Arc::new(AtomicUsize::new(0));
    let accepted = thread::scope(|scope| {
        let submitters = ["a", "b"].map(|name| {
            let (runtime, over, ran) = (&runtime, &over, &ran);
            scope.spawn(move || {
                let tag = runtime.tag(name).unwrap();
                let mut accepted = 0;
                while !over.load(Ordering::Relaxed) {
                    let ran = Arc::clone(ran);
                    let task = move || _ = ran.fetch_add(1, Ordering::Relaxed);
                    tag.spawn_detached(task).unwrap();
                    accepted += 1;
                    if accepted % 64 == 0 {
                        thread::yield_now();
                    }
                }
                accepted
            })
        });
        for workers in [32, 2] {
            for name in ["a", "b"] {
                runtime.tag(name).unwrap().resize(workers).unwrap();
            }
            eventually_has(&runtime, 2 * workers);
        }
        over.store(true, Ordering::Relaxed);
        submitters.map(|submitter| submitter.join().unwrap())
    });
    eventually("all others have ended", || total(&runtime).retired == 60);
    let report = runtime.shutdown(Policy::Drain, None).unwrap();
    let accepted: usize = accepted.iter().sum();
    assert_eq!(ran.load(Ordering::Relaxed), accepted);
    assert_eq!((report.ran, report.dropped), (accepted, 0));
    let hooks = [0, 1].map(|hook| hooks[hook].load(Ordering::Relaxed));
    let grown = total(&runtime).grown;
    assert_eq!(hooks, [4 + grown; 2], "starts and stops");
}

/// G2.
fn a_shrink_holds_from_its_return_on<B: Backend>() {
    const BACKLOG: usize = 100_000;
    let runtime = between::<B>(8, 8);
    let shrunk = Arc::new(AtomicBool::new(false));
    let begun = Arc::new(Mutex::new(HashMap::new()));
    let after = Arc::new(AtomicUsize::new(0));
    let mut batch = runtime.batch();
    for _ in 0..BACKLOG {
        let (shrunk, begun, after) = (Arc::clone(&shrunk), Arc::clone(&begun), Arc::clone(&after));
        batch.spawn_detached(move || {
            if shrunk.load(Ordering::SeqCst) {
                let me = thread::current().id();
                *begun.lock().unwrap().entry(me).or_insert(0) += 1;
                after.fetch_add(1, Ordering::Relaxed);
            }
            thread::sleep(Duration::from_millis(1));
        });
    }
    batch.submit().unwrap();
    eventually("all are busy", || total(&runtime).busy == 8);
    runtime.resize(2).unwrap();
    shrunk.store(true, Ordering::SeqCst);
    eventually("tasks run on", || after.load(Ordering::Relaxed) >= 200);
    let begun = begun.lock().unwrap().clone();
    // What a worker had taken before, it may begin after.
    let others = begun.values().filter(|tasks| **tasks > 1).count();
    assert!(others <= 2, "{begun:?}");
    eventually_has(&runtime, 2);
    let report = runtime.shutdown(Policy::Abandon, None).unwrap();
    assert_eq!(report.ran + report.dropped, BACKLOG);
}

/// G3.
fn those_that_stay_wake_up<B: Backend>() {
    let runtime = between::<B>(8, 8);
    for _ in 0..20 {
        eventually("all sleep", || total(&runtime).idle == 8);
        runtime.resize(1).unwrap();
        assert_eq!(runtime.spawn(|| 1).join().unwrap(), 1);
        eventually_has(&runtime, 1);
        assert_eq!(runtime.spawn(|| 2).join().unwrap(), 2);
        runtime.resize(8).unwrap();
        eventually_has(&runtime, 8);
    }
    // A worker is there before whoever has started it has counted it.
    eventually("all are counted", || total(&runtime).grown == 20 * 7);
    assert_eq!(total(&runtime).wanted, 8);
}

/// G4.
fn the_last_word_holds<B: Backend>() {
    let runtime = between::<B>(9, 20);
    runtime.resize(20).unwrap();
    runtime.resize(20).unwrap();
    meet(&runtime, 20);
    let metrics = total(&runtime);
    assert_eq!((metrics.workers, metrics.grown), (20, 11));
    for workers in [3, 20, 1, 12] {
        runtime.resize(workers).unwrap();
    }
    eventually_has(&runtime, 12);
    // Also of those that hold on to a task.
    let held = hold(runtime.default_tag(), 12);
    runtime.resize(2).unwrap();
    runtime.resize(12).unwrap();
    held.release();
    meet(&runtime, 12);
    eventually("the others have ended", || {
        let metrics = total(&runtime);
        metrics.workers == 12 && 9 + metrics.grown - metrics.retired == 12
    });
}

/// G5.
fn sequential_work_grows_nothing<B: Backend>() {
    let tasks = if module_of::<B>().starts_with("faulty") {
        5_000
    } else {
        200_000
    };
    for min in [1, 4] {
        let runtime = between::<B>(min, 16);
        for n in 0..tasks {
            assert_eq!(runtime.spawn(move || n).join().unwrap(), n);
        }
        let metrics = total(&runtime);
        assert_eq!((metrics.workers, metrics.grown), (min, 0));
    }
}

/// G6: one after the other, and as a batch.
fn blocking_tasks_get_their_width<B: Backend>() {
    for as_batch in [false, true] {
        let runtime = between::<B>(4, 64);
        let barrier = Arc::new(Barrier::new(64));
        let task = || {
            let barrier = Arc::clone(&barrier);
            move || _ = barrier.wait()
        };
        if as_batch {
            let mut batch = runtime.batch();
            (0..64).for_each(|_| batch.spawn_detached(task()));
            batch.submit().unwrap();
        } else {
            (0..64).for_each(|_| runtime.spawn_detached(task()).unwrap());
        }
        eventually("all have met", || total(&runtime).ran == 64);
        // More than there may be: never above.
        let held = hold(runtime.default_tag(), 64);
        (0..64).for_each(|_| runtime.spawn_detached(|| ()).unwrap());
        let metrics = total(&runtime);
        assert_eq!((metrics.workers, metrics.grown), (64, 60));
        held.release();
        let report = runtime.shutdown(Policy::Drain, None).unwrap();
        assert_eq!((report.ran, report.dropped), (192, 0));
        assert_eq!(total(&runtime).grown, 60);
    }
}

/// G6: those that a worker spawns into its own queue, and forks.
fn tasks_of_one_worker_get_theirs<B: Backend>() {
    let runtime = Arc::new(between::<B>(1, 8));
    let here = Arc::clone(&runtime);
    let spawned = runtime.spawn(move || {
        let barrier = Arc::new(Barrier::new(8));
        for _ in 0..7 {
            let barrier = Arc::clone(&barrier);
            here.spawn_detached(move || _ = barrier.wait()).unwrap();
        }
        barrier.wait();
    });
    spawned.join().unwrap();
    eventually("all have ended", || total(&runtime).ran == 8);
    assert_eq!(total(&runtime).grown, 7);

    let runtime = between::<B>(1, 2);
    let both = Barrier::new(2);
    runtime.join(|| _ = both.wait(), || _ = both.wait());
    let forks = runtime.spawn(|| {
        let both = Barrier::new(2);
        parkade::join(|| _ = both.wait(), || _ = both.wait());
    });
    forks.join().unwrap();
}

/// One after the other, when whoever starts workers has come to rest.
fn each_task_that_finds_all_busy_gets_its_worker<B: Backend>() {
    let runtime = between::<B>(1, 6);
    let mut held = Vec::new();
    for workers in 1..=6 {
        thread::sleep(Duration::from_millis(5));
        held.push(hold(runtime.default_tag(), 1));
        assert_eq!(total(&runtime).workers, workers);
    }
}

/// A look that comes while workers are on their way sees them, and not that each will take just one task.
fn what_woken_workers_leave_gets_its_worker<B: Backend>() {
    let tag = Tag::new("only").workers(2).max_workers(3);
    let slow = |_: &parkade::WorkerInfo| thread::sleep(Duration::from_millis(20));
    let builder = RuntimeOn::<B>::builder().tag(tag).on_unpark(slow);
    let runtime = builder.build().unwrap();
    eventually("both sleep", || total(&runtime).idle == 2);
    let barrier = Arc::new(Barrier::new(3));
    let mut batch = runtime.batch();
    for _ in 0..3 {
        let barrier = Arc::clone(&barrier);
        batch.spawn_detached(move || _ = barrier.wait());
    }
    batch.submit().unwrap();
    eventually("all have met", || total(&runtime).ran == 3);
}

/// G9.
fn idle_workers_retire_and_then_nothing_ticks<B: Backend>() {
    const KEEP_ALIVE: Duration = Duration::from_millis(20);
    let prefix = format!("g9{}-", module_of::<B>().len());
    let runtime = RuntimeOn::<B>::builder()
        .tag(
            Tag::new("a")
                .workers(2)
                .max_workers(16)
                .keep_alive(KEEP_ALIVE),
        )
        .thread_name(&prefix)
        .build()
        .unwrap();
    for round in 1..=3 {
        meet(&runtime, 16);
        eventually_has(&runtime, 2);
        eventually("they have ended", || {
            let metrics = total(&runtime);
            metrics.retired == metrics.grown
        });
        assert!(total(&runtime).grown >= round * 14);
        assert_eq!(runtime.spawn(|| 1).join().unwrap(), 1);
    }
    #[cfg(target_os = "linux")]
    {
        assert_eq!(
            crate::common::threads_called(&format!("{prefix}a")).len(),
            2
        );
        let scaler = format!("{prefix}scaler");
        let before = switches(&scaler);
        // Ten of its periods, if it had any.
        thread::sleep(10 * KEEP_ALIVE);
        assert_eq!(switches(&scaler), before);
    }
}

/// How often a thread has gone to sleep.
#[cfg(target_os = "linux")]
fn switches(name: &str) -> Vec<String> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let status = tasks.filter_map(|task| {
        let path = task.ok()?.path();
        let comm = std::fs::read_to_string(path.join("comm")).ok()?;
        let status = std::fs::read_to_string(path.join("status")).ok()?;
        (comm.trim_end() == name).then_some(status)
    });
    let switches: Vec<_> = status
        .flat_map(|status| {
            let mut lines = status.lines().map(str::to_owned);
            lines.find(|line| line.starts_with("voluntary_ctxt_switches"))
        })
        .collect();
    assert_eq!(switches.len(), 1, "there is one thread called {name:?}");
    switches
}

/// G10: in a task, in each hook, in an alarm; also to let oneself go.
fn a_tag_is_resized_from_anywhere<B: Backend>() {
    let runtime = Arc::new(OnceLock::<RuntimeOn<B>>::new());
    let resized = Arc::new(AtomicUsize::new(0));
    let hook = || {
        let (runtime, resized) = (Arc::clone(&runtime), Arc::clone(&resized));
        move |_: &parkade::WorkerInfo| {
            if let Some(runtime) = runtime.get() {
                match runtime.resize(1 + resized.load(Ordering::Relaxed) % 4) {
                    Ok(()) | Err(ResizeError::Stopping) => {}
                    Err(other) => panic!("{other}"),
                }
                resized.fetch_add(1, Ordering::Relaxed);
            }
        }
    };
    let built = RuntimeOn::builder()
        .tag(Tag::new("only").workers(2).max_workers(4))
        .on_start(hook())
        .on_stop(hook())
        .on_park(hook())
        .on_unpark(hook())
        .build()
        .unwrap();
    assert!(runtime.set(built).is_ok());
    let built = runtime.get().unwrap();
    for workers in (1..=4).cycle().take(40) {
        let here = Arc::clone(&runtime);
        let task = built.spawn(move || here.get().unwrap().resize(workers));
        task.join().unwrap().unwrap();
        let here = Arc::clone(&runtime);
        let alarm = built.alarm(Duration::ZERO, move || here.get().unwrap().resize(workers));
        alarm.unwrap().join().unwrap().unwrap();
    }
    assert!(resized.load(Ordering::Relaxed) > 0);
    let report = built.shutdown(Policy::Drain, None).unwrap();
    assert_eq!((report.ran, report.dropped), (40, 0));
    assert_eq!(total(built).panicked, 0);
    assert_eq!(built.resize(2), Err(ResizeError::Stopping));
}

fn what_cannot_be_is_an_error<B: Backend>() {
    let build = |tag| RuntimeOn::<B>::builder().tag(tag).max_workers(4).build();
    let error = build(Tag::new("a").workers(3).max_workers(2)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "tag \"a\" has 3 workers at least and 2 at most"
    );
    let error = build(Tag::new("a").workers(5)).unwrap_err();
    assert!(
        matches!(error, BuildError::BelowMinimums { ceiling: 4, sum: 5 }),
        "{error}"
    );
    let error = build(Tag::new("a").keep_alive(Duration::from_micros(1))).unwrap_err();
    assert!(matches!(error, BuildError::KeepAlive { .. }), "{error}");
    let error = build(Tag::new("a").workers(1).max_blocked(usize::MAX)).unwrap_err();
    assert!(
        matches!(error, BuildError::TooManyWorkers { .. }),
        "{error}"
    );

    let runtime = build(Tag::new("a").workers(1).max_workers(2).max_blocked(1)).unwrap();
    let tag = "a".to_owned();
    assert_eq!(
        runtime.resize(0),
        Err(ResizeError::Zero { tag: tag.clone() })
    );
    assert_eq!(
        runtime.resize(4),
        Err(ResizeError::BeyondPlaces {
            tag,
            workers: 4,
            places: 3
        })
    );
    assert_eq!(total(&runtime).wanted, 1);
    runtime.resize(3).unwrap();
    meet(&runtime, 3);
}

/// A stop comes while workers are started: each task runs, each thread ends.
fn what_a_stop_finds_half_grown_ends<B: Backend>() {
    for _ in 0..20 {
        let runtime = between::<B>(1, 16);
        for _ in 0..32 {
            runtime
                .spawn_detached(|| thread::sleep(Duration::from_micros(200)))
                .unwrap();
        }
        let report = runtime.shutdown(Policy::Drain, None).unwrap();
        assert_eq!((report.ran, report.dropped), (32, 0));
        assert!(report.is_complete(), "{report}");
        assert_eq!(total(&runtime).workers, 0);
    }
}
