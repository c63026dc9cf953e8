//! Tasks that borrow: who runs them, when the scope ends, panics, full queues and the stop.

use std::panic;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

use crate::common::{eventually, expect_panics, hold, runtime};
use crate::fork_join::{add_one, meet, panic_of};
use parkade::{Backend, Policy, RuntimeOn, Tag};

on_each_backend!(
    it_ends_after_all_that_was_spawned_in_it,
    idle_workers_run_its_tasks_at_the_same_time,
    the_caller_runs_what_nobody_has_begun,
    a_lone_worker_runs_its_own_tasks_and_leaves_none_queued,
    many_tasks_are_not_kept,
    tasks_that_hold_a_lock_open_scopes,
    tasks_that_no_queue_takes_run,
    a_task_waits_for_a_scope_of_another_runtime,
    panics_come_out_after_all_have_ended,
    an_early_panic_is_kept_while_the_scope_goes_on,
    tasks_that_the_stop_drops_are_run_by_the_caller,
    after_the_stop_the_caller_runs_all,
);

fn it_ends_after_all_that_was_spawned_in_it<B: Backend>() {
    let ran = AtomicUsize::new(0);
    let runtime = runtime::<B>(2);
    let returned = runtime.scope(|scope| {
        for _ in 0..10 {
            scope.spawn(|| {
                for _ in 0..10 {
                    scope.spawn(|| add_one(&ran));
                }
                add_one(&ran);
            });
        }
        "returned"
    });
    assert_eq!((returned, ran.load(Ordering::Relaxed)), ("returned", 110));
    let report = runtime.shutdown(Policy::Drain, None).unwrap();
    assert_eq!((report.ran, report.dropped), (110, 0));
    assert_eq!(runtime.metrics().total.spawned, 110);
}

fn idle_workers_run_its_tasks_at_the_same_time<B: Backend>() {
    let runtime = runtime::<B>(3);
    for _ in 0..20 {
        let meeting = Barrier::new(4);
        runtime.scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| meet(&meeting));
            }
            meeting.wait();
        });
    }
}

fn the_caller_runs_what_nobody_has_begun<B: Backend>() {
    let runtime = runtime::<B>(1);
    let held = hold(runtime.default_tag(), 1);
    let here = thread::current().id();
    let order = Mutex::new(Vec::new());
    runtime.scope(|scope| {
        for task in 0..3 {
            let order = &order;
            scope.spawn(move || {
                order.lock().unwrap().push(task);
                assert_eq!(thread::current().id(), here);
            });
        }
    });
    assert_eq!(order.into_inner().unwrap(), [2, 1, 0], "the newest first");
    held.release();
    let report = runtime.shutdown(Policy::Drain, None).unwrap();
    assert_eq!((report.ran, report.dropped), (4, 0));
    assert_eq!(runtime.metrics().total.spawned, 4);
}

/// Q1, for scopes: whoever left husks behind in queues so small would be refused, and run all alone.
fn a_lone_worker_runs_its_own_tasks_and_leaves_none_queued<B: Backend>() {
    const ROUNDS: usize = 1000;
    let tag = Tag::new("only").workers(1).run_queue(16).inbox_limit(16);
    let runtime: RuntimeOn<B> = RuntimeOn::builder().tag(tag).build().unwrap();
    let ran = AtomicUsize::new(0);
    let rounds = || {
        for _ in 0..ROUNDS {
            runtime.scope(|scope| (0..10).for_each(|_| scope.spawn(|| add_one(&ran))));
        }
    };
    runtime.join(rounds, || ());
    assert_eq!(ran.load(Ordering::Relaxed), ROUNDS * 10);
    let spawned = runtime.metrics().total.spawned;
    assert_eq!(spawned, ROUNDS * 10 + 2, "none was refused");
}

/// Those that have ended are cleared away while the scope goes on, whoever ran them.
fn many_tasks_are_not_kept<B: Backend>() {
    const TASKS: usize = 10_000;
    let runtime = runtime::<B>(2);
    let ran = AtomicUsize::new(0);
    runtime.scope(|scope| (0..TASKS).for_each(|_| scope.spawn(|| add_one(&ran))));
    assert_eq!(ran.load(Ordering::Relaxed), TASKS);
}

/// N1, for scopes.
fn tasks_that_hold_a_lock_open_scopes<B: Backend>() {
    const TASKS: usize = 50;
    for workers in 1..=3 {
        let runtime = Arc::new(runtime::<B>(workers));
        let (lock, count) = (Arc::new(Mutex::new(())), Arc::new(AtomicUsize::new(0)));
        let tasks: Vec<_> = (0..TASKS)
            .map(|_| {
                let inside = Arc::clone(&runtime);
                let (lock, count) = (Arc::clone(&lock), Arc::clone(&count));
                runtime.spawn(move || {
                    let _held = lock.lock().unwrap();
                    inside.scope(|scope| (0..8).for_each(|_| scope.spawn(|| add_one(&count))));
                })
            })
            .collect();
        tasks.into_iter().for_each(|task| task.join().unwrap());
        assert_eq!(count.load(Ordering::Relaxed), TASKS * 8);
    }
}

