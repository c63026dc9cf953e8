//! Two closures at once, the second on whichever worker is free: order, place, panics, full queues and the stop.

use std::collections::HashSet;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::thread;

use crate::common::{eventually, expect_panics, hold, runtime};
use crate::tree::tree_among_strangers;
use parkade::{Backend, Policy, RuntimeOn, Tag};

on_each_backend!(
    both_sides_run_and_borrow,
    without_a_thief_the_caller_runs_both_in_order,
    outside_every_runtime_both_run_in_place,
    two_idle_workers_run_one_side_each,
    a_worker_that_waits_for_its_fork_runs_no_stranger,
    tasks_that_hold_a_lock_join_subtasks,
    what_the_first_side_spawned_waits_for_a_worker,
    spawns_above_forks_in_a_full_queue_all_run,
    forks_beyond_the_run_queue_run_in_place,
    a_deep_tree_among_strangers_needs_little_stack,
    a_task_joins_in_another_tag_and_another_runtime,
    a_handle_crosses_threads_to_a_lone_worker,
    a_panic_of_either_side_comes_out_after_both_ended,
    a_panic_of_a_stolen_side_comes_out_after_both_ended,
    a_fork_that_the_stop_drops_is_run_by_its_waiter,
    an_outside_join_that_the_stop_drops_is_run_by_its_caller,
    after_the_stop_the_caller_runs_both,
);

fn name() -> String {
    thread::current().name().unwrap_or_default().to_owned()
}

pub(crate) fn add_one(count: &AtomicUsize) {
    count.fetch_add(1, Ordering::Relaxed);
}

/// Waits for all the others.
pub(crate) fn meet(meeting: &Barrier) {
    meeting.wait();
}

fn both_sides_run_and_borrow<B: Backend>() {
    let runtime = runtime::<B>(2);
    let words = [String::from("first"), String::from("second")];
    let mut lengths = [0, 0];
    let (first, second) = lengths.split_at_mut(1);
    let returned = runtime.join(
        || {
            first[0] = words[0].len();
            "one"
        },
        || {
            second[0] = words[1].len();
            "two"
        },
    );
    assert_eq!((returned, lengths), (("one", "two"), [5, 6]));
    let metrics = runtime.metrics().total;
    assert_eq!((metrics.spawned, metrics.ran), (2, 2), "the call, its fork");
}

/// A fork that nobody takes costs no wake, and is run after the first side, on the same thread.
fn without_a_thief_the_caller_runs_both_in_order<B: Backend>() {
    const JOINS: usize = 1000;
    let runtime = runtime::<B>(1);
    let threads = Mutex::new(HashSet::new());
    let order = Mutex::new(Vec::new());
    let note = |side| {
        threads.lock().unwrap().insert(thread::current().id());
        order.lock().unwrap().push(side);
    };
    let all = || {
        for join in 0..JOINS {
            parkade::join(|| note((join, 1)), || note((join, 2)));
        }
    };
    runtime.join(all, || ());
    assert_eq!(threads.into_inner().unwrap().len(), 1);
    let order = order.into_inner().unwrap();
    assert_eq!(order.len(), 2 * JOINS);
    assert!(order.is_sorted());
    let metrics = runtime.metrics().total;
    assert_eq!((metrics.spawned, metrics.ran), (JOINS + 2, JOINS + 2));
    assert!(metrics.wake_calls <= 1, "{metrics:?}");
}

fn outside_every_runtime_both_run_in_place<B: Backend>() {
    // One that the free function does not use.
    let runtime = runtime::<B>(2);
    let here = thread::current().id();
    let mut first_ended = false;
    let sides = parkade::join(
        || {
            first_ended = true;
            thread::current().id()
        },
        || thread::current().id(),
    );
    assert!(first_ended);
    assert_eq!(sides, (here, here));
    assert_eq!(runtime.metrics().total.spawned, 0);
}

