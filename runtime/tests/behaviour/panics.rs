//! Panics: each thing that may panic on a worker, and what comes of it under each policy.

use std::any::Any;
use std::cell::Cell;
use std::os::unix::process::ExitStatusExt;
use std::panic::panic_any;
use std::process::Output;
use std::sync::{Arc, Mutex};

use parkade::{
    Backend, JoinHandle, PanicPolicy, Policy, RuntimeBuilder, RuntimeOn, Tag, WorkerInfo,
};
use rlimit::Resource;

use crate::child;
use crate::common::expect_panics;

on_each_backend!(
    a_handler_is_told_before_the_handle,
    each_hook_goes_by_the_policy_of_its_worker,
    a_handler_that_panics_ends_there,
    a_task_with_a_handle_aborts,
    a_detached_task_aborts,
    a_task_that_its_worker_joins_aborts,
    a_hook_aborts,
    a_thread_local_aborts,
);

/// What a handler was told: the worker's tag and index, and the message.
type Told = Arc<Mutex<Vec<(String, usize, String)>>>;

fn text(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>();
    text.map_or_else(|| "no text".to_owned(), |text| (*text).to_owned())
}

fn watched(told: &Told) -> PanicPolicy {
    let told = Arc::clone(told);
    PanicPolicy::handler(move |worker: &WorkerInfo, payload: &(dyn Any + Send)| {
        let what = (worker.tag().to_owned(), worker.index(), text(payload));
        told.lock().unwrap().push(what);
    })
}

/// P1: {spawn, handle, join inside} × handler; and the tag beside it carries, as by default.
fn a_handler_is_told_before_the_handle<B: Backend>() {
    expect_panics();
    let told = Told::default();
    let runtime: Arc<RuntimeOn<B>> = Arc::new(
        RuntimeOn::builder()
            .tag(Tag::new("calm").workers(1))
            .tag(Tag::new("watched").workers(1).on_panic(watched(&told)))
            .build()
            .unwrap(),
    );
    let expect = |messages: &[&str]| {
        let expected = messages
            .iter()
            .map(|message| ("watched".to_owned(), 0, (*message).to_owned()));
        assert_eq!(*told.lock().unwrap(), expected.collect::<Vec<_>>());
    };
    let calm = runtime.spawn(|| panic!("calm")).join().unwrap_err();
    assert_eq!(text(&*calm.into_panic().unwrap()), "calm");
    expect(&[]);

    let tag = runtime.tag("watched").unwrap();
    let error = tag.spawn(|| panic!("handle")).join().unwrap_err();
    expect(&["handle"]);
    assert_eq!(text(&*error.into_panic().unwrap()), "handle");

    tag.spawn_detached(|| panic!("detached")).unwrap();
    tag.spawn(|| ()).join().unwrap();
    expect(&["handle", "detached"]);

    let inside = Arc::clone(&runtime);
    let seen = Arc::clone(&told);
    let parent = tag.spawn(move || {
        let own = inside.tag("watched").unwrap();
        let child: JoinHandle<()> = own.spawn(|| panic_any("joined"));
        let error = child.join().unwrap_err();
        (
            seen.lock().unwrap().len(),
            text(&*error.into_panic().unwrap()),
        )
    });
    assert_eq!(parent.join().unwrap(), (3, "joined".to_owned()));
    expect(&["handle", "detached", "joined"]);

    let metrics = runtime.metrics();
    let row = metrics.tag("watched").unwrap();
    assert_eq!((row.ran, row.panicked, row.workers), (5, 3, 1));
    let row = metrics.tag("calm").unwrap();
    assert_eq!((row.ran, row.panicked, row.workers), (1, 1, 1));
}

/// P1: {start hook, stop hook} × {carry, handler}.
fn each_hook_goes_by_the_policy_of_its_worker<B: Backend>() {
    expect_panics();
    let told = Told::default();
    let runtime: RuntimeOn<B> = RuntimeOn::builder()
        .tag(Tag::new("calm").workers(1))
        .tag(Tag::new("watched").workers(2).on_panic(watched(&told)))
        .on_start(|_| panic!("start"))
        .on_stop(|_| panic!("stop"))
        .build()
        .unwrap();
    assert_eq!(runtime.spawn(|| 1).join().unwrap(), 1);
    assert_eq!(runtime.metrics().total.workers, 3);
    assert!(runtime.shutdown(Policy::Drain, None).unwrap().is_complete());
    let mut told = told.lock().unwrap().clone();
    told.sort_unstable();
    let of = |index, message: &str| ("watched".to_owned(), index, message.to_owned());
    let expected = [of(0, "start"), of(0, "stop"), of(1, "start"), of(1, "stop")];
    assert_eq!(told, expected);
    assert_eq!(runtime.metrics().total.panicked, 6);
}

