//! Quiet: who has nothing to do does nothing, seen from the system's side, by the counts that it keeps for each
//! thread. Each test has a process of its own, because it looks at every worker's thread of the process.

use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use crate::child;
use crate::common::{eventually, hold, module_of, runtime};
use parkade::{Backend, RuntimeOn, Tag};

on_each_backend!(
    the_idle_one_takes_a_task_beside_long_ones;
    no_spurious_return:
    a_task_per_millisecond_is_a_wake_each,
    idle_workers_leave_a_busy_cpu_alone,
    frames_of_tiny_tasks_wake_no_more_than_there_are,
    one_long_task_keeps_one_thread_busy,
    a_short_task_beside_a_sleep_costs_two_switches,
    few_tasks_on_many_workers_are_few_wakes,
);

/// What the system has counted for a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Thread {
    cpu_ns: u64,
    voluntary_switches: u64,
}

/// The workers' threads of this process, by their names.
fn workers() -> BTreeMap<String, Thread> {
    let tasks = fs::read_dir("/proc/self/task")
        .unwrap()
        .map(|task| task.unwrap().path());
    let threads = tasks.filter_map(|task| {
        let read = |file| fs::read_to_string(task.join(file)).ok();
        let name = read("comm")?.trim_end().to_owned();
        let first = |text: &str| text.split_whitespace().next()?.parse().ok();
        let cpu_ns = first(&read("schedstat")?)?;
        let status = read("status")?;
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
        let voluntary_switches = first(line)?;
        let thread = Thread {
            cpu_ns,
            voluntary_switches,
        };
        name.starts_with("pk-").then_some((name, thread))
    });
    threads.collect()
}

fn all_parked<B: Backend>(runtime: &RuntimeOn<B>) {
    eventually("all workers are parked", || {
        let metrics = runtime.metrics();
        metrics.total.idle == metrics.total.workers
    });
    // The metrics see the announcement; the sleep follows at once.
    come_to_rest(workers);
}

/// Waits until `threads` have not run for a while.
fn come_to_rest(threads: impl Fn() -> BTreeMap<String, Thread>) {
    eventually("none of them runs any more", || {
        let before = threads();
        thread::sleep(Duration::from_millis(20));
        threads() == before
    });
}

/// I1. The bench has the calls of the system.
fn a_task_per_millisecond_is_a_wake_each<B: Backend>() {
    const TASKS: usize = 500;
    let runtime = runtime::<B>(8);
    for _ in 0..TASKS {
        runtime.spawn_detached(|| ()).unwrap();
        thread::sleep(Duration::from_millis(1));
    }
    let metrics = runtime.metrics().total;
    assert_eq!(metrics.spawned, TASKS);
    assert!(metrics.wake_calls <= TASKS, "{metrics:?}");
    assert!(metrics.parked <= TASKS + 8, "{metrics:?}");
}

/// I4.
fn idle_workers_leave_a_busy_cpu_alone<B: Backend>() {
    let test = format!(
        "quiet::{}::idle_workers_leave_a_busy_cpu_alone",
        module_of::<B>()
    );
    child::run_test(&test, || {
        let allowed = B::allowed_cpus();
        if let Ok(allowed) = &allowed {
            B::set_current_thread_cpus(&allowed[..1]).unwrap();
        }
        let runtime = runtime::<B>(4);
        for _ in 0..100 {
            runtime.spawn_detached(|| ()).unwrap();
        }
        let over = AtomicBool::new(false);
        thread::scope(|threads| {
            threads.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
            all_parked(&runtime);
            let before = workers();
            thread::sleep(Duration::from_millis(300));
            assert_eq!(workers(), before);
            over.store(true, Ordering::Relaxed);
        });
    });
}

/// I5.
fn frames_of_tiny_tasks_wake_no_more_than_there_are<B: Backend>() {
    const FRAMES: usize = 30;
    const TASKS: usize = 10;
    let runtime = runtime::<B>(4);
    for _ in 0..FRAMES {
        for _ in 0..TASKS {
            runtime.spawn_detached(|| ()).unwrap();
        }
        thread::sleep(Duration::from_millis(16));
    }
    let metrics = runtime.metrics().total;
    assert_eq!(metrics.spawned, FRAMES * TASKS);
    assert!(metrics.wake_calls <= FRAMES * TASKS, "{metrics:?}");
}