/// N4: the sides meet, so they run at the same time; in each round, however the workers fell asleep.
fn two_idle_workers_run_one_side_each<B: Backend>() {
    let runtime = runtime::<B>(2);
    for _ in 0..50 {
        let meeting = Barrier::new(2);
        let side = || {
            meeting.wait();
            name()
        };
        let (first, second) = runtime.join(side, side);
        assert_ne!(first, second);
    }
}

/// The waiter's fork is stolen, and strangers are queued at the waiter's worker: they start after it.
fn a_worker_that_waits_for_its_fork_runs_no_stranger<B: Backend>() {
    const STRANGERS: usize = 10;
    let runtime = runtime::<B>(2);
    let waiting = AtomicUsize::new(0);
    let waiter = Mutex::new(None);
    let intruders = Arc::new(AtomicUsize::new(0));
    let strangers: Mutex<Vec<parkade::JoinHandle<()>>> = Mutex::default();
    let stolen = Barrier::new(2);
    runtime.join(
        || {
            stolen.wait();
            *waiter.lock().unwrap() = Some(thread::current().id());
            for _ in 0..STRANGERS {
                let (here, intruders) = (thread::current().id(), Arc::clone(&intruders));
                let stranger = runtime.spawn(move || {
                    if here == thread::current().id() {
                        intruders.fetch_add(1, Ordering::Relaxed);
                    }
                });
                strangers.lock().unwrap().push(stranger);
            }
            waiting.store(1, Ordering::Release);
        },
        || {
            stolen.wait();
            while waiting.load(Ordering::Acquire) == 0 {
                thread::yield_now();
            }
            // Longer than the waiter would need to run them all.
            for _ in 0..1000 {
                thread::yield_now();
            }
            assert_eq!(intruders.load(Ordering::Relaxed), 0);
        },
    );
    for stranger in strangers.into_inner().unwrap() {
        stranger.join().unwrap();
    }
}

/// N1: a waiter that took another's task on would want the lock that it holds.
fn tasks_that_hold_a_lock_join_subtasks<B: Backend>() {
    const TASKS: usize = 50;
    fn subtasks(left: usize, count: &AtomicUsize) {
        if left == 1 {
            count.fetch_add(1, Ordering::Relaxed);
            return;
        }
        parkade::join(
            || subtasks(left / 2, count),
            || subtasks(left - left / 2, count),
        );
    }
    for workers in 1..=3 {
        let runtime = runtime::<B>(workers);
        let (lock, count) = (Arc::new(Mutex::new(())), Arc::new(AtomicUsize::new(0)));
        let tasks: Vec<_> = (0..TASKS)
            .map(|_| {
                let (lock, count) = (Arc::clone(&lock), Arc::clone(&count));
                runtime.spawn(move || {
                    let _held = lock.lock().unwrap();
                    subtasks(8, &count);
                })
            })
            .collect();
        for task in tasks {
            task.join().unwrap();
        }
        assert_eq!(count.load(Ordering::Relaxed), TASKS * 8);
    }
}

/// They lie above the fork. The waiter runs the fork, and they run later, in order of their spawns.
fn what_the_first_side_spawned_waits_for_a_worker<B: Backend>() {
    let runtime = runtime::<B>(1);
    let (say, said) = mpsc::channel();
    runtime.join(
        || {
            for stranger in 1..=3 {
                let say = say.clone();
                runtime
                    .spawn_detached(move || say.send(stranger).unwrap())
                    .unwrap();
            }
        },
        || say.send(0).unwrap(),
    );
    drop(say);
    assert_eq!(said.iter().collect::<Vec<_>>(), [0, 1, 2, 3]);
    let report = runtime.shutdown(Policy::Drain, None).unwrap();
    assert_eq!((report.ran, runtime.metrics().total.spawned), (5, 5));
}

