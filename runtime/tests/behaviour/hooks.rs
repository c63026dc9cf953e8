//! Hooks: who is told, how often, and what a hook may do.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak, mpsc};
use std::thread;

use crate::common::{eventually, expect_panics, hold};
use parkade::{Backend, Policy, RuntimeOn, Tag};

on_each_backend!(
    every_worker_starts_and_stops_once,
    park_and_unpark_alternate,
    a_task_of_the_park_hook_runs,
    a_start_hook_may_spawn,
    workers_survive_their_hooks,
);

fn every_worker_starts_and_stops_once<B: Backend>() {
    let events = Arc::new(Mutex::new(Vec::new()));
    let note = |event: &'static str| {
        let events = Arc::clone(&events);
        move |worker: &parkade::WorkerInfo| {
            let thread = thread::current().name().unwrap().to_owned();
            assert_eq!(worker.thread_name(), thread);
            assert_eq!(worker.cpu(), None);
            let event = (event, worker.tag().to_owned(), worker.index());
            events.lock().unwrap().push(event);
        }
    };
    let runtime: RuntimeOn<B> = RuntimeOn::builder()
        .tag(Tag::new("a").workers(2))
        .tag(Tag::new("b").workers(1))
        .on_start(note("start"))
        .on_stop(note("stop"))
        .build()
        .unwrap();
    runtime.shutdown(Policy::Drain, None).unwrap();
    let mut events = events.lock().unwrap().clone();
    events.sort_unstable();
    let mut expected = Vec::new();
    for event in ["start", "stop"] {
        for (tag, index) in [("a", 0), ("a", 1), ("b", 0)] {
            expected.push((event, tag.to_owned(), index));
        }
    }
    assert_eq!(events, expected);
}

/// P4.
fn park_and_unpark_alternate<B: Backend>() {
    let asleep = Arc::new(Mutex::new(BTreeMap::new()));
    let (parking, unparking) = (Arc::clone(&asleep), Arc::clone(&asleep));
    let runtime: RuntimeOn<B> = RuntimeOn::builder()
        .tag(Tag::new("a").workers(2))
        .tag(Tag::new("b").workers(1))
        .on_park(move |worker| {
            let who = (worker.tag().to_owned(), worker.index());
            let before = parking.lock().unwrap().insert(who, true);
            assert_ne!(before, Some(true), "parks twice");
        })
        .on_unpark(move |worker| {
            let who = (worker.tag().to_owned(), worker.index());
            let before = unparking.lock().unwrap().insert(who, false);
            assert_eq!(before, Some(true), "unparks without having parked");
        })
        .build()
        .unwrap();
    for n in 0..100 {
        let tag = runtime.tag(["a", "b"][n % 2]).unwrap();
        assert_eq!(tag.spawn(move || n).join().unwrap(), n);
    }
    runtime.shutdown(Policy::Drain, None).unwrap();
    let asleep = asleep.lock().unwrap();
    assert!(
        asleep.values().all(|asleep| !asleep),
        "balanced: {asleep:?}"
    );
    assert!(asleep.contains_key(&("b".to_owned(), 0)));
    assert_eq!(
        runtime.metrics().total.panicked,
        0,
        "no assertion of a hook failed"
    );
}

/// P4. The worker has announced itself already, and must not sleep over its own task.
fn a_task_of_the_park_hook_runs<B: Backend>() {
    let slot: Arc<OnceLock<Weak<RuntimeOn<B>>>> = Arc::new(OnceLock::new());
    let inside = Arc::clone(&slot);
    let once = AtomicBool::new(false);
    let (ran, runs) = mpsc::channel();
    let runtime: RuntimeOn<B> = RuntimeOn::builder()
        .tag(Tag::new("only").workers(1))
        .on_park(move |_| {
            if let Some(runtime) = inside.get().and_then(Weak::upgrade)
                && !once.swap(true, Ordering::Relaxed)
            {
                let ran = ran.clone();
                runtime
                    .spawn_detached(move || ran.send(()).unwrap())
                    .unwrap();
            }
        })
        .build()
        .unwrap();
    let runtime = Arc::new(runtime);
    slot.set(Arc::downgrade(&runtime)).unwrap();
    // Wakes the worker, so that it parks once more.
    runtime.spawn(|| ()).join().unwrap();
    runs.recv().unwrap();
}

/// G12.
fn a_start_hook_may_spawn<B: Backend>() {
    let slot: Arc<OnceLock<Weak<RuntimeOn<B>>>> = Arc::new(OnceLock::new());
    let inside = Arc::clone(&slot);
    let (ran, runs) = mpsc::channel();
    let runtime: RuntimeOn<B> = RuntimeOn::builder()
        .tags((0..4).map(|tag| Tag::new(format!("t{tag}")).workers(1)))
        .on_start(move |worker| {
            eventually("the runtime is known", || inside.get().is_some());
            let runtime = inside.get().and_then(Weak::upgrade).unwrap();
            let ran = ran.clone();
            let tag = worker.tag().to_owned();
            let own = runtime.tag(worker.tag()).unwrap();
            own.spawn_detached(move || ran.send(tag).unwrap()).unwrap();
        })
        .build()
        .unwrap();
    let runtime = Arc::new(runtime);
    slot.set(Arc::downgrade(&runtime)).unwrap();
    let mut tags: Vec<String> = runs.iter().take(4).collect();
    tags.sort_unstable();
    assert_eq!(tags, ["t0", "t1", "t2", "t3"]);
}

/// P1, for hooks.
fn workers_survive_their_hooks<B: Backend>() {
    expect_panics();
    let runtime: RuntimeOn<B> = RuntimeOn::builder()
        .tag(Tag::new("only").workers(2))
        .on_start(|_| panic!("start"))
        .on_stop(|_| panic!("stop"))
        .on_park(|_| panic!("park"))
        .on_unpark(|_| panic!("unpark"))
        .build()
        .unwrap();
    let held = hold(runtime.default_tag(), 2);
    held.release();
    assert_eq!(runtime.spawn(|| 1).join().unwrap(), 1);
    assert_eq!(runtime.metrics().total.workers, 2);
    assert!(runtime.shutdown(Policy::Drain, None).unwrap().is_complete());
    let metrics = runtime.metrics().total;
    let hooks = 2 + 2 + 2 * metrics.parked;
    assert_eq!((metrics.ran, metrics.panicked), (3, hooks));
}
