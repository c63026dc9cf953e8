//! Who lingers, how long, and what a submit does meanwhile.

use parkade_core::{Next, Task, Wake, WorkerIndex};

use crate::script::*;

fn lingers(worker: &parkade_core::Worker<'_, Script>) {
    let next = worker.next();
    assert!(matches!(next, Next::Linger), "{next:?}");
}

#[test]
fn by_default_nobody_lingers() {
    let (control, _) = control(tag_of(1));
    falls_asleep(&workers(&control, 1)[0]);
}

#[test]
fn it_takes_as_many_looks_as_it_was_told_and_then_sleeps() {
    let (control, _) = control(tag_of(1).linger(3));
    let worker = &workers(&control, 1)[0];
    for _ in 0..2 {
        (0..3).for_each(|_| lingers(worker));
        falls_asleep(worker);
        // Claimed for a task, it has the whole time again once the task has run.
        assert_eq!(submit(&control, 7), Wake::Woke(WorkerIndex(0)));
        assert_eq!(runs(worker), 7);
    }
}

#[test]
fn one_of_a_tag_lingers_and_covers_all_that_comes() {
    let (control, script) = control(tag_of(3).linger(2));
    let workers = workers(&control, 3);
    lingers(&workers[1]);
    falls_asleep(&workers[0]);
    falls_asleep(&workers[2]);
    for word in 0..5 {
        assert_eq!(submit(&control, word), Wake::Covered);
    }
    assert_eq!(control.tags()[0].counters().searching, 1);
    // It takes one, and before it runs it, the next worker is on its way for the others.
    runs(&workers[1]);
    assert_eq!(script.woken(), [0]);
    assert_eq!(control.tags()[0].counters().searching, 1);
}

#[test]
fn the_next_may_linger_when_the_first_has_a_task_or_sleeps() {
    let (control, _) = control(tag_of(2).linger(1));
    let workers = workers(&control, 2);
    lingers(&workers[0]);
    submit(&control, 1);
    runs(&workers[0]);
    lingers(&workers[1]);
    falls_asleep(&workers[1]);
    lingers(&workers[0]);
}

#[test]
fn what_is_pushed_while_it_lingers_wakes_nobody() {
    let (control, script) = control(tag_of(3).linger(1));
    let workers = workers(&control, 3);
    falls_asleep_lingering(&workers[2]);
    lingers(&workers[1]);
    for word in 0..3 {
        let pushed = workers[0].push(Task::from_word(word)).unwrap();
        assert_eq!(pushed, Wake::Covered);
    }
    assert!(script.woken().is_empty());
}

/// Nothing is stolen that is gone by the next last look, and nothing that lies is left.
#[test]
fn one_that_lingers_leaves_to_their_owner_tasks_that_it_takes_back_soon() {
    let (control, script) = control(tag_of(2).linger(3));
    let workers = workers(&control, 2);
    let fork = |word| workers[0].fork(Task::from_word(word)).unwrap().place;
    (0..2).for_each(|_| lingers(&workers[1]));
    for word in 0..5 {
        let place = fork(word);
        (0..3).for_each(|_| lingers(&workers[1]));
        assert!(workers[0].take_fork(place));
    }
    let (place, above) = (fork(5), fork(6));
    (0..3).for_each(|_| lingers(&workers[1]));
    assert!(workers[0].take_fork(above));
    lingers(&workers[1]);
    assert_eq!(runs(&workers[1]), 5, "it has lain");
    assert!(!workers[0].take_fork(place));
    assert!(script.woken().is_empty());
    // After a task it takes what there is.
    let _ = fork(7);
    assert_eq!(runs(&workers[1]), 7);
}

#[test]
fn one_that_lingers_takes_at_once_what_lies_in_an_inbox() {
    let (control, _) = control(tag_of(2).linger(3));
    let workers = workers(&control, 2);
    lingers(&workers[1]);
    submit(&control, 1);
    assert_eq!(runs(&workers[1]), 1);
}

#[test]
fn a_targeted_task_is_found_by_a_worker_that_lingers() {
    let (control, _) = control(tag_of(1).linger(2));
    let worker = &workers(&control, 1)[0];
    lingers(worker);
    let submitted = control.tags()[0].submit_to(WorkerIndex(0), Task::from_word(9));
    assert_eq!(submitted.unwrap(), Wake::Covered);
    assert_eq!(runs(worker), 9);
}

#[test]
fn a_worker_that_leaves_while_it_lingers_covers_nothing_any_more() {
    let (control, script) = control(tag_of(2).linger(5));
    let mut workers = workers(&control, 2);
    lingers(&workers[0]);
    falls_asleep(&workers[1]);
    assert_eq!(submit(&control, 1), Wake::Covered);
    drop(workers.remove(0));
    assert_eq!(script.woken(), [1], "the task is passed on");
    assert_eq!(runs(&workers[0]), 1);
}

#[test]
fn one_that_lingers_is_retired_and_stopped_as_any() {
    let (control, _) = control(tag_of(2).linger(5));
    let workers = workers(&control, 2);
    lingers(&workers[0]);
    control.tags()[0].request_retire(WorkerIndex(0));
    assert!(matches!(workers[0].next(), Next::Retire));
    assert_eq!(control.tags()[0].counters().searching, 0);
    lingers(&workers[1]);
    let _join = stop(&control, parkade_core::StopPolicy::Abandon);
    assert!(matches!(workers[1].next(), Next::Stop));
    assert_eq!(control.tags()[0].counters().searching, 0);
}

fn falls_asleep_lingering(worker: &parkade_core::Worker<'_, Script>) {
    lingers(worker);
    falls_asleep(worker);
}

#[test]
fn looks_that_find_nothing_are_no_picks() {
    let (control, _) = control(tag_of(1).linger(20).ageing(16));
    let worker = &workers(&control, 1)[0];
    (0..15).for_each(|_| lingers(worker));
    submit(&control, 1);
    submit_as(&control, 2, parkade_core::Priority::High);
    assert_eq!(runs(worker), 2, "this is the first pick, not the 16th");
}

#[test]
fn one_that_lingers_takes_what_other_thieves_leave_before_long() {
    let (control, _) = control(tag_of(3).linger(1).run_queue(64));
    let workers = workers(&control, 3);
    lingers(&workers[2]);
    for word in 0..40 {
        push(&workers[0], word);
    }
    // Each time the other thief has moved on the oldest that was seen.
    let looks = (0..40).position(|_| {
        runs(&workers[1]);
        matches!(workers[2].next(), Next::Run(_))
    });
    assert!(looks.is_some_and(|looks| looks <= 17), "{looks:?}");
}
