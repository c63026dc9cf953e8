//! F2: a light fence and a plain one prove nothing to each other, so a worker that pushes believes the
//! count of searchers only after a fence of its own.
//!
//! The light fence does nothing here, as it may for all that a searcher's plain fence can tell. Nobody
//! announces while this runs, so nothing else relies on it.

use loom::thread;
use parkade_core::{Next, Origin, Priority, Task, TaskControl, Wake};

use crate::platform::{OneSided, TAG, explore, slot, tag_config};

#[test]
fn when_the_searcher_leaves_as_it_is_counted() {
    explore(50, || {
        let control = TaskControl::new(&OneSided::default(), &[tag_config(3)]).unwrap();
        let control: &'static TaskControl<OneSided> = Box::leak(Box::new(control));
        let tag = control.tag(TAG).unwrap();
        let register = |index| control.register(slot(index)).unwrap();
        let (searcher, sleeper, maker) = (register(0), register(1), register(2));
        let submit = |word| {
            let task = Task::from_word(word);
            tag.submit(task, Priority::Normal, &Origin::new(2)).unwrap()
        };
        // The maker has a task to run; the searcher is claimed for another; the sleeper sleeps.
        submit(1);
        assert!(matches!(maker.next(), Next::Run(_)));
        assert!(matches!(searcher.next(), Next::Park(_)));
        assert!(matches!(sleeper.next(), Next::Park(_)));
        assert_eq!(submit(2), Wake::Woke(searcher.slot().worker));

        let searcher = thread::spawn(move || {
            let Next::Run(task) = searcher.next() else {
                panic!("it was claimed for a task")
            };
            std::mem::forget(searcher);
            task.into_word()
        });
        let sleeper = thread::spawn(move || {
            loop {
                match sleeper.next() {
                    Next::Run(task) => {
                        std::mem::forget(sleeper);
                        break task.into_word();
                    }
                    Next::Park(state) => sleeper.park(state),
                    Next::Linger | Next::Stop | Next::Retire => panic!("nobody asked it to"),
                }
            }
        });
        let _ = maker.push(Task::from_word(3)).unwrap();
        std::mem::forget(maker);
        assert_eq!(searcher.join().unwrap(), 2);
        assert_eq!(sleeper.join().unwrap(), 3);
    });
}
