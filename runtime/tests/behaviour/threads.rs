//! Threads that cannot start: the error says how many did, and none of them is left.
//!
//! The limit on address space holds for the whole process, so each test runs in a process of its own.

use std::collections::HashSet;
use std::fs;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use crate::child;
use crate::common::{eventually, hold, threads_called};
use parkade::{Backend, BuildError, OnThreadError, RefusedReason, RuntimeBuilder, RuntimeOn, Tag};
use rlimit::Resource;

on_each_backend!(
    a_build_without_memory_leaves_nothing,
    a_runtime_may_run_with_fewer,
    each_tag_needs_one,
    a_timer_without_a_thread_comes_back,
    a_late_worker_that_cannot_start_strands_nothing,
);

/// What one worker's stack takes of the address space, in bytes: far more than anything else.
const STACK: usize = 2 << 30;

fn in_child<B: Backend>(test: &str, body: impl FnOnce()) {
    child::run::<B>("threads", test, body);
}

/// Lets the address space grow by so many stacks and a half from now on.
fn allow_stacks(stacks: usize) {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let size = status.lines().find_map(|line| line.strip_prefix("VmSize:"));
    let kib: usize = size
        .unwrap()
        .trim()
        .trim_end_matches(" kB")
        .parse()
        .unwrap();
    let (_, hard) = Resource::AS.get().unwrap();
    let limit = kib * 1024 + stacks * STACK + STACK / 2;
    Resource::AS.set(limit as u64, hard).unwrap();
}

fn allow_everything() {
    let (_, hard) = Resource::AS.get().unwrap();
    Resource::AS.set(hard, hard).unwrap();
}

fn eight<B: Backend>() -> RuntimeBuilder<B> {
    RuntimeOn::builder()
        .tag(Tag::new("a").workers(4))
        .tag(Tag::new("b").workers(4))
        .thread_name("g7-")
        .stack_size(STACK)
}

/// G7.
fn a_build_without_memory_leaves_nothing<B: Backend>() {
    in_child::<B>("a_build_without_memory_leaves_nothing", || {
        allow_stacks(3);
        let failed = eight::<B>()
            .on_start(|_| panic!("a worker began to work"))
            .build()
            .unwrap_err();
        let BuildError::Thread {
            started,
            requested,
            source,
        } = failed
        else {
            panic!("another error: {failed}");
        };
        assert_eq!((started, requested), (3, 8));
        assert_eq!(source.kind(), std::io::ErrorKind::WouldBlock, "{source}");
        eventually("no thread is left", || threads_called("g7-").is_empty());

        allow_everything();
        let runtime = eight::<B>().build().unwrap();
        assert_eq!(runtime.metrics().total.workers, 8);
        assert_eq!(runtime.spawn(|| 1).join().unwrap(), 1);
    });
}

/// G7, G8: it runs on those that there are, and none of its tasks waits for the others.
fn a_runtime_may_run_with_fewer<B: Backend>() {
    in_child::<B>("a_runtime_may_run_with_fewer", || {
        allow_stacks(3);
        let runtime = eight::<B>()
            .on_thread_error(OnThreadError::RunWithFewer)
            .build()
            .unwrap();
        let metrics = runtime.metrics();
        let (a, b) = (metrics.tag("a").unwrap(), metrics.tag("b").unwrap());
        assert_eq!((a.workers, a.missing), (2, 2));
        assert_eq!((b.workers, b.missing), (1, 3));
        assert!(
            metrics
                .to_string()
                .contains("3 workers of tag \"b\" could not be started")
        );

        for name in ["a", "b"] {
            let tag = runtime.tag(name).unwrap();
            let mut batch = tag.batch();
            let batched: Vec<_> = (0..500).map(|n| batch.spawn(move || n)).collect();
            batch.submit().unwrap();
            let alone: Vec<_> = (0..500).map(|n| tag.spawn(move || n)).collect();
            for (n, handle) in batched.into_iter().chain(alone).enumerate() {
                assert_eq!(handle.join().unwrap(), n % 500);
            }
        }
        // Both workers of the tag are really at work.
        let barrier = Arc::new(Barrier::new(2));
        let threads = [(); 2].map(|()| {
            let barrier = Arc::clone(&barrier);
            runtime.spawn(move || {
                barrier.wait();
                thread::current().id()
            })
        });
        let threads: HashSet<_> = threads.map(|task| task.join().unwrap()).into();
        assert_eq!(threads.len(), 2);
        allow_everything();
    });
}

fn each_tag_needs_one<B: Backend>() {
    in_child::<B>("each_tag_needs_one", || {
        allow_stacks(1);
        let failed = eight::<B>()
            .on_thread_error(OnThreadError::RunWithFewer)
            .build()
            .unwrap_err();
        assert_eq!(
            failed.to_string(),
            "only 1 of 8 worker threads could be started"
        );
        eventually("no thread is left", || threads_called("g7-").is_empty());
        allow_everything();
    });
}

fn a_timer_without_a_thread_comes_back<B: Backend>() {
    in_child::<B>("a_timer_without_a_thread_comes_back", || {
        let runtime = eight::<B>().build().unwrap();
        allow_stacks(0);
        let name = String::from("mine");
        let refused = runtime.after(Duration::ZERO, move || name).unwrap_err();
        let RefusedReason::NoTimerThread(error) = refused.reason else {
            panic!("another reason: {refused}");
        };
        assert_eq!(error, std::io::ErrorKind::WouldBlock);
        assert_eq!(runtime.metrics().timers.pending, 0);
        assert_eq!(threads_called("g7-timer").len(), 0);

        allow_everything();
        let timer = runtime.after(Duration::ZERO, refused.task).unwrap();
        assert_eq!(timer.join().unwrap(), "mine");
        assert_eq!(threads_called("g7-timer").len(), 1);
        drop(runtime);
        eventually("no thread is left", || threads_called("g7-").is_empty());
    });
}

/// G8.
fn a_late_worker_that_cannot_start_strands_nothing<B: Backend>() {
    in_child::<B>("a_late_worker_that_cannot_start_strands_nothing", || {
        let runtime = RuntimeOn::<B>::builder()
            .tag(Tag::new("a").workers(4).max_workers(8))
            .thread_name("g8-")
            .stack_size(STACK)
            .build()
            .unwrap();
        allow_stacks(0);
        let held = hold(runtime.default_tag(), 4);
        let tasks: Vec<_> = (0..1000).map(|n| runtime.spawn(move || n)).collect();
        eventually("the fifth cannot start", || {
            runtime.metrics().total.failed_starts > 0
        });
        held.release();
        for (n, task) in tasks.into_iter().enumerate() {
            assert_eq!(task.join().unwrap(), n);
        }
        let metrics = runtime.metrics().total;
        assert_eq!((metrics.workers, metrics.grown), (4, 0));
        assert_eq!(threads_called("g8-a-").len(), 4);
        assert!(metrics.missing == 0, "{metrics:?}");

        allow_everything();
        // Five at a time, so a later request has been met.
        drop(hold(runtime.default_tag(), 5));
        assert!(runtime.metrics().total.grown > 0);
        drop(runtime);
        eventually("no thread is left", || threads_called("g8-").is_empty());
    });
}
