//! Waiting inside a task: what has not started is run by its waiter, the rest is waited for.

use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use crate::common::{expect_panics, runtime};
use parkade::{Backend, RuntimeOn, Tag};

on_each_backend!(
    parents_join_their_children,
    one_worker_waits_for_its_own_child,
    one_worker_waits_for_a_deep_chain,
    a_panic_of_a_child_is_the_parents_to_handle,
    a_task_waits_for_another_tag,
    a_task_waits_for_another_runtime,
    a_timed_wait_runs_nothing,
);

/// Q1.
fn parents_join_their_children<B: Backend>() {
    let runtime: Arc<RuntimeOn<B>> = Arc::new(
        RuntimeOn::builder()
            .tag(Tag::new("only").workers(4).run_queue(16))
            .build()
            .unwrap(),
    );
    let parents: Vec<_> = (0..20)
        .map(|parent| {
            let inside = Arc::clone(&runtime);
            runtime.spawn(move || {
                let children: Vec<_> = (0..200).map(|child| inside.spawn(move || child)).collect();
                let sum: usize = children
                    .into_iter()
                    .map(|child| child.join().unwrap())
                    .sum();
                parent + sum
            })
        })
        .collect();
    for (parent, handle) in parents.into_iter().enumerate() {
        assert_eq!(handle.join().unwrap(), parent + 200 * 199 / 2);
    }
    let metrics = runtime.metrics().total;
    assert_eq!((metrics.spawned, metrics.ran), (20 * 201, 20 * 201));
}

/// N3.
fn one_worker_waits_for_its_own_child<B: Backend>() {
    let runtime: Arc<RuntimeOn<B>> = Arc::new(runtime(1));
    let inside = Arc::clone(&runtime);
    let same_thread = runtime.spawn(move || {
        let me = thread::current().id();
        let child = inside.spawn(move || thread::current().id() == me);
        child.join().unwrap()
    });
    assert!(same_thread.join().unwrap());
    let metrics = runtime.metrics().total;
    assert_eq!(
        (metrics.spawned, metrics.ran),
        (2, 2),
        "the husk is not counted"
    );
}

fn one_worker_waits_for_a_deep_chain<B: Backend>() {
    fn depth<B: Backend>(runtime: &Arc<RuntimeOn<B>>, left: usize) -> usize {
        if left == 0 {
            return 0;
        }
        let inside = Arc::clone(runtime);
        1 + runtime
            .spawn(move || depth(&inside, left - 1))
            .join()
            .unwrap()
    }
    let runtime: Arc<RuntimeOn<B>> = Arc::new(runtime(1));
    let inside = Arc::clone(&runtime);
    assert_eq!(
        runtime.spawn(move || depth(&inside, 100)).join().unwrap(),
        100
    );
}

fn a_panic_of_a_child_is_the_parents_to_handle<B: Backend>() {
    expect_panics();
    let runtime: Arc<RuntimeOn<B>> = Arc::new(runtime(1));
    let inside = Arc::clone(&runtime);
    let parent = runtime.spawn(move || inside.spawn(|| panic!("the child")).join().unwrap_err());
    assert_eq!(
        parent.join().unwrap().to_string(),
        "the task panicked: the child"
    );
    let metrics = runtime.metrics().total;
    assert_eq!((metrics.ran, metrics.panicked), (2, 1));
}

/// N6, between tags.
fn a_task_waits_for_another_tag<B: Backend>() {
    let runtime: Arc<RuntimeOn<B>> = Arc::new(
        RuntimeOn::builder()
            .tag(Tag::new("front").workers(1))
            .tag(Tag::new("back").workers(1))
            .build()
            .unwrap(),
    );
    let inside = Arc::clone(&runtime);
    let front = runtime.spawn(move || {
        let back = inside
            .tag("back")
            .unwrap()
            .spawn(|| thread::current().name().map(str::to_owned));
        back.join().unwrap().unwrap()
    });
    assert_eq!(front.join().unwrap(), "pk-back-0");
}

/// N6.
fn a_task_waits_for_another_runtime<B: Backend>() {
    let front = runtime::<B>(1);
    let back = Arc::new(runtime::<B>(1));
    let inside = Arc::clone(&back);
    let answer = front.spawn(move || {
        let me = thread::current().id();
        inside
            .spawn(move || thread::current().id() != me)
            .join()
            .unwrap()
    });
    assert!(answer.join().unwrap());
}

fn a_timed_wait_runs_nothing<B: Backend>() {
    let runtime: Arc<RuntimeOn<B>> = Arc::new(runtime(1));
    let inside = Arc::clone(&runtime);
    let (ran, runs) = mpsc::channel();
    let parent = runtime.spawn(move || {
        let child = inside.spawn(move || ran.send(()).unwrap());
        let child = child.join_timeout(Duration::from_millis(5)).unwrap_err();
        assert!(!child.is_finished());
        child
    });
    parent.join().unwrap().join().unwrap();
    runs.recv().unwrap();
}
