//! Metrics as data: what each worker does, numbers that stay within their bounds while all goes on, and the forms
//! in which they leave the process.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use crate::common::{eventually, expect_panics, hold};
use parkade::{Activity, Backend, Metrics, Policy, Priority, RuntimeOn, Tag, WorkerMetrics};

on_each_backend!(
    each_worker_has_a_row,
    numbers_stay_within_their_bounds,
    prometheus_reads_it,
);

fn each_worker_has_a_row<B: Backend>() {
    expect_panics();
    let runtime: Arc<RuntimeOn<B>> = Arc::new(
        RuntimeOn::builder()
            .tag(Tag::new("a").workers(1))
            .tag(Tag::new("b").workers(2))
            .build()
            .unwrap(),
    );
    let a = runtime.tag("a").unwrap();
    // A worker that runs a task, with work behind it in each queue that there is.
    let inside = Arc::clone(&runtime);
    let (queued, is_queued) = std::sync::mpsc::channel();
    let (go, gone) = std::sync::mpsc::channel::<()>();
    let running = a.spawn(move || {
        let own = inside.tag("a").unwrap();
        (0..3).for_each(|_| own.spawn_detached(|| ()).unwrap());
        queued.send(()).unwrap();
        gone.recv().unwrap();
    });
    is_queued.recv().unwrap();
    (0..2).for_each(|_| a.spawn_detached(|| ()).unwrap());
    a.with_priority(Priority::High)
        .spawn_detached(|| panic!("on purpose"))
        .unwrap();
    let seen = RefCell::new(None);
    eventually("the others sleep", || {
        let metrics = runtime.metrics();
        let sleeps =
            |worker: &WorkerMetrics| worker.activity == Activity::Parked && !worker.claimed;
        let others_sleep = metrics.workers[1..].iter().all(sleeps);
        *seen.borrow_mut() = Some(metrics);
        others_sleep
    });
    let metrics = seen.take().unwrap();
    let rows: Vec<_> = metrics
        .workers
        .iter()
        .map(|worker| {
            (
                worker.tag.as_str(),
                worker.index,
                worker.thread_name.as_str(),
            )
        })
        .collect();
    let expected = [("a", 0, "pk-a-0"), ("b", 0, "pk-b-0"), ("b", 1, "pk-b-1")];
    assert_eq!(rows, expected);
    let busy = &metrics.workers[0];
    assert_eq!(busy.activity, Activity::Running);
    assert_eq!((busy.run_queue, busy.inbox, busy.mailbox), (3, 2, 0));
    assert_eq!((busy.queued(), busy.ran), (5, 0));
    let row = metrics.tag("a").unwrap();
    assert_eq!((row.workers, row.busy, row.queued), (1, 1, 6));
    let row = metrics.tag("b").unwrap();
    assert_eq!((row.workers, row.busy, row.queued), (2, 0, 0));
    assert_eq!((metrics.total.busy, metrics.total.queued), (1, 6));

    go.send(()).unwrap();
    running.join().unwrap();
    let report = runtime.shutdown(Policy::Drain, None).unwrap();
    assert!(report.is_complete());
    let metrics = runtime.metrics();
    let first = &metrics.workers[0];
    assert_eq!((first.ran, first.panicked, first.queued()), (7, 1, 0));
    let gone = metrics.workers.iter().map(|worker| worker.activity);
    assert!(gone.eq([Activity::Gone; 3]));
    assert_eq!((metrics.total.busy, metrics.total.workers), (0, 0));
}

/// What holds of every snapshot, whenever it is taken, and of two that follow each other.
fn check(before: &Metrics, now: &Metrics) {
    let rows = before.tags.iter().chain([&before.total]);
    for (old, new) in rows.zip(now.tags.iter().chain([&now.total])) {
        assert!(new.busy <= new.workers, "{now}");
        assert!(new.idle <= new.workers, "{now}");
        assert!(new.searching <= new.workers, "{now}");
        // A worker counts what it spawned right after it is there to be taken.
        assert!(new.ran + new.dropped <= new.spawned + new.workers, "{now}");
        assert!(new.queued <= new.spawned + new.workers, "{now}");
        for (old, new) in [
            (old.spawned, new.spawned),
            (old.ran, new.ran),
            (old.stolen, new.stolen),
            (old.parked, new.parked),
            (old.panicked, new.panicked),
            (old.wake_calls, new.wake_calls),
        ] {
            assert!(old <= new, "before:\n{before}\nnow:\n{now}");
        }
    }
    for tag in &now.tags {
        let own = || now.workers.iter().filter(|worker| worker.tag == tag.name);
        assert_eq!(own().map(|worker| worker.ran).sum::<usize>(), tag.ran);
        let busy =
            own().filter(|worker| matches!(worker.activity, Activity::Running | Activity::Leaving));
        assert_eq!(busy.count(), tag.busy);
    }
    let sum = now.tags.iter().map(|tag| tag.queued).sum::<usize>();
    assert_eq!(sum, now.total.queued);
}

