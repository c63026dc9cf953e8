//! I3 for a lone task: however many sleep, search or are about to sleep, it costs at most one claimed
//! wake, and one of them gets it.

use loom::thread;
use parkade_core::Next;

use crate::platform::{TAG, explore};
use crate::scenario::Cast::{Asleep, Fresh, Searching};
use crate::scenario::{Cast, StaticWorker, scene, submit};

/// Asks a worker twice what to do; says whether it got the task. It never blocks: what it would do
/// after a park is the same as asking again.
fn ask_twice(worker: StaticWorker) -> bool {
    let got = (0..2).any(|_| matches!(worker.next(), Next::Run(_)));
    // A worker that is dropped passes its claim on; this one stays as it is.
    std::mem::forget(worker);
    got
}

fn lone_task(cast: [Cast; 2]) {
    let (control, workers) = scene(&cast);
    let tag = control.tag(TAG).unwrap();
    let before = tag.counters();
    let threads: Vec<_> = workers
        .into_iter()
        .map(|worker| thread::spawn(move || ask_twice(worker)))
        .collect();
    submit(control, 1, 0);
    let got = threads.into_iter().map(|thread| thread.join().unwrap());
    let got = got.filter(|&got| got).count();
    let after = tag.counters();
    assert!(after.wakes_asked - before.wakes_asked <= 1);
    assert!(after.wake_calls - before.wake_calls <= 1);
    assert_eq!(after.picked - before.picked, got);
    assert!(got <= 1);
}

#[test]
fn of_two_asleep() {
    explore(100, || lone_task([Asleep, Asleep]));
}

#[test]
fn of_a_fresh_and_a_sleeping_one() {
    explore(100, || lone_task([Fresh, Asleep]));
}

#[test]
fn of_a_searching_and_a_sleeping_one() {
    explore(100, || lone_task([Searching, Asleep]));
}
