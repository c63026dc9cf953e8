//! An owner that follows another sees the queue as that one left it.

use loom::sync::Arc;
use loom::thread;
use parkade_core::{RunQueue, SeqCstFences, Task};

use crate::platform::{Modelled, explore};

/// Pushes a task if nobody else has the queue; says whether it did.
fn push(queue: &RunQueue<Modelled>, word: usize) -> bool {
    let Some(owner) = queue.owner() else {
        return false;
    };
    owner.push(Task::from_word(word)).expect("there is room");
    true
}

#[test]
fn to_the_next_owner() {
    explore(5, || {
        let queue = Arc::new(RunQueue::<Modelled>::new(SeqCstFences, 2, 1).unwrap());
        let other = {
            let queue = queue.clone();
            thread::spawn(move || push(&queue, 1))
        };
        let mut pushed = Vec::new();
        if push(&queue, 2) {
            pushed.push(2);
        }
        if other.join().unwrap() {
            pushed.push(1);
        }
        let owner = queue.owner().expect("both have gone");
        let popped = std::iter::from_fn(|| owner.pop()).map(Task::into_word);
        let mut popped: Vec<_> = popped.collect();
        pushed.sort_unstable();
        popped.sort_unstable();
        assert_eq!(popped, pushed);
    });
}
