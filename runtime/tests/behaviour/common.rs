//! What the behaviour tests share: waiting for a condition, and workers that are kept busy.

use std::sync::{Arc, Barrier, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use parkade::{Backend, TagRef};

pub(crate) use crate::each_backend::{LIMIT, runtime};
pub(crate) use crate::panic_messages::expect_panics;

/// Looks again and again until `condition` holds; fails after [`LIMIT`].
pub(crate) fn eventually(what: &str, condition: impl Fn() -> bool) {
    let give_up = Instant::now() + LIMIT;
    while !condition() {
        assert!(Instant::now() < give_up, "never happens: {what}");
        thread::sleep(Duration::from_millis(1));
    }
}

/// Workers that are held inside a task each, until this is released or dropped.
pub(crate) struct Held(Arc<(Mutex<bool>, Condvar)>);

/// Keeps `workers` workers of a tag busy; returns when all of them are.
pub(crate) fn hold<B: Backend>(tag: TagRef<'_, B>, workers: usize) -> Held {
    let gate = Arc::new((Mutex::new(false), Condvar::new()));
    let entered = Arc::new(Barrier::new(workers + 1));
    for _ in 0..workers {
        let (gate, entered) = (Arc::clone(&gate), Arc::clone(&entered));
        tag.spawn_detached(move || {
            entered.wait();
            let (open, opened) = &*gate;
            let mut open = open.lock().unwrap();
            while !*open {
                open = opened.wait(open).unwrap();
            }
        })
        .unwrap();
    }
    entered.wait();
    Held(gate)
}

impl Held {
    pub(crate) fn release(self) {}
}

impl Drop for Held {
    fn drop(&mut self) {
        let (open, opened) = &*self.0;
        *open.lock().unwrap() = true;
        opened.notify_all();
    }
}

/// The name of the module that `on_each_backend` makes for this backend.
pub(crate) fn module_of<B: Backend>() -> &'static str {
    let name = std::any::type_name::<B>();
    match (name.contains("Faulty<"), name.contains("Linux")) {
        (false, false) => "portable",
        (false, true) => "linux",
        (true, false) => "faulty",
        (true, true) => "faulty_linux",
    }
}

/// The names of this process's threads that begin with `prefix`.
#[cfg(target_os = "linux")]
pub(crate) fn threads_called(prefix: &str) -> Vec<String> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    // A thread may end between the two reads.
    let names =
        tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
    names
        .map(|name| name.trim_end().to_owned())
        .filter(|name| name.starts_with(prefix))
        .collect()
}
