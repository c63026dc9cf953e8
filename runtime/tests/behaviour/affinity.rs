//! Affinity: pools that share CPUs, and all CPUs pinned. By counts; what it comes to in time is for the bench.
//!
//! On a backend that cannot pin, the pools share all CPUs, and the same holds.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crate::common::{eventually, module_of};
use parkade::topology::Topology;
use parkade::{Backend, CpuList, RuntimeOn, Tag};

on_each_backend!(
    two_busy_pools_on_the_same_cpus_both_progress,
    workers_go_to_physical_cores_first;
    // They say that the sleepers' counts stand still, or are bounded; a spurious return is one more park.
    no_spurious_return: an_idle_pool_costs_its_neighbour_nothing, pinned_workers_are_woken_once_a_task,
);

/// A runtime of so many workers on all CPUs of the process, where that can be had; the names of its threads begin
/// with `prefix`.
fn pool<B: Backend>(prefix: &str, workers: usize) -> RuntimeOn<B> {
    let mut tag = Tag::new("w").workers(workers);
    if let Ok(allowed) = B::allowed_cpus() {
        let list: Vec<String> = allowed.iter().map(usize::to_string).collect();
        tag = tag.cpus(list.join(","));
    }
    let runtime = RuntimeOn::builder().tag(tag).thread_name(prefix).build();
    runtime.unwrap()
}

/// A front for thread names that no other test of this process has.
fn prefix<B: Backend>(pool: char) -> String {
    let backend = module_of::<B>();
    let short: String = backend
        .split('_')
        .filter_map(|word| word.chars().next())
        .collect();
    format!("A5{pool}{short}")
}

/// For each thread whose name begins so: whether it sleeps, and how often it was switched to another.
fn switches(prefix: &str) -> BTreeMap<String, (bool, usize)> {
    let tasks = fs::read_dir("/proc/self/task").unwrap();
    let read = |task: fs::DirEntry| fs::read_to_string(task.path().join("status")).ok();
    let statuses = tasks.filter_map(|task| read(task.ok()?));
    let of = |status: &str, field: &str| {
        let value = status.lines().find_map(|line| line.strip_prefix(field));
        value.unwrap_or_default().trim().to_owned()
    };
    statuses
        .filter(|status| of(status, "Name:").starts_with(prefix))
        .map(|status| {
            let number = |field| of(&status, field).parse::<usize>().unwrap();
            let switches =
                number("voluntary_ctxt_switches:") + number("nonvoluntary_ctxt_switches:");
            (
                of(&status, "Name:"),
                (of(&status, "State:").starts_with('S'), switches),
            )
        })
        .collect()
}

/// Waits until all workers are in their parks; how often they have been switched by then.
fn rest<B: Backend>(runtime: &RuntimeOn<B>, prefix: &str) -> BTreeMap<String, (bool, usize)> {
    eventually("all workers sleep", || {
        let total = runtime.metrics().total;
        let all_parked = total.idle == total.workers && total.parked >= total.workers;
        all_parked && switches(prefix).values().all(|(sleeps, _)| *sleeps)
    });
    switches(prefix)
}

/// A5, one half: the idle pool's workers are not run even once while the other works on their CPUs.
fn an_idle_pool_costs_its_neighbour_nothing<B: Backend>() {
    const TASKS: usize = 5000;
    let (idle, busy) = (prefix::<B>('i'), prefix::<B>('b'));
    let (a, b) = (pool::<B>(&idle, 4), pool::<B>(&busy, 4));
    assert_eq!(a.spawn(|| 1).join().unwrap(), 1);
    let (before, metrics) = (rest(&a, &idle), a.metrics());
    assert_eq!(before.len(), 4, "{before:?}");
    let done = Arc::new(AtomicUsize::new(0));
    for _ in 0..TASKS {
        let done = Arc::clone(&done);
        let count = move || {
            done.fetch_add(1, Ordering::Relaxed);
        };
        b.spawn_detached(count).unwrap();
    }
    eventually("the busy pool has done it all", || {
        done.load(Ordering::Relaxed) == TASKS
    });
    assert_eq!(switches(&idle), before, "they slept all the while");
    assert_eq!(a.metrics(), metrics);
}

