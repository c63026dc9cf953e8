//! A task for one worker is run by that worker, whether it is fresh, asleep or claimed for another.

use loom::thread;
use parkade_core::Task;

use crate::platform::{TAG, explore};
use crate::scenario::Cast::{Asleep, Fresh, Searching};
use crate::scenario::{Cast, perform, scene, worker};

fn mailed(cast: Cast) {
    let (control, mut workers) = scene(&[cast]);
    let only = workers.pop().unwrap();
    let thread = thread::spawn(move || perform(only, 1, |_, _| ()));
    let tag = control.tag(TAG).unwrap();
    let submitted = tag.submit_to(worker(0), Task::from_word(1));
    let _ = submitted.expect("an open tag takes it");
    assert_eq!(thread.join().unwrap(), [1]);
}

#[test]
fn that_is_fresh() {
    explore(20, || mailed(Fresh));
}

#[test]
fn that_is_asleep() {
    explore(10, || mailed(Asleep));
}

#[test]
fn that_searches() {
    explore(20, || mailed(Searching));
}
