//! Several tags that grow: under one ceiling, on the same processors, each with its own.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, OnceLock};
use std::thread;
use std::time::Duration;

use parkade::{Backend, Pinning, Policy, ResizeError, RuntimeOn, Tag};

use crate::common::{eventually, hold};

on_each_backend!(
    a_growing_runtime_ends_after_its_only_tag,
    a_minimum_is_never_taken,
    hooks_that_spawn_hold_up_nobody,
    a_late_worker_takes_no_pin_over;
    // Unequal stalls are no shares.
    no_spurious_return: tags_share_the_processors,
);

/// G11.
fn a_minimum_is_never_taken<B: Backend>() {
    let runtime = RuntimeOn::<B>::builder()
        .tag(Tag::new("hot").workers(1).max_workers(8))
        .tag(Tag::new("quiet").workers(2).max_workers(8))
        .max_workers(5)
        .build()
        .unwrap();
    let (hot, quiet) = (runtime.tag("hot").unwrap(), runtime.tag("quiet").unwrap());
    let workers = |name| runtime.metrics().tag(name).unwrap().workers;
    let held = hold(hot, 3);
    let more: Vec<_> = (0..100).map(|n| hot.spawn(move || n)).collect();
    // As many as it has at least, at any time, and no more.
    let both = hold(quiet, 2);
    let waits = quiet.spawn(|| ());
    assert_eq!((workers("hot"), workers("quiet")), (3, 2));
    both.release();
    waits.join().unwrap();
    // What the one has above its minimum, the other may have as its own.
    quiet.resize(4).unwrap();
    held.release();
    eventually("both are as they should be", || {
        (workers("hot"), workers("quiet")) == (1, 4)
    });
    drop(hold(quiet, 4));
    for (n, task) in more.into_iter().enumerate() {
        assert_eq!(task.join().unwrap(), n);
    }
    assert_eq!(
        quiet.resize(5),
        Err(ResizeError::BeyondCeiling {
            tag: "quiet".to_owned(),
            workers: 5,
            sum: 6,
            ceiling: 5
        })
    );
}

/// G12: more tags than processors, and hooks that do not return before the runtime is there.
fn hooks_that_spawn_hold_up_nobody<B: Backend>() {
    const TAGS: usize = 12;
    let runtime = Arc::new(OnceLock::<RuntimeOn<B>>::new());
    let ran = Arc::new(AtomicUsize::new(0));
    let (there, count) = (Arc::clone(&runtime), Arc::clone(&ran));
    let mut builder = RuntimeOn::<B>::builder();
    for tag in 0..TAGS {
        let tag = Tag::new(format!("t{tag}")).workers(1).max_workers(2);
        builder = builder.tag(tag);
    }
    let built = builder
        .on_start(move |worker| {
            let runtime = loop {
                match there.get() {
                    Some(runtime) => break runtime,
                    None => thread::yield_now(),
                }
            };
            let count = Arc::clone(&count);
            let task = move || _ = count.fetch_add(1, Ordering::Relaxed);
            let tag = runtime.tag(worker.tag()).unwrap();
            tag.spawn_detached(task).unwrap();
        })
        .build()
        .unwrap();
    assert!(runtime.set(built).is_ok());
    let built = runtime.get().unwrap();
    eventually("each hook's task has run", || {
        ran.load(Ordering::Relaxed) >= TAGS
    });
    // And so for those that come later.
    drop(hold(built.tag("t3").unwrap(), 2));
    eventually("the late hook's task has run", || {
        ran.load(Ordering::Relaxed) == TAGS + built.metrics().total.grown
    });
    built.shutdown(Policy::Drain, None).unwrap();
}

