//! Spawning: where tasks go, in which order, and how refused ones come back.

use std::sync::{Arc, Mutex, mpsc};
use std::thread;

use crate::common::{hold, runtime};
use parkade::{Backend, JoinError, Policy, Priority, RefusedReason, RuntimeOn, Tag};

on_each_backend!(
    a_full_queue_gives_the_task_back,
    a_worker_whose_queues_are_full_gets_its_task_back,
    nothing_is_accepted_after_the_stop,
    a_tag_keeps_its_tasks,
    an_unknown_tag_is_named,
    high_priority_goes_first,
    many_threads_spawn_each_task_once,
);

/// Q2: submit while holding a lock that the queued tasks need, until the queue is full.
fn a_full_queue_gives_the_task_back<B: Backend>() {
    let runtime: RuntimeOn<B> = RuntimeOn::builder()
        .tag(Tag::new("small").workers(1).inbox_limit(4))
        .build()
        .unwrap();
    let needed = Arc::new(Mutex::new(0_usize));
    let held = hold(runtime.default_tag(), 1);
    let locked = needed.lock().unwrap();
    let mut handles = Vec::new();
    let refused = loop {
        let needed = Arc::clone(&needed);
        match runtime.try_spawn(move || *needed.lock().unwrap() += 1) {
            Ok(handle) => handles.push(handle),
            Err(refused) => break refused,
        }
    };
    assert_eq!(handles.len(), 4, "as many as the inbox takes");
    assert_eq!(refused.reason, RefusedReason::Full);
    assert_eq!(
        refused.to_string(),
        "the task was refused: its queue is full"
    );
    let handle = runtime.spawn(|| unreachable!("refused at once"));
    assert!(handle.is_finished());
    assert!(matches!(
        handle.join(),
        Err(JoinError::Refused(RefusedReason::Full))
    ));
    let refused_detached = runtime.spawn_detached(|| ()).unwrap_err();
    assert_eq!(refused_detached.reason, RefusedReason::Full);

    drop(locked);
    (refused.task)();
    held.release();
    for handle in handles {
        handle.join().unwrap();
    }
    assert_eq!(*needed.lock().unwrap(), 5);
    let metrics = runtime.metrics().total;
    assert_eq!(
        (metrics.spawned, metrics.ran),
        (5, 5),
        "the holder and four"
    );
}

/// Q2, from inside: run queue and inbox are full, and the only worker is the one that spawns.
fn a_worker_whose_queues_are_full_gets_its_task_back<B: Backend>() {
    let runtime: Arc<RuntimeOn<B>> = Arc::new(
        RuntimeOn::builder()
            .tag(Tag::new("small").workers(1).inbox_limit(4).run_queue(8))
            .build()
            .unwrap(),
    );
    let inside = Arc::clone(&runtime);
    let accepted = runtime.spawn(move || {
        let (ran, runs) = mpsc::channel();
        let mut accepted = 0;
        let refused = loop {
            let ran = ran.clone();
            match inside.spawn_detached(move || ran.send(()).unwrap()) {
                Ok(()) => accepted += 1,
                Err(refused) => break refused,
            }
        };
        assert_eq!(refused.reason, RefusedReason::Full);
        (accepted, refused.task, runs)
    });
    let (accepted, task, runs) = accepted.join().unwrap();
    assert!(
        (8..=12).contains(&accepted),
        "run queue 8 and inbox 4, not {accepted}"
    );
    task();
    assert_eq!(runs.iter().take(accepted + 1).count(), accepted + 1);
}

