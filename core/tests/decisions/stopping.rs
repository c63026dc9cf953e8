//! The five steps: what each does to whom.

use parkade_core::stop::AlreadyStopping;
use parkade_core::{
    Next, Origin, Priority, RefusedReason, StopPolicy, TagConfig, TagIndex, Task, WorkerIndex,
};

use crate::script::*;

fn assert_refused(control: &Control) {
    let tag = &control.tags()[0];
    let outside = tag.submit(Task::from_word(9), Priority::Normal, &Origin::new(0));
    let high = tag.submit(Task::from_word(9), Priority::High, &Origin::new(0));
    let targeted = tag.submit_to(WorkerIndex(0), Task::from_word(9));
    for refused in [outside, high, targeted] {
        let refused = refused.unwrap_err();
        assert_eq!(refused.reason, RefusedReason::Closed);
        assert_eq!(refused.task.into_word(), 9);
    }
}

#[test]
fn a_drain_wakes_every_lot_once_and_runs_what_is_queued() {
    let (control, script) = control(tag_of(2));
    let workers = sleepers(&control, 2);
    submit(&control, 1);
    let _ = script.calls();

    let drivers = control.stop(StopPolicy::Drain).unwrap();
    let close = drivers.drivers_stopped();
    let lots = close.close();
    assert_refused(&control);
    assert_eq!(script.calls(), [], "closing wakes nobody");
    let interrupt = lots.stop_lots();
    let n = u32::MAX;
    let wake = |worker| Call::Wake { worker, n };
    assert_eq!(script.calls(), [wake(0), wake(1)]);
    let join = interrupt.interrupted();

    assert_eq!(runs(&workers[1]), 1);
    assert_eq!(
        workers[1].push(Task::from_word(2)).unwrap_err().reason,
        RefusedReason::Closed
    );
    for worker in workers {
        assert!(matches!(worker.next(), Next::Stop));
        assert!(matches!(worker.next(), Next::Stop), "and again");
    }
    assert!(join.take_queued().is_none());
    let counters = control.tags()[0].counters();
    assert_eq!((counters.idle, counters.searching), (0, 0));
    assert_eq!(join.joined().remaining, 0);
}

#[test]
fn an_abandoned_tag_gives_every_queued_task_back_once() {
    let (control, _) = control(TagConfig::new(2).run_queue(2));
    let workers = workers(&control, 2);
    for word in 0..3 {
        push(&workers[0], word);
    }
    submit(&control, 3);
    submit_as(&control, 4, Priority::High);
    let tag = &control.tags()[0];
    let _ = tag.submit_to(WorkerIndex(1), Task::from_word(5)).unwrap();
    let join = stop(&control, StopPolicy::Abandon);
    for worker in &workers {
        assert!(matches!(worker.next(), Next::Stop));
    }
    let mut left: Vec<_> = std::iter::from_fn(|| join.take_queued())
        .map(|(tag, task)| {
            assert_eq!(tag, TagIndex(0));
            task.into_word()
        })
        .collect();
    left.sort_unstable();
    assert_eq!(left, [0, 1, 2, 3, 4, 5]);
    assert_eq!(join.remaining(), 2);
    drop(workers);
    assert_eq!(join.joined().remaining, 0);
}

#[test]
fn a_drain_may_turn_into_an_abandonment() {
    let (control, _) = control(tag_of(1));
    let worker = &workers(&control, 1)[0];
    push(worker, 1);
    push(worker, 2);
    let join = stop(&control, StopPolicy::Drain);
    assert_eq!(runs(worker), 2);
    join.abandon();
    assert!(matches!(worker.next(), Next::Stop));
    assert_eq!(join.take_queued().unwrap().1.into_word(), 1);
}

