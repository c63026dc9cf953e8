//! I1 for tasks from outside: no task stays queued beside a sleeping worker. A worker that has run its
//! quota never comes back, as if its last task blocked for ever, so a lost wake-up is a deadlock.

use loom::thread;

use crate::platform::{Control, control, explore, submit, work};

fn worker(control: &Control, index: usize, quota: usize) -> thread::JoinHandle<Vec<usize>> {
    let control = control.clone();
    thread::spawn(move || work(&control, index, quota, |_, _| ()))
}

#[test]
fn one_worker_one_task() {
    explore(50, || {
        let control = control(1);
        let worker = worker(&control, 0, 1);
        submit(&control, 1);
        assert_eq!(worker.join().unwrap(), [1]);
    });
}

#[test]
fn one_worker_two_submitters() {
    explore(500, || {
        let control = control(1);
        let worker = worker(&control, 0, 2);
        let submitter = {
            let control = control.clone();
            thread::spawn(move || submit(&control, 1))
        };
        submit(&control, 2);
        submitter.join().unwrap();
        let mut ran = worker.join().unwrap();
        ran.sort_unstable();
        assert_eq!(ran, [1, 2]);
    });
}

#[test]
fn two_workers_two_tasks() {
    explore(500, || {
        let control = control(2);
        let workers = [worker(&control, 0, 1), worker(&control, 1, 1)];
        submit(&control, 1);
        submit(&control, 2);
        let mut ran = workers.map(|worker| worker.join().unwrap()).concat();
        ran.sort_unstable();
        assert_eq!(ran, [1, 2]);
    });
}