/// I6.
fn one_long_task_keeps_one_thread_busy<B: Backend>() {
    let test = format!(
        "quiet::{}::one_long_task_keeps_one_thread_busy",
        module_of::<B>()
    );
    child::run_test(&test, || {
        let runtime = runtime::<B>(4);
        let over = Arc::new(AtomicBool::new(false));
        let (began, begins) = mpsc::channel();
        let ends = Arc::clone(&over);
        let long = runtime.spawn(move || {
            began
                .send(thread::current().name().unwrap().to_owned())
                .unwrap();
            while !ends.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
        let busy = begins.recv().unwrap();
        let others = || {
            let mut others = workers();
            others.remove(&busy);
            others
        };
        assert_eq!(others().len(), 3);
        come_to_rest(others);
        let before = others();
        thread::sleep(Duration::from_millis(200));
        assert_eq!(others(), before);
        over.store(true, Ordering::Relaxed);
        long.join().unwrap();
    });
}

/// I7: the switch of the sleeping task itself is one of them.
fn a_short_task_beside_a_sleep_costs_two_switches<B: Backend>() {
    const TURNS: u64 = 400;
    let test = format!(
        "quiet::{}::a_short_task_beside_a_sleep_costs_two_switches",
        module_of::<B>()
    );
    child::run_test(&test, || {
        let runtime = Arc::new(runtime::<B>(2));
        all_parked(&runtime);
        let sum = || {
            workers()
                .values()
                .map(|thread| thread.voluntary_switches)
                .sum::<u64>()
        };
        let before = sum();
        let inside = Arc::clone(&runtime);
        runtime
            .spawn(move || {
                for _ in 0..TURNS {
                    inside.spawn_detached(|| pause(3)).unwrap();
                    thread::sleep(Duration::from_micros(500));
                }
            })
            .join()
            .unwrap();
        all_parked(&runtime);
        let switches = sum() - before;
        // Over a condition variable a sleeper that wakes may find the lock still held, and sleep again: on a
        // busy machine, nearly each time.
        let tenths = if module_of::<B>() == "linux" { 22 } else { 40 };
        assert!(
            switches * 10 <= TURNS * tenths,
            "{switches} switches in {TURNS} turns"
        );
    });
}

fn pause(microseconds: u64) {
    let began = std::time::Instant::now();
    while began.elapsed() < Duration::from_micros(microseconds) {
        std::hint::spin_loop();
    }
}

/// I9.
fn few_tasks_on_many_workers_are_few_wakes<B: Backend>() {
    const TASKS: usize = 50;
    let runtime = runtime::<B>(128);
    for _ in 0..TASKS {
        runtime.spawn(|| ()).join().unwrap();
        thread::sleep(Duration::from_millis(5));
    }
    let metrics = runtime.metrics().total;
    assert!(metrics.wake_calls * 2 <= TASKS * 5, "{metrics:?}");
}

/// W10.
fn the_idle_one_takes_a_task_beside_long_ones<B: Backend>() {
    const WORKERS: usize = 4;
    let runtime = RuntimeOn::<B>::builder()
        .tag(Tag::new("only").workers(WORKERS))
        .build()
        .unwrap();
    let ran = Arc::new(AtomicUsize::new(0));
    for round in 1..=50 {
        let held = hold(runtime.default_tag(), WORKERS - 1);
        let short: Vec<_> = (0..2)
            .map(|_| {
                let ran = Arc::clone(&ran);
                runtime.spawn(move || ran.fetch_add(1, Ordering::Relaxed))
            })
            .collect();
        for task in short {
            // Not by `held`: it is released below.
            task.join().unwrap();
        }
        assert_eq!(ran.load(Ordering::Relaxed), 2 * round);
        held.release();
    }
}
