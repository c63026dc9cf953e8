//! I2 and I5: a worker that is asked to retire while it is claimed, announces or parks passes its wake
//! on, leaves its queues to the others, and runs nothing more.

use loom::thread;
use parkade_core::{Task, WorkerIndex};

use crate::platform::{control, explore, submit, work};

#[test]
fn when_it_may_have_been_claimed() {
    explore(500, || {
        let control = control(2);
        let quotas = [(0, usize::MAX), (1, 1)];
        let workers = quotas.map(|(index, quota)| {
            let control = control.clone();
            thread::spawn(move || work(&control, index, quota, |_, _| ()))
        });
        submit(&control, 1);
        control.tags()[0].request_retire(WorkerIndex(0));
        let [first, second] = workers;
        let first = first.join().unwrap();
        if first.is_empty() {
            assert_eq!(second.join().unwrap(), [1]);
        } else {
            // The other sleeps for want of work until it gets some.
            assert_eq!(first, [1]);
            submit(&control, 2);
            assert_eq!(second.join().unwrap(), [2]);
        }
    });
}

#[test]
fn when_it_has_work_queued() {
    explore(500, || {
        let control = control(2);
        let first = {
            let control = control.clone();
            thread::spawn(move || {
                work(&control, 0, usize::MAX, |worker, word| {
                    if word == 1 {
                        let _ = worker.push(Task::from_word(2)).expect("there is room");
                        control.tags()[0].request_retire(WorkerIndex(0));
                    }
                })
            })
        };
        let second = {
            let control = control.clone();
            thread::spawn(move || work(&control, 1, 1, |_, _| ()))
        };
        let mailed = control.tags()[0].submit_to(WorkerIndex(0), Task::from_word(1));
        let _ = mailed.expect("an open tag takes it");
        assert_eq!(first.join().unwrap(), [1]);
        assert_eq!(second.join().unwrap(), [2]);
    });
}
