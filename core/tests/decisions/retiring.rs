//! A worker that is asked to leave: what it still does, what it leaves behind, who is woken for that.

use parkade_core::{
    Next, Origin, Priority, RefusedReason, StopPolicy, TagConfig, Task, WorkerIndex,
};

use crate::script::*;

const FIRST: WorkerIndex = WorkerIndex(0);

fn retires(worker: &parkade_core::Worker<'_, Script>) {
    let next = worker.next();
    assert!(matches!(next, Next::Retire), "{next:?}");
}

#[test]
fn a_busy_worker_leaves_at_its_next_pick_and_its_tasks_wake_another() {
    let (control, script) = control(TagConfig::new(2).run_queue(4));
    let workers = workers(&control, 2);
    let tag = &control.tags()[0];
    for word in 1..=4 {
        push(&workers[0], word);
    }
    submit(&control, 5);
    tag.request_retire(FIRST);
    assert_eq!(script.woken(), [0], "asked by one signal");
    // The other one finds nothing of its own but a full queue to steal from; it sleeps before that.
    let other = &workers[1];
    let stolen = runs(other);
    retires(&workers[0]);
    let mut ran = vec![stolen];
    ran.extend((0..4).map(|_| runs(other)));
    falls_asleep(other);
    ran.sort_unstable();
    assert_eq!(ran, [1, 2, 3, 4, 5]);
}

#[test]
fn what_a_sleeper_is_left_with_is_a_submit() {
    let (control, script) = control(tag_of(2));
    let workers = workers(&control, 2);
    push(&workers[0], 1);
    push(&workers[0], 2);
    assert_eq!(runs(&workers[1]), 1);
    assert_eq!(runs(&workers[1]), 2);
    falls_asleep(&workers[1]);
    // Nobody looks between these: the tag's only sleeper must be woken for what is left.
    control.tags()[0].request_retire(FIRST);
    assert_eq!(script.woken(), [0]);
    let _ = workers[0].push(Task::from_word(3)).unwrap();
    assert_eq!(script.woken(), [1]);
    retires(&workers[0]);
    assert_eq!(script.calls(), [], "one searcher covers one task");
    assert_eq!(runs(&workers[1]), 3);
}

#[test]
fn a_sleeper_leaves_uncounted_and_a_claimed_one_passes_its_wake_on() {
    for claimed in [false, true] {
        let (control, script) = control(tag_of(2));
        let sleepers = sleepers(&control, 2);
        if claimed {
            submit(&control, 7);
            assert_eq!(script.woken(), [0]);
        }
        control.tags()[0].request_retire(FIRST);
        assert_eq!(script.woken(), [0]);
        retires(&sleepers[0]);
        let passed_on: &[usize] = if claimed { &[1] } else { &[] };
        assert_eq!(script.woken(), passed_on);
        let counters = control.tags()[0].counters();
        assert_eq!(
            (counters.idle, counters.searching),
            if claimed { (0, 1) } else { (1, 0) }
        );
    }
}

#[test]
fn its_mailbox_is_run_then_closed_and_its_inbox_takes_no_more() {
    let (control, _) = control(tag_of(2));
    let workers = workers(&control, 2);
    let tag = &control.tags()[0];
    let _ = tag.submit_to(FIRST, Task::from_word(1)).unwrap();
    tag.request_retire(FIRST);
    assert_eq!(runs(&workers[0]), 1);
    let refused = tag.submit_to(FIRST, Task::from_word(2)).unwrap_err();
    assert_eq!(refused.reason, RefusedReason::Closed);
    assert_eq!(refused.task.into_word(), 2);
    retires(&workers[0]);
    // An origin that is stuck to the closed inbox draws another.
    let origin = Origin::new(0);
    for word in 10..14 {
        let _ = tag
            .submit(Task::from_word(word), Priority::Normal, &origin)
            .unwrap();
    }
    let ran: Vec<_> = (0..4).map(|_| runs(&workers[1])).collect();
    assert_eq!(ran, [10, 11, 12, 13]);
}

#[test]
fn its_slot_is_used_again_unless_the_tag_is_closed() {
    for stops in [false, true] {
        let (control, _) = control(tag_of(1));
        let tag = &control.tags()[0];
        tag.request_retire(FIRST);
        // The request came before the worker; it is not lost.
        let worker = control.register(slot(0)).unwrap();
        retires(&worker);
        retires(&worker);
        drop(worker);
        if stops {
            let _join = stop(&control, StopPolicy::Drain);
        }
        let worker = control.register(slot(0)).unwrap();
        let submitted = tag.submit_to(FIRST, Task::from_word(1));
        assert_eq!(submitted.is_err(), stops);
        if stops {
            assert!(matches!(worker.next(), Next::Stop));
        } else {
            assert_eq!(runs(&worker), 1);
        }
    }
}

#[test]
fn a_worker_of_a_closed_tag_drains_instead() {
    let (control, _) = control(tag_of(1));
    let worker = &workers(&control, 1)[0];
    push(worker, 1);
    control.tags()[0].request_retire(FIRST);
    let _join = stop(&control, StopPolicy::Drain);
    assert_eq!(runs(worker), 1);
    assert!(matches!(worker.next(), Next::Stop));
}
