//! Handles: values, panics, timeouts, and what happens to a handle that nobody keeps.

use std::panic;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use crate::common::{eventually, expect_panics, hold, runtime};
use parkade::{Backend, JoinError, Policy};

on_each_backend!(
    values_come_back,
    a_panic_is_the_handles,
    a_panic_of_any_value_comes_back_whole,
    workers_survive_every_tenth_task,
    panics_of_destructors_are_caught,
    a_timeout_gives_the_handle_back,
    an_endless_timeout_waits,
    try_join_follows_the_task,
    a_dropped_handle_lets_the_task_run,
    a_handle_outlives_its_runtime,
    handles_move_between_threads,
    ten_thousand_lone_tasks,
);

fn values_come_back<B: Backend>() {
    let runtime = runtime::<B>(2);
    let handles: Vec<_> = (0..1000).map(|n| runtime.spawn(move || n * 2)).collect();
    for (n, handle) in handles.into_iter().enumerate() {
        assert_eq!(handle.join().unwrap(), n * 2);
    }
    let large = runtime.spawn(|| [7_u64; 64]).join().unwrap();
    assert_eq!(large, [7; 64]);
    let text = String::from("moved in and out");
    assert_eq!(
        runtime.spawn(move || text).join().unwrap(),
        "moved in and out"
    );
}

/// P2.
fn a_panic_is_the_handles<B: Backend>() {
    expect_panics();
    let runtime = runtime::<B>(1);
    let error = runtime.spawn(|| panic!("as a literal")).join().unwrap_err();
    assert_eq!(error.to_string(), "the task panicked: as a literal");
    let number: Vec<u8> = vec![7];
    let error = runtime
        .spawn(move || panic!("number {number:?}"))
        .join()
        .unwrap_err();
    assert!(error.is_panic());
    assert_eq!(error.to_string(), "the task panicked: number [7]");
    assert_eq!(
        format!("{error:?}"),
        "Panicked(PanicPayload(Some(\"number [7]\")))"
    );
    let payload = error.into_panic().unwrap();
    assert_eq!(payload.downcast_ref(), Some(&String::from("number [7]")));
    assert_eq!(runtime.spawn(|| 1).join().unwrap(), 1, "the worker goes on");
    let metrics = runtime.metrics().total;
    assert_eq!((metrics.ran, metrics.panicked, metrics.workers), (3, 2, 1));
}

fn a_panic_of_any_value_comes_back_whole<B: Backend>() {
    expect_panics();
    let runtime = runtime::<B>(1);
    let error = runtime
        .spawn(|| panic::panic_any(42_u8))
        .join()
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "the task panicked: a value that is no message"
    );
    let JoinError::Panicked(payload) = error else {
        panic!("not a panic: {error:?}");
    };
    let again = panic::catch_unwind(move || payload.resume()).unwrap_err();
    assert_eq!(again.downcast_ref(), Some(&42_u8));
}

/// P3.
fn workers_survive_every_tenth_task<B: Backend>() {
    expect_panics();
    let runtime = runtime::<B>(2);
    let ran = Arc::new(AtomicUsize::new(0));
    let handles: Vec<_> = (0..1000)
        .map(|n| {
            let ran = Arc::clone(&ran);
            runtime.spawn(move || {
                ran.fetch_add(1, Ordering::Relaxed);
                assert_ne!(n % 10, 0, "every tenth");
            })
        })
        .collect();
    for (n, handle) in handles.into_iter().enumerate() {
        assert_eq!(handle.join().is_err(), n % 10 == 0, "task {n}");
    }
    assert_eq!(ran.load(Ordering::Relaxed), 1000);
    let metrics = runtime.metrics().total;
    assert_eq!((metrics.ran, metrics.panicked), (1000, 100));
    assert_eq!(metrics.workers, 2);
}

struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("in a destructor");
    }
}

