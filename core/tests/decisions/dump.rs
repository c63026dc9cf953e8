//! What a control shows of its workers, and that it waits for nobody to show it.

use std::iter;

use parkade_core::{Next, Origin, Priority, StopPolicy, TagConfig, Task};

use crate::script::*;

/// What is shown of each worker's activity, in order.
fn activities(control: &Control) -> Vec<String> {
    let dump = format!("{control:?}");
    let found = dump.split("activity: ").skip(1);
    found
        .map(|rest| rest.split(", lot").next().unwrap_or(rest).to_owned())
        .collect()
}

#[test]
fn each_step_of_a_worker_is_shown() {
    let (control, _script) = control(TagConfig::new(2));
    assert_eq!(activities(&control), ["Gone", "Gone"]);
    let workers = workers(&control, 2);
    assert_eq!(activities(&control), ["Running", "Running"]);
    workers.iter().for_each(falls_asleep);
    assert_eq!(activities(&control), ["Announced", "Announced"]);
    submit(&control, 1);
    assert_eq!(activities(&control), ["Announced, claimed", "Announced"]);
    assert_eq!(runs(&workers[0]), 1);
    assert_eq!(activities(&control), ["Running", "Announced"]);
    let _join = stop(&control, StopPolicy::Drain);
    for worker in &workers {
        assert!(matches!(worker.next(), Next::Stop));
    }
    assert_eq!(activities(&control), ["Leaving", "Leaving"]);
    drop(workers);
    assert_eq!(activities(&control), ["Gone", "Gone"]);
}

#[test]
fn a_slot_that_is_registered_again_shows_nothing_of_its_last_worker() {
    let (control, _script) = control(TagConfig::new(1));
    let worker = control.register(slot(0)).unwrap();
    control.tags()[0].request_retire(slot(0).worker);
    assert!(matches!(worker.next(), Next::Retire));
    assert_eq!(activities(&control), ["Leaving"]);
    drop(worker);
    let _next = control.register(slot(0)).unwrap();
    assert_eq!(activities(&control), ["Running"]);
}

/// The iterator of a batch runs inside the lock of the inbox that it goes to.
#[test]
fn it_is_shown_while_an_inbox_is_locked() {
    let (control, _script) = control(TagConfig::new(1));
    let tag = &control.tags()[0];
    for priority in [Priority::Normal, Priority::High] {
        let mut shown = String::new();
        let mut tasks = iter::once_with(|| {
            shown = format!("{control:#?}");
            Task::from_word(1)
        });
        let (accepted, _) = tag.submit_batch(&mut tasks, priority, &Origin::new(0));
        assert_eq!(accepted, 1);
        assert!(shown.contains("activity: Gone"), "{shown}");
    }
}