fn nothing_is_accepted_after_the_stop<B: Backend>() {
    let runtime: Arc<RuntimeOn<B>> = Arc::new(runtime(1));
    let inside = Arc::clone(&runtime);
    let (go, gone) = mpsc::channel::<()>();
    let (begun, begins) = mpsc::channel::<()>();
    let last = runtime.spawn(move || {
        begun.send(()).unwrap();
        gone.recv().unwrap();
        // The stop has begun, this task still runs: a spawn is refused here as well.
        let reason = loop {
            match inside.try_spawn(|| ()) {
                Ok(_) => thread::yield_now(),
                Err(refused) => break refused.reason,
            }
        };
        assert_eq!(inside.spawn_detached(|| ()).unwrap_err().reason, reason);
        drop(inside);
        reason
    });
    begins.recv().unwrap();
    let stopper = thread::spawn({
        let runtime = Arc::clone(&runtime);
        move || runtime.shutdown(Policy::Drain, None).unwrap()
    });
    go.send(()).unwrap();
    stopper.join().unwrap();
    assert_eq!(last.join().unwrap(), RefusedReason::Stopped);

    let refused = runtime.try_spawn(|| 3).unwrap_err();
    assert_eq!(refused.reason, RefusedReason::Stopped);
    assert_eq!(
        refused.to_string(),
        "the task was refused: the runtime or the tag has been stopped"
    );
    assert_eq!((refused.task)(), 3);
    let high = runtime.default_tag().with_priority(Priority::High);
    assert_eq!(
        high.spawn_detached(|| ()).unwrap_err().reason,
        RefusedReason::Stopped
    );
    let handle = runtime.spawn(|| ());
    assert!(matches!(
        handle.join(),
        Err(JoinError::Refused(RefusedReason::Stopped))
    ));
    let mut batch = runtime.batch();
    let handle = batch.spawn(|| ());
    let refused = batch.submit().unwrap_err();
    assert_eq!((refused.accepted, refused.rest.len()), (0, 1));
    assert_eq!(refused.reason, RefusedReason::Stopped);
    drop(refused);
    assert!(matches!(
        handle.join(),
        Err(JoinError::Refused(RefusedReason::Stopped))
    ));
}

fn a_tag_keeps_its_tasks<B: Backend>() {
    let runtime: RuntimeOn<B> = RuntimeOn::builder()
        .tag(Tag::new("a").workers(1))
        .tag(Tag::new("b").workers(2))
        .build()
        .unwrap();
    for name in ["a", "b"] {
        let tag = runtime.tag(name).unwrap();
        assert_eq!(tag.name(), name);
        let handles: Vec<_> = (0..100)
            .map(|_| tag.spawn(|| thread::current().name().map(str::to_owned)))
            .collect();
        for handle in handles {
            let thread = handle.join().unwrap().unwrap();
            assert!(thread.starts_with(&format!("pk-{name}-")), "{thread}");
        }
    }
    let metrics = runtime.metrics();
    assert_eq!(metrics.tag("a").unwrap().ran, 100);
    assert_eq!(metrics.tag("b").unwrap().ran, 100);
    assert_eq!(metrics.total.ran, 200);
    assert_eq!(metrics.tag("c"), None);
}

fn an_unknown_tag_is_named<B: Backend>() {
    let runtime = runtime::<B>(1);
    let unknown = runtime.tag("elsewhere").unwrap_err();
    assert_eq!(unknown.name, "elsewhere");
    assert_eq!(
        unknown.to_string(),
        "there is no tag called \"elsewhere\"; there are [\"only\"]"
    );
}

fn high_priority_goes_first<B: Backend>() {
    let runtime = runtime::<B>(1);
    let held = hold(runtime.default_tag(), 1);
    let order = Arc::new(Mutex::new(Vec::new()));
    let note = |what: &'static str| {
        let order = Arc::clone(&order);
        move || order.lock().unwrap().push(what)
    };
    let high = runtime.default_tag().with_priority(Priority::High);
    let first = [runtime.spawn(note("normal")), runtime.spawn(note("normal"))];
    let then = [high.spawn(note("high")), high.spawn(note("high"))];
    held.release();
    for handle in first.into_iter().chain(then) {
        handle.join().unwrap();
    }
    assert_eq!(*order.lock().unwrap(), ["high", "high", "normal", "normal"]);
}

fn many_threads_spawn_each_task_once<B: Backend>() {
    const THREADS: usize = 4;
    const TASKS: usize = 5_000;
    let runtime: RuntimeOn<B> = RuntimeOn::builder()
        .tag(Tag::new("small").workers(2).run_queue(16))
        .build()
        .unwrap();
    let counts: Arc<Vec<_>> = Arc::new(
        (0..THREADS * TASKS)
            .map(|_| std::sync::atomic::AtomicUsize::new(0))
            .collect(),
    );
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (runtime, counts) = (&runtime, &counts);
            scope.spawn(move || {
                let high = runtime.default_tag().with_priority(Priority::High);
                for task in 0..TASKS {
                    let counts = Arc::clone(counts);
                    let task = thread * TASKS + task;
                    let count = move || {
                        counts[task].fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    };
                    if task.is_multiple_of(3) {
                        high.spawn_detached(count).unwrap();
                    } else {
                        runtime.spawn_detached(count).unwrap();
                    }
                }
            });
        }
    });
    let report = runtime.shutdown(Policy::Drain, None).unwrap();
    assert_eq!((report.ran, report.dropped), (THREADS * TASKS, 0));
    for (task, count) in counts.iter().enumerate() {
        assert_eq!(
            count.load(std::sync::atomic::Ordering::Relaxed),
            1,
            "task {task}"
        );
    }
}
