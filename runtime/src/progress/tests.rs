//! What those that stop, start and look are told, without a thread.

use super::*;

#[test]
fn it_is_shown_without_its_lock() {
    let stopping = Stopping::new(1);
    let progress = stopping.lock();
    assert_eq!(format!("{stopping:?}"), "changing at this moment");
    drop(progress);
    assert!(format!("{stopping:?}").starts_with("Stop { phase: Running, "));
}

#[test]
fn a_stop_waits_for_whoever_is_about_to_start_and_lets_nobody_else() {
    let slot = |tag| Slot {
        tag: TagIndex(tag),
        worker: parkade_core::WorkerIndex(0),
    };
    let stopping = Stopping::new(2);
    let reach = Reach::Tag(TagIndex(0));
    assert!(stopping.is_about_to_start(slot(0)));
    stopping.begin(&mut stopping.lock(), reach);
    assert!(!stopping.lock().has_ended(reach));
    assert!(!stopping.is_about_to_start(slot(0)));
    assert!(stopping.is_about_to_start(slot(1)), "the others grow");
    assert!(!stopping.lock().has_ended(reach));
    stopping.has_not_started(slot(0));
    assert!(stopping.lock().has_ended(reach));
    stopping.has_not_started(slot(1));
    // Its performer has still to join threads.
    assert!(!stopping.lock().has_ended(Reach::Runtime));
}

#[test]
fn tags_that_wait_in_a_circle_are_told() {
    let stopping = Stopping::new(4);
    let mut progress = stopping.lock();
    let mut waits = |from, tag| progress.begin_to_wait(TagIndex(from), TagIndex(tag));
    assert!(waits(0, 1));
    assert!(waits(1, 2));
    assert!(!waits(1, 0));
    assert!(!waits(2, 0));
    assert!(waits(3, 0));
    progress.waits_no_more(TagIndex(1), TagIndex(2));
    assert!(progress.begin_to_wait(TagIndex(2), TagIndex(0)));
}
