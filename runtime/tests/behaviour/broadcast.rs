//! Broadcast: each worker runs its copy, whatever it is at, and no other worker does.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::common::{hold, runtime};
use parkade::{Backend, JoinError, Policy, RefusedReason, RuntimeOn, Tag};

on_each_backend!(
    each_worker_runs_its_copy,
    a_copy_waits_for_its_worker_and_goes_first,
    a_worker_joins_all_copies,
    only_the_workers_of_the_tag_are_meant,
    own_copies_leave_no_husk,
    a_stop_drops_each_copy_once,
    a_stopped_runtime_refuses_every_copy,
);

/// W9, in short.
fn each_worker_runs_its_copy<B: Backend>() {
    const WORKERS: usize = 8;
    let runtime = runtime::<B>(WORKERS);
    for _ in 0..100 {
        let copies = runtime.broadcast(|worker| (worker.index(), thread::current().id()));
        let ran: Vec<_> = copies
            .into_iter()
            .map(|copy| copy.join().unwrap())
            .collect();
        let indices: Vec<_> = ran.iter().map(|(index, _)| *index).collect();
        assert_eq!(indices, (0..WORKERS).collect::<Vec<_>>());
        let threads: HashSet<_> = ran.iter().map(|(_, thread)| thread).collect();
        assert_eq!(threads.len(), WORKERS);
    }
}

fn a_copy_waits_for_its_worker_and_goes_first<B: Backend>() {
    let runtime = runtime::<B>(1);
    let held = hold(runtime.default_tag(), 1);
    let order = Arc::new(AtomicUsize::new(0));
    let place = |order: &Arc<AtomicUsize>| {
        let order = Arc::clone(order);
        move || order.fetch_add(1, Ordering::Relaxed)
    };
    let queued = runtime.spawn(place(&order));
    let place_of_copy = place(&order);
    let mut copies = runtime.broadcast(move |_| place_of_copy());
    let copy = copies.pop().unwrap();
    assert!(copies.is_empty() && !copy.is_finished());
    held.release();
    assert_eq!((copy.join().unwrap(), queued.join().unwrap()), (0, 1));
}

/// Its own copy it runs in place, where the others are run by their workers alone.
fn a_worker_joins_all_copies<B: Backend>() {
    let runtime = Arc::new(runtime::<B>(3));
    for _ in 0..100 {
        let inside = Arc::clone(&runtime);
        let task = runtime.spawn(move || {
            let copies = inside.broadcast(|_| thread::current().id());
            let threads = copies.into_iter().map(|copy| copy.join().unwrap());
            threads.collect::<HashSet<_>>().len()
        });
        assert_eq!(task.join().unwrap(), 3);
    }
    let metrics = runtime.metrics().total;
    assert_eq!((metrics.spawned, metrics.ran), (400, 400));
}

/// A task that broadcasts and joins in a loop would fill its own mailbox with them, until it is full.
fn own_copies_leave_no_husk<B: Backend>() {
    let tag = Tag::new("only").workers(1).inbox_limit(4);
    let runtime: Arc<RuntimeOn<B>> = Arc::new(RuntimeOn::builder().tag(tag).build().unwrap());
    let inside = Arc::clone(&runtime);
    let task = runtime.spawn(move || {
        for round in 0..100 {
            let other = inside.broadcast(|_| ()).pop().unwrap();
            let own = inside.broadcast(move |_| round).pop().unwrap();
            assert_eq!(own.join().unwrap(), round);
            assert!(!other.is_finished());
            other.join().unwrap();
        }
    });
    task.join().unwrap();
}

fn only_the_workers_of_the_tag_are_meant<B: Backend>() {
    let tags = [Tag::new("few").workers(1), Tag::new("more").workers(2)];
    let runtime: RuntimeOn<B> = RuntimeOn::builder().tags(tags).build().unwrap();
    let copies = runtime
        .tag("more")
        .unwrap()
        .broadcast(|worker| worker.tag().to_owned());
    let tags: Vec<_> = copies
        .into_iter()
        .map(|copy| copy.join().unwrap())
        .collect();
    assert_eq!(tags, ["more", "more"]);
    assert_eq!(runtime.broadcast(|_| ()).len(), 1);
}

fn a_stop_drops_each_copy_once<B: Backend>() {
    let runtime = runtime::<B>(2);
    let held = hold(runtime.default_tag(), 2);
    let token = Arc::new(());
    let captured = Arc::clone(&token);
    let copies = runtime.broadcast(move |_| Arc::strong_count(&captured));
    thread::scope(|threads| {
        let stop = threads.spawn(|| runtime.shutdown(Policy::Abandon, None).unwrap());
        for copy in copies {
            assert!(matches!(copy.join(), Err(JoinError::Dropped)));
        }
        held.release();
        assert_eq!(stop.join().unwrap().dropped, 2);
    });
    assert_eq!(Arc::strong_count(&token), 1);
}

fn a_stopped_runtime_refuses_every_copy<B: Backend>() {
    let runtime = runtime::<B>(2);
    let _report = runtime.shutdown(Policy::Drain, None).unwrap();
    let copies = runtime.broadcast(|_| ());
    assert_eq!(copies.len(), 2);
    for copy in copies {
        let refused = copy.join().unwrap_err();
        assert!(
            matches!(refused, JoinError::Refused(RefusedReason::Stopped)),
            "{refused:?}"
        );
    }
}