/// While tasks are spawned from outside and inside, steal, panic and sleep; and nothing is left at rest.
fn numbers_stay_within_their_bounds<B: Backend>() {
    const ROUNDS: usize = 300;
    expect_panics();
    let runtime: Arc<RuntimeOn<B>> = Arc::new(
        RuntimeOn::builder()
            .tag(Tag::new("a").workers(3).run_queue(4))
            .tag(Tag::new("b").workers(1))
            .build()
            .unwrap(),
    );
    let (watches, over) = (Barrier::new(2), AtomicBool::new(false));
    thread::scope(|threads| {
        let watch = || {
            let mut before = runtime.metrics();
            watches.wait();
            loop {
                let now = runtime.metrics();
                check(&before, &now);
                before = now;
                if over.load(Ordering::Relaxed) {
                    break;
                }
            }
        };
        let watcher = threads.spawn(watch);
        watches.wait();
        for round in 0..ROUNDS {
            let inside = Arc::clone(&runtime);
            let tag = runtime.tag(["a", "b"][round % 2]).unwrap();
            let parent = tag.spawn(move || {
                let handles: Vec<_> = (0..10)
                    .map(|n| inside.spawn(move || assert_ne!(n, 7, "on purpose")))
                    .collect();
                handles
                    .into_iter()
                    .filter_map(|handle| handle.join().err())
                    .count()
            });
            assert_eq!(parent.join().unwrap(), 1);
        }
        over.store(true, Ordering::Relaxed);
        watcher.join().unwrap();
    });
    eventually("it rests", || runtime.metrics().total.busy == 0);
    let total = runtime.metrics().total;
    assert_eq!((total.ran, total.panicked), (ROUNDS * 11, ROUNDS));
    assert_eq!(
        (total.spawned, total.queued, total.workers),
        (total.ran, 0, 4)
    );
}

/// One sample: its labels, and its number.
type Sample = (BTreeMap<String, String>, f64);

/// Reads the text format as a scraper does, and complains about whatever it would not take.
fn scrape(text: &str) -> BTreeMap<String, Vec<Sample>> {
    let mut families: BTreeMap<String, Vec<Sample>> = BTreeMap::new();
    let mut family = String::new();
    let mut lines = text.lines();
    assert!(text.ends_with('\n'));
    while let Some(line) = lines.next() {
        if let Some(head) = line.strip_prefix("# HELP ") {
            family = head.split_once(' ').unwrap().0.to_owned();
            let kind = lines.next().unwrap();
            let kind = kind.strip_prefix(&format!("# TYPE {family} ")).unwrap();
            let expected = if family.ends_with("_total") {
                "counter"
            } else {
                "gauge"
            };
            assert_eq!(kind, expected, "{family}");
            let again = families.insert(family.clone(), Vec::new());
            assert!(again.is_none(), "{family} twice");
            continue;
        }
        let rest = line.strip_prefix(&family).unwrap();
        let mut labels = BTreeMap::new();
        if let Some(number) = rest.strip_prefix(' ') {
            let sample = (labels, number.parse().unwrap());
            families.get_mut(&family).unwrap().push(sample);
            continue;
        }
        let mut chars = rest.strip_prefix('{').unwrap().chars();
        loop {
            let name: String = chars.by_ref().take_while(|char| *char != '=').collect();
            assert!(name.chars().all(|char| char.is_ascii_lowercase()), "{line}");
            assert_eq!(chars.next(), Some('"'));
            let mut value = String::new();
            loop {
                match chars.next().unwrap() {
                    '"' => break,
                    '\\' => value.push(match chars.next().unwrap() {
                        'n' => '\n',
                        char @ ('\\' | '"') => char,
                        other => panic!("escaped {other}"),
                    }),
                    char => value.push(char),
                }
            }
            assert!(labels.insert(name, value).is_none(), "{line}");
            match chars.next().unwrap() {
                ',' => {}
                '}' => break,
                other => panic!("{other} in {line}"),
            }
        }
        let number = chars.as_str().strip_prefix(' ').unwrap().parse().unwrap();
        families.get_mut(&family).unwrap().push((labels, number));
    }
    families
}