/// Nothing is spilled while forks are queued, or a fork might be where its waiter does not look.
fn spawns_above_forks_in_a_full_queue_all_run<B: Backend>() {
    const SPAWNS: usize = 100;
    let tag = Tag::new("only").workers(1).run_queue(16);
    let runtime: RuntimeOn<B> = RuntimeOn::builder().tag(tag).build().unwrap();
    let ran = Arc::new(AtomicUsize::new(0));
    let ran_before_fork = runtime
        .join(
            || {
                for _ in 0..SPAWNS {
                    let ran = Arc::clone(&ran);
                    let count = move || add_one(&ran);
                    runtime.spawn_detached(count).unwrap();
                }
            },
            || ran.load(Ordering::Relaxed),
        )
        .1;
    assert_eq!(ran_before_fork, 0);
    eventually("all have run", || ran.load(Ordering::Relaxed) == SPAWNS);
}

fn forks_beyond_the_run_queue_run_in_place<B: Backend>() {
    const DEPTH: usize = 200;
    fn depth(left: usize, forks: &AtomicUsize) -> usize {
        if left == 0 {
            return 0;
        }
        let fork = || add_one(forks);
        1 + parkade::join(|| depth(left - 1, forks), fork).0
    }
    for workers in [1, 2] {
        let tag = Tag::new("only").workers(workers).run_queue(16);
        let runtime: RuntimeOn<B> = RuntimeOn::builder().tag(tag).build().unwrap();
        let forks = AtomicUsize::new(0);
        assert_eq!(runtime.join(|| depth(DEPTH, &forks), || ()).0, DEPTH);
        assert_eq!(forks.load(Ordering::Relaxed), DEPTH);
        let metrics = runtime.metrics().total;
        assert_eq!(metrics.spawned, metrics.ran);
        if workers == 1 {
            assert_eq!(metrics.ran, 1 + 16, "the call, and what had room");
        }
    }
}

/// N2, with as many leaves as a debug build does in a moment; the stress tier has them all.
fn a_deep_tree_among_strangers_needs_little_stack<B: Backend>() {
    tree_among_strangers::<B>(12, 1000, &|| ());
}

/// N6.
fn a_task_joins_in_another_tag_and_another_runtime<B: Backend>() {
    let tags = [Tag::new("front").workers(1), Tag::new("back").workers(1)];
    let front: RuntimeOn<B> = RuntimeOn::builder().tags(tags).build().unwrap();
    let other = runtime::<B>(1);
    let (names, elsewhere) = front.join(
        || front.tag("back").unwrap().join(name, name),
        || other.join(name, name),
    );
    assert_eq!(names, ("pk-back-0".into(), "pk-back-0".into()));
    assert_eq!(elsewhere, ("pk-only-0".into(), "pk-only-0".into()));
}

/// Q7.
fn a_handle_crosses_threads_to_a_lone_worker<B: Backend>() {
    let runtime = runtime::<B>(1);
    let (send, receive) = mpsc::channel();
    thread::scope(|threads| {
        threads.spawn(|| {
            let task = || parkade::join(|| 1, || 2);
            send.send(runtime.spawn(task)).unwrap();
        });
        let waiter = threads.spawn(move || receive.recv().unwrap().join().unwrap());
        assert_eq!(waiter.join().unwrap(), (1, 2));
    });
}

/// Runs `join` and returns what it panicked with.
pub(crate) fn panic_of<R>(join: impl FnOnce() -> R) -> &'static str {
    let Err(payload) = panic::catch_unwind(AssertUnwindSafe(join)) else {
        panic!("no panic came out")
    };
    payload.downcast_ref::<&'static str>().unwrap()
}

