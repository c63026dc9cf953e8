//! The builder: what it refuses before a thread exists, and what workers look like when it does not.

use std::collections::HashSet;
use std::error::Error;
use std::sync::{Arc, Mutex};
use std::thread;

use crate::common::runtime;
use parkade::{
    Backend, BuildError, CpuListError, DEFAULT_TAG, FenceChoice, MAX_RUN_QUEUE, MAX_WORKERS,
    Pinning, RuntimeOn, Tag,
};

on_each_backend!(
    bad_shapes_are_named,
    bad_cpu_lists_are_named,
    a_cpu_that_is_not_there_is_named,
    a_lenient_tag_runs_anyway,
    the_default_tag_follows_the_machine,
    names_fit_and_differ,
    stacks_have_the_size_that_was_asked_for,
    fences_are_a_choice,
);

/// The error of a build that must not have started a thread.
fn error<B: Backend>(tags: impl IntoIterator<Item = Tag>) -> BuildError {
    let built = RuntimeOn::<B>::builder()
        .tags(tags)
        .on_start(|_| panic!("a thread was started"))
        .build();
    built.expect_err("it cannot be built")
}

fn bad_shapes_are_named<B: Backend>() {
    let one = || Tag::new("one").workers(1);
    assert!(matches!(error::<B>([]), BuildError::NoTags));
    let empty = error::<B>([one(), Tag::new("").workers(1)]);
    assert!(matches!(empty, BuildError::EmptyTagName { index: 1 }));
    let duplicate = error::<B>([one(), Tag::new("two").workers(1), one()]);
    assert_eq!(duplicate.to_string(), "there are two tags called \"one\"");
    let none = error::<B>([one().workers(0)]);
    assert_eq!(
        none.to_string(),
        "tag \"one\" has 0 workers; it needs at least 1"
    );
    for (first, second, sum) in [
        (MAX_WORKERS, 1, MAX_WORKERS + 1),
        (1, usize::MAX, usize::MAX),
    ] {
        let many = error::<B>([one().workers(first), Tag::new("two").workers(second)]);
        assert!(matches!(
            many,
            BuildError::TooManyWorkers { requested, limit: MAX_WORKERS } if requested == sum
        ));
    }
    for bad in [0, 1, 3, 100, MAX_RUN_QUEUE * 2, usize::MAX] {
        let queue = error::<B>([one().run_queue(bad)]);
        assert!(matches!(queue, BuildError::RunQueue { capacity, .. } if capacity == bad));
        assert!(queue.to_string().contains(&bad.to_string()), "{queue}");
    }
    let inbox = error::<B>([Tag::new("zero").workers(1), one().inbox_limit(0)]);
    let named = "tag \"one\" cannot be built: tag 1 has an inbox of 0 tasks; it needs at least 1";
    assert_eq!(inbox.to_string(), named);
    assert!(inbox.source().is_some());
    let ageing = error::<B>([one().ageing(1)]).to_string();
    assert!(ageing.contains("every 1 picks"), "{ageing}");
    let zero_byte = error::<B>([Tag::new("a\0b").workers(1)]);
    assert!(matches!(zero_byte, BuildError::ZeroByteInName { name } if name == "a\0b"));
    let prefix = RuntimeOn::<B>::builder().thread_name("\0").build();
    assert!(matches!(prefix, Err(BuildError::ZeroByteInName { .. })));
    for size in [0, 1024, usize::MAX] {
        let stack = RuntimeOn::<B>::builder().stack_size(size).build();
        assert!(matches!(stack, Err(BuildError::StackSize { bytes, .. }) if bytes == size));
    }
}

/// A4.
fn bad_cpu_lists_are_named<B: Backend>() {
    for list in ["0-4294967295", "3-1", "", "0-3,x"] {
        let BuildError::CpuList { tag, source } =
            error::<B>([Tag::new("one").workers(1).cpus(list)])
        else {
            panic!("{list:?} was read");
        };
        assert_eq!(tag, "one");
        assert_eq!(Err(source), list.parse::<parkade::CpuList>().map(drop));
    }
    let lenient = Tag::new("one")
        .workers(1)
        .cpus("3-1")
        .pinning(Pinning::Lenient);
    assert!(matches!(
        error::<B>([lenient]),
        BuildError::CpuList {
            source: CpuListError::Reversed { .. },
            ..
        }
    ));
}

/// A CPU that no machine in sight has.
const NO_CPU: usize = parkade::CpuList::MAX_CPU;

/// A2.
fn a_cpu_that_is_not_there_is_named<B: Backend>() {
    let refused = error::<B>([Tag::new("one").workers(1).cpus(NO_CPU.to_string())]);
    match B::allowed_cpus() {
        Ok(_) => {
            assert!(
                matches!(refused, BuildError::CpuNotAllowed { cpu: NO_CPU, .. }),
                "{refused}"
            );
        }
        Err(_) => {
            assert_eq!(
                refused.to_string(),
                "tag \"one\" asks for CPUs 4095, but this backend cannot bind threads to CPUs"
            );
        }
    }
}

/// A2.
fn a_lenient_tag_runs_anyway<B: Backend>() {
    let allowed = B::allowed_cpus();
    let there = allowed.as_ref().map_or(0, |allowed| allowed[0]);
    let runtime: RuntimeOn<B> = RuntimeOn::builder()
        .tag(
            Tag::new("one")
                .workers(4)
                .cpus(format!("{there},{NO_CPU}"))
                .pinning(Pinning::Lenient),
        )
        .build()
        .unwrap();
    assert_eq!(runtime.spawn(|| 1).join().unwrap(), 1);
    let metrics = runtime.metrics();
    let misplaced = if allowed.is_ok() { 2 } else { 4 };
    assert_eq!(metrics.total.misplaced, misplaced);
    let warning = format!("warning: {misplaced} workers of tag \"one\" do not run on the CPUs");
    assert!(metrics.to_string().contains(&warning), "{metrics}");
}

