//! I3 for a lone task: however many sleep or are about to, it costs at most one claimed wake, and one of
//! them gets it.

use loom::thread;
use parkade_core::{Next, Slot, WorkerIndex};

use crate::platform::{Control, TAG, control, explore, submit};

/// Asks a worker `times` times what to do; says whether it got the task. It never blocks: what it would
/// do after a park is the same as asking again.
fn ask(control: &Control, index: usize, times: usize) -> bool {
    let worker = WorkerIndex(index);
    let worker = control.register(Slot { tag: TAG, worker }).unwrap();
    let got = (0..times).any(|_| matches!(worker.next(), Next::Run(_)));
    // A worker that is dropped passes its claim on; this one stays as it is.
    std::mem::forget(worker);
    got
}

#[test]
fn of_two_that_look_or_sleep() {
    explore(100, || {
        let control = control(2);
        let workers = [0, 1].map(|index| {
            let control = control.clone();
            thread::spawn(move || ask(&control, index, 2))
        });
        submit(&control, 1);
        let got = workers.map(|worker| worker.join().unwrap());
        assert!(control.tags()[0].counters().wakes_asked <= 1);
        let queued = control.tags()[0].counters().picked == 0;
        assert!(got != [true, true]);
        assert_eq!(queued, got == [false, false]);
    });
}
