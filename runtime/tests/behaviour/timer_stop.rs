//! A stop and the timers: it waits for none of them, and each handle says what became of its closure.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use crate::common::runtime;
use crate::timers::{FAR, SOON};
use parkade::{Backend, JoinError, Policy, RefusedReason, RuntimeOn, ShutdownError, Timer};

on_each_backend!(
    a_pending_timer_may_panic_as_it_is_dropped,
    a_stop_cancels_what_is_pending,
    a_stop_meets_timers_that_fire,
    an_alarm_may_not_stop_its_runtime_but_may_drop_it,
    an_alarm_that_blocks_is_reported,
    a_stopped_runtime_gives_the_closure_back,
);

/// S3: whatever the policy, the stop does not wait for them, and each closure is dropped once.
fn a_stop_cancels_what_is_pending<B: Backend>() {
    for policy in [Policy::Drain, Policy::Abandon] {
        let runtime = runtime::<B>(2);
        let token = Arc::new(());
        let [one, two, three, four] = [(); 4].map(|()| Arc::clone(&token));
        let task = runtime.after(FAR, move || drop(one)).unwrap();
        let alarm = runtime.alarm(FAR, move || drop(two)).unwrap();
        runtime.after(FAR, move || drop(three)).unwrap().detach();
        let interval = runtime.every(FAR, move || _ = &four).unwrap();
        assert_eq!(runtime.metrics().timers.pending, 4);
        let report = runtime.shutdown(policy, None).unwrap();
        assert!(report.is_complete(), "{report}");
        assert_eq!((report.ran, report.dropped), (0, 0), "none was spawned");
        assert_eq!(Arc::strong_count(&token), 1);
        assert!(!task.is_pending() && task.is_finished() && !interval.is_active());
        assert!(matches!(task.join(), Err(JoinError::Dropped)));
        assert!(!alarm.cancel());
        let timers = runtime.metrics().timers;
        assert_eq!((timers.pending, timers.fired, timers.cancelled), (0, 0, 4));
    }
}

/// P1: what a pending timer captured may panic as it is dropped, and the stop goes on.
fn a_pending_timer_may_panic_as_it_is_dropped<B: Backend>() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("as expected");
        }
    }
    let runtime = runtime::<B>(1);
    let (one, two, three) = (Bomb, Bomb, Bomb);
    runtime.after(FAR, move || drop(one)).unwrap().detach();
    runtime.every(FAR, move || _ = &two).unwrap().detach();
    drop(runtime.every(FAR, move || _ = &three).unwrap());
    let report = runtime.shutdown(Policy::Drain, None).unwrap();
    assert!(report.is_complete(), "{report}");
}

/// S1, for timers: every closure runs once or is dropped once, wherever the stop meets it.
fn a_stop_meets_timers_that_fire<B: Backend>() {
    for round in 0..50_u64 {
        let runtime = runtime::<B>(2);
        let token = Arc::new(());
        let ran = Arc::new(AtomicUsize::new(0));
        let timers: Vec<_> = (0..40)
            .map(|n| {
                let (token, ran) = (Arc::clone(&token), Arc::clone(&ran));
                let body = move || {
                    ran.fetch_add(1, Ordering::Relaxed);
                    drop(token);
                };
                let delay = Duration::from_micros(n * 25);
                match n % 2 {
                    0 => runtime.after(delay, body).unwrap(),
                    _ => runtime.alarm(delay, body).unwrap(),
                }
            })
            .collect();
        thread::sleep(Duration::from_micros(round * 20));
        let policy = [Policy::Drain, Policy::Abandon][round as usize % 2];
        let report = runtime.shutdown(policy, None).unwrap();
        assert!(report.is_complete(), "{report}");
        assert_eq!(Arc::strong_count(&token), 1);
        let joined = timers.into_iter().map(Timer::join);
        let joined: Vec<_> = joined.collect();
        let well = joined.iter().filter(|outcome| outcome.is_ok()).count();
        assert_eq!(well, ran.load(Ordering::Relaxed));
        let lost = |error: &JoinError| !matches!(error, JoinError::Dropped);
        assert!(
            !joined
                .iter()
                .any(|outcome| outcome.as_ref().is_err_and(lost))
        );
        let metrics = runtime.metrics();
        let (timers, total) = (metrics.timers, metrics.total);
        assert_eq!((timers.pending, timers.fired + timers.cancelled), (0, 40));
        assert_eq!(total.spawned, total.ran + total.dropped, "{round}");
        if policy == Policy::Drain {
            assert_eq!(well, timers.fired, "what has fired is drained");
        }
    }
}

/// S2, for the timer thread.
fn an_alarm_may_not_stop_its_runtime_but_may_drop_it<B: Backend>() {
    let runtime: Arc<RuntimeOn<B>> = Arc::new(runtime(1));
    let inside = Arc::clone(&runtime);
    let answer = runtime.alarm(SOON, move || inside.shutdown(Policy::Drain, None));
    let answer = answer.unwrap().join().unwrap();
    assert_eq!(answer, Err(ShutdownError::InsideWorker));
    let (drop_it, may_drop) = mpsc::channel::<()>();
    let last = Arc::clone(&runtime);
    let dropped = runtime.alarm(Duration::ZERO, move || {
        may_drop.recv().ok();
        drop(last);
    });
    let dropped = dropped.unwrap();
    let far = runtime.after(FAR, || ()).unwrap();
    drop(runtime);
    drop(drop_it);
    dropped.join().unwrap();
    assert!(matches!(far.join(), Err(JoinError::Dropped)));
}

/// S6, for an alarm that does what it must not.
fn an_alarm_that_blocks_is_reported<B: Backend>() {
    let runtime = runtime::<B>(1);
    let (finish, finished) = mpsc::channel::<()>();
    let (begin, begun) = mpsc::channel();
    let alarm = runtime.alarm(Duration::ZERO, move || {
        begin.send(()).unwrap();
        finished.recv().is_err()
    });
    begun.recv().unwrap();
    // Long enough for the worker to leave, however busy the machine.
    let deadline = Some(Duration::from_secs(2));
    let report = runtime.shutdown(Policy::Drain, deadline).unwrap();
    assert!(!report.is_complete());
    assert_eq!(report.still_running, []);
    assert_eq!(report.alarm_still_running.as_deref(), Some("pk-timer"));
    assert!(
        report
            .to_string()
            .ends_with("an alarm still runs: pk-timer"),
        "{report}"
    );
    drop(finish);
    assert!(alarm.unwrap().join().unwrap());
}

fn a_stopped_runtime_gives_the_closure_back<B: Backend>() {
    let runtime = runtime::<B>(1);
    runtime.shutdown(Policy::Drain, None).unwrap();
    let name = String::from("mine");
    let refused = runtime.after(SOON, move || name).unwrap_err();
    assert_eq!(refused.reason, RefusedReason::Stopped);
    let name = (refused.task)();
    let refused = runtime.alarm(SOON, move || name).unwrap_err();
    assert_eq!(refused.reason, RefusedReason::Stopped);
    let mut names = vec![(refused.task)()];
    let again = move || names.push(String::new());
    let refused = runtime.every(SOON, again).unwrap_err();
    assert_eq!(refused.reason, RefusedReason::Stopped);
}
