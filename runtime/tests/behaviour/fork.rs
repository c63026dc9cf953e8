//! Forks: the child gets errors at once and may have a runtime of its own; the parent notices nothing.
//!
//! Each test forks a child process of the test program, which has the test's threads and no others.

use std::panic::{self, AssertUnwindSafe};
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use parkade::future::sleep;
use parkade::{
    Backend, JoinError, Policy, RefusedReason, ResizeError, RuntimeOn, ShutdownError, Stopped,
    block_on,
};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

use crate::child;
use crate::common::{hold, runtime};
use crate::futures::leave_waker;

on_each_backend!(
    a_child_gets_errors_at_once_and_a_fresh_runtime,
    a_worker_that_forks_ends_with_its_task,
    children_of_a_busy_parent_do_not_hang,
    a_child_leaves_the_parents_futures_alone,
    a_child_waits_for_no_drop_that_was_going_on,
);

/// A hang detector for one forked child, which has milliseconds of work.
const LIMIT: Duration = Duration::from_secs(20);

enum Side {
    Child,
    Parent(Forked),
}

/// The child of a fork; to be waited for.
struct Forked(Pid);

fn fork() -> Side {
    // SAFETY: what the child does is within what glibc lets a child of several threads do: besides signal-safe
    // functions, allocate, and start threads; the locks of other threads are what is tested.
    let pid = unsafe { libc::fork() };
    match Pid::from_raw(pid) {
        Some(pid) if !pid.is_init() => Side::Parent(Forked(pid)),
        Some(_) => panic!("no process has this number"),
        None => Side::Child,
    }
}