/// A3.
fn the_default_tag_follows_the_machine<B: Backend>() {
    let runtime = RuntimeOn::<B>::builder().build().unwrap();
    assert_eq!(runtime.default_tag().name(), DEFAULT_TAG);
    let workers = thread::available_parallelism().unwrap().get();
    assert_eq!(runtime.metrics().total.workers, workers);
    assert_eq!(runtime.spawn(|| 1).join().unwrap(), 1);
}

/// A7.
fn names_fit_and_differ<B: Backend>() {
    let names = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&names);
    let runtime: RuntimeOn<B> = RuntimeOn::builder()
        .tag(Tag::new("analytics-heavy").workers(118))
        .tag(Tag::new("analytics-heavier").workers(12))
        .thread_name("")
        .on_start(move |worker| {
            let own = thread::current();
            seen.lock()
                .unwrap()
                .push((own.name().unwrap().to_owned(), worker.index()));
        })
        .build()
        .unwrap();
    drop(runtime);
    let names = names.lock().unwrap();
    let different: HashSet<_> = names.iter().map(|(name, _)| name).collect();
    assert_eq!(different.len(), 130);
    for (name, index) in &*names {
        assert!(name.len() <= 15, "{name}");
        assert!(name.ends_with(&format!("-{index}")), "{name}");
    }
    assert!(names.contains(&("analytics~0-117".to_owned(), 117)));
}

/// Recurses through about `bytes` of stack.
fn use_stack(bytes: usize) -> u8 {
    let block = std::hint::black_box([1_u8; 1024]);
    if bytes > block.len() {
        use_stack(bytes - block.len()).wrapping_add(block[0])
    } else {
        block[0]
    }
}

fn stacks_have_the_size_that_was_asked_for<B: Backend>() {
    // More than the 2 MiB that std gives by default.
    let runtime: RuntimeOn<B> = RuntimeOn::builder()
        .tag(Tag::new("deep").workers(1))
        .stack_size(64 << 20)
        .build()
        .unwrap();
    runtime.spawn(|| use_stack(8 << 20)).join().unwrap();
}

fn fences_are_a_choice<B: Backend>() {
    for fences in [FenceChoice::Auto, FenceChoice::SeqCst] {
        let runtime: RuntimeOn<B> = RuntimeOn::builder()
            .tag(Tag::new("only").workers(2))
            .fences(fences)
            .build()
            .unwrap();
        for n in 0..100 {
            assert_eq!(runtime.spawn(move || n).join().unwrap(), n);
        }
    }
    drop(runtime::<B>(1));
}

/// What only a backend with affinity can show.
#[cfg(all(feature = "linux", target_os = "linux"))]
mod affinity {
    use parkade::backend::Linux;
    use parkade_linux::affinity;

    use std::time::Duration;

    use super::*;

    fn cpus_of_workers(runtime: &RuntimeOn<Linux>, workers: usize) -> Vec<Vec<usize>> {
        let barrier = Arc::new(std::sync::Barrier::new(workers));
        let handles: Vec<_> = (0..workers)
            .map(|_| {
                let barrier = Arc::clone(&barrier);
                runtime.spawn(move || {
                    barrier.wait();
                    let cpus = affinity::current_thread().unwrap().iter().collect();
                    (thread::current().name().unwrap().to_owned(), cpus)
                })
            })
            .collect();
        let mut cpus: Vec<(String, Vec<usize>)> = handles
            .into_iter()
            .map(|handle| handle.join().unwrap())
            .collect();
        cpus.sort();
        cpus.into_iter().map(|(_, cpus)| cpus).collect()
    }

    #[test]
    fn worker_i_takes_cpu_i_of_the_list() {
        let allowed = Linux::allowed_cpus().unwrap();
        let (first, last) = (allowed[0], allowed[allowed.len() - 1]);
        let runtime = RuntimeOn::<Linux>::builder()
            .tag(
                Tag::new("pinned")
                    .workers(3)
                    .cpus(format!("{last},{first}")),
            )
            .build()
            .unwrap();
        assert_eq!(cpus_of_workers(&runtime, 3), [[last], [first], [last]]);
        assert_eq!(runtime.metrics().total.misplaced, 0);
    }

    /// A1: a thread that is pinned itself builds a runtime whose workers are not.
    #[test]
    fn workers_do_not_inherit_their_creators_pin() {
        let allowed = Linux::allowed_cpus().unwrap();
        affinity::pin_current_thread(allowed[0]).unwrap();
        let runtime = crate::common::runtime::<Linux>(2);
        assert_eq!(cpus_of_workers(&runtime, 2), [allowed.clone(), allowed]);
    }
    /// A1, for the timer thread, which a pinned worker starts.
    #[test]
    fn the_timer_thread_does_not_inherit_its_creators_pin() {
        let allowed = Linux::allowed_cpus().unwrap();
        let pinned = Tag::new("pinned").workers(1).cpus(allowed[0].to_string());
        let runtime = RuntimeOn::<Linux>::builder().tag(pinned).build().unwrap();
        let runtime = Arc::new(runtime);
        let inside = Arc::clone(&runtime);
        let task = runtime.spawn(move || {
            let own = || affinity::current_thread().unwrap().iter().collect();
            let alarm = inside.alarm(Duration::ZERO, own).unwrap();
            (own(), alarm.join().unwrap())
        });
        let (worker, timer): (Vec<usize>, Vec<usize>) = task.join().unwrap();
        assert_eq!((worker, timer), (vec![allowed[0]], allowed));
    }
}
