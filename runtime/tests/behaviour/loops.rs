//! Loops by a shared index: every item once, results in order, who helps, and what a panic or the stop leaves.

use std::panic;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

use crate::common::{expect_panics, hold, runtime};
use crate::fork_join::{add_one, meet, panic_of};
use parkade::{Backend, Policy};

on_each_backend!(
    every_item_is_visited_once,
    results_come_in_order,
    parts_have_the_size_that_was_asked_for,
    the_caller_and_all_other_workers_help,
    a_caller_whom_nobody_helps_does_all,
    loops_within_loops,
    a_panic_ends_the_loop_after_what_was_begun,
    loops_spawns_and_batches_do_not_meet,
    after_the_stop_the_caller_does_all,
);

/// As many as are worth a helper, and none, and one more or less than a round number.
const SIZES: [usize; 7] = [0, 1, 2, 31, 32, 33, 1000];

fn every_item_is_visited_once<B: Backend>() {
    for workers in [1, 3] {
        let runtime = runtime::<B>(workers);
        for size in SIZES {
            let visits: Vec<_> = (0..size).map(|_| AtomicUsize::new(0)).collect();
            runtime.for_each(&visits[..], add_one);
            runtime.for_each(0..size, |at| add_one(&visits[at]));
            // Inside a worker.
            runtime.join(|| runtime.for_each(&visits[..], add_one), || ());
            let seen = |visit: &AtomicUsize| visit.load(Ordering::Relaxed) == 3;
            assert!(visits.iter().all(seen), "{size} items, {workers} workers");
        }
        let report = runtime.shutdown(Policy::Drain, None).unwrap();
        assert_eq!(report.ran, runtime.metrics().total.spawned);
    }
}

fn results_come_in_order<B: Backend>() {
    let runtime = runtime::<B>(3);
    for size in SIZES {
        let doubled = runtime.map(7..7 + size, |number| Box::new(2 * number));
        assert!(
            doubled
                .into_iter()
                .map(|two| *two)
                .eq((7..7 + size).map(|number| 2 * number))
        );
    }
}

fn parts_have_the_size_that_was_asked_for<B: Backend>() {
    let runtime = runtime::<B>(3);
    let parts = Mutex::new(Vec::new());
    runtime.chunks(0..100, 30, |part| parts.lock().unwrap().push(part));
    let mut parts = parts.into_inner().unwrap();
    parts.sort_unstable_by_key(|part| part.start);
    assert_eq!(parts, [0..30, 30..60, 60..90, 90..100]);
    runtime.chunks(&[1, 2, 3][..], usize::MAX, |part| {
        assert_eq!(part, [1, 2, 3])
    });
}

/// From a worker and from outside: four threads at once for four items, of which each takes one.
fn the_caller_and_all_other_workers_help<B: Backend>() {
    let runtime = runtime::<B>(4);
    for _ in 0..20 {
        let meeting = Barrier::new(4);
        let all_meet = || runtime.for_each(0..4, |_| meet(&meeting));
        all_meet();
        runtime.join(all_meet, || ());
    }
}

fn a_caller_whom_nobody_helps_does_all<B: Backend>() {
    let runtime = runtime::<B>(2);
    let held = hold(runtime.default_tag(), 2);
    let here = thread::current().id();
    let on = runtime.map(0..100, |_| thread::current().id());
    assert!(on.into_iter().all(|thread| thread == here));
    held.release();
}

fn loops_within_loops<B: Backend>() {
    let runtime = runtime::<B>(3);
    let sums = runtime.map(0..20, |row: usize| {
        runtime
            .map(0..20, |column| row * column)
            .into_iter()
            .sum::<usize>()
    });
    assert!(sums.into_iter().eq((0..20).map(|row| row * 190)));
}

/// P1, for loops: on one worker the rest is not begun; with helpers, what was begun ends.
fn a_panic_ends_the_loop_after_what_was_begun<B: Backend>() {
    expect_panics();
    let alone = runtime::<B>(1);
    let seen = AtomicUsize::new(0);
    let third_panics = |at| {
        add_one(&seen);
        if at == 2 {
            panic::panic_any("third");
        }
    };
    let inside = || alone.chunks(0..100, 1, |part| third_panics(part.start));
    assert_eq!(panic_of(|| alone.join(inside, || ())), "third");
    assert_eq!(seen.load(Ordering::Relaxed), 3);

    // Without an end, but for the panic.
    let helped = runtime::<B>(3);
    let (begun, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let meeting = Barrier::new(3);
    let one_panics = |_| {
        let part = begun.fetch_add(1, Ordering::Relaxed);
        if part < 3 {
            meeting.wait();
        }
        if part == 1 {
            panic::panic_any("one");
        }
        add_one(&ended);
    };
    let inside = || helped.chunks(0..usize::MAX, 1, one_panics);
    assert_eq!(panic_of(|| helped.join(inside, || ())), "one");
    let begun = begun.load(Ordering::Relaxed);
    assert_eq!(ended.load(Ordering::Relaxed), begun - 1);
    assert_eq!(helped.metrics().total.workers, 3);
}

/// B2: whatever is submitted in between, each task and each item is seen once.
fn loops_spawns_and_batches_do_not_meet<B: Backend>() {
    const ROUNDS: usize = 200;
    let runtime = runtime::<B>(3);
    let counts: [Arc<AtomicUsize>; 3] = Default::default();
    let [looped, spawned, batched] = &counts;
    thread::scope(|threads| {
        threads.spawn(|| {
            for round in 0..ROUNDS {
                runtime.for_each(0..1 + round % 5, |_| add_one(looped));
            }
        });
        threads.spawn(|| {
            for _ in 0..ROUNDS {
                let count = Arc::clone(spawned);
                runtime.spawn(move || add_one(&count)).join().unwrap();
            }
        });
        threads.spawn(|| {
            for _ in 0..ROUNDS {
                let mut batch = runtime.batch();
                for _ in 0..3 {
                    let count = Arc::clone(batched);
                    batch.spawn_detached(move || add_one(&count));
                }
                batch.submit().unwrap();
            }
        });
    });
    let report = runtime.shutdown(Policy::Drain, None).unwrap();
    let counts = counts.map(|count| count.load(Ordering::Relaxed));
    assert_eq!(counts, [ROUNDS * 3, ROUNDS, ROUNDS * 3]);
    assert_eq!(report.ran, runtime.metrics().total.spawned);
}

fn after_the_stop_the_caller_does_all<B: Backend>() {
    let runtime = runtime::<B>(2);
    runtime.shutdown(Policy::Abandon, None).unwrap();
    assert_eq!(runtime.map(0..100, |number| number).len(), 100);
}