fn tasks_that_no_queue_takes_run<B: Backend>() {
    const TASKS: usize = 100;
    let tag = Tag::new("only").workers(1).run_queue(16).inbox_limit(16);
    let runtime: RuntimeOn<B> = RuntimeOn::builder().tag(tag).build().unwrap();
    let held = hold(runtime.default_tag(), 1);
    let ran = AtomicUsize::new(0);
    runtime.scope(|scope| (0..TASKS).for_each(|_| scope.spawn(|| add_one(&ran))));
    assert_eq!(ran.load(Ordering::Relaxed), TASKS);
    held.release();
    let report = runtime.shutdown(Policy::Drain, None).unwrap();
    assert_eq!(report.ran, 1 + 16, "only accepted tasks are counted");
    assert_eq!(runtime.metrics().total.spawned, 1 + 16);
}

/// N6.
fn a_task_waits_for_a_scope_of_another_runtime<B: Backend>() {
    let (front, back) = (runtime::<B>(1), runtime::<B>(1));
    let ran = AtomicUsize::new(0);
    front.scope(|outer| {
        outer.spawn(|| back.scope(|inner| (0..10).for_each(|_| inner.spawn(|| add_one(&ran)))));
    });
    assert_eq!(ran.load(Ordering::Relaxed), 10);
}

/// P1, for `scope`: the body's panic goes first, then that of the task that was spawned first.
fn panics_come_out_after_all_have_ended<B: Backend>() {
    expect_panics();
    let runtime = runtime::<B>(2);
    for (body, out) in [(true, "body"), (false, "first")] {
        let ended = AtomicUsize::new(0);
        // A worker, or whoever waits: on this thread the message is to be expected.
        let inside = || {
            runtime.scope(|scope| {
                for task in 0..20 {
                    let ended = &ended;
                    scope.spawn(move || {
                        add_one(ended);
                        match task {
                            5 => panic::panic_any("first"),
                            15 => panic::panic_any("second"),
                            _ => {}
                        }
                    });
                }
                if body {
                    panic::panic_any("body");
                }
            });
        };
        assert_eq!(panic_of(|| runtime.join(inside, || ())), out);
        assert_eq!(ended.load(Ordering::Relaxed), 20);
    }
    let metrics = runtime.metrics().total;
    assert_eq!((metrics.panicked, metrics.workers), (2 * 3, 2));
}

/// Its task has long been cleared away when another one panics.
fn an_early_panic_is_kept_while_the_scope_goes_on<B: Backend>() {
    expect_panics();
    let runtime = runtime::<B>(2);
    let inside = || {
        runtime.scope(|scope| {
            scope.spawn(|| panic::panic_any("first"));
            eventually("it is run", || runtime.metrics().total.panicked == 1);
            (0..1000).for_each(|_| scope.spawn(|| ()));
            scope.spawn(|| panic::panic_any("second"));
        });
    };
    assert_eq!(panic_of(|| runtime.join(inside, || ())), "first");
}

fn tasks_that_the_stop_drops_are_run_by_the_caller<B: Backend>() {
    let runtime = runtime::<B>(1);
    let held = hold(runtime.default_tag(), 1);
    let ran = AtomicUsize::new(0);
    thread::scope(|threads| {
        let stop = runtime.scope(|scope| {
            (0..3).for_each(|_| scope.spawn(|| add_one(&ran)));
            let stop = threads.spawn(|| runtime.shutdown(Policy::Abandon, None).unwrap());
            eventually("the queue is emptied by the stop", || {
                let dump = format!("{runtime:?}");
                dump.contains("intake: abandoned") && dump.contains(" inbox: 0")
            });
            stop
        });
        assert_eq!(ran.load(Ordering::Relaxed), 3);
        held.release();
        let report = stop.join().unwrap();
        assert_eq!((report.ran, report.dropped), (4, 0), "{report}");
    });
}

fn after_the_stop_the_caller_runs_all<B: Backend>() {
    let runtime = runtime::<B>(1);
    runtime.shutdown(Policy::Drain, None).unwrap();
    let ran = AtomicUsize::new(0);
    runtime.scope(|scope| (0..3).for_each(|_| scope.spawn(|| add_one(&ran))));
    assert_eq!(ran.load(Ordering::Relaxed), 3);
    assert_eq!(runtime.metrics().total.spawned, 0);
}