/// P1, for `join` when nobody steals: the first side's panic goes before the second's.
fn a_panic_of_either_side_comes_out_after_both_ended<B: Backend>() {
    expect_panics();
    let runtime = runtime::<B>(1);
    let ended = AtomicUsize::new(0);
    let side = |panics: Option<&'static str>| {
        ended.fetch_add(1, Ordering::Relaxed);
        if let Some(word) = panics {
            panic::panic_any(word);
        }
    };
    for (first, second, out) in [
        (Some("first"), None, "first"),
        (None, Some("second"), "second"),
        (Some("first"), Some("second"), "first"),
    ] {
        ended.store(0, Ordering::Relaxed);
        let join = || runtime.join(|| side(first), || side(second));
        assert_eq!(panic_of(join), out);
        assert_eq!(ended.load(Ordering::Relaxed), 2);
    }
    // The call and its fork, three times; the call that panics, and each fork that does.
    let metrics = runtime.metrics().total;
    assert_eq!((metrics.spawned, metrics.ran), (6, 6));
    assert_eq!((metrics.panicked, metrics.workers), (3 + 2, 1));
}

/// P1, for `join` when the second side is stolen.
fn a_panic_of_a_stolen_side_comes_out_after_both_ended<B: Backend>() {
    expect_panics();
    let runtime = runtime::<B>(2);
    for (first, second, out) in [
        (true, false, "first"),
        (false, true, "second"),
        (true, true, "first"),
    ] {
        let meeting = Barrier::new(2);
        let ended = AtomicUsize::new(0);
        let side = |panics: bool, word: &'static str| {
            meeting.wait();
            ended.fetch_add(1, Ordering::Relaxed);
            if panics {
                panic::panic_any(word);
            }
        };
        let join = || runtime.join(|| side(first, "first"), || side(second, "second"));
        assert_eq!(panic_of(join), out);
        assert_eq!(ended.load(Ordering::Relaxed), 2);
    }
    let metrics = runtime.metrics().total;
    assert_eq!((metrics.ran, metrics.panicked, metrics.workers), (6, 5, 2));
}

/// Until a stop has taken all that was queued. Without another way to see it, by the dump.
fn until_dropped<B: Backend>(runtime: &RuntimeOn<B>) {
    eventually("the queues are emptied by the stop", || {
        let dump = format!("{runtime:?}");
        dump.contains("intake: abandoned")
            && !dump.contains("run_queue: 1")
            && !dump.contains("inbox: 1")
    });
}

fn a_fork_that_the_stop_drops_is_run_by_its_waiter<B: Backend>() {
    let runtime = runtime::<B>(1);
    let started = Barrier::new(2);
    thread::scope(|threads| {
        let joined = threads.spawn(|| {
            runtime.join(
                || {
                    started.wait();
                    until_dropped(&runtime);
                    name()
                },
                name,
            )
        });
        started.wait();
        let report = runtime.shutdown(Policy::Abandon, None).unwrap();
        assert_eq!((report.ran, report.dropped), (2, 0), "{report}");
        let worker = String::from("pk-only-0");
        assert_eq!(joined.join().unwrap(), (worker.clone(), worker));
    });
}

fn an_outside_join_that_the_stop_drops_is_run_by_its_caller<B: Backend>() {
    let runtime = runtime::<B>(1);
    let held = hold(runtime.default_tag(), 1);
    thread::scope(|threads| {
        let joined = threads.spawn(|| {
            let here = thread::current().id();
            let id = || thread::current().id();
            runtime.join(id, id) == (here, here)
        });
        eventually("it is queued", || runtime.metrics().total.spawned == 2);
        let stop = threads.spawn(|| runtime.shutdown(Policy::Abandon, None).unwrap());
        assert!(joined.join().unwrap());
        held.release();
        let report = stop.join().unwrap();
        assert_eq!((report.ran, report.dropped), (2, 0), "{report}");
    });
}

fn after_the_stop_the_caller_runs_both<B: Backend>() {
    let runtime = runtime::<B>(1);
    runtime.shutdown(Policy::Drain, None).unwrap();
    let here = thread::current().id();
    let id = || thread::current().id();
    assert_eq!(runtime.join(id, id), (here, here));
    assert_eq!(runtime.metrics().total.spawned, 0);
}
