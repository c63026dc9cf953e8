//! Stopping one tag: what becomes of its tasks, and that the others go on.

use std::cell::RefCell;
use std::future::pending;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use parkade::{
    Backend, JoinError, Policy, RefusedReason, ResizeError, RuntimeOn, ShutdownError, Stopped, Tag,
    TagRef,
};

use crate::common::{LIMIT, eventually, hold};

on_each_backend!(
    the_others_go_on,
    what_is_queued_may_be_dropped,
    submits_race_the_stop,
    every_caller_gets_the_same_report,
    all_tags_and_then_the_runtime,
    the_runtime_stops_meanwhile,
    the_runtime_waits_for_the_threads_of_its_tags,
    what_hastens_the_runtime_hastens_its_tags,
    a_deadline_leaves_the_thread_to_the_runtime,
    a_worker_of_the_tag_cannot_stop_it,
    workers_of_another_tag_can,
    two_tags_do_not_wait_for_each_other,
    what_is_dropped_cannot_stop_the_runtime,
    sleeps_end_in_the_tag_alone,
    timed_tasks_end_with_their_tag,
    futures_end_with_their_tag,
    nobody_is_started_in_it,
    what_it_had_is_the_others,
);

const LONG: Duration = Duration::from_secs(3600);

/// Two tags of so many workers each, `a` being the default one.
fn two<B: Backend>(workers: usize) -> RuntimeOn<B> {
    let tags = ["a", "b"].map(|name| Tag::new(name).workers(workers));
    RuntimeOn::builder().tags(tags).build().unwrap()
}

fn a<B: Backend>(runtime: &RuntimeOn<B>) -> TagRef<'_, B> {
    runtime.tag("a").unwrap()
}

fn b<B: Backend>(runtime: &RuntimeOn<B>) -> TagRef<'_, B> {
    runtime.tag("b").unwrap()
}

/// Whether its stop has begun. Nothing comes of the question.
fn is_refused<B: Backend>(tag: TagRef<'_, B>) -> bool {
    let timer = tag.after(LONG, || ());
    timer.is_err_and(|refused| refused.reason == RefusedReason::Stopped)
}

/// S8 and S9 of a tag: hooks have run, nobody is left.
fn the_others_go_on<B: Backend>() {
    let left = Arc::new(AtomicUsize::new(0));
    let leaving = Arc::clone(&left);
    let runtime: RuntimeOn<B> = RuntimeOn::builder()
        .tag(Tag::new("a").workers(2))
        .tag(Tag::new("b").workers(2))
        .on_stop(move |worker| {
            assert_eq!(worker.tag(), "a");
            leaving.fetch_add(1, Ordering::Relaxed);
        })
        .build()
        .unwrap();
    let held = hold(a(&runtime), 2);
    let queued: Vec<_> = (0..100).map(|n| a(&runtime).spawn(move || n)).collect();
    let report = thread::scope(|scope| {
        let stop = scope.spawn(|| a(&runtime).shutdown(Policy::Drain, None).unwrap());
        eventually("the stop begins", || is_refused(a(&runtime)));
        // Meanwhile.
        assert_eq!(b(&runtime).spawn(|| 1).join().unwrap(), 1);
        held.release();
        stop.join().unwrap()
    });
    assert!(report.is_complete());
    assert_eq!((report.policy, report.ran), (Policy::Drain, 102));
    assert_eq!(report.dropped, 0);
    assert_eq!(left.load(Ordering::Relaxed), 2);
    for (n, handle) in queued.into_iter().enumerate() {
        assert_eq!(handle.join().unwrap(), n);
    }
    // After it.
    assert!(runtime.spawn(|| ()).join().is_err(), "the default tag");
    let copies = b(&runtime).broadcast(|worker| worker.index());
    assert_eq!(copies.len(), 2);
    for (index, copy) in copies.into_iter().enumerate() {
        assert_eq!(copy.join().unwrap(), index);
    }
    let metrics = runtime.metrics();
    let (of_a, of_b) = (metrics.tag("a").unwrap(), metrics.tag("b").unwrap());
    assert_eq!((of_a.workers, of_a.wanted, of_a.missing), (0, 0, 0));
    assert_eq!((of_b.workers, of_b.wanted, of_b.missing), (2, 2, 0));
    assert_eq!(of_a.busy, 0);
    let dump = format!("{runtime:#?}");
    assert!(dump.contains("Stopped("), "{dump}");
    // The hook is about `a` alone.
    std::mem::forget(runtime);
}

