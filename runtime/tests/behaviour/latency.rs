//! Latency: what is measured is each task that starts, once, and whatever else becomes of it is as ever.

use std::sync::Arc;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::common::{eventually, expect_panics, hold};
use parkade::{Backend, JoinError, Latency, Metrics, Policy, Priority, RuntimeOn, Tag};

on_each_backend!(
    off_it_is_not_there,
    every_task_that_starts_is_counted_once,
    a_wait_is_as_long_as_it_was,
    a_refused_task_comes_back_whole,
    a_stop_drops_what_is_queued_once,
    joined_tasks_leave_no_husks,
    timed_tasks_wait_from_when_they_are_due,
    it_is_shown_in_each_form,
);

fn measured<B: Backend>(tag: Tag) -> RuntimeOn<B> {
    let builder = RuntimeOn::builder().tag(tag).measure_latency(true);
    builder.build().unwrap()
}

fn latency(metrics: &Metrics) -> &Latency {
    metrics.total.latency.as_ref().expect("it is measured")
}

fn off_it_is_not_there<B: Backend>() {
    let runtime = crate::common::runtime::<B>(1);
    runtime.spawn(|| ()).join().unwrap();
    let metrics = runtime.metrics();
    assert_eq!(
        (&metrics.total.latency, &metrics.tags[0].latency),
        (&None, &None)
    );
    assert!(!metrics.to_string().contains("latency"), "{metrics}");
    assert!(!metrics.prometheus().contains("latency"));
}

/// By each way in, from outside and inside, those that panic included; and each tag has its own.
fn every_task_that_starts_is_counted_once<B: Backend>() {
    const EACH: usize = 50;
    expect_panics();
    let runtime: Arc<RuntimeOn<B>> = Arc::new(
        RuntimeOn::builder()
            .tag(Tag::new("a").workers(2))
            .tag(Tag::new("b").workers(1))
            .measure_latency(true)
            .build()
            .unwrap(),
    );
    let a = runtime.tag("a").unwrap();
    let mut batch = a.batch();
    let mut handles = Vec::new();
    for n in 0..EACH {
        let inside = Arc::clone(&runtime);
        handles.push(a.spawn(move || inside.spawn(move || n).join().unwrap()));
        handles.push(a.try_spawn(move || n).unwrap());
        handles.push(a.with_priority(Priority::High).spawn(move || n));
        handles.push(batch.spawn(move || n));
        batch.spawn_detached(|| ());
        a.spawn_detached(|| panic!("on purpose")).unwrap();
    }
    batch.submit().unwrap();
    let expected = (0..EACH).flat_map(|n| [n; 4]);
    assert!(
        handles
            .into_iter()
            .map(|handle| handle.join().unwrap())
            .eq(expected)
    );
    runtime.tag("b").unwrap().spawn(|| ()).join().unwrap();
    // Not measured: its parts are no tasks of their own.
    assert_eq!(runtime.join(|| 1, || 2), (1, 2));
    runtime.shutdown(Policy::Drain, None).unwrap();

    let metrics = runtime.metrics();
    let total = &metrics.total;
    assert_eq!(total.spawned, total.ran + total.dropped);
    let count = |tag| metrics.tag(tag).unwrap().latency.as_ref().unwrap().count();
    assert_eq!((count("a"), count("b")), (7 * EACH as u64, 1));
    assert_eq!(latency(&metrics).count(), 7 * EACH as u64 + 1);
}

fn a_wait_is_as_long_as_it_was<B: Backend>() {
    let runtime = measured::<B>(Tag::new("only").workers(1));
    let held = hold(runtime.default_tag(), 1);
    let spawned = Instant::now();
    let handle = runtime.spawn(Instant::now);
    std::thread::sleep(Duration::from_millis(20));
    let before = Instant::now();
    held.release();
    let started = handle.join().unwrap();
    let metrics = runtime.metrics();
    let longest = latency(&metrics).max();
    assert!(longest >= before - spawned, "{longest:?}");
    let most = started - spawned;
    assert!(longest <= most + most / 50, "{longest:?} of {most:?}");
}

fn a_refused_task_comes_back_whole<B: Backend>() {
    let runtime = measured::<B>(Tag::new("only").workers(1).inbox_limit(1));
    let held = hold(runtime.default_tag(), 1);
    runtime.spawn_detached(|| ()).unwrap();
    let token = Arc::new(7);
    let task = |token: &Arc<i32>| {
        let token = Arc::clone(token);
        // It gives the token away, so it can run once.
        move || *{ token }
    };
    let refused = runtime.try_spawn(task(&token)).unwrap_err();
    assert_eq!((refused.task)(), 7);
    let (tell, told) = mpsc::channel();
    let refused = runtime
        .spawn_detached(move || tell.send(8).unwrap())
        .unwrap_err();
    (refused.task)();
    assert_eq!(told.recv(), Ok(8));
    let outcome = runtime.spawn(task(&token)).join();
    assert!(matches!(outcome, Err(JoinError::Refused(_))));
    assert_eq!(Arc::strong_count(&token), 1);
    held.release();
    runtime.shutdown(Policy::Drain, None).unwrap();
    let refused = runtime
        .after(Duration::from_secs(1), task(&token))
        .unwrap_err();
    assert_eq!((refused.task)(), 7);
    assert_eq!(
        latency(&runtime.metrics()).count(),
        2,
        "what was refused never started"
    );
}

