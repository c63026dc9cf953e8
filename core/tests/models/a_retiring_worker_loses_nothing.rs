//! I2 and I5: a worker that is asked to retire while it is claimed, announces or parks passes its wake
//! on, leaves its queues to the others, and runs nothing more.

use loom::thread;
use parkade_core::{Next, Origin, Priority, Task};

use crate::platform::{TAG, explore, explore_to};
use crate::scenario::Cast::{Asleep, Busy, Fresh, Searching};
use crate::scenario::{Cast, all, perform, scene, submit, worker};

/// Worker 0 was asked to retire before the curtain; the other must run the task.
fn asked_before(cast: &[Cast]) {
    let (control, mut workers) = scene(cast);
    control.tag(TAG).unwrap().request_retire(worker(0));
    let second = workers.pop().unwrap();
    let first = workers.pop().unwrap();
    let threads = vec![
        thread::spawn(move || perform(first, usize::MAX, |_, _| unreachable!("it retires"))),
        thread::spawn(move || perform(second, 1, |_, _| ())),
    ];
    submit(control, 1, 0);
    assert_eq!(all(threads), [1]);
}

#[test]
fn when_it_was_fresh() {
    explore(100, || asked_before(&[Fresh, Asleep]));
}

#[test]
fn when_it_was_asleep() {
    explore(100, || asked_before(&[Asleep, Asleep]));
}

#[test]
fn when_it_was_searching() {
    explore(100, || asked_before(&[Searching, Asleep]));
}

/// Its wake goes on to a worker of another idle word.
#[test]
fn when_the_other_has_another_idle_word() {
    explore_to(1, 100, || asked_before(&[Asleep, Busy, Asleep]));
}

/// Its claim may be for a task that lies elsewhere, so that nothing it leaves behind asks for a wake.
#[test]
fn when_it_was_claimed_for_a_task_of_high_priority() {
    explore(100, || {
        let (control, mut workers) = scene(&[Asleep, Asleep]);
        let tag = control.tag(TAG).unwrap();
        tag.request_retire(worker(0));
        let second = workers.pop().unwrap();
        let first = workers.pop().unwrap();
        let threads = vec![
            thread::spawn(move || perform(first, usize::MAX, |_, _| unreachable!("it retires"))),
            thread::spawn(move || perform(second, 1, |_, _| ())),
        ];
        let submitted = tag.submit(Task::from_word(1), Priority::High, &Origin::new(0));
        let _ = submitted.expect("there is room");
        assert_eq!(all(threads), [1]);
    });
}

#[test]
fn when_the_request_races_a_claim() {
    explore_to(1, 500, || {
        let (control, mut workers) = scene(&[Asleep, Asleep]);
        let second = workers.pop().unwrap();
        let first = workers.pop().unwrap();
        let first = thread::spawn(move || perform(first, usize::MAX, |_, _| ()));
        let second = thread::spawn(move || perform(second, 1, |_, _| ()));
        let tag = control.tag(TAG).unwrap();
        let asker = thread::spawn(move || tag.request_retire(worker(0)));
        submit(control, 1, 0);
        asker.join().unwrap();
        let first = first.join().unwrap();
        if !first.is_empty() {
            // The other sleeps for want of work until it gets some.
            submit(control, 2, 0);
        }
        assert_eq!(second.join().unwrap(), [1 + first.len()]);
    });
}

#[test]
fn when_it_has_work_queued() {
    explore(100, || {
        let (control, mut workers) = scene(&[Asleep, Asleep]);
        let second = workers.pop().unwrap();
        let first = workers.pop().unwrap();
        let tag = control.tag(TAG).unwrap();
        let mailed = tag.submit_to(worker(0), Task::from_word(1));
        let _ = mailed.expect("an open tag takes it");
        let first = thread::spawn(move || {
            perform(first, usize::MAX, |worker, word| {
                assert_eq!(word, 1);
                tag.request_retire(worker.slot().worker);
                let _ = worker.push(Task::from_word(2)).expect("there is room");
            })
        });
        let second = thread::spawn(move || perform(second, 1, |_, _| ()));
        assert_eq!(first.join().unwrap(), [1]);
        assert_eq!(second.join().unwrap(), [2]);
    });
}

/// What it moves from its run queue to its inbox is in neither for a moment, so it asks for a wake.
#[test]
fn when_the_other_looks_meanwhile() {
    explore(20, || {
        let (control, mut workers) = scene(&[Fresh, Fresh]);
        let second = workers.pop().unwrap();
        let first = workers.pop().unwrap();
        let tag = control.tag(TAG).unwrap();
        let mailed = tag.submit_to(worker(0), Task::from_word(1));
        let _ = mailed.expect("an open tag takes it");
        assert!(matches!(first.next(), Next::Run(_)));
        let _ = first.push(Task::from_word(2)).expect("there is room");
        tag.request_retire(worker(0));
        let first =
            thread::spawn(move || perform(first, usize::MAX, |_, _| unreachable!("it retires")));
        let second = thread::spawn(move || perform(second, 1, |_, _| ()));
        assert_eq!(first.join().unwrap(), []);
        assert_eq!(second.join().unwrap(), [2]);
    });
}
