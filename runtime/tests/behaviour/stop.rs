//! Stopping: who runs, who is dropped, who is told, and that nothing is left.

use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{eventually, hold, module_of, runtime};
use parkade::{
    Backend, JoinError, Policy, RefusedReason, RuntimeOn, ShutdownError, StillRunning, Tag,
};

on_each_backend!(
    submits_race_the_stop,
    a_stop_inside_a_task_is_an_error,
    every_caller_gets_the_same_report,
    tasks_that_need_each_other_meet_in_a_drain,
    a_stop_takes_as_long_as_its_work,
    nothing_is_left_after_the_stop,
    an_unused_runtime_stops_at_once,
    a_task_that_respawns_itself_cannot_hold_it_up,
    a_dropped_task_may_spawn_and_stop,
    a_deadline_bounds_the_stop,
    a_later_call_may_hasten_the_stop,
    abandoned_tasks_tell_their_handles,
);

/// Counts what becomes of a task.
struct Fate {
    ran: Arc<AtomicUsize>,
    dropped: Arc<AtomicUsize>,
    has_run: bool,
}

impl Fate {
    fn run(mut self) {
        self.has_run = true;
        self.ran.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Fate {
    fn drop(&mut self) {
        if !self.has_run {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// S1.
fn submits_race_the_stop<B: Backend>() {
    for round in 0..20 {
        let policy = [Policy::Drain, Policy::Abandon][round % 2];
        let runtime = runtime::<B>(2);
        let ran = Arc::new(AtomicUsize::new(0));
        let dropped = Arc::new(AtomicUsize::new(0));
        let accepted = AtomicUsize::new(0);
        let refused = AtomicUsize::new(0);
        let report = thread::scope(|scope| {
            for thread in 0..4 {
                let (runtime, ran, dropped) = (&runtime, &ran, &dropped);
                let (accepted, refused) = (&accepted, &refused);
                scope.spawn(move || {
                    loop {
                        let fate = Fate {
                            ran: Arc::clone(ran),
                            dropped: Arc::clone(dropped),
                            has_run: false,
                        };
                        let submitted = if thread % 2 == 0 {
                            runtime.try_spawn(|| fate.run()).map(drop).map_err(|_| ())
                        } else {
                            runtime.spawn_detached(|| fate.run()).map_err(|_| ())
                        };
                        match submitted {
                            Ok(()) => accepted.fetch_add(1, Ordering::Relaxed),
                            Err(()) => break refused.fetch_add(1, Ordering::Relaxed),
                        };
                    }
                });
            }
            while accepted.load(Ordering::Relaxed) < 200 * round {
                thread::yield_now();
            }
            runtime.shutdown(policy, None).unwrap()
        });
        let accepted = accepted.into_inner();
        let ran = ran.load(Ordering::Relaxed);
        assert_eq!(report.ran, ran);
        assert_eq!(report.ran + report.dropped, accepted);
        assert_eq!(refused.into_inner(), 4);
        assert_eq!(dropped.load(Ordering::Relaxed), report.dropped + 4);
        if policy == Policy::Drain {
            assert_eq!(report.dropped, 0);
        }
        let metrics = runtime.metrics().total;
        assert_eq!(
            (
                metrics.spawned,
                metrics.ran,
                metrics.dropped,
                metrics.workers
            ),
            (accepted, ran, report.dropped, 0)
        );
    }
}

/// S2.
fn a_stop_inside_a_task_is_an_error<B: Backend>() {
    let runtime: Arc<RuntimeOn<B>> = Arc::new(runtime(1));
    let inside = Arc::clone(&runtime);
    let answer = runtime.spawn(move || inside.shutdown(Policy::Drain, None));
    assert_eq!(answer.join().unwrap(), Err(ShutdownError::InsideWorker));
    assert_eq!(runtime.spawn(|| 1).join().unwrap(), 1, "it goes on");
    // A worker of another runtime may do it.
    let other = crate::common::runtime::<B>(1);
    let report = other.spawn(move || runtime.shutdown(Policy::Drain, None));
    assert_eq!(report.join().unwrap().unwrap().ran, 2);
}

/// S2.
fn every_caller_gets_the_same_report<B: Backend>() {
    let runtime = runtime::<B>(2);
    let held = hold(runtime.default_tag(), 2);
    let reports: Vec<_> = thread::scope(|scope| {
        let callers: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| runtime.shutdown(Policy::Drain, None).unwrap()))
            .collect();
        eventually("the stop begins", || runtime.try_spawn(|| ()).is_err());
        held.release();
        callers
            .into_iter()
            .map(|caller| caller.join().unwrap())
            .collect()
    });
    let later = runtime
        .shutdown(Policy::Abandon, Some(Duration::ZERO))
        .unwrap();
    for report in &reports {
        assert_eq!(*report, later);
    }
    assert_eq!(later.policy, Policy::Drain);
    assert!(later.is_complete());
    assert!(later.to_string().starts_with("drained in "), "{later}");
    assert!(
        later.to_string().ends_with(" tasks ran, 0 dropped"),
        "{later}"
    );
}

/// Tasks that meet at a barrier are all accepted, so a drain waits until all of them run at once: no worker
/// leaves while one is queued.
fn tasks_that_need_each_other_meet_in_a_drain<B: Backend>() {
    for _ in 0..500 {
        let runtime = runtime::<B>(4);
        let barrier = Arc::new(Barrier::new(4));
        let mut batch = runtime.batch();
        for _ in 0..4 {
            let barrier = Arc::clone(&barrier);
            batch.spawn_detached(move || {
                barrier.wait();
            });
        }
        batch.submit().unwrap();
        assert_eq!(runtime.shutdown(Policy::Drain, None).unwrap().ran, 4);
    }
}

/// S5: the deadline is no waiting time.
fn a_stop_takes_as_long_as_its_work<B: Backend>() {
    let runtime = runtime::<B>(1);
    let (begun, begins) = mpsc::channel();
    let work = Duration::from_millis(100);
    let handle = runtime.spawn(move || {
        begun.send(()).unwrap();
        thread::sleep(work);
    });
    begins.recv().unwrap();
    let deadline = Duration::from_secs(600);
    let report = runtime.shutdown(Policy::Drain, Some(deadline)).unwrap();
    assert!(report.is_complete());
    assert!(report.elapsed < 10 * work, "{report}");
    handle.join().unwrap();
}

/// S8.
fn nothing_is_left_after_the_stop<B: Backend>() {
    thread_local! {
        static AT_EXIT: RefCell<Option<AtExit>> = const { RefCell::new(None) };
    }
    struct AtExit(Arc<Mutex<Vec<&'static str>>>);
    impl Drop for AtExit {
        fn drop(&mut self) {
            // Later than a stop that does not wait for it.
            thread::sleep(Duration::from_millis(20));
            self.0.lock().unwrap().push("thread-local");
        }
    }
    let events = Arc::new(Mutex::new(Vec::new()));
    let (at_start, at_stop) = (Arc::clone(&events), Arc::clone(&events));
    // Different for each backend, and short enough for a thread's name.
    let module = module_of::<B>();
    let prefix = format!("s8{}{}-", &module[..1], &module[module.len() - 1..]);
    let runtime: RuntimeOn<B> = RuntimeOn::builder()
        .tag(Tag::new("t").workers(3))
        .thread_name(&prefix)
        .on_start(move |_| AT_EXIT.set(Some(AtExit(Arc::clone(&at_start)))))
        .on_stop(move |_| at_stop.lock().unwrap().push("hook"))
        .build()
        .unwrap();
    runtime.spawn(|| ()).join().unwrap();
    assert!(runtime.shutdown(Policy::Drain, None).unwrap().is_complete());
    let mut events = events.lock().unwrap().clone();
    events.sort_unstable();
    assert_eq!(
        events,
        [
            "hook",
            "hook",
            "hook",
            "thread-local",
            "thread-local",
            "thread-local"
        ]
    );
    #[cfg(target_os = "linux")]
    eventually("the threads are gone", || {
        crate::common::threads_called(&prefix).is_empty()
    });
}

/// S9.
fn an_unused_runtime_stops_at_once<B: Backend>() {
    let runtime = runtime::<B>(4);
    let report = runtime.shutdown(Policy::Drain, None).unwrap();
    assert_eq!((report.ran, report.dropped), (0, 0));
    assert!(report.is_complete());
    drop(crate::common::runtime::<B>(4));
}

/// S11.
fn a_task_that_respawns_itself_cannot_hold_it_up<B: Backend>() {
    fn again<B: Backend>(runtime: &Arc<RuntimeOn<B>>, turns: &Arc<AtomicUsize>) {
        turns.fetch_add(1, Ordering::Relaxed);
        let (inside, counted) = (Arc::clone(runtime), Arc::clone(turns));
        let _ = runtime.spawn_detached(move || again(&inside, &counted));
    }
    let runtime: Arc<RuntimeOn<B>> = Arc::new(runtime(2));
    let turns = Arc::new(AtomicUsize::new(0));
    for _ in 0..8 {
        again(&runtime, &turns);
    }
    eventually("it turns", || turns.load(Ordering::Relaxed) > 1000);
    let report = runtime.shutdown(Policy::Drain, None).unwrap();
    assert!(report.is_complete());
    assert_eq!(report.dropped, 0);
    // The first eight turns ran outside.
    assert_eq!(report.ran + 8, turns.load(Ordering::Relaxed));
}

/// S4, and worse: the destructor also asks for a stop.
fn a_dropped_task_may_spawn_and_stop<B: Backend>() {
    struct Spawns<B: Backend> {
        runtime: Arc<RuntimeOn<B>>,
        answers: mpsc::Sender<(RefusedReason, Result<(), ShutdownError>)>,
    }
    impl<B: Backend> Drop for Spawns<B> {
        fn drop(&mut self) {
            let refused = self.runtime.try_spawn(|| ()).unwrap_err();
            let stop = self.runtime.shutdown(Policy::Drain, None).map(drop);
            self.answers.send((refused.reason, stop)).unwrap();
        }
    }
    let runtime: Arc<RuntimeOn<B>> = Arc::new(runtime(1));
    let held = hold(runtime.default_tag(), 1);
    let (answers, answered) = mpsc::channel();
    let spawns = Spawns {
        runtime: Arc::clone(&runtime),
        answers,
    };
    let handle = runtime.spawn(move || drop(spawns));
    let stopper = thread::spawn({
        let runtime = Arc::clone(&runtime);
        move || runtime.shutdown(Policy::Abandon, None).unwrap()
    });
    assert!(matches!(handle.join(), Err(JoinError::Dropped)));
    held.release();
    assert_eq!(stopper.join().unwrap().dropped, 1);
    let answers: Vec<_> = answered.iter().collect();
    assert_eq!(
        answers,
        [(RefusedReason::Stopped, Err(ShutdownError::InsideShutdown))]
    );
}

/// S6.
fn a_deadline_bounds_the_stop<B: Backend>() {
    let runtime = runtime::<B>(2);
    let held = hold(runtime.default_tag(), 1);
    let other = hold(runtime.default_tag(), 1);
    let queued: Vec<_> = (0..10).map(|n| runtime.spawn(move || n)).collect();
    let began = Instant::now();
    let deadline = Duration::from_millis(50);
    let report = runtime.shutdown(Policy::Drain, Some(deadline)).unwrap();
    assert!(began.elapsed() >= deadline);
    assert_eq!((report.ran, report.dropped), (0, 10));
    let running: Vec<_> = report
        .still_running
        .iter()
        .map(
            |StillRunning {
                 tag,
                 worker,
                 thread_name,
                 ..
             }| (tag.as_str(), *worker, thread_name.as_str()),
        )
        .collect();
    assert_eq!(
        running,
        [("only", 0, "pk-only-0"), ("only", 1, "pk-only-1")]
    );
    assert!(
        report
            .to_string()
            .ends_with("; 2 workers still run: pk-only-0 pk-only-1"),
        "{report}"
    );
    for handle in queued {
        assert!(matches!(handle.join(), Err(JoinError::Dropped)));
    }
    // The threads are on their own now; they keep what they need alive.
    drop(runtime);
    held.release();
    other.release();
}

fn a_later_call_may_hasten_the_stop<B: Backend>() {
    let runtime = runtime::<B>(1);
    let held = hold(runtime.default_tag(), 1);
    let queued = runtime.spawn(|| ());
    thread::scope(|scope| {
        let patient = scope.spawn(|| runtime.shutdown(Policy::Drain, None).unwrap());
        eventually("the stop begins", || runtime.try_spawn(|| ()).is_err());
        let hasty = scope.spawn(|| runtime.shutdown(Policy::Abandon, None).unwrap());
        // The task is dropped while the worker is still held.
        assert!(matches!(queued.join(), Err(JoinError::Dropped)));
        let hastier = runtime
            .shutdown(Policy::Drain, Some(Duration::ZERO))
            .unwrap();
        assert_eq!(hastier.still_running.len(), 1);
        assert_eq!(patient.join().unwrap(), hastier);
        assert_eq!(hasty.join().unwrap(), hastier);
    });
    held.release();
}

fn abandoned_tasks_tell_their_handles<B: Backend>() {
    let runtime = runtime::<B>(2);
    let held = hold(runtime.default_tag(), 2);
    let handles: Vec<_> = (0..100).map(|n| runtime.spawn(move || n)).collect();
    let waiters = thread::spawn(move || {
        handles
            .into_iter()
            .map(|handle| handle.join())
            .filter(|outcome| matches!(outcome, Err(JoinError::Dropped)))
            .count()
    });
    thread::scope(|scope| {
        let stop = scope.spawn(|| runtime.shutdown(Policy::Abandon, None).unwrap());
        // Before any worker is free again.
        assert_eq!(waiters.join().unwrap(), 100);
        held.release();
        let report = stop.join().unwrap();
        assert_eq!((report.ran, report.dropped), (2, 100));
        assert!(report.to_string().starts_with("abandoned in "));
    });
}