fn panics_of_destructors_are_caught<B: Backend>() {
    expect_panics();
    let runtime = runtime::<B>(1);
    // Of a captured value: the task panics. (The block moves it in, and it falls at the end.)
    let captured = Bomb;
    assert!(
        runtime
            .spawn(move || drop(captured))
            .join()
            .unwrap_err()
            .is_panic()
    );
    let captured = Bomb;
    runtime.spawn_detached(move || drop(captured)).unwrap();
    // Of a result that nobody takes.
    let held = hold(runtime.default_tag(), 1);
    drop(runtime.spawn(|| Bomb));
    held.release();
    assert_eq!(runtime.spawn(|| 1).join().unwrap(), 1);
    assert_eq!(runtime.metrics().total.workers, 1);
}

fn a_timeout_gives_the_handle_back<B: Backend>() {
    let runtime = runtime::<B>(1);
    let (finish, finished) = mpsc::channel();
    let mut handle = runtime.spawn(move || finished.recv().unwrap());
    for timeout in [
        Duration::ZERO,
        Duration::from_millis(1),
        Duration::from_millis(20),
    ] {
        handle = handle.join_timeout(timeout).unwrap_err();
        assert!(!handle.is_finished());
    }
    finish.send(9).unwrap();
    assert_eq!(
        handle.join_timeout(crate::common::LIMIT).unwrap().unwrap(),
        9
    );
}

/// T6, for handles.
fn an_endless_timeout_waits<B: Backend>() {
    let runtime = runtime::<B>(1);
    let (finish, finished) = mpsc::channel();
    let handle = runtime.spawn(move || finished.recv().unwrap());
    let waiting = thread::spawn(move || handle.join_timeout(Duration::MAX).unwrap().unwrap());
    finish.send(9).unwrap();
    assert_eq!(waiting.join().unwrap(), 9);
}

fn try_join_follows_the_task<B: Backend>() {
    let runtime = runtime::<B>(1);
    let held = hold(runtime.default_tag(), 1);
    let handle = runtime.spawn(|| 5);
    let handle = handle.try_join().unwrap_err();
    assert!(!handle.is_finished());
    held.release();
    eventually("the task ends", || handle.is_finished());
    assert_eq!(handle.try_join().unwrap().unwrap(), 5);
}

fn a_dropped_handle_lets_the_task_run<B: Backend>() {
    let runtime = runtime::<B>(1);
    let held = hold(runtime.default_tag(), 1);
    let token = Arc::new(());
    let (ran, runs) = mpsc::channel();
    let in_task = Arc::clone(&token);
    drop(runtime.spawn(move || {
        ran.send(()).unwrap();
        in_task
    }));
    held.release();
    runs.recv().unwrap();
    runtime.shutdown(Policy::Drain, None).unwrap();
    assert_eq!(Arc::strong_count(&token), 1, "the result has been dropped");
}

fn a_handle_outlives_its_runtime<B: Backend>() {
    let runtime = runtime::<B>(1);
    let handle = runtime.spawn(|| vec![1, 2, 3]);
    drop(runtime);
    assert!(handle.is_finished());
    assert_eq!(handle.join().unwrap(), [1, 2, 3]);
}

fn handles_move_between_threads<B: Backend>() {
    let runtime = runtime::<B>(2);
    let held = hold(runtime.default_tag(), 2);
    let waiters: Vec<_> = (0..4)
        .map(|n| {
            let handle = runtime.spawn(move || n);
            thread::spawn(move || handle.join().unwrap())
        })
        .collect();
    held.release();
    for (n, waiter) in waiters.into_iter().enumerate() {
        assert_eq!(waiter.join().unwrap(), n);
    }
}

/// W1, in short: each task is alone, and its submitter waits for it.
fn ten_thousand_lone_tasks<B: Backend>() {
    for workers in [1, 2] {
        let runtime = runtime::<B>(workers);
        for n in 0..5_000_u32 {
            assert_eq!(runtime.spawn(move || n).join().unwrap(), n);
            // A different phase of falling asleep each time.
            for _ in 0..n % 607 {
                std::hint::spin_loop();
            }
        }
        let metrics = runtime.metrics().total;
        assert_eq!((metrics.spawned, metrics.ran), (5_000, 5_000));
    }
}
