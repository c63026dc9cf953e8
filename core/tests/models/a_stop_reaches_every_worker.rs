//! I4: a stop that races registration, looking, announcing and parking ends every worker; and with a
//! drain, what was accepted runs.

use loom::thread;
use parkade_core::{Next, Origin, Priority, StopPolicy, Task};

use crate::platform::{TAG, control, explore, stop, work};
use crate::scenario::Cast::{Asleep, Fresh};
use crate::scenario::{all, scene, start, worker};

#[test]
fn asleep_or_about_to_be() {
    explore(50, || {
        let control = control(1);
        let worker = {
            let control = control.clone();
            thread::spawn(move || work(&control, 0, usize::MAX, |_, _| ()))
        };
        let join = stop(&control, StopPolicy::Drain);
        assert_eq!(worker.join().unwrap(), []);
        assert_eq!(join.joined().remaining, 0);
    });
}

#[test]
fn and_a_drain_runs_what_was_accepted() {
    explore(500, || {
        let control = control(1);
        let worker = {
            let control = control.clone();
            thread::spawn(move || work(&control, 0, usize::MAX, |_, _| ()))
        };
        let submitter = {
            let control = control.clone();
            thread::spawn(move || {
                control.tags()[0]
                    .submit(Task::from_word(1), Priority::Normal, &Origin::new(0))
                    .is_ok()
            })
        };
        let join = stop(&control, StopPolicy::Drain);
        let accepted = submitter.join().unwrap();
        let ran = worker.join().unwrap();
        assert_eq!(ran.len(), usize::from(accepted));
        assert!(join.take_queued().is_none());
    });
}

/// Whoever leaves has seen that nothing is queued; so a task that waits for another that was
/// accepted does not wait for ever. Each task here ends its worker, as if it
/// waited; the maker of the two is busy with another for ever.
#[test]
fn and_nobody_leaves_a_queued_task_behind() {
    explore(50, || {
        let (control, mut workers) = scene(&[Asleep, Asleep, Fresh]);
        let tag = control.tag(TAG).unwrap();
        // The third has one of its own to run, and has moved two to its run queue.
        let maker = workers.pop().unwrap();
        let mailed = tag.submit_to(worker(2), Task::from_word(0));
        let _ = mailed.expect("an open tag takes it");
        assert!(matches!(maker.next(), Next::Run(_)));
        for word in [1, 2] {
            let _ = maker.push(Task::from_word(word)).expect("there is room");
        }
        std::mem::forget(maker);
        let _join = stop(&control, StopPolicy::Drain);
        assert_eq!(all(start(workers, 1)), [1, 2]);
    });
}
