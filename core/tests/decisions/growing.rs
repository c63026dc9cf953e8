//! More workers later: places that nobody has taken yet, and what tells that another worker would be of use.

use parkade_core::{
    ConfigError, Origin, Priority, RefusedReason, TagConfig, TagIndex, Task, Wake, WorkerIndex,
};

use crate::script::*;

#[test]
fn nothing_is_sent_to_where_nobody_is() {
    let (control, _) = control(TagConfig::new(8).starting(2).inbox_limit(4));
    let tag = &control.tags()[0];
    let in_inboxes = || [0, 1, 2, 3, 4, 5, 6, 7].map(|index| tag.worker(WorkerIndex(index)).inbox);
    for word in 0..8 {
        let origin = Origin::new(word);
        let _ = tag
            .submit(Task::from_word(word), Priority::Normal, &origin)
            .unwrap();
    }
    assert_eq!(in_inboxes(), [4, 4, 0, 0, 0, 0, 0, 0]);
    // Full, and not closed, whichever was tried last.
    for seed in 0..20 {
        let refused = tag.submit(Task::from_word(9), Priority::Normal, &Origin::new(seed));
        assert_eq!(refused.unwrap_err().reason, RefusedReason::Full);
    }
    let _late = control.register(slot(5)).unwrap();
    submit(&control, 9);
    assert_eq!(in_inboxes(), [4, 4, 0, 0, 0, 1, 0, 0]);
}

#[test]
fn the_first_ones_are_at_least_one() {
    let tag = TagIndex(0);
    let config = TagConfig::new(2).starting(0);
    let error = parkade_core::TaskControl::new(&Script::default(), &[config]).unwrap_err();
    assert_eq!(error, ConfigError::NoWorkers { tag });
}

#[test]
fn a_tag_is_short_if_tasks_wait_and_nobody_comes_for_them() {
    let (control, _) = control(TagConfig::new(3).starting(2));
    let tag = &control.tags()[0];
    let workers = workers(&control, 2);
    falls_asleep(&workers[1]);
    assert!(!tag.is_short(), "nothing waits");
    assert!(!tag.has_nobody_idle());
    assert_eq!(submit(&control, 1), Wake::Woke(WorkerIndex(1)));
    assert!(!tag.is_short(), "one is on its way");
    assert!(tag.has_nobody_idle());
    assert_eq!(runs(&workers[0]), 1);
    falls_asleep(&workers[1]);
    submit(&control, 2);
    assert_eq!(runs(&workers[1]), 2);
    assert_eq!(submit(&control, 3), Wake::NobodyIdle { searchers: 0 });
    assert!(tag.is_short());
    assert_eq!(runs(&workers[0]), 3);
    assert!(!tag.is_short());
}

#[test]
fn a_worker_that_sees_more_than_it_takes_says_so_once() {
    let (control, _) = control(TagConfig::new(2));
    let tag = &control.tags()[0];
    let workers = workers(&control, 2);
    falls_asleep(&workers[0]);
    let mut batch = (1..=3).map(Task::from_word);
    let (accepted, _) = tag.submit_batch(&mut batch, Priority::Normal, &Origin::new(1));
    assert_eq!(accepted, 3);
    assert!(!workers[0].take_unmet());
    runs(&workers[0]);
    assert!(workers[0].take_unmet(), "two wait, and nobody is idle");
    assert!(!workers[0].take_unmet());
    runs(&workers[0]);
    runs(&workers[0]);
    assert!(!workers[0].take_unmet());
}
