//! A push that races the close of an inbox is taken by whoever empties it, or comes back.

use loom::sync::Arc;
use loom::thread;
use parkade_core::{Inbox, Task};

use crate::platform::{Modelled, explore};

#[test]
fn and_the_task_comes_back() {
    explore(5, || {
        let inbox = Arc::new(Inbox::<Modelled>::new(usize::MAX));
        let pusher = {
            let inbox = inbox.clone();
            thread::spawn(move || {
                let outcome = inbox.push(Task::from_word(1));
                outcome.err().map(|refused| refused.task.into_word())
            })
        };
        inbox.close();
        let taken = inbox.pop().map(Task::into_word);
        let came_back = pusher.join().unwrap();
        assert!(
            taken.is_some() != came_back.is_some(),
            "taken {taken:?}, came back {came_back:?}"
        );
    });
}
