//! Whoever creates workers either is asked for one or sees the task itself.
//!
//! It reopens for requests, and looks; a submitter pushes, finds nobody idle, and asks if it is open. Should both
//! miss each other, a task would wait beside busy workers although another could have been started.

use std::sync::Arc;

use loom::sync::atomic::{AtomicBool, Ordering};
use loom::thread;
use parkade_core::{Task, Wake};

use crate::platform::{TAG, explore};
use crate::scenario::Cast::{Busy, Fresh};
use crate::scenario::{scene, submit};

fn asks(wake: Wake, open: &AtomicBool) -> bool {
    matches!(wake, Wake::NobodyIdle { .. }) && open.load(Ordering::Relaxed)
}

#[test]
fn when_a_task_comes_from_outside() {
    explore(4, || {
        let (control, _) = scene(&[Busy]);
        let open = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&open);
        let submitter = thread::spawn(move || asks(submit(control, 1, 0), &seen));
        open.store(true, Ordering::Relaxed);
        let short = control.tag(TAG).unwrap().is_short();
        assert!(submitter.join().unwrap() || short);
    });
}

#[test]
fn when_a_worker_pushes() {
    explore(4, || {
        let (control, mut workers) = scene(&[Fresh]);
        let worker = workers.pop().unwrap();
        let open = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&open);
        let pusher = thread::spawn(move || {
            let asked = asks(worker.push(Task::from_word(1)).unwrap(), &seen);
            // Its task blocks.
            std::mem::forget(worker);
            asked
        });
        open.store(true, Ordering::Relaxed);
        let short = control.tag(TAG).unwrap().is_short();
        assert!(pusher.join().unwrap() || short);
    });
}