fn what_is_queued_may_be_dropped<B: Backend>() {
    let runtime = two::<B>(1);
    let (held, other) = (hold(a(&runtime), 1), hold(b(&runtime), 1));
    let spawn = |tag: TagRef<'_, B>| -> Vec<_> { (0..10).map(|n| tag.spawn(move || n)).collect() };
    let (dropped, kept) = (spawn(a(&runtime)), spawn(b(&runtime)));
    thread::scope(|scope| {
        let stop = scope.spawn(|| a(&runtime).shutdown(Policy::Abandon, None).unwrap());
        // Before the worker is free.
        for handle in dropped {
            assert!(matches!(handle.join(), Err(JoinError::Dropped)));
        }
        held.release();
        let report = stop.join().unwrap();
        assert_eq!((report.ran, report.dropped), (1, 10));
    });
    other.release();
    for (n, handle) in kept.into_iter().enumerate() {
        assert_eq!(handle.join().unwrap(), n);
    }
    let report = runtime.shutdown(Policy::Drain, None).unwrap();
    assert_eq!((report.ran, report.dropped), (12, 10));
}

/// S1 of a tag.
fn submits_race_the_stop<B: Backend>() {
    for round in 0..20 {
        let policy = [Policy::Drain, Policy::Abandon][round % 2];
        let runtime = two::<B>(2);
        let [ran, accepted, others] = [(); 3].map(|()| Arc::new(AtomicUsize::new(0)));
        let report = thread::scope(|scope| {
            for thread in 0..4 {
                let (runtime, ran, accepted, others) = (&runtime, &ran, &accepted, &others);
                scope.spawn(move || {
                    loop {
                        let ran = Arc::clone(ran);
                        let task = move || {
                            ran.fetch_add(1, Ordering::Relaxed);
                        };
                        let taken = if thread % 2 == 0 {
                            a(runtime).try_spawn(task).map(drop).is_ok()
                        } else {
                            a(runtime).spawn_detached(task).is_ok()
                        };
                        if !taken {
                            break;
                        }
                        accepted.fetch_add(1, Ordering::Relaxed);
                        b(runtime).spawn_detached(|| ()).unwrap();
                        others.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            while accepted.load(Ordering::Relaxed) < 100 * round {
                thread::yield_now();
            }
            a(&runtime).shutdown(policy, None).unwrap()
        });
        let accepted = accepted.load(Ordering::Relaxed);
        assert_eq!(report.ran, ran.load(Ordering::Relaxed));
        assert_eq!(report.ran + report.dropped, accepted);
        if policy == Policy::Drain {
            assert_eq!(report.dropped, 0);
        }
        assert_eq!(runtime.metrics().tag("a").unwrap().workers, 0);
        let whole = runtime.shutdown(Policy::Drain, None).unwrap();
        let others = others.load(Ordering::Relaxed);
        assert_eq!(whole.dropped, report.dropped);
        assert_eq!(whole.ran, report.ran + others);
    }
}

/// S2 of a tag.
fn every_caller_gets_the_same_report<B: Backend>() {
    let runtime = two::<B>(1);
    let held = hold(a(&runtime), 1);
    let reports: Vec<_> = thread::scope(|scope| {
        let callers: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| a(&runtime).shutdown(Policy::Drain, None).unwrap()))
            .collect();
        eventually("the stop begins", || is_refused(a(&runtime)));
        held.release();
        callers.into_iter().map(|it| it.join().unwrap()).collect()
    });
    let later = a(&runtime).shutdown(Policy::Abandon, Some(Duration::ZERO));
    let later = later.unwrap();
    assert!(later.is_complete());
    assert_eq!(later.policy, Policy::Drain);
    for report in &reports {
        assert_eq!(*report, later);
    }
    assert_eq!(b(&runtime).spawn(|| 1).join().unwrap(), 1);
}

fn all_tags_and_then_the_runtime<B: Backend>() {
    let runtime = two::<B>(2);
    for (times, name) in [(3, "a"), (4, "b")] {
        let tag = runtime.tag(name).unwrap();
        (0..times).for_each(|n| drop(tag.spawn(move || n)));
        let report = tag.shutdown(Policy::Drain, None).unwrap();
        assert_eq!((report.ran, report.dropped), (times, 0));
    }
    assert_eq!(runtime.metrics().total.workers, 0);
    let report = runtime.shutdown(Policy::Drain, None).unwrap();
    assert!(report.is_complete());
    assert_eq!((report.ran, report.dropped), (7, 0));
    // What has been told stays so, and one that was not stopped alone tells of itself.
    assert_eq!(a(&runtime).shutdown(Policy::Drain, None).unwrap().ran, 3);
    let other = two::<B>(1);
    b(&other).spawn(|| ()).join().unwrap();
    other.shutdown(Policy::Drain, None).unwrap();
    let report = b(&other).shutdown(Policy::Abandon, None).unwrap();
    assert_eq!((report.ran, report.is_complete()), (1, true));
}

fn the_runtime_stops_meanwhile<B: Backend>() {
    for _ in 0..20 {
        let runtime = two::<B>(1);
        let held = hold(a(&runtime), 1);
        let _queued: Vec<_> = (0..5).map(|n| a(&runtime).spawn(move || n)).collect();
        thread::scope(|scope| {
            let tag = scope.spawn(|| a(&runtime).shutdown(Policy::Drain, None).unwrap());
            eventually("the stop begins", || is_refused(a(&runtime)));
            let whole = scope.spawn(|| runtime.shutdown(Policy::Drain, None).unwrap());
            eventually("the other one too", || is_refused(b(&runtime)));
            held.release();
            let (tag, whole) = (tag.join().unwrap(), whole.join().unwrap());
            assert!(tag.is_complete() && whole.is_complete());
            assert_eq!((tag.ran, tag.dropped), (6, 0));
            assert_eq!((whole.ran, whole.dropped), (6, 0));
        });
    }
}

/// S8: whoever of the two joins a thread, its thread-locals are gone when the runtime has stopped.
fn the_runtime_waits_for_the_threads_of_its_tags<B: Backend>() {
    thread_local! {
        static AT_EXIT: RefCell<Option<AtExit>> = const { RefCell::new(None) };
    }
    struct AtExit(Arc<AtomicUsize>);
    impl Drop for AtExit {
        fn drop(&mut self) {
            // Later than a stop that does not wait for it.
            thread::sleep(Duration::from_millis(20));
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    for _ in 0..10 {
        let runtime = two::<B>(1);
        let gone = Arc::new(AtomicUsize::new(0));
        let at_exit = AtExit(Arc::clone(&gone));
        let task = a(&runtime).spawn(move || AT_EXIT.set(Some(at_exit)));
        task.join().unwrap();
        thread::scope(|scope| {
            scope.spawn(|| a(&runtime).shutdown(Policy::Drain, None).unwrap());
            eventually("its worker leaves", || {
                runtime.metrics().tag("a").unwrap().workers == 0
            });
            runtime.shutdown(Policy::Drain, None).unwrap();
            assert_eq!(gone.load(Ordering::Relaxed), 1);
        });
    }
}

fn what_hastens_the_runtime_hastens_its_tags<B: Backend>() {
    let runtime = two::<B>(1);
    let held = hold(a(&runtime), 1);
    let queued = a(&runtime).spawn(|| ());
    thread::scope(|scope| {
        let tag = scope.spawn(|| a(&runtime).shutdown(Policy::Drain, None).unwrap());
        eventually("the stop begins", || is_refused(a(&runtime)));
        let deadline = Some(Duration::from_millis(50));
        let whole = runtime.shutdown(Policy::Drain, deadline).unwrap();
        // Both while the worker is held.
        let tag = tag.join().unwrap();
        assert_eq!(whole.still_running, tag.still_running);
        assert_eq!(tag.still_running.len(), 1);
        assert_eq!(tag.still_running[0].tag, "a");
        assert!(matches!(queued.join(), Err(JoinError::Dropped)));
    });
    held.release();
}

/// S6 of a tag.
fn a_deadline_leaves_the_thread_to_the_runtime<B: Backend>() {
    let runtime = two::<B>(1);
    let held = hold(a(&runtime), 1);
    let queued = a(&runtime).spawn(|| ());
    let deadline = Some(Duration::from_millis(50));
    let report = a(&runtime).shutdown(Policy::Drain, deadline).unwrap();
    assert_eq!((report.ran, report.dropped), (0, 1));
    assert_eq!(report.still_running.len(), 1);
    assert!(matches!(queued.join(), Err(JoinError::Dropped)));
    held.release();
    let whole = runtime.shutdown(Policy::Drain, None).unwrap();
    assert!(whole.is_complete());
    assert_eq!((whole.ran, whole.dropped), (1, 1));
}

/// S2 of a tag.
fn a_worker_of_the_tag_cannot_stop_it<B: Backend>() {
    let runtime = Arc::new(two::<B>(1));
    let inside = Arc::clone(&runtime);
    let task = a(&runtime).spawn(move || a(&inside).shutdown(Policy::Drain, None));
    assert_eq!(task.join().unwrap(), Err(ShutdownError::InsideWorker));
    let inside = Arc::clone(&runtime);
    let alarm = runtime.alarm(Duration::ZERO, move || {
        b(&inside).shutdown(Policy::Drain, None).map(drop)
    });
    let answer = alarm.unwrap().join().unwrap();
    assert_eq!(answer, Err(ShutdownError::InsideWorker));
    assert_eq!(a(&runtime).spawn(|| 1).join().unwrap(), 1, "it goes on");
}

fn workers_of_another_tag_can<B: Backend>() {
    let runtime = Arc::new(two::<B>(1));
    let inside = Arc::clone(&runtime);
    drop(a(&runtime).spawn(|| ()));
    let task = b(&runtime).spawn(move || a(&inside).shutdown(Policy::Drain, None));
    assert_eq!(task.join().unwrap().unwrap().ran, 1);
}

fn two_tags_do_not_wait_for_each_other<B: Backend>() {
    let runtime = Arc::new(two::<B>(1));
    let (in_a, in_b) = (Arc::clone(&runtime), Arc::clone(&runtime));
    let stops_a = b(&runtime).spawn(move || {
        eventually("a worker there waits for this one", || is_refused(b(&in_b)));
        a(&in_b).shutdown(Policy::Drain, None)
    });
    let stops_b = a(&runtime).spawn(move || b(&in_a).shutdown(Policy::Drain, None));
    assert_eq!(stops_a.join().unwrap(), Err(ShutdownError::EachOther));
    assert!(stops_b.join().unwrap().unwrap().is_complete());
    assert!(a(&runtime).shutdown(Policy::Drain, None).is_ok());
}

/// S4 of a tag.
fn what_is_dropped_cannot_stop_the_runtime<B: Backend>() {
    struct Stops<B: Backend>(Arc<RuntimeOn<B>>, mpsc::Sender<Result<(), ShutdownError>>);
    impl<B: Backend> Drop for Stops<B> {
        fn drop(&mut self) {
            for answer in [
                self.0.shutdown(Policy::Drain, None),
                a(&self.0).shutdown(Policy::Drain, None),
                b(&self.0).shutdown(Policy::Drain, None),
            ] {
                self.1.send(answer.map(drop)).unwrap();
            }
        }
    }
    let runtime = Arc::new(two::<B>(1));
    let held = hold(a(&runtime), 1);
    let (answer, answers) = mpsc::channel();
    let stops = Stops(Arc::clone(&runtime), answer);
    let handle = a(&runtime).spawn(move || drop(stops));
    thread::scope(|scope| {
        let stop = scope.spawn(|| a(&runtime).shutdown(Policy::Abandon, None).unwrap());
        assert!(matches!(handle.join(), Err(JoinError::Dropped)));
        held.release();
        assert_eq!(stop.join().unwrap().dropped, 1);
    });
    let answers: Vec<_> = answers.iter().collect();
    assert_eq!(answers, [Err(ShutdownError::InsideShutdown); 3]);
}

/// S10 of a tag.
fn sleeps_end_in_the_tag_alone<B: Backend>() {
    let runtime = two::<B>(1);
    let (begun, begins) = mpsc::channel();
    let sleep = |tag: TagRef<'_, B>, time| {
        let begun = begun.clone();
        tag.spawn(move || {
            begun.send(()).unwrap();
            let began = Instant::now();
            (parkade::sleep(time), began.elapsed())
        })
    };
    let time = Duration::from_millis(50);
    let (long, short) = (sleep(a(&runtime), LONG), sleep(b(&runtime), time));
    (0..2).for_each(|_| begins.recv().unwrap());
    assert!(a(&runtime).shutdown(Policy::Drain, None).unwrap().elapsed < LIMIT);
    assert_eq!(long.join().unwrap().0, Err(Stopped));
    let (slept, elapsed) = short.join().unwrap();
    assert_eq!(slept, Ok(()));
    assert!(elapsed >= time);
    assert_eq!(runtime.sleep(Duration::from_millis(1)), Ok(()));
}

fn timed_tasks_end_with_their_tag<B: Backend>() {
    let runtime = two::<B>(1);
    let late = a(&runtime).after(LONG, || ()).unwrap();
    let again = a(&runtime).every(LONG, || ()).unwrap();
    let other = b(&runtime).after(Duration::from_millis(50), || 2).unwrap();
    let alarm = runtime.alarm(Duration::from_millis(50), || 3).unwrap();
    let report = a(&runtime).shutdown(Policy::Drain, None).unwrap();
    assert_eq!((report.ran, report.dropped), (0, 0));
    assert!(matches!(late.join(), Err(JoinError::Dropped)));
    drop(again);
    assert_eq!(runtime.metrics().timers.cancelled, 2);
    let refused = a(&runtime).after(LONG, || ()).unwrap_err();
    assert_eq!(refused.reason, RefusedReason::Stopped);
    let refused = a(&runtime).every(LONG, || ()).unwrap_err();
    assert_eq!(refused.reason, RefusedReason::Stopped);
    assert_eq!(other.join().unwrap(), 2);
    assert_eq!(alarm.join().unwrap(), 3);
    assert_eq!(runtime.metrics().timers.pending, 0);
}

fn futures_end_with_their_tag<B: Backend>() {
    let runtime = two::<B>(1);
    let (send, receive) = async_channel::bounded::<u32>(1);
    let never = a(&runtime).spawn_async(pending::<()>());
    let sleeps = a(&runtime).spawn_async(parkade::future::sleep(LONG));
    let (waits, receiver) = (receive.clone(), b(&runtime));
    let other = receiver.spawn_async(async move { waits.recv().await });
    eventually("both have been polled", || runtime.metrics().total.ran == 3);
    assert!(a(&runtime).shutdown(Policy::Drain, None).is_ok());
    assert!(matches!(never.join(), Err(JoinError::Dropped)));
    assert!(matches!(sleeps.join(), Err(JoinError::Dropped)));
    send.send_blocking(7).unwrap();
    assert_eq!(other.join().unwrap(), Ok(7));
    // It is still known: the runtime's end finds it.
    let late = b(&runtime).spawn_async(pending::<()>());
    runtime.shutdown(Policy::Drain, None).unwrap();
    assert!(matches!(late.join(), Err(JoinError::Dropped)));
}

/// While it grows.
fn nobody_is_started_in_it<B: Backend>() {
    for round in 0..30 {
        let [started, left] = [(); 2].map(|()| Arc::new(AtomicUsize::new(0)));
        let (starting, leaving) = (Arc::clone(&started), Arc::clone(&left));
        let runtime: RuntimeOn<B> = RuntimeOn::builder()
            .tag(Tag::new("a").workers(1).max_workers(4))
            .tag(Tag::new("b").workers(1))
            .on_start(move |worker| {
                starting.fetch_add(usize::from(worker.tag() == "a"), Ordering::Relaxed);
            })
            .on_stop(move |worker| {
                leaving.fetch_add(usize::from(worker.tag() == "a"), Ordering::Relaxed);
            })
            .build()
            .unwrap();
        for _ in 0..round {
            let spin = || thread::sleep(Duration::from_micros(100));
            a(&runtime).spawn_detached(spin).unwrap();
        }
        let report = a(&runtime).shutdown(Policy::Drain, None).unwrap();
        assert_eq!((report.ran, report.is_complete()), (round, true));
        let started = started.load(Ordering::Relaxed);
        assert_eq!(left.load(Ordering::Relaxed), started);
        let metrics = runtime.metrics();
        let of_a = metrics.tag("a").unwrap();
        assert_eq!((of_a.workers, of_a.wanted, of_a.missing), (0, 0, 0));
        assert_eq!(a(&runtime).resize(2), Err(ResizeError::Stopping));
        assert_eq!(b(&runtime).resize(1), Ok(()));
        assert_eq!(b(&runtime).spawn(|| 1).join().unwrap(), 1);
    }
}

/// The ceiling leaves one tag its minimum, until the other has gone.
fn what_it_had_is_the_others<B: Backend>() {
    let runtime: RuntimeOn<B> = RuntimeOn::builder()
        .tag(Tag::new("a").workers(2))
        .tag(Tag::new("b").workers(1).max_workers(3))
        .max_workers(3)
        .build()
        .unwrap();
    let together = Arc::new(Barrier::new(3));
    let tasks: Vec<_> = (0..3)
        .map(|_| {
            let together = Arc::clone(&together);
            b(&runtime).spawn(move || together.wait().is_leader())
        })
        .collect();
    eventually("one is in its task", || {
        runtime.metrics().tag("b").unwrap().busy == 1
    });
    assert!(a(&runtime).shutdown(Policy::Drain, None).is_ok());
    // A handle that is joined here waits; nobody helps.
    let leaders: Vec<_> = tasks.into_iter().map(|task| task.join().unwrap()).collect();
    assert_eq!(leaders.iter().filter(|leader| **leader).count(), 1);
    assert!(runtime.shutdown(Policy::Drain, None).unwrap().is_complete());
}