fn prometheus_reads_it<B: Backend>() {
    const ODD: &str = "a \"quoted\\\nname\"";
    let runtime: RuntimeOn<B> = RuntimeOn::builder()
        .tag(Tag::new(ODD).workers(2))
        .tag(Tag::new("b").workers(1))
        .build()
        .unwrap();
    for n in 0..5 {
        assert_eq!(runtime.spawn(move || n).join().unwrap(), n);
    }
    let later = runtime.after(Duration::MAX, || ()).unwrap();
    for _ in 0..2 {
        let alarm = runtime.alarm(Duration::ZERO, || ()).unwrap();
        alarm.join().unwrap();
    }
    assert!(runtime.after(Duration::MAX, || ()).unwrap().cancel());
    let held = hold(runtime.tag("b").unwrap(), 1);
    runtime.tag("b").unwrap().spawn_detached(|| ()).unwrap();
    let metrics = runtime.metrics();
    let families = scrape(&metrics.prometheus());
    held.release();
    drop(later);

    let number = |family: &str, labels: &[(&str, &str)]| {
        let labels: BTreeMap<_, _> = labels
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let mut found = families[family].iter().filter(|sample| sample.0 == labels);
        let number = found.next().unwrap_or_else(|| panic!("no {labels:?}")).1;
        assert!(found.next().is_none(), "two of {labels:?}");
        number
    };
    assert_eq!(number("parkade_tasks_ran_total", &[("tag", ODD)]), 5.0);
    assert_eq!(number("parkade_tasks_ran_total", &[("tag", "b")]), 0.0);
    assert_eq!(number("parkade_workers", &[("tag", ODD)]), 2.0);
    assert_eq!(number("parkade_workers_busy", &[("tag", "b")]), 1.0);
    assert_eq!(number("parkade_tasks_queued", &[("tag", "b")]), 1.0);
    let b0 = [("tag", "b"), ("worker", "0")];
    let with = |name, value| [b0[0], b0[1], (name, value)];
    let queued = number("parkade_worker_queued", &with("queue", "inbox"));
    assert_eq!(queued, 1.0);
    let active = |activity| number("parkade_worker_activity", &with("activity", activity));
    assert_eq!((active("running"), active("parked")), (1.0, 0.0));
    for (timers, expected) in [
        ("parkade_timers_pending", 1.0),
        ("parkade_timers_fired_total", 2.0),
        ("parkade_timers_cancelled_total", 1.0),
        ("parkade_alarm_panics_total", 0.0),
    ] {
        assert_eq!(number(timers, &[]), expected, "{timers}");
    }
    // Each row in each family, and nothing else.
    for (family, samples) in &families {
        let rows = match family.as_str() {
            "parkade_worker_queued" => 3 * 3,
            "parkade_worker_activity" => 3 * 6,
            name if name.starts_with("parkade_worker_") => 3,
            "parkade_alarm_panics_total" => 1,
            name if name.starts_with("parkade_timers_") => 1,
            _ => 2,
        };
        assert_eq!(samples.len(), rows, "{family}");
    }
    let by_worker = families["parkade_worker_tasks_ran_total"].iter();
    assert_eq!(by_worker.map(|sample| sample.1).sum::<f64>(), 5.0);
}

#[cfg(feature = "serde")]
mod serialized {
    use super::*;
    use crate::common::runtime;
    use serde_json::json;

    on_each_backend!(metrics_and_reports_become_json);

    fn metrics_and_reports_become_json<B: Backend>() {
        let runtime = runtime::<B>(1);
        runtime.spawn(|| ()).join().unwrap();
        let report = runtime.shutdown(Policy::Drain, None).unwrap();
        let metrics = serde_json::to_value(runtime.metrics()).unwrap();
        assert_eq!(metrics["tags"][0]["name"], "only");
        assert_eq!(metrics["total"]["spawned"], 1);
        let worker = &metrics["workers"][0];
        assert_eq!(worker["thread_name"], "pk-only-0");
        assert_eq!(worker["activity"], "gone");
        assert_eq!((&worker["ran"], &worker["cpu"]), (&json!(1), &json!(null)));

        let report = serde_json::to_value(report).unwrap();
        assert_eq!(report["policy"], "drain");
        assert_eq!((&report["ran"], &report["dropped"]), (&json!(1), &json!(0)));
        assert_eq!(report["still_running"], json!([]));
        assert!(report["elapsed"]["nanos"].is_u64());
    }
}