fn a_stop_drops_what_is_queued_once<B: Backend>() {
    const QUEUED: usize = 100;
    let runtime = measured::<B>(Tag::new("only").workers(1));
    let held = hold(runtime.default_tag(), 1);
    let token = Arc::new(());
    let handles: Vec<_> = (0..QUEUED)
        .map(|_| {
            let token = Arc::clone(&token);
            runtime.spawn(move || drop(token))
        })
        .collect();
    let report = runtime
        .shutdown(Policy::Abandon, Some(Duration::ZERO))
        .unwrap();
    assert_eq!(report.dropped, QUEUED);
    assert_eq!(Arc::strong_count(&token), 1);
    for handle in handles {
        assert!(matches!(handle.join(), Err(JoinError::Dropped)));
    }
    held.release();
    eventually("the held task ends", || runtime.metrics().total.ran == 1);
    let metrics = runtime.metrics();
    let total = &metrics.total;
    assert_eq!(
        (total.spawned, total.ran, total.dropped),
        (QUEUED + 1, 1, QUEUED)
    );
    assert_eq!(latency(&metrics).count(), 1);
}

/// A task that joins what it has just spawned runs it itself; nothing of that stays in its run queue, which is small.
fn joined_tasks_leave_no_husks<B: Backend>() {
    const JOINED: u64 = 1000;
    let runtime = Arc::new(measured::<B>(
        Tag::new("only").workers(1).run_queue(2).inbox_limit(1),
    ));
    let inside = Arc::clone(&runtime);
    let joined =
        runtime.spawn(move || (0..JOINED).all(|n| inside.spawn(move || n).join().unwrap() == n));
    assert!(joined.join().unwrap());
    assert_eq!(latency(&runtime.metrics()).count(), JOINED + 1);
}

fn timed_tasks_wait_from_when_they_are_due<B: Backend>() {
    const DELAY: Duration = Duration::from_millis(300);
    let runtime = measured::<B>(Tag::new("only").workers(1));
    let begun = Instant::now();
    let started = runtime.after(DELAY, Instant::now).unwrap().join().unwrap();
    let late = started - begun - DELAY;
    let longest = latency(&runtime.metrics()).max();
    assert!(
        longest <= late + late / 50,
        "{longest:?}, but it was {late:?} late"
    );
    let (tick, ticks) = mpsc::channel();
    let interval = runtime.every(Duration::from_millis(1), move || tick.send(()).unwrap());
    assert_eq!(ticks.iter().take(3).count(), 3);
    drop(interval.unwrap());
    runtime.shutdown(Policy::Drain, None).unwrap();
    let metrics = runtime.metrics();
    // A turn that finds its interval gone has started all the same.
    assert_eq!(latency(&metrics).count(), metrics.total.ran as u64);
    assert!(metrics.total.ran >= 4);
}

fn it_is_shown_in_each_form<B: Backend>() {
    let runtime = measured::<B>(Tag::new("only").workers(1));
    (0..3).for_each(|_| runtime.spawn(|| ()).join().unwrap());
    let metrics = runtime.metrics();
    let line = format!("latency of tag \"only\": {}", latency(&metrics));
    assert!(line.contains("3 tasks started after p50 "), "{line}");
    assert!(metrics.to_string().contains(&line), "{metrics}");
    let text = metrics.prometheus();
    for sample in [
        "# TYPE parkade_task_latency_seconds summary\n".to_owned(),
        "parkade_task_latency_seconds_count{tag=\"only\"} 3\n".to_owned(),
        format!(
            "parkade_task_latency_seconds{{tag=\"only\",quantile=\"1\"}} {}\n",
            latency(&metrics).max().as_secs_f64()
        ),
        format!(
            "parkade_task_latency_seconds_sum{{tag=\"only\"}} {}\n",
            latency(&metrics).sum().as_secs_f64()
        ),
    ] {
        assert!(text.contains(&sample), "{text}");
    }
    assert_eq!(text.matches("quantile=").count(), 5);
}

#[cfg(feature = "serde")]
mod serialized {
    use super::*;

    on_each_backend!(it_becomes_json);

    fn it_becomes_json<B: Backend>() {
        let runtime = measured::<B>(Tag::new("only").workers(1));
        runtime.spawn(|| ()).join().unwrap();
        let metrics = runtime.metrics();
        let json = serde_json::to_value(&metrics).unwrap();
        let shown = &json["tags"][0]["latency"];
        assert_eq!(shown["count"], 1);
        let longest = u64::try_from(latency(&metrics).max().as_nanos()).unwrap();
        assert_eq!(
            (&shown["max_ns"], &shown["p50_ns"]),
            (&longest.into(), &longest.into())
        );
        let off = crate::common::runtime::<B>(1).metrics();
        let json = serde_json::to_value(off).unwrap();
        assert!(json["total"]["latency"].is_null());
    }
}
