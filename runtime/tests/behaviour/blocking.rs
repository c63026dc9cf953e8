//! Workers that say that they block: who takes their place, and that it is given back.

use std::panic;
use std::sync::{Arc, Barrier, mpsc};
use std::time::Duration;

use parkade::{Backend, Policy, RuntimeOn, Tag};

use crate::common::{eventually, expect_panics};

on_each_backend!(
    another_works_in_its_place,
    nobody_does_unless_it_is_allowed,
    calls_inside_count_once,
    a_panic_ends_it,
    a_sleep_counts,
    a_stranger_just_calls,
);

fn one<B: Backend>(max_blocked: usize) -> RuntimeOn<B> {
    let tag = Tag::new("only").workers(1).max_blocked(max_blocked);
    RuntimeOn::builder().tag(tag).build().unwrap()
}

fn blocked<B: Backend>(runtime: &RuntimeOn<B>) -> usize {
    runtime.metrics().total.blocked
}

fn another_works_in_its_place<B: Backend>() {
    let runtime = one::<B>(3);
    for _ in 0..3 {
        // Three block, and a fourth works for them; the tasks come before the blocks and after.
        let barrier = Arc::new(Barrier::new(4));
        let blocks = [(); 3].map(|()| {
            let barrier = Arc::clone(&barrier);
            runtime.spawn(move || parkade::blocking(|| _ = barrier.wait()))
        });
        eventually("three are blocked", || blocked(&runtime) == 3);
        assert_eq!(runtime.spawn(|| 1).join().unwrap(), 1);
        runtime.spawn_detached(move || _ = barrier.wait()).unwrap();
        for task in blocks {
            task.join().unwrap();
        }
        eventually("one goes on", || {
            let metrics = runtime.metrics().total;
            (metrics.blocked, metrics.workers) == (0, 1)
        });
    }
    assert!(runtime.metrics().total.grown >= 9);
}

fn nobody_does_unless_it_is_allowed<B: Backend>() {
    let runtime = one::<B>(0);
    let (end, ended) = mpsc::channel::<()>();
    let blocks = runtime.spawn(move || parkade::blocking(|| ended.recv()));
    eventually("it is blocked", || blocked(&runtime) == 1);
    let waits = runtime.spawn(|| 1);
    let metrics = runtime.metrics().total;
    assert_eq!((metrics.workers, metrics.queued, metrics.grown), (1, 1, 0));
    drop(end);
    assert!(blocks.join().unwrap().is_err());
    assert_eq!(waits.join().unwrap(), 1);
    assert!(!runtime.metrics().to_string().contains("scaling"));
}

fn calls_inside_count_once<B: Backend>() {
    let runtime = Arc::new(one::<B>(2));
    let here = Arc::clone(&runtime);
    let counted = runtime.spawn(move || {
        let inside = parkade::blocking(|| {
            let first = blocked(&here);
            let second = parkade::blocking(|| blocked(&here));
            (first, second, blocked(&here))
        });
        (inside, blocked(&here))
    });
    assert_eq!(counted.join().unwrap(), ((1, 1, 1), 0));
    let metrics = runtime.metrics().total;
    assert_eq!(metrics.grown, 0, "nothing waited");
}

fn a_panic_ends_it<B: Backend>() {
    expect_panics();
    let runtime = one::<B>(1);
    let outcome = runtime.spawn(|| parkade::blocking(|| panic!("on purpose")));
    outcome.join().unwrap_err();
    assert_eq!(blocked(&runtime), 0);
    let caught = panic::catch_unwind(|| parkade::blocking(|| panic::resume_unwind(Box::new(7))));
    let caught: Result<(), _> = caught;
    assert_eq!(*caught.unwrap_err().downcast::<i32>().unwrap(), 7);
}

fn a_sleep_counts<B: Backend>() {
    let runtime = one::<B>(1);
    let sleeps = runtime.spawn(|| parkade::sleep(Duration::MAX));
    eventually("it sleeps", || blocked(&runtime) == 1);
    assert_eq!(runtime.spawn(|| 1).join().unwrap(), 1);
    assert!(runtime.metrics().to_string().contains("1 blocked"));
    runtime.shutdown(Policy::Drain, None).unwrap();
    assert!(sleeps.join().unwrap().is_err());
    assert_eq!(blocked(&runtime), 0);
}

fn a_stranger_just_calls<B: Backend>() {
    let runtime = one::<B>(1);
    assert_eq!(parkade::blocking(|| blocked(&runtime)), 0);
    let alarm = runtime.alarm(Duration::ZERO, || parkade::blocking(|| 1));
    assert_eq!(alarm.unwrap().join().unwrap(), 1);
}
