//! I1 for tasks that a worker makes: its plain stores and light fence still reach a sleeper.

use loom::thread;
use parkade_core::Task;

use crate::platform::{control, explore, submit, work};

#[test]
fn when_the_maker_never_comes_back() {
    explore(500, || {
        let control = control(2);
        let workers = [0, 1].map(|index| {
            let control = control.clone();
            thread::spawn(move || {
                work(&control, index, 1, |worker, word| {
                    if word == 1 {
                        let _ = worker.push(Task::from_word(2)).expect("there is room");
                    }
                })
            })
        });
        submit(&control, 1);
        let mut ran = workers.map(|worker| worker.join().unwrap()).concat();
        ran.sort_unstable();
        assert_eq!(ran, [1, 2]);
    });
}
