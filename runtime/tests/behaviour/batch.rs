//! Batches: one submit, enough wakes, nothing forgotten.

use std::collections::HashSet;
use std::sync::{Arc, Barrier, mpsc};
use std::thread;

use crate::common::{eventually, hold, runtime};
use parkade::{Backend, JoinError, Policy, Priority, RefusedReason, RuntimeOn, Tag};

on_each_backend!(
    eight_tasks_meet,
    a_forgotten_batch_is_submitted,
    short_tasks_do_not_wait_for_a_long_one,
    what_does_not_fit_comes_back,
    what_is_refused_twice_is_dropped_with_notice,
    a_worker_joins_a_task_of_its_unsubmitted_batch,
    a_batch_may_outlive_its_runtime,
    an_empty_batch_is_nothing,
);

/// W4, W15: the tasks of one batch reach as many idle workers as there are tasks.
fn eight_tasks_meet<B: Backend>() {
    let runtime = runtime::<B>(8);
    for priority in [Priority::Normal, Priority::High] {
        for _ in 0..8 {
            eventually("all workers are idle", || runtime.metrics().total.idle == 8);
            let barrier = Arc::new(Barrier::new(8));
            let mut batch = runtime.default_tag().with_priority(priority).batch();
            let tasks: Vec<_> = (0..8)
                .map(|_| {
                    let barrier = Arc::clone(&barrier);
                    batch.spawn(move || {
                        barrier.wait();
                        thread::current().id()
                    })
                })
                .collect();
            assert_eq!(batch.len(), 8);
            assert_eq!(batch.submit().unwrap(), 8);
            let threads: HashSet<_> = tasks.into_iter().map(|task| task.join().unwrap()).collect();
            assert_eq!(threads.len(), 8);
        }
    }
}

/// W5.
fn a_forgotten_batch_is_submitted<B: Backend>() {
    let runtime = Arc::new(runtime::<B>(2));
    let (ran, runs) = mpsc::channel();
    let inside = Arc::clone(&runtime);
    thread::spawn(move || {
        let mut batch = inside.batch();
        for n in 0..10 {
            let ran = ran.clone();
            batch.spawn_detached(move || ran.send(n).unwrap());
        }
    })
    .join()
    .unwrap();
    let mut all: Vec<_> = runs.iter().collect();
    all.sort_unstable();
    assert_eq!(all, (0..10).collect::<Vec<_>>());
}

/// Q8.
fn short_tasks_do_not_wait_for_a_long_one<B: Backend>() {
    let runtime = runtime::<B>(2);
    let (finish, finished) = mpsc::channel::<()>();
    let mut batch = runtime.batch();
    let long = batch.spawn(move || finished.recv().is_err());
    let short: Vec<_> = (0..100).map(|n| batch.spawn(move || n)).collect();
    batch.submit().unwrap();
    for (n, handle) in short.into_iter().enumerate() {
        assert_eq!(handle.join().unwrap(), n);
    }
    assert!(!long.is_finished());
    drop(finish);
    assert!(long.join().unwrap());
}

fn small<B: Backend>() -> RuntimeOn<B> {
    RuntimeOn::builder()
        .tag(Tag::new("small").workers(1).inbox_limit(4))
        .build()
        .unwrap()
}

fn what_does_not_fit_comes_back<B: Backend>() {
    let runtime = small::<B>();
    let held = hold(runtime.default_tag(), 1);
    let mut batch = runtime.batch();
    let handles: Vec<_> = (0..10).map(|n| batch.spawn(move || n)).collect();
    let mut refused = batch.submit().unwrap_err();
    assert_eq!((refused.accepted, refused.rest.len()), (4, 6));
    assert_eq!(refused.reason, RefusedReason::Full);
    assert_eq!(
        refused.to_string(),
        "4 tasks of the batch were accepted, 6 refused: its queue is full"
    );
    held.release();
    // Try until all is accepted, as its owner would.
    while !refused.rest.is_empty() {
        match refused.rest.submit() {
            Ok(_) => break,
            Err(again) => refused = again,
        }
        thread::yield_now();
    }
    for (n, handle) in handles.into_iter().enumerate() {
        assert_eq!(handle.join().unwrap(), n);
    }
    assert_eq!(runtime.metrics().total.spawned, 11);
}

fn what_is_refused_twice_is_dropped_with_notice<B: Backend>() {
    let runtime = small::<B>();
    let held = hold(runtime.default_tag(), 1);
    let token = Arc::new(());
    let mut batch = runtime.batch();
    let handles: Vec<_> = (0..6)
        .map(|_| {
            let token = Arc::clone(&token);
            batch.spawn(move || drop(token))
        })
        .collect();
    let in_task = Arc::clone(&token);
    batch.spawn_detached(move || drop(in_task));
    drop(batch);
    assert_eq!(Arc::strong_count(&token), 5, "four are queued");
    held.release();
    let outcomes: Vec<_> = handles.into_iter().map(|handle| handle.join()).collect();
    assert!(outcomes[..4].iter().all(Result::is_ok));
    for outcome in &outcomes[4..] {
        assert!(matches!(
            outcome,
            Err(JoinError::Refused(RefusedReason::Full))
        ));
    }
}

fn a_worker_joins_a_task_of_its_unsubmitted_batch<B: Backend>() {
    let runtime = Arc::new(runtime::<B>(1));
    let inside = Arc::clone(&runtime);
    let sum = runtime.spawn(move || {
        let mut batch = inside.batch();
        let handles = [batch.spawn(|| 1), batch.spawn(|| 2)];
        handles
            .map(|handle| handle.join().unwrap())
            .iter()
            .sum::<i32>()
    });
    assert_eq!(sum.join().unwrap(), 3);
    let report = runtime.shutdown(Policy::Drain, None).unwrap();
    assert_eq!(report.ran, 3);
    assert_eq!(
        runtime.metrics().total.spawned,
        3,
        "the husks were submitted"
    );
}

fn a_batch_may_outlive_its_runtime<B: Backend>() {
    let runtime = runtime::<B>(1);
    let mut batch = runtime.batch();
    drop(runtime);
    let handle = batch.spawn(|| ());
    let refused = batch.submit().unwrap_err();
    assert_eq!(refused.reason, RefusedReason::Stopped);
    drop(refused);
    assert!(matches!(
        handle.join(),
        Err(JoinError::Refused(RefusedReason::Stopped))
    ));
}

fn an_empty_batch_is_nothing<B: Backend>() {
    let runtime = runtime::<B>(1);
    assert!(runtime.batch().is_empty());
    assert_eq!(runtime.batch().submit().unwrap(), 0);
    assert_eq!(runtime.metrics().total.spawned, 0);
}