fn a_handler_that_panics_ends_there<B: Backend>() {
    expect_panics();
    let policy = PanicPolicy::handler(|_, _| panic!("in the handler"));
    let runtime: RuntimeOn<B> = RuntimeOn::builder()
        .tag(Tag::new("only").workers(1).on_panic(policy))
        .build()
        .unwrap();
    let error = runtime.spawn(|| panic!("first")).join().unwrap_err();
    assert_eq!(text(&*error.into_panic().unwrap()), "first");
    assert_eq!(runtime.spawn(|| 1).join().unwrap(), 1);
    let metrics = runtime.metrics().total;
    assert_eq!((metrics.ran, metrics.panicked, metrics.workers), (2, 2, 1));
}

/// A child process with a runtime whose only tag aborts; `body` is to cause that.
fn aborts<B: Backend>(
    test: &str,
    body: impl FnOnce(RuntimeBuilder<B>),
) -> Option<(Output, String)> {
    let output = child::end::<B>("panics", test, || {
        // No image of this on the disk.
        Resource::CORE.set(0, 0).unwrap();
        let tag = Tag::new("strict").workers(1).on_panic(PanicPolicy::Abort);
        body(RuntimeOn::builder().tag(tag));
    })?;
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.signal(), Some(libc::SIGABRT), "{errors}");
    Some((output, errors))
}

fn says_why(ended: Option<(Output, String)>, message: &str) {
    if let Some((_, errors)) = ended {
        let line = format!(
            "parkade: worker 0 of tag \"strict\" aborts the process, as its panic policy says: {message}\n"
        );
        assert!(errors.contains(&line), "{errors}");
    }
}

/// P1: handle × abort.
fn a_task_with_a_handle_aborts<B: Backend>() {
    let ended = aborts::<B>("a_task_with_a_handle_aborts", |builder| {
        let runtime = builder.build().unwrap();
        let _ = runtime.spawn(|| panic!("number {}", 7)).join();
    });
    says_why(ended, "number 7");
}

/// P1: spawn × abort.
fn a_detached_task_aborts<B: Backend>() {
    let ended = aborts::<B>("a_detached_task_aborts", |builder| {
        let runtime = builder.build().unwrap();
        runtime.spawn_detached(|| panic_any(7)).unwrap();
        drop(runtime);
    });
    says_why(ended, "a value that is no message");
}

/// P1: join inside × abort.
fn a_task_that_its_worker_joins_aborts<B: Backend>() {
    let ended = aborts::<B>("a_task_that_its_worker_joins_aborts", |builder| {
        let runtime = Arc::new(builder.build().unwrap());
        let inside = Arc::clone(&runtime);
        let parent = runtime.spawn(move || inside.spawn(|| panic!("joined")).join().is_ok());
        let _ = parent.join();
    });
    says_why(ended, "joined");
}

/// P1: start hook × abort.
fn a_hook_aborts<B: Backend>() {
    let ended = aborts::<B>("a_hook_aborts", |builder| {
        let builder = builder.on_start(|_| panic!("start"));
        drop(builder.build().unwrap());
    });
    says_why(ended, "start");
}

/// P1: TLS drop, which is std's to decide.
fn a_thread_local_aborts<B: Backend>() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("in a thread-local");
        }
    }
    thread_local! {
        static KEPT: Cell<Option<Bomb>> = const { Cell::new(None) };
    }
    let ended = aborts::<B>("a_thread_local_aborts", |_| {
        let runtime = crate::common::runtime::<B>(1);
        runtime.spawn(|| KEPT.set(Some(Bomb))).join().unwrap();
        drop(runtime);
    });
    if let Some((_, errors)) = ended {
        assert!(errors.contains("in a thread-local"), "{errors}");
    }
}
