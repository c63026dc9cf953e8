//! I4: a stop that races registration, looking, announcing and parking ends every worker; and with a
//! drain, what was accepted runs.

use loom::thread;
use parkade_core::{Next, Origin, Place, Priority, StopPolicy, Task};

use crate::platform::{TAG, control, explore, explore_to, stop, work};
use crate::scenario::Cast::{Asleep, Fresh};
use crate::scenario::{StaticControl, StaticWorker, all, perform, scene, start, worker};

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

/// A task that was accepted forks while the tag closes: its fork is accepted too and runs once, also when the
/// other worker has left, and the drain ends with nobody running and nothing queued.
#[test]
fn and_a_drain_takes_the_forks_of_what_it_runs() {
    explore_to(1, 500, || {
        let (control, first, second) = one_at_work();
        let forker = thread::spawn(move || {
            fork(&first, 2);
            perform(first, usize::MAX, |_, _| ())
        });
        let other = thread::spawn(move || perform(second, usize::MAX, |_, _| ()));
        let join = stop(control, StopPolicy::Drain);
        assert_eq!(all(vec![forker, other]), [2]);
        assert!(join.take_queued().is_none());
        assert_eq!(join.joined().remaining, 0);
    });
}

/// A worker takes its forks back while a thief and a stop are about: each is run once, or, once abandoned,
/// is left to whoever leaves.
#[test]
fn and_what_is_taken_back_meanwhile_is_taken_once() {
    explore_to(1, 500, || {
        let (control, first, second) = one_at_work();
        let waiter = thread::spawn(move || {
            let forks = [2, 3].map(|word| (word, fork(&first, word)));
            let back = forks.into_iter().rev();
            let back = back.filter(|&(_, place)| first.take_fork(place));
            let mut taken: Vec<_> = back.map(|(word, _)| word).collect();
            taken.extend(runs_and_leaves(first));
            taken
        });
        let other = thread::spawn(move || runs_and_leaves(second));
        let join = stop(control, StopPolicy::Abandon);
        let mut taken = all(vec![waiter, other]);
        taken.extend(std::iter::from_fn(|| join.take_queued()).map(|(_, task)| task.into_word()));
        taken.sort_unstable();
        assert_eq!(taken, [2, 3]);
    });
}

/// Forks, and wakes another worker if one is wanted.
fn fork(worker: &StaticWorker, word: usize) -> Place {
    let fork = worker.fork(Task::from_word(word));
    let fork = fork.expect("a fork needs no open tag");
    if fork.wanted {
        let _ = worker.wake_for_forks();
    }
    fork.place
}

/// What a worker runs until it is told to leave, and what it finds in its queues then.
fn runs_and_leaves(worker: StaticWorker) -> Vec<usize> {
    let mut ran = Vec::new();
    loop {
        match worker.next() {
            Next::Run(task) => ran.push(task.into_word()),
            Next::Park(state) => worker.park(state),
            Next::Linger => {}
            Next::Stop | Next::Retire => break,
        }
    }
    ran.extend(std::iter::from_fn(|| worker.take_left()).map(Task::into_word));
    ran
}

/// Two workers, of which the first has been given a task to run.
fn one_at_work() -> (StaticControl, StaticWorker, StaticWorker) {
    let (control, mut workers) = scene(&[Fresh, Fresh]);
    let tag = control.tag(TAG).unwrap();
    let second = workers.pop().unwrap();
    let first = workers.pop().unwrap();
    let mailed = tag.submit_to(worker(0), Task::from_word(1));
    let _ = mailed.expect("an open tag takes it");
    assert!(matches!(first.next(), Next::Run(_)));
    (control, first, second)
}
