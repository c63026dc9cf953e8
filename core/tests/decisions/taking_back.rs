//! A worker that takes its newest task back, and puts it back.

use parkade_core::{Next, RefusedReason, StopPolicy, TagConfig, Task, Wake, WorkerIndex};

use crate::script::*;

#[test]
fn only_the_newest_and_wanted_task_is_taken_back() {
    let (control, script) = control(TagConfig::new(1).run_queue(4));
    let worker = &workers(&control, 1)[0];
    assert!(worker.take_back(|_| true).is_none(), "there is none");
    for word in 1..=3 {
        push(worker, word);
    }
    let take = |word: usize| {
        let taken = worker.take_back(|newest| newest.addr() == word);
        taken.map(Task::into_word)
    };
    assert_eq!(take(1), None, "the oldest");
    assert_eq!(take(3), Some(3));
    assert_eq!(take(3), None, "once");
    assert_eq!(take(2), Some(2));
    assert_eq!(take(1), Some(1), "the newest is the oldest too");
    assert_eq!(take(1), None);
    falls_asleep(worker);
    assert_eq!(script.calls(), []);
}

#[test]
fn a_full_queue_has_room_again() {
    let (control, _) = control(TagConfig::new(1).run_queue(2).inbox_limit(1));
    let worker = &workers(&control, 1)[0];
    for round in 0..100 {
        push(worker, round);
        let taken = worker.take_back(|_| true).map(Task::into_word);
        assert_eq!(taken, Some(round));
    }
    assert_eq!(control.tags()[0].counters().spawned, 100);
    falls_asleep(worker);
}

/// With K = 2 the two oldest are left to whoever divides them with the thieves.
#[test]
fn the_oldest_few_stay() {
    let (control, _) = control(TagConfig::new(1).run_queue(4).steal_batch(2));
    let worker = &workers(&control, 1)[0];
    for word in 1..=3 {
        push(worker, word);
    }
    let take = || worker.take_back(|_| true).map(Task::into_word);
    assert_eq!(take(), Some(3));
    assert_eq!(take(), None);
    assert_eq!((runs(worker), runs(worker)), (1, 2));
}

#[test]
fn what_is_put_back_is_the_newest_and_asks_for_a_wake() {
    let (control, script) = control(tag_of(2));
    let workers = workers(&control, 2);
    for word in 1..=2 {
        push(&workers[0], word);
    }
    let task = workers[0].take_back(|_| true).unwrap();
    // The other one takes what it sees, and falls asleep without having seen this one.
    assert_eq!(runs(&workers[1]), 1);
    falls_asleep(&workers[1]);
    assert_eq!(workers[0].put_back(task), Wake::Woke(WorkerIndex(1)));
    assert_eq!(script.woken(), [1]);
    assert_eq!(runs(&workers[1]), 2);
    let counters = control.tags()[0].counters();
    assert_eq!((counters.spawned, counters.wake_calls), (2, 1));
}

/// A fork spills nothing: those beneath stay where their waiters look for them.
#[test]
fn a_fork_that_finds_no_room_moves_nothing() {
    let (control, _) = control(TagConfig::new(1).run_queue(2));
    let worker = &workers(&control, 1)[0];
    let places = [1, 2].map(|word| worker.fork(Task::from_word(word)).unwrap().place);
    let refused = worker.fork(Task::from_word(3)).unwrap_err();
    assert_eq!(refused.reason, RefusedReason::Full);
    assert_eq!(refused.task.into_word(), 3);
    assert!(!worker.take_fork(places[0]), "one lies above it");
    assert!(worker.take_fork(places[1]));
    assert!(worker.take_fork(places[0]));
    assert!(!worker.take_fork(places[0]), "there is none");
    assert_eq!(control.tags()[0].counters().spawned, 2);
    falls_asleep(worker);
}

/// A fork says whether somebody is idle, and wakes nobody by itself.
#[test]
fn a_fork_is_taken_by_whoever_is_woken_for_it() {
    let (control, script) = control(tag_of(2));
    let workers = workers(&control, 2);
    assert!(!workers[0].fork(Task::from_word(1)).unwrap().wanted);
    assert_eq!(runs(&workers[1]), 1);
    falls_asleep(&workers[1]);
    let fork = workers[0].fork(Task::from_word(2)).unwrap();
    assert!(fork.wanted);
    assert_eq!(script.woken(), []);
    assert_eq!(workers[0].wake_for_forks(), Wake::Woke(WorkerIndex(1)));
    assert_eq!(script.woken(), [1]);
    assert_eq!(runs(&workers[1]), 2);
    assert!(!workers[0].take_fork(fork.place), "it was stolen");
}

/// What was taken back goes to the own inbox as one submit, as far as there is room.
#[test]
fn what_is_handed_over_is_one_submit_and_the_rest_stays() {
    let (control, script) = control(TagConfig::new(2).inbox_limit(2));
    let workers = workers(&control, 2);
    falls_asleep(&workers[1]);
    let mut taken = (1..=3).map(Task::from_word);
    assert_eq!(workers[0].hand_over(&mut taken), 2);
    assert_eq!(script.woken(), [1], "one wake for both");
    assert_eq!(taken.next().map(Task::into_word), Some(3));
    assert_eq!(workers[0].hand_over(&mut taken), 0, "nothing is no submit");
    assert_eq!(script.woken(), []);
    assert_eq!(runs(&workers[0]), 1, "the oldest first");
    assert_eq!(runs(&workers[1]), 2);
}

/// A closed tag takes it too: it was accepted before.
#[test]
fn a_closed_inbox_takes_what_is_handed_over() {
    let (control, _) = control(tag_of(1));
    let worker = &workers(&control, 1)[0];
    push(worker, 1);
    let task = worker.take_back(|_| true);
    let _join = stop(&control, StopPolicy::Drain);
    assert_eq!(worker.hand_over(&mut task.into_iter()), 1);
    assert_eq!(runs(worker), 1);
    assert!(matches!(worker.next(), Next::Stop));
}
