//! Where a worker looks, in which order, and that nothing queued is passed over for ever.

use parkade_core::{FAIRNESS_PERIOD, Priority, TagConfig, Task, WorkerIndex};

use crate::script::*;

#[test]
fn mailbox_then_priority_then_own_queue_then_own_inbox_then_others() {
    let (control, _) = control(tag_of(2));
    let workers = workers(&control, 2);
    let tag = &control.tags()[0];
    push(&workers[1], 5);
    submit(&control, 4); // an origin of seed 0 uses inbox 0
    push(&workers[0], 3);
    submit_as(&control, 2, Priority::High);
    let _ = tag.submit_to(WorkerIndex(0), Task::from_word(1)).unwrap();
    let order: Vec<_> = (0..5).map(|_| runs(&workers[0])).collect();
    assert_eq!(order, [1, 2, 3, 4, 5]);
    assert_eq!(tag.counters().stolen, 1);
}

#[test]
fn own_work_newest_first_stolen_work_oldest_first() {
    let (control, _) = control(tag_of(2));
    let workers = workers(&control, 2);
    for word in 0..4 {
        push(&workers[0], word);
    }
    assert_eq!(runs(&workers[1]), 0);
    assert_eq!(runs(&workers[0]), 3);
    assert_eq!(runs(&workers[1]), 1);
    assert_eq!(runs(&workers[0]), 2);
}

#[test]
fn an_inbox_is_served_in_order() {
    let (control, _) = control(tag_of(1));
    let worker = &workers(&control, 1)[0];
    for word in 0..40 {
        submit(&control, word);
    }
    let order: Vec<_> = (0..40).map(|_| runs(worker)).collect();
    assert_eq!(order, (0..40).collect::<Vec<_>>());
}

/// Q13: the owner is busy, exactly one task is queued: it is stolen.
#[test]
fn the_only_task_of_a_busy_owner_is_stolen() {
    let (control, _) = control(tag_of(2));
    let workers = workers(&control, 2);
    push(&workers[0], 1);
    assert_eq!(runs(&workers[1]), 1);
}

#[test]
fn mailboxes_are_never_stolen_from() {
    let (control, _) = control(tag_of(2));
    let workers = workers(&control, 2);
    let tag = &control.tags()[0];
    let _ = tag.submit_to(WorkerIndex(0), Task::from_word(1)).unwrap();
    falls_asleep(&workers[1]);
    assert_eq!(runs(&workers[0]), 1);
}

#[test]
fn endless_local_work_lets_every_inbox_in() {
    let (control, _) = control(tag_of(3));
    let workers = workers(&control, 3);
    for group in 0..3 {
        let origin = parkade_core::Origin::new(group);
        let task = Task::from_word(100 + group);
        let submitted = control.tags()[0].submit(task, Priority::Normal, &origin);
        let _ = submitted.unwrap();
    }
    let mut from_outside = Vec::new();
    push(&workers[0], 0);
    // One own and one foreign inbox per period; every foreign one within as many periods as groups.
    for _ in 0..FAIRNESS_PERIOD * 4 {
        match runs(&workers[0]) {
            0 => drop(push(&workers[0], 0)),
            word => from_outside.push(word),
        }
    }
    from_outside.sort_unstable();
    assert_eq!(from_outside, [100, 101, 102]);
}

#[test]
fn every_sixteenth_pick_prefers_a_normal_task() {
    let (control, _) = control(tag_of(1).ageing(16));
    let worker = &workers(&control, 1)[0];
    submit(&control, 0);
    for word in 1..=20 {
        submit_as(&control, word, Priority::High);
    }
    let order: Vec<_> = (0..21).map(|_| runs(worker)).collect();
    let position = order.iter().position(|&word| word == 0);
    assert_eq!(position, Some(15));
    let high: Vec<_> = order.into_iter().filter(|&word| word != 0).collect();
    assert_eq!(high, (1..=20).collect::<Vec<_>>());
}

#[test]
fn a_thief_takes_at_most_its_batch_and_never_more_than_half() {
    let (control, _) = control(TagConfig::new(2).run_queue(16).steal_batch(4));
    let workers = workers(&control, 2);
    for word in 0..16 {
        push(&workers[0], word);
    }
    assert_eq!(runs(&workers[1]), 0);
    assert_eq!(control.tags()[0].counters().stolen, 4);
    // The rest of its batch is its own; with fewer than K above the top it takes the oldest first.
    let own: Vec<_> = (0..3).map(|_| runs(&workers[1])).collect();
    assert_eq!(own, [1, 2, 3]);
}

#[test]
fn near_the_thieves_an_owner_takes_the_oldest() {
    let (control, _) = control(TagConfig::new(1).run_queue(16).steal_batch(4));
    let worker = &workers(&control, 1)[0];
    for word in 0..6 {
        push(worker, word);
    }
    // Six and five are more than K = 4 above the top; from then on the two ends may meet.
    let order: Vec<_> = (0..6).map(|_| runs(worker)).collect();
    assert_eq!(order, [5, 4, 0, 1, 2, 3]);
}
