//! Tasks that become visible together, from a user's batch or by a move from an inbox to a run queue,
//! get their workers although the wake is asked for once.

use loom::thread;
use parkade_core::{Origin, Priority, Task};

use crate::platform::{control, explore, work};

#[test]
fn and_each_task_runs_on_a_worker_of_its_own() {
    explore(500, || {
        let control = control(2);
        let workers = [0, 1].map(|index| {
            let control = control.clone();
            thread::spawn(move || work(&control, index, 1, |_, _| ()))
        });
        let mut tasks = [1, 2].into_iter().map(Task::from_word);
        let (accepted, refused) =
            control.tags()[0].submit_batch(&mut tasks, Priority::Normal, &Origin::new(0));
        assert_eq!(accepted, 2);
        assert!(refused.is_none());
        let mut ran = workers.map(|worker| worker.join().unwrap()).concat();
        ran.sort_unstable();
        assert_eq!(ran, [1, 2]);
    });
}
