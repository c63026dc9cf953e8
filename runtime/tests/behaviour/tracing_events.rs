//! Events for `tracing`, as a subscriber sees them: which, of what level, with which fields.
//!
//! There is one subscriber for the process, which every thread of every test reaches; so a test looks for its own
//! tag's events, and for those of its own thread.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, Once, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration;

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use crate::common::{eventually, expect_panics, hold, module_of};
use parkade::{Backend, BuildError, OnThreadError, Policy, RuntimeOn, Tag};

on_each_backend!(
    a_worker_tells_its_life,
    panics_are_errors,
    a_stop_tells_its_steps,
    a_thread_that_was_refused_is_a_warning,
    a_subscriber_may_panic,
);

static SEEN: Mutex<Vec<Seen>> = Mutex::new(Vec::new());

#[derive(Debug, Clone)]
struct Seen {
    level: Level,
    fields: BTreeMap<&'static str, String>,
    thread: ThreadId,
}

impl Visit for Seen {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.fields.insert(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.fields.insert(field.name(), value.to_owned());
    }
}

struct Collector;

impl Subscriber for Collector {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "parkade"
    }

    fn new_span(&self, _span: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _span: &Id, _values: &Record<'_>) {}
    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}
    fn enter(&self, _span: &Id) {}
    fn exit(&self, _span: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut seen = Seen {
            level: *event.metadata().level(),
            fields: BTreeMap::new(),
            thread: thread::current().id(),
        };
        event.record(&mut seen);
        let is_bomb = seen.get("tag").starts_with("bomb");
        SEEN.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(seen);
        assert!(!is_bomb, "on purpose");
    }
}

impl Seen {
    fn get(&self, field: &str) -> &str {
        self.fields.get(field).map_or("", String::as_str)
    }

    fn message(&self) -> &str {
        self.get("message")
    }
}

fn collect() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| tracing::subscriber::set_global_default(Collector).unwrap());
}

fn seen(is: impl Fn(&Seen) -> bool) -> Vec<Seen> {
    let all = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
    all.iter().filter(|seen| is(seen)).cloned().collect()
}

/// A name that no other test's tag has.
fn tag<B: Backend>(name: &str) -> String {
    format!("{name} {}", module_of::<B>())
}

fn of_tag(tag: &str) -> Vec<Seen> {
    seen(|seen| seen.get("tag") == tag)
}

fn with<B: Backend>(tag: &str, workers: usize) -> RuntimeOn<B> {
    collect();
    let tag = Tag::new(tag).workers(workers);
    RuntimeOn::builder().tag(tag).build().unwrap()
}

fn a_worker_tells_its_life<B: Backend>() {
    let tag = tag::<B>("life");
    let runtime = with::<B>(&tag, 2);
    eventually("both sleep", || {
        runtime
            .metrics()
            .workers
            .iter()
            .all(|worker| worker.parked > 0)
    });
    runtime.shutdown(Policy::Drain, None).unwrap();
    for worker in ["0", "1"] {
        let mut own = of_tag(&tag);
        own.retain(|seen| seen.get("worker") == worker);
        let told: Vec<_> = own
            .iter()
            .map(|seen| (seen.level, seen.message()))
            .collect();
        let (first, last) = (told[0], told[told.len() - 1]);
        assert_eq!(first, (Level::DEBUG, "worker starts"));
        assert_eq!(last, (Level::DEBUG, "worker stops"));
        let between = &told[1..told.len() - 1];
        assert!(!between.is_empty());
        // However often: in turn, and each with its other half.
        for pair in between.chunks(2) {
            let (parks, unparks) = (
                (Level::TRACE, "worker parks"),
                (Level::TRACE, "worker unparks"),
            );
            assert_eq!(pair, [parks, unparks]);
        }
        assert!(
            own.iter().all(|seen| seen.thread == own[0].thread),
            "its own"
        );
        assert_ne!(own[0].thread, thread::current().id());
    }
}

fn panics_are_errors<B: Backend>() {
    expect_panics();
    let tag = tag::<B>("panics");
    let runtime = with::<B>(&tag, 1);
    assert!(runtime.spawn(|| panic!("out of tea")).join().is_err());
    let mine = tag.clone();
    let alarm = runtime.alarm(Duration::ZERO, move || panic!("alarm of {mine}"));
    assert!(alarm.unwrap().join().is_err());
    let errors: Vec<_> = of_tag(&tag)
        .into_iter()
        .filter(|seen| seen.level == Level::ERROR)
        .collect();
    let [error] = &errors[..] else {
        panic!("{errors:?}")
    };
    let told = ["message", "panic", "worker"].map(|field| error.get(field));
    assert_eq!(told, ["panic on a worker", "out of tea", "0"]);
    // The outcome of an alarm is there before its panic is counted.
    eventually("the alarm's is told", || {
        let of_alarm = seen(|seen| seen.get("panic") == format!("alarm of {tag}"));
        of_alarm.len() == 1 && of_alarm[0].message() == "panic of an alarm"
    });
}

fn a_stop_tells_its_steps<B: Backend>() {
    let tag = tag::<B>("stop");
    let runtime = with::<B>(&tag, 1);
    let of_tag = runtime.default_tag();
    of_tag.shutdown(Policy::Drain, None).unwrap();
    runtime.shutdown(Policy::Abandon, None).unwrap();
    runtime.shutdown(Policy::Drain, None).unwrap();
    let here = thread::current().id();
    let steps = seen(|seen| seen.thread == here && seen.message() == "stop step done");
    let told: Vec<_> = steps
        .iter()
        .map(|seen| ["step", "tag", "policy"].map(|field| seen.get(field)))
        .collect();
    let alone = ["1", "2", "3", "4", "5"].map(|step| [step, &tag, "Drain"]);
    let whole = ["1", "2", "3", "4", "5"].map(|step| [step, "", "Abandon"]);
    assert_eq!(told, [alone, whole].concat());
    assert!(steps.iter().all(|seen| seen.level == Level::DEBUG));
}

fn a_thread_that_was_refused_is_a_warning<B: Backend>() {
    collect();
    let tag = tag::<B>("refused");
    let refused = RuntimeOn::<B>::builder()
        .tag(Tag::new(&tag).workers(2))
        .on_thread_error(OnThreadError::Fail)
        // More than any address space has.
        .stack_size(1 << 60)
        .build()
        .unwrap_err();
    assert!(
        matches!(refused, BuildError::Thread { started: 0, .. }),
        "{refused}"
    );
    let told = of_tag(&tag);
    let [warning] = &told[..] else {
        panic!("{told:?}")
    };
    assert_eq!(warning.level, Level::WARN);
    assert_eq!(
        (warning.message(), warning.get("worker")),
        ("thread not started", "0")
    );
    assert!(!warning.get("error").is_empty());
}

/// Its panics end where it is called; the worker goes on.
fn a_subscriber_may_panic<B: Backend>() {
    expect_panics();
    let tag = tag::<B>("bomb");
    let runtime = with::<B>(&tag, 1);
    let held = hold(runtime.default_tag(), 1);
    held.release();
    assert!(runtime.spawn(|| panic!("on purpose")).join().is_err());
    assert_eq!(runtime.spawn(|| 1).join().unwrap(), 1);
    let report = runtime.shutdown(Policy::Drain, None).unwrap();
    assert!(report.is_complete());
    assert_eq!((report.ran, report.dropped), (3, 0));
    let last = of_tag(&tag).pop().unwrap();
    assert_eq!(last.message(), "worker stops");
}