#[test]
fn one_tag_stops_and_the_others_go_on() {
    let script = Script::default();
    let control = Control::new(&script, &[tag_of(1), tag_of(1), tag_of(1)]).unwrap();
    let tag = |index| &control.tags()[index];
    let submit = |index: usize, word| {
        let task = Task::from_word(word);
        tag(index).submit(task, Priority::Normal, &Origin::new(0))
    };
    for index in 0..3 {
        submit(index, index).unwrap();
    }
    let drivers = control.stop_tag(TagIndex(1), StopPolicy::Abandon).unwrap();
    assert_eq!(
        control
            .stop_tag(TagIndex(1), StopPolicy::Drain)
            .unwrap_err(),
        AlreadyStopping
    );
    let _ = script.calls();
    let join = drivers.drivers_stopped().close().stop_lots().interrupted();
    assert_eq!(script.calls().len(), 1, "one lot");
    let refused = submit(1, 9).unwrap_err();
    assert_eq!(refused.reason, RefusedReason::Closed);
    submit(2, 9).unwrap();
    let taken = std::iter::from_fn(|| join.take_queued());
    let taken: Vec<_> = taken.map(|(tag, task)| (tag, task.into_word())).collect();
    assert_eq!(taken, [(TagIndex(1), 1)], "its own tasks, with its index");
    assert_eq!(join.joined().remaining, 0);

    let (tag, worker) = (TagIndex(2), WorkerIndex(0));
    let worker = control
        .register(parkade_core::Slot { tag, worker })
        .unwrap();
    assert_eq!([runs(&worker), runs(&worker)], [2, 9]);
    falls_asleep(&worker);
    // The whole scheduler stops after it, and tells of all.
    let join = stop(&control, StopPolicy::Abandon);
    assert!(matches!(worker.next(), Next::Stop));
    assert_eq!(join.take_queued().unwrap().0, TagIndex(0));
    assert!(control.stop_tag(TagIndex(2), StopPolicy::Drain).is_ok());
}

#[test]
fn only_one_caller_takes_the_steps() {
    let (control, _) = control(tag_of(1));
    let first = control.stop(StopPolicy::Drain).unwrap();
    assert_eq!(
        control.stop(StopPolicy::Abandon).unwrap_err(),
        AlreadyStopping
    );
    let _ = first.drivers_stopped().close().stop_lots().interrupted();
}

#[test]
fn a_worker_that_registers_late_is_let_in_and_told_to_leave() {
    let (control, _) = control(tag_of(1));
    submit(&control, 1);
    let _join = stop(&control, StopPolicy::Drain);
    let worker = control.register(slot(0)).unwrap();
    assert_eq!(runs(&worker), 1);
    assert!(matches!(worker.next(), Next::Stop));
}

#[test]
fn whoever_frees_a_control_gets_what_is_left_in_it() {
    let (mut control, _) = control(tag_of(2));
    submit(&control, 1);
    submit_as(&control, 2, Priority::High);
    let mut left: Vec<_> = std::iter::from_fn(|| control.take_queued())
        .map(|(_, task)| task.into_word())
        .collect();
    left.sort_unstable();
    assert_eq!(left, [1, 2]);
}

#[test]
fn a_worker_that_leaves_takes_what_is_left_in_its_own_queues() {
    let (control, _) = control(tag_of(2));
    let workers = workers(&control, 2);
    let tag = &control.tags()[0];
    push(&workers[0], 1);
    submit(&control, 2); // an origin of seed 0 uses inbox 0
    let _ = tag.submit_to(WorkerIndex(0), Task::from_word(3)).unwrap();
    push(&workers[1], 4);
    let _join = stop(&control, StopPolicy::Abandon);
    assert!(matches!(workers[0].next(), Next::Stop));
    let left = std::iter::from_fn(|| workers[0].take_left()).map(Task::into_word);
    assert_eq!(left.collect::<Vec<_>>(), [1, 3, 2]);
}

/// A fork of a task that was accepted is accepted after the close, by a worker that is still running it.
#[test]
fn a_closed_tag_takes_forks_and_no_pushes() {
    for policy in [StopPolicy::Drain, StopPolicy::Abandon] {
        let (control, _) = control(tag_of(2));
        let workers = workers(&control, 2);
        let (busy, other) = (&workers[0], &workers[1]);
        submit(&control, 0);
        assert_eq!(runs(busy), 0);
        let join = stop(&control, policy);
        let refused = busy.push(Task::from_word(9)).unwrap_err();
        assert_eq!(refused.reason, RefusedReason::Closed);
        for word in 1..=2 {
            assert!(!busy.fork(Task::from_word(word)).unwrap().wanted);
        }
        if policy == StopPolicy::Drain {
            assert_eq!(runs(other), 1, "who is still there helps");
            assert!(
                matches!(other.next(), Next::Run(_)),
                "and leaves none behind"
            );
            assert!(matches!(other.next(), Next::Stop));
        }
        assert!(matches!(busy.next(), Next::Stop));
        let left = std::iter::from_fn(|| busy.take_left()).count();
        assert_eq!(left, if policy == StopPolicy::Drain { 0 } else { 2 });
        assert!(join.take_queued().is_none());
    }
}