/// A5, the other half: each goes on until the other has done its share, so neither is starved.
fn two_busy_pools_on_the_same_cpus_both_progress<B: Backend>() {
    const SHARE: usize = 200;
    let pools = [pool::<B>("A5x", 2), pool::<B>("A5y", 2)];
    let done: Arc<[AtomicUsize; 2]> = Arc::default();
    let over = Arc::new(AtomicBool::new(false));
    let pools = pools.map(Arc::new);
    for (index, pool) in pools.iter().enumerate() {
        // One that never ends by itself on each worker.
        for _ in 0..2 {
            let (done, over) = (Arc::clone(&done), Arc::clone(&over));
            go_on(pool, move || {
                done[index].fetch_add(1, Ordering::Relaxed);
                over.load(Ordering::Relaxed)
            });
        }
    }
    eventually("both have done their share", || {
        done.iter()
            .all(|done| done.load(Ordering::Relaxed) >= SHARE)
    });
    over.store(true, Ordering::Relaxed);
    for pool in pools {
        eventually("it comes to rest", || pool.metrics().total.busy == 0);
    }
}

/// Spawns a task that spawns the next one until `step` says that it is over.
fn go_on<B: Backend>(pool: &Arc<RuntimeOn<B>>, step: impl Fn() -> bool + Send + 'static) {
    let inside = Arc::clone(pool);
    let task = move || {
        if !step() {
            go_on(&inside, step);
        }
    };
    pool.spawn_detached(task).unwrap();
}

/// A6 as counts: with every CPU pinned, 1000 submits a second from outside. No worker spins, so there is no spinner to
/// keep the submitter off its CPU: each submit wakes one worker, which sleeps again. The latencies are a bench row.
fn pinned_workers_are_woken_once_a_task<B: Backend>() {
    const TASKS: usize = 200;
    let prefix = prefix::<B>('p');
    let workers = thread::available_parallelism().unwrap().get();
    let runtime = pool::<B>(&prefix, workers);
    let before = rest(&runtime, &prefix);
    let old = runtime.metrics().total;
    for n in 0..TASKS {
        assert_eq!(runtime.spawn(move || n).join().unwrap(), n);
        thread::sleep(Duration::from_millis(1));
    }
    let after = rest(&runtime, &prefix);
    let new = runtime.metrics().total;
    assert_eq!(new.ran - old.ran, TASKS);
    assert!(new.wake_calls - old.wake_calls <= TASKS, "{new:?}");
    assert!(new.parked - old.parked <= TASKS, "{new:?}");
    let sum =
        |of: BTreeMap<_, (bool, usize)>| of.values().map(|(_, switches)| switches).sum::<usize>();
    let switched = sum(after) - sum(before);
    // One sleep a task, and one more for whatever else wants the CPU.
    assert!(
        switched <= 2 * TASKS,
        "{switched} switches for {TASKS} tasks"
    );
}

/// A pool of the machine's topology has its CPUs, and each worker its own.
fn workers_go_to_physical_cores_first<B: Backend>() {
    let topology = Topology::detect().unwrap();
    let list: CpuList = topology.cpus_physical_first();
    assert!(topology.cores().len() <= list.cpus().len());
    let Ok(allowed) = B::allowed_cpus() else {
        return;
    };
    let mut cpus = list.cpus().to_vec();
    cpus.sort_unstable();
    assert_eq!(cpus, allowed);
    let tag = Tag::new("compute").workers(cpus.len()).cpus(list.clone());
    let runtime = RuntimeOn::<B>::builder().tag(tag).build().unwrap();
    let metrics = runtime.metrics();
    assert_eq!(metrics.total.misplaced, 0);
    let placed = metrics.workers.iter().filter_map(|worker| worker.cpu);
    assert!(placed.eq(list.cpus().iter().copied()));
}
