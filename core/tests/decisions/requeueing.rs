//! A task that goes on: it comes last, and is never turned away.

use parkade_core::{Next, Origin, Priority, StopPolicy, TagConfig, Task, Wake, WorkerIndex};

use crate::script::*;

/// Behind what came from outside and what was pushed here, whatever the limit.
#[test]
fn it_comes_behind_all_that_is_queued() {
    let (control, _) = control(TagConfig::new(1).inbox_limit(1));
    let worker = &workers(&control, 1)[0];
    submit(&control, 1);
    for word in [2, 3] {
        let requeued = worker.requeue(Task::from_word(word));
        assert_eq!(requeued.unwrap(), Wake::NobodyIdle { searchers: 0 });
    }
    push(worker, 4);
    let order: Vec<_> = (0..4).map(|_| runs(worker)).collect();
    assert_eq!(order, [4, 1, 2, 3]);
    assert_eq!(control.tags()[0].counters().spawned, 4);
    falls_asleep(worker);
}

/// Others are asked for it as for any task.
#[test]
fn it_wakes_a_sleeper() {
    let (control, script) = control(TagConfig::new(2));
    let workers = workers(&control, 2);
    falls_asleep(&workers[1]);
    let requeued = workers[0].requeue(Task::from_word(7)).unwrap();
    assert_eq!(requeued, Wake::Woke(WorkerIndex(1)));
    assert_eq!(script.woken(), [1]);
    assert_eq!(runs(&workers[1]), 7);
}

/// A tag that was closed takes it, because its worker looks again.
#[test]
fn a_draining_worker_runs_it_before_it_leaves() {
    let (control, _) = control(TagConfig::new(1));
    let worker = &workers(&control, 1)[0];
    submit(&control, 1);
    let join = stop(&control, StopPolicy::Drain);
    assert_eq!(runs(worker), 1);
    assert!(worker.requeue(Task::from_word(2)).is_ok());
    assert_eq!(runs(worker), 2);
    assert!(matches!(worker.next(), Next::Stop));
    assert!(join.take_queued().is_none());
}

/// What an abandonment, or a last look, has left comes back.
#[test]
fn what_is_left_comes_back() {
    let (control, _) = control(TagConfig::new(1));
    let worker = &workers(&control, 1)[0];
    let join = stop(&control, StopPolicy::Abandon);
    assert!(worker.requeue(Task::from_word(1)).is_ok());
    assert!(matches!(worker.next(), Next::Stop));
    assert_eq!(worker.take_left().map(Task::into_word), Some(1));
    assert!(worker.requeue(Task::from_word(2)).is_ok());
    let (_, task) = join.take_queued().unwrap();
    assert_eq!(task.into_word(), 2);
}

/// From outside, whatever the limit; a worker that drains runs it, and what comes after its last look comes back.
#[test]
fn from_outside_it_is_taken_by_a_closed_tag_too() {
    let (control, script) = control(TagConfig::new(2).inbox_limit(1));
    let tag = &control.tags()[0];
    let again = |word, priority| tag.submit_again(Task::from_word(word), priority, &Origin::new(0));
    let workers = workers(&control, 2);
    falls_asleep(&workers[1]);
    submit(&control, 1);
    assert_eq!(script.woken(), [1]);
    assert!(again(2, Priority::Normal).is_ok());
    assert!(again(3, Priority::High).is_ok());
    let join = stop(&control, StopPolicy::Drain);
    assert!(again(4, Priority::Normal).is_ok());
    assert!(again(5, Priority::High).is_ok());
    assert_eq!(tag.counters().spawned, 5);
    let mut ran: Vec<_> = (0..5).map(|_| runs(&workers[0])).collect();
    assert_eq!(ran[..2], [3, 5]);
    ran.sort_unstable();
    assert_eq!(ran, [1, 2, 3, 4, 5]);
    for worker in &workers {
        assert!(matches!(worker.next(), Next::Stop));
    }
    assert!(again(6, Priority::Normal).is_ok());
    let (_, task) = join.take_queued().unwrap();
    assert_eq!(task.into_word(), 6);
}
