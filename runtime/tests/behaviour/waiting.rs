//! Waiting inside a task: what has not started is run by its waiter, the rest is waited for.

use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use crate::common::{expect_panics, runtime};
use parkade::{Backend, Policy, RuntimeOn, Tag};

on_each_backend!(
    parents_join_their_children,
    one_worker_waits_for_its_own_child,
    one_worker_waits_for_a_deep_chain,
    a_panic_of_a_child_is_the_parents_to_handle,
    a_task_waits_for_another_tag,
    a_task_waits_for_another_runtime,
    a_timed_wait_runs_nothing,
    waiting_in_a_loop_leaves_nothing_queued,
    waiting_for_siblings_in_order_leaves_nothing_queued,
    a_task_beneath_is_put_back,
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

/// Room for 16 tasks in the run queue and 16 in the inbox: whoever leaves more behind is refused.
fn narrow<B: Backend>(workers: usize) -> Arc<RuntimeOn<B>> {
    let tag = Tag::new("only").workers(workers);
    let tag = tag.run_queue(16).inbox_limit(16);
    Arc::new(RuntimeOn::builder().tag(tag).build().unwrap())
}

/// A child that is run where it is awaited leaves no entry behind in the queues.
fn waiting_in_a_loop_leaves_nothing_queued<B: Backend>() {
    const CHILDREN: usize = 100_000;
    let runtime = narrow::<B>(1);
    let inside = Arc::clone(&runtime);
    let parent = runtime.spawn(move || {
        (0..CHILDREN)
            .filter(|&child| inside.spawn(move || child).join().unwrap() == child)
            .count()
    });
    assert_eq!(parent.join().unwrap(), CHILDREN);
    assert_eq!(runtime.metrics().total.ran, CHILDREN + 1);
}

/// The same for several at a time, of which the oldest is awaited first and so lies beneath the others.
fn waiting_for_siblings_in_order_leaves_nothing_queued<B: Backend>() {
    const ROUNDS: usize = 1000;
    for workers in [1, 3] {
        let runtime = narrow::<B>(workers);
        let inside = Arc::clone(&runtime);
        let parent = runtime.spawn(move || {
            let round = |_| {
                let children: Vec<_> = (0..10).map(|child| inside.spawn(move || child)).collect();
                let sum = |child: parkade::JoinHandle<usize>| child.join().unwrap();
                children.into_iter().map(sum).sum::<usize>()
            };
            (0..ROUNDS).map(round).sum::<usize>()
        });
        assert_eq!(parent.join().unwrap(), ROUNDS * 45);
        assert_eq!(runtime.metrics().total.ran, ROUNDS * 10 + 1);
    }
}

/// What lies beneath a husk and is none stays queued, and runs once.
fn a_task_beneath_is_put_back<B: Backend>() {
    let runtime = narrow::<B>(1);
    let inside = Arc::clone(&runtime);
    let (ran, runs) = mpsc::channel();
    let parent = runtime.spawn(move || {
        let first = inside.spawn(|| 1);
        inside
            .spawn_detached(move || ran.send(()).unwrap())
            .unwrap();
        let last = inside.spawn(|| 2);
        // The first one's husk is left behind; with the last one's, what lies between is taken up as well.
        let sum = first.join().unwrap() + last.join().unwrap();
        assert!(runs.try_recv().is_err(), "it waits for a worker");
        (sum, runs)
    });
    let (sum, runs) = parent.join().unwrap();
    assert_eq!(sum, 3);
    runs.recv().unwrap();
    assert!(runs.recv().is_err());
    runtime.shutdown(Policy::Drain, None).unwrap();
    assert_eq!(runtime.metrics().total.ran, 4);
}