impl Forked {
    /// Waits for the child to end well.
    fn ends(self) {
        let began = Instant::now();
        loop {
            if let Some((_, status)) = waitpid(Some(self.0), WaitOptions::NOHANG).unwrap() {
                assert_eq!(status.exit_status(), Some(0), "{status:?}");
                return;
            }
            if began.elapsed() > LIMIT {
                kill_process(self.0, Signal::KILL).unwrap();
                waitpid(Some(self.0), WaitOptions::empty()).unwrap();
                panic!("the child hangs");
            }
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Runs `body` in a child and ends it there, with an error if it panics.
fn end_after(body: impl FnOnce()) -> ! {
    let ended = panic::catch_unwind(AssertUnwindSafe(body));
    leave(i32::from(ended.is_err()))
}

fn leave(status: i32) -> ! {
    // SAFETY: it ends the process and touches no memory of it.
    unsafe { libc::_exit(status) }
}

/// Everything that a runtime of a parent has to say.
fn is_refused_everywhere<B: Backend>(theirs: &RuntimeOn<B>) {
    let refused = theirs.try_spawn(|| 7).unwrap_err();
    assert_eq!(refused.reason, RefusedReason::Forked);
    assert_eq!((refused.task)(), 7, "the closure is unharmed");

    let handle = theirs.spawn(|| 7);
    assert!(handle.is_finished());
    let error = handle.join().unwrap_err();
    assert!(matches!(error, JoinError::Refused(RefusedReason::Forked)));
    assert_eq!(
        error.to_string(),
        "the task was refused: the runtime belongs to the process that this one was forked from"
    );

    let refused = theirs.spawn_detached(|| ()).unwrap_err();
    assert_eq!(refused.reason, RefusedReason::Forked);
    let mut batch = theirs.batch();
    batch.spawn_detached(|| ());
    let refused = batch.submit().unwrap_err();
    assert_eq!(
        (refused.accepted, refused.reason),
        (0, RefusedReason::Forked)
    );

    let refused = theirs.after(Duration::ZERO, || 7).unwrap_err();
    assert_eq!(refused.reason, RefusedReason::Forked);
    assert_eq!(theirs.sleep(Duration::ZERO), Err(Stopped));

    assert_eq!(theirs.resize(1), Err(ResizeError::Forked));
    assert_eq!(theirs.metrics().total.wanted, 0, "it waits for no lock");

    // What borrows is never refused: it runs in place.
    assert_eq!(theirs.join(|| 1, || 2), (1, 2));
    assert_eq!(theirs.map(0..100_usize, |n| n), Vec::from_iter(0..100));

    let error = theirs.shutdown(Policy::Drain, None).unwrap_err();
    assert_eq!(error, ShutdownError::Forked);
}

fn a_fresh_one_works<B: Backend>() -> RuntimeOn<B> {
    let fresh = runtime::<B>(2);
    let handles: Vec<_> = (0..100).map(|n| fresh.spawn(move || n)).collect();
    for (n, handle) in handles.into_iter().enumerate() {
        assert_eq!(handle.join().unwrap(), n);
    }
    fresh
}

/// F1.
fn a_child_gets_errors_at_once_and_a_fresh_runtime<B: Backend>() {
    child::run::<B>(
        "fork",
        "a_child_gets_errors_at_once_and_a_fresh_runtime",
        || {
            let theirs = runtime::<B>(1);
            let done = theirs.spawn(|| 1);
            while !done.is_finished() {
                thread::yield_now();
            }
            let held = hold(theirs.default_tag(), 1);
            let (queued, also_queued) = (theirs.spawn(|| 2), theirs.spawn(|| 3));
            match fork() {
                Side::Child => end_after(move || {
                    is_refused_everywhere(&theirs);
                    assert_eq!(done.join().unwrap(), 1, "it is in this memory too");
                    assert!(matches!(queued.join(), Err(JoinError::Forked)));
                    let waited = also_queued.join_timeout(Duration::MAX).unwrap();
                    assert!(matches!(waited, Err(JoinError::Forked)));
                    drop(theirs);

                    let fresh = a_fresh_one_works::<B>();
                    match fork() {
                        Side::Child => end_after(|| {
                            is_refused_everywhere(&fresh);
                            let fresh = a_fresh_one_works::<B>();
                            assert!(fresh.shutdown(Policy::Drain, None).unwrap().is_complete());
                        }),
                        Side::Parent(grandchild) => grandchild.ends(),
                    }
                    assert_eq!(fresh.spawn(|| 4).join().unwrap(), 4);
                    let report = fresh.shutdown(Policy::Drain, None).unwrap();
                    assert_eq!((report.ran, report.is_complete()), (101, true));
                }),
                Side::Parent(child) => child.ends(),
            }
            held.release();
            assert_eq!(done.join().unwrap(), 1);
            assert_eq!(queued.join().unwrap(), 2);
            assert_eq!(also_queued.join().unwrap(), 3);
            let report = theirs.shutdown(Policy::Drain, None).unwrap();
            assert_eq!((report.ran, report.dropped), (4, 0));
        },
    );
}

/// F1, on a worker: no task of the parent's runs in the child.
fn a_worker_that_forks_ends_with_its_task<B: Backend>() {
    child::run::<B>("fork", "a_worker_that_forks_ends_with_its_task", || {
        let parent = process::id();
        let theirs = Arc::new(runtime::<B>(1));
        let (go, gone) = mpsc::channel::<()>();
        let inside = Arc::clone(&theirs);
        let forking = theirs.spawn(move || {
            gone.recv().unwrap();
            let own = inside.spawn(move || assert_eq!(process::id(), parent));
            match fork() {
                Side::Child => {
                    let checked = panic::catch_unwind(AssertUnwindSafe(|| {
                        is_refused_everywhere(&inside);
                        assert!(matches!(own.join(), Err(JoinError::Forked)));
                    }));
                    if checked.is_err() {
                        leave(1);
                    }
                    // This thread is the child's last, so the child ends when the worker does.
                    None
                }
                Side::Parent(child) => {
                    own.join().unwrap();
                    Some(child)
                }
            }
        });
        let behind: Vec<_> = (0..100)
            .map(|_| {
                theirs.spawn(move || {
                    if process::id() != parent {
                        leave(2);
                    }
                })
            })
            .collect();
        go.send(()).unwrap();
        forking.join().unwrap().unwrap().ends();
        for handle in behind {
            handle.join().unwrap();
        }
        assert_eq!(theirs.metrics().total.ran, 102);
    });
}

/// F1, with every lock of the runtime held at some fork or other.
fn children_of_a_busy_parent_do_not_hang<B: Backend>() {
    const FORKS: usize = 40;
    child::run::<B>("fork", "children_of_a_busy_parent_do_not_hang", || {
        let theirs = runtime::<B>(2);
        let enough = AtomicBool::new(false);
        thread::scope(|threads| {
            threads.spawn(|| {
                while !enough.load(Ordering::Relaxed) {
                    let mut batch = theirs.batch();
                    (0..20).for_each(|_| batch.spawn_detached(|| ()));
                    batch.submit().unwrap();
                    theirs.spawn(|| ()).join().unwrap();
                }
            });
            for _ in 0..FORKS {
                match fork() {
                    Side::Child => end_after(|| {
                        is_refused_everywhere(&theirs);
                        drop(a_fresh_one_works::<B>());
                    }),
                    Side::Parent(child) => child.ends(),
                }
            }
            enough.store(true, Ordering::Relaxed);
        });
        let report = theirs.shutdown(Policy::Drain, None).unwrap();
        assert_eq!(report.dropped, 0);
    });
}

/// F1 for futures: what the child has of them is a copy. Its wakers do nothing, its tasks say so, and dropping them
/// waits for nobody.
fn a_child_leaves_the_parents_futures_alone<B: Backend>() {
    child::run::<B>("fork", "a_child_leaves_the_parents_futures_alone", || {
        let theirs = runtime::<B>(1);
        let slot = Arc::default();
        let (waits, also_waits) = (leave_waker(&slot), leave_waker(&Arc::default()));
        let (waits, also_waits) = (theirs.spawn_async(waits), theirs.spawn_async(also_waits));
        let sleeps = theirs.spawn_async(sleep(Duration::MAX));
        let handle = theirs.spawn(|| true);
        while !handle.is_finished()
            || theirs.metrics().timers.pending == 0
            || slot.lock().unwrap().is_none()
        {
            thread::yield_now();
        }
        match fork() {
            Side::Child => end_after(move || {
                let spawned = theirs.metrics().total.spawned;
                let waker = slot.lock().unwrap().take().unwrap();
                waker.wake_by_ref();
                let queued = theirs.metrics().total.spawned - spawned;
                assert_eq!(queued, 0, "nobody would ever poll it");
                assert!(matches!(waits.join(), Err(JoinError::Forked)));
                assert!(block_on(also_waits.cancel()).is_none());
                drop(sleeps);
                drop(waker);
                assert!(block_on(handle).is_ok(), "it is in this memory too");
                let refused = theirs.spawn_async(async { 7 }).join();
                let reason = RefusedReason::Forked;
                assert!(matches!(refused, Err(JoinError::Refused(found)) if found == reason));
                drop(theirs);
                let fresh = a_fresh_one_works::<B>();
                let slept = fresh.spawn_async(sleep(Duration::from_millis(1)));
                assert_eq!(slept.join().unwrap(), Ok(()));
            }),
            Side::Parent(child) => {
                child.ends();
                assert!(!sleeps.is_finished() && !waits.is_finished());
                assert_eq!(theirs.spawn_async(async { 7 }).join().unwrap(), 7);
                assert!(handle.join().unwrap());
                theirs.shutdown(Policy::Drain, None).unwrap();
                assert_eq!(sleeps.join().unwrap(), Err(Stopped));
                assert!(matches!(waits.join(), Err(JoinError::Dropped)));
            }
        }
    });
}

/// A future that another thread was dropping at the fork: nobody in the child goes on with that.
fn a_child_waits_for_no_drop_that_was_going_on<B: Backend>() {
    struct Blocks(mpsc::Sender<()>, mpsc::Receiver<()>);
    impl Drop for Blocks {
        fn drop(&mut self) {
            self.0.send(()).unwrap();
            let _over = self.1.recv();
        }
    }
    child::run::<B>(
        "fork",
        "a_child_waits_for_no_drop_that_was_going_on",
        || {
            let theirs = runtime::<B>(1);
            let ((begin, begun), (over, wait)) = (mpsc::channel(), mpsc::channel());
            let held = hold(theirs.default_tag(), 1);
            let blocks = Blocks(begin, wait);
            let task = theirs.spawn_async(async move { drop(blocks) });
            thread::scope(|scope| {
                scope.spawn(|| theirs.shutdown(Policy::Abandon, None).unwrap());
                begun.recv().unwrap();
                assert!(task.is_finished());
                match fork() {
                    Side::Child => {
                        end_after(move || assert!(matches!(task.join(), Err(JoinError::Forked))));
                    }
                    Side::Parent(child) => {
                        child.ends();
                        drop(over);
                        held.release();
                        assert!(matches!(task.join(), Err(JoinError::Dropped)));
                    }
                }
            });
        },
    );
}
