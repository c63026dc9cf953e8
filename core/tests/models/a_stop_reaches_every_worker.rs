//! I4: a stop that races registration, looking, announcing and parking ends every worker; and with a
//! drain, what was accepted runs.

use loom::thread;
use parkade_core::{Origin, Priority, StopPolicy, Task};

use crate::platform::{control, explore, work};

#[test]
fn asleep_or_about_to_be() {
    explore(50, || {
        let control = control(1);
        let worker = {
            let control = control.clone();
            thread::spawn(move || work(&control, 0, usize::MAX, |_, _| ()))
        };
        let lots = control
            .stop(StopPolicy::Drain)
            .unwrap()
            .drivers_stopped()
            .close();
        let join = lots.stop_lots().interrupted();
        assert_eq!(worker.join().unwrap(), []);
        assert_eq!(join.joined().remaining, 0);
    });
}

#[test]
fn and_a_drain_runs_what_was_accepted() {
    explore(500, || {
        let control = control(1);
        let worker = {
            let control = control.clone();
            thread::spawn(move || work(&control, 0, usize::MAX, |_, _| ()))
        };
        let submitter = {
            let control = control.clone();
            thread::spawn(move || {
                control.tags()[0]
                    .submit(Task::from_word(1), Priority::Normal, &Origin::new(0))
                    .is_ok()
            })
        };
        let lots = control
            .stop(StopPolicy::Drain)
            .unwrap()
            .drivers_stopped()
            .close();
        let join = lots.stop_lots().interrupted();
        let accepted = submitter.join().unwrap();
        let ran = worker.join().unwrap();
        assert_eq!(ran.len(), usize::from(accepted));
        assert!(join.take_queued().is_none());
    });
}
