//! Whom a submit, a push or a worker that takes a task wakes, and when nobody.

use parkade_core::{Next, Origin, Priority, TagConfig, Task, Wake, WorkerIndex};

use crate::script::*;

#[test]
fn a_lone_task_wakes_one_of_many_and_that_one_wakes_nobody() {
    let (control, script) = control(tag_of(8));
    let sleepers = sleepers(&control, 8);
    assert_eq!(submit(&control, 7), Wake::Woke(WorkerIndex(0)));
    assert_eq!(script.woken(), [0]);
    assert_eq!(runs(&sleepers[0]), 7);
    falls_asleep(&sleepers[0]);
    assert_eq!(script.calls(), []);
}

/// I8 at the core: with every worker busy, no submit calls the park.
#[test]
fn with_everybody_busy_nobody_is_woken() {
    const MANY: usize = if cfg!(miri) { 50 } else { 1000 };
    let (control, script) = control(tag_of(2));
    let workers = workers(&control, 2);
    for word in 0..MANY {
        assert_eq!(submit(&control, word), Wake::NobodyIdle { searchers: 0 });
    }
    assert_eq!(push(&workers[0], MANY), Wake::NobodyIdle { searchers: 0 });
    assert_eq!(script.calls(), []);
    let counters = control.tags()[0].counters();
    let submits = MANY + 1;
    assert_eq!((counters.spawned, counters.wake_calls), (submits, 0));
    assert_eq!(counters.skipped_wakes, submits);
}

#[test]
fn searchers_cover_as_many_tasks_as_they_are() {
    let (control, script) = control(tag_of(3));
    let sleepers = sleepers(&control, 3);
    let origin = Origin::new(0);
    let mut batch = (0..2).map(Task::from_word);
    let (accepted, refused) = control.tags()[0].submit_batch(&mut batch, Priority::Normal, &origin);
    assert_eq!((accepted, refused.is_none()), (2, true));
    assert_eq!(script.woken(), [0, 1]);
    // Two search; one more task in an empty queue is covered.
    assert_eq!(submit_as(&control, 2, Priority::High), Wake::Covered);
    assert_eq!(script.calls(), []);
    drop(sleepers);
}

/// W4 at the core: a batch wakes as many as there is work for, at once.
#[test]
fn a_batch_of_eight_wakes_eight_and_a_batch_of_three_three() {
    for size in [8, 3] {
        let (control, script) = control(tag_of(8));
        let _sleepers = sleepers(&control, 8);
        let mut batch = (0..size).map(Task::from_word);
        let (accepted, _) =
            control.tags()[0].submit_batch(&mut batch, Priority::Normal, &Origin::new(0));
        assert_eq!(accepted, size);
        assert_eq!(script.woken(), (0..size).collect::<Vec<_>>());
        assert_eq!(control.tags()[0].counters().skipped_wakes, 0);
    }
}

#[test]
fn a_worker_that_takes_one_of_two_wakes_one_more() {
    let (control, script) = control(tag_of(3));
    let sleepers = sleepers(&control, 3);
    submit(&control, 1);
    assert_eq!(script.woken(), [0]);
    // A second task in another inbox is covered by the one that searches …
    assert_eq!(submit(&control, 2), Wake::Covered);
    assert_eq!(script.calls(), []);
    // … who takes the first, leaves the searchers, sees the second, and wakes one more.
    assert_eq!(runs(&sleepers[0]), 1);
    assert_eq!(script.woken(), [1]);
    assert_eq!(runs(&sleepers[1]), 2);
    assert_eq!(script.calls(), [], "nothing is left to wake for");
}

