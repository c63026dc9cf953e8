//! I1 for tasks that a worker makes: its plain stores and light fence still reach a sleeper, and the
//! count of searchers is believed only after a real fence.

use loom::thread;
use parkade_core::{Next, Task};

use crate::platform::{explore, explore_to};
use crate::scenario::Cast::{Asleep, Fresh, Lingering, Searching};
use crate::scenario::{Cast, StaticWorker, all, perform, scene, submit};

/// Worker 0 runs a task, makes another, and never comes back; the others must run what is left.
fn one_makes_work(others: &[Cast], from_outside: usize) {
    let cast: Vec<_> = std::iter::once(Fresh)
        .chain(others.iter().copied())
        .collect();
    let (control, mut workers) = scene(&cast);
    let maker = workers.remove(0);
    let sleepers: Vec<_> = (0..others.len()).collect();
    busy(&maker, control);
    let mut threads: Vec<_> = workers
        .into_iter()
        .map(|worker| thread::spawn(move || perform(worker, 1, |_, _| ())))
        .collect();
    threads.push(thread::spawn(move || {
        let _ = maker.push(Task::from_word(100)).expect("there is room");
        std::mem::forget(maker);
        Vec::new()
    }));
    for word in 0..from_outside {
        submit(control, word + 1, 0);
    }
    let ran = all(threads);
    assert_eq!(ran.len(), sleepers.len());
    assert!(ran.contains(&100));
}

/// Gives the worker a task to run, so that it is awake and uncounted.
fn busy(worker: &StaticWorker, control: crate::scenario::StaticControl) {
    let mailed = control
        .tag(crate::platform::TAG)
        .unwrap()
        .submit_to(worker.slot().worker, Task::from_word(0));
    let _ = mailed.expect("an open tag takes it");
    assert!(matches!(worker.next(), Next::Run(_)));
}

#[test]
fn that_is_fresh() {
    explore(50, || one_makes_work(&[Fresh], 0));
}

#[test]
fn that_is_asleep() {
    explore(10, || one_makes_work(&[Asleep], 0));
}

#[test]
fn beside_one_that_searches() {
    explore(500, || one_makes_work(&[Searching, Asleep], 1));
}

/// It leaves a young task to its owner at first, and must not go to sleep over it.
#[test]
fn that_lingers() {
    explore(50, || one_makes_work(&[Lingering], 0));
}

#[test]
fn beside_one_that_lingers() {
    explore_to(1, 500, || one_makes_work(&[Lingering, Asleep], 1));
}
