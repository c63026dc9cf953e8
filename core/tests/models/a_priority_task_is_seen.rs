//! A high-priority task wakes a sleeper although looking at its inbox takes no lock while that is empty.

use loom::thread;
use parkade_core::{Origin, Priority, Task};

use crate::platform::{TAG, explore_to};
use crate::scenario::Cast::{Asleep, Fresh};
use crate::scenario::{Cast, all, scene, start};

fn two_producers(cast: &[Cast]) {
    let (control, workers) = scene(cast);
    let threads = start(workers, 1);
    let submit = move |word| {
        let task = Task::from_word(word);
        let tag = control.tag(TAG).unwrap();
        let submitted = tag.submit(task, Priority::High, &Origin::new(0));
        let _ = submitted.expect("there is room");
    };
    let other = thread::spawn(move || submit(1));
    submit(2);
    other.join().unwrap();
    assert_eq!(all(threads), [1, 2]);
}

#[test]
fn by_two_that_are_fresh_or_asleep() {
    explore_to(1, 500, || two_producers(&[Fresh, Asleep]));
}
