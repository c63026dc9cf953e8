//! Full queues: spilling, and giving back.

use parkade_core::{
    Origin, Priority, RefusedReason, StopPolicy, TagConfig, Task, Wake, WorkerIndex,
};

use crate::script::*;

#[test]
fn a_full_run_queue_spills_half_and_keeps_everything() {
    let (control, _) = control(TagConfig::new(1).run_queue(4));
    let worker = &workers(&control, 1)[0];
    for word in 0..100 {
        push(worker, word);
    }
    let mut ran: Vec<_> = (0..100).map(|_| runs(worker)).collect();
    falls_asleep(worker);
    ran.sort_unstable();
    assert_eq!(ran, (0..100).collect::<Vec<_>>());
    assert_eq!(control.tags()[0].counters().spawned, 100);
}

/// Q2 at the core: when the own inbox is full too, the new task comes back and nothing has moved.
#[test]
fn with_both_queues_full_the_new_task_comes_back() {
    let (control, script) = control(TagConfig::new(1).run_queue(2).inbox_limit(1));
    let worker = &workers(&control, 1)[0];
    for word in 0..3 {
        push(worker, word);
    }
    let refused = worker.push(Task::from_word(3)).unwrap_err();
    assert_eq!(refused.reason, RefusedReason::Full);
    assert_eq!(refused.task.into_word(), 3);
    let refused = control.tags()[0]
        .submit(Task::from_word(4), Priority::Normal, &Origin::new(0))
        .unwrap_err();
    assert_eq!(refused.reason, RefusedReason::Full);
    assert_eq!(refused.task.into_word(), 4);
    assert_eq!(script.calls(), []);
    let mut ran: Vec<_> = (0..3).map(|_| runs(worker)).collect();
    ran.sort_unstable();
    assert_eq!(ran, [0, 1, 2]);
    falls_asleep(worker);
}

#[test]
fn an_outside_task_goes_to_any_inbox_that_has_room() {
    let (control, _) = control(tag_of(3).inbox_limit(1));
    for word in 0..3 {
        assert_eq!(submit(&control, word), Wake::NobodyIdle { searchers: 0 });
    }
    let full = control.tags()[0].submit(Task::from_word(3), Priority::Normal, &Origin::new(0));
    assert_eq!(full.unwrap_err().task.into_word(), 3);
    let workers = workers(&control, 3);
    let mut ran: Vec<_> = workers.iter().map(runs).collect();
    ran.sort_unstable();
    assert_eq!(ran, [0, 1, 2]);
}

#[test]
fn a_batch_fills_every_inbox_and_returns_what_is_left() {
    let (control, _) = control(tag_of(2).inbox_limit(3));
    let mut batch = (0..10).map(Task::from_word);
    let (accepted, refused) =
        control.tags()[0].submit_batch(&mut batch, Priority::Normal, &Origin::new(0));
    assert_eq!(accepted, 6);
    assert_eq!(refused.unwrap().task.into_word(), 6);
    assert_eq!(batch.len(), 3);
}

#[test]
fn a_full_mailbox_and_a_full_priority_inbox_give_back() {
    let (control, _) = control(tag_of(1).inbox_limit(1));
    let tag = &control.tags()[0];
    let to = |word| tag.submit_to(WorkerIndex(0), Task::from_word(word));
    let high = |word| tag.submit(Task::from_word(word), Priority::High, &Origin::new(0));
    assert!(to(0).is_ok() && high(1).is_ok());
    assert_eq!(to(2).unwrap_err().task.into_word(), 2);
    assert_eq!(high(3).unwrap_err().task.into_word(), 3);
}

#[test]
fn a_task_that_was_accepted_before_finds_room_beyond_the_limit_until_the_tag_is_closed() {
    let (control, _) = control(tag_of(1).inbox_limit(1));
    let tag = &control.tags()[0];
    let origin = Origin::new(0);
    let accepted = |word, priority| tag.submit_accepted(Task::from_word(word), priority, &origin);
    for (priority, base) in [(Priority::Normal, 0), (Priority::High, 10)] {
        tag.submit(Task::from_word(base), priority, &origin)
            .unwrap();
        let full = tag.submit(Task::from_word(base + 9), priority, &origin);
        assert_eq!(full.unwrap_err().reason, RefusedReason::Full);
        assert_eq!(
            accepted(base + 1, priority).unwrap(),
            Wake::NobodyIdle { searchers: 0 }
        );
    }
    assert_eq!(tag.counters().spawned, 4);
    let workers = workers(&control, 1);
    let ran: Vec<_> = (0..4).map(|_| runs(&workers[0])).collect();
    assert_eq!(ran, [10, 11, 0, 1]);
    let close = control.stop(StopPolicy::Drain).unwrap().drivers_stopped();
    let _lots = close.close();
    let refused = accepted(2, Priority::Normal).unwrap_err();
    assert_eq!(refused.reason, RefusedReason::Closed);
    assert_eq!(refused.task.into_word(), 2);
}