#[test]
fn a_worker_that_moves_a_batch_asks_once_for_it() {
    let (control, script) = control(tag_of(3));
    let workers = workers(&control, 3);
    for word in 0..3 {
        submit(&control, word);
    }
    let (busy, others) = workers.split_first().unwrap();
    let tag = &control.tags()[0];
    assert_eq!(runs(busy), 0, "and two were moved to its run queue");
    assert_eq!(script.calls(), [], "nobody is idle yet");
    // The one moved first is the owner's next, so thieves get the other.
    assert_eq!(runs(&others[0]), 2);
    assert_eq!(runs(&others[1]), 1);
    for idle in others {
        falls_asleep(idle);
    }
    let batch = &mut (0..3).map(Task::from_word);
    let _ = tag.submit_batch(batch, Priority::Normal, &Origin::new(0));
    assert_eq!(script.woken(), [1, 2]);
    assert_eq!(
        tag.counters().skipped_wakes,
        4,
        "three submits and one move"
    );
}

#[test]
fn a_push_wakes_a_sleeper_for_the_worker_that_stays_busy() {
    let (control, script) = control(tag_of(2));
    let sleepers = sleepers(&control, 2);
    submit(&control, 1);
    assert_eq!(script.woken(), [0]);
    runs(&sleepers[0]);
    assert_eq!(push(&sleepers[0], 2), Wake::Woke(WorkerIndex(1)));
    assert_eq!(script.woken(), [1]);
    assert_eq!(runs(&sleepers[1]), 2);
}

/// W6 at the core.
#[test]
fn a_high_priority_task_wakes_a_sleeper() {
    let (control, script) = control(tag_of(2));
    let sleepers = sleepers(&control, 2);
    submit_as(&control, 9, Priority::High);
    assert_eq!(script.woken(), [0]);
    assert_eq!(runs(&sleepers[0]), 9);
}

#[test]
fn targeted_work_wakes_its_worker_and_no_other() {
    let (control, script) = control(tag_of(4));
    let sleepers = sleepers(&control, 4);
    let tag = &control.tags()[0];
    let _ = tag.submit_to(WorkerIndex(2), Task::from_word(5)).unwrap();
    assert_eq!(script.woken(), [2]);
    assert_eq!(runs(&sleepers[2]), 5);
    // To a worker that is awake: its own second look finds it.
    let _ = tag.submit_to(WorkerIndex(2), Task::from_word(6)).unwrap();
    assert_eq!(script.calls(), []);
    assert_eq!(runs(&sleepers[2]), 6);
}

#[test]
fn a_return_from_the_park_says_nothing_only_the_bit_does() {
    let (control, script) = control(tag_of(1));
    let sleeper = &sleepers(&control, 1)[0];
    let Next::Park(state) = sleeper.next() else {
        panic!("still announced")
    };
    sleeper.park(state);
    let expected = 0;
    assert_eq!(
        script.calls(),
        [Call::Wait {
            worker: 0,
            expected
        }]
    );
    falls_asleep(sleeper);
    submit(&control, 1);
    assert_eq!(runs(sleeper), 1);
}

#[test]
fn a_claimed_worker_that_leaves_passes_its_wake_on() {
    let (control, script) = control(tag_of(2));
    let mut sleepers = sleepers(&control, 2);
    submit(&control, 1);
    assert_eq!(script.woken(), [0]);
    drop(sleepers.remove(0));
    assert_eq!(script.woken(), [1]);
    assert_eq!(runs(&sleepers[0]), 1);
}

/// F3 at the core: more workers than one idle word has bits.
#[test]
fn two_hundred_workers_are_each_claimed_once() {
    // Miri pays for each look by the size of all groups together, and counting bits is nothing it would see.
    const MANY: usize = if cfg!(miri) { 12 } else { 200 };
    let (control, script) = control(TagConfig::new(MANY).run_queue(2));
    let sleepers = sleepers(&control, MANY);
    let mut batch = (0..MANY).map(Task::from_word);
    let _ = control.tags()[0].submit_batch(&mut batch, Priority::Normal, &Origin::new(0));
    assert_eq!(script.woken(), (0..MANY).collect::<Vec<_>>());
    let counters = control.tags()[0].counters();
    assert_eq!((counters.idle, counters.searching), (0, MANY));
    drop(sleepers);
}