/// G13.
fn tags_share_the_processors<B: Backend>() {
    const TASKS: usize = 8_000;
    // One worker of each tag on each processor, where that is possible: what else runs there hits all alike.
    let cpus = B::allowed_cpus().unwrap_or_else(|_| vec![0, 1]);
    let cores = cpus.len().min(4);
    let list: Vec<_> = cpus[..cores].iter().map(usize::to_string).collect();
    let mut builder = RuntimeOn::<B>::builder();
    for tag in 0..4 {
        let tag = Tag::new(format!("t{tag}")).workers(cores);
        builder = builder.tag(tag.cpus(list.join(",")).pinning(Pinning::Lenient));
    }
    let runtime = builder.build().unwrap();
    if runtime.metrics().total.misplaced > 0 {
        // Which processor a worker gets is the system's choice then, and so is its share.
        return;
    }
    let tags = [0, 1, 2, 3].map(|tag| runtime.tag(&format!("t{tag}")).unwrap());
    // All of it is queued before any of it begins.
    let held = tags.map(|tag| hold(tag, cores));
    let over = Arc::new(AtomicUsize::new(0));
    for tag in tags {
        // More than its share by far: each tag is busy to the end.
        for _ in 0..TASKS {
            let over = Arc::clone(&over);
            let task = move || {
                let spin = (0..20_000_u64).fold(1, |x, y| std::hint::black_box(x ^ y));
                std::hint::black_box(spin);
                over.fetch_add(1, Ordering::Relaxed);
            };
            tag.spawn_detached(task).unwrap();
        }
    }
    drop(held);
    eventually("a share of each is done", || {
        over.load(Ordering::Relaxed) >= 2 * TASKS
    });
    let ran: Vec<_> = runtime.metrics().tags.iter().map(|tag| tag.ran).collect();
    runtime.shutdown(Policy::Abandon, None).unwrap();
    let share = ran.iter().sum::<usize>() / 4;
    let fair = share * 8 / 10..=share * 12 / 10;
    assert!(ran.iter().all(|ran| fair.contains(ran)), "{ran:?}");
}

/// The CPUs that this thread may use, where that can be read.
fn own_cpus() -> String {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let mut lines = status.lines();
    let cpus = lines.find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    cpus.unwrap_or_default().trim().to_owned()
}

/// A1: by growth, and by the thread that the pinned worker itself has started for a resize.
fn a_late_worker_takes_no_pin_over<B: Backend>() {
    let Ok(cpus) = B::allowed_cpus() else { return };
    let of_process = own_cpus();
    for max in [1, 2] {
        let first = 3 - max;
        let runtime = RuntimeOn::<B>::builder()
            .tag(Tag::new("pinned").workers(1).cpus(cpus[0].to_string()))
            .tag(Tag::new("free").workers(first).max_workers(2))
            .build()
            .unwrap();
        let runtime = Arc::new(runtime);
        let here = Arc::clone(&runtime);
        let pinned = runtime.tag("pinned").unwrap().spawn(move || {
            let barrier = Arc::new(Barrier::new(2));
            let free = here.tag("free").unwrap();
            if first == 2 {
                free.resize(1).unwrap();
                eventually("one has ended", || here.metrics().total.retired == 1);
                free.resize(2).unwrap();
            }
            let both = [(); 2].map(|()| {
                let barrier = Arc::clone(&barrier);
                free.spawn(move || {
                    barrier.wait();
                    own_cpus()
                })
            });
            let both = both.map(|task| task.join().unwrap());
            (own_cpus(), both)
        });
        let (own, both) = pinned.join().unwrap();
        if cfg!(target_os = "linux") {
            assert_eq!(own, cpus[0].to_string());
        }
        assert_eq!(both, [of_process.clone(), of_process.clone()]);
        assert_eq!(runtime.metrics().tag("free").unwrap().grown, 1);
    }
}

/// Its tag's end came before its worker's, who then is the last that the runtime's drain waits for.
fn a_growing_runtime_ends_after_its_only_tag<B: Backend>() {
    let tag = Tag::new("only").workers(1).max_workers(2);
    let builder = RuntimeOn::<B>::builder().tag(tag);
    let runtime = builder.interrupt(parkade::Interrupt::Off).build().unwrap();
    let held = hold(runtime.default_tag(), 1);
    let patience = Some(Duration::from_millis(1));
    let report = runtime
        .default_tag()
        .shutdown(Policy::Drain, patience)
        .unwrap();
    assert_eq!(report.still_running.len(), 1);
    thread::scope(|threads| {
        let stop = threads.spawn(|| runtime.shutdown(Policy::Drain, None).unwrap());
        // Long enough for the scaler to have been told, and to sleep.
        thread::sleep(Duration::from_millis(20));
        held.release();
        let report = stop.join().unwrap();
        assert!(report.is_complete(), "{report}");
    });
}
