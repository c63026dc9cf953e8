//! What the behaviour tests share: both backends, a detector of hangs, and workers that are kept busy.

use std::panic;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Barrier, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use parkade::{Backend, RuntimeOn, Tag, TagRef};

/// A hang detector for everything that should take seconds at most, on a busy machine.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// [`LIMIT`], for tests that may be told to run longer.
pub(crate) fn limit() -> Duration {
    crate::stress::stretched(LIMIT)
}

/// Makes a test of each named function for each backend.
macro_rules! on_each_backend {
    ($($name:ident),+ $(,)?) => {
        #[cfg(all(feature = "linux", target_os = "linux"))]
        mod linux {
            $(
                #[test]
                fn $name() {
                    crate::common::within(crate::common::limit(), super::$name::<parkade::backend::Linux>);
                }
            )+
        }

        #[cfg(feature = "std")]
        mod portable {
            $(
                #[test]
                fn $name() {
                    crate::common::within(crate::common::limit(), super::$name::<parkade::backend::Std>);
                }
            )+
        }
    };
}

/// Runs `body` and fails if it has not ended in time.
pub(crate) fn within(limit: Duration, body: impl FnOnce() + Send + 'static) {
    let (ended, wait) = mpsc::channel::<()>();
    let thread = thread::spawn(move || {
        // Dropped at the end, also by a panic.
        let _ended = ended;
        body();
    });
    if let Err(RecvTimeoutError::Timeout) = wait.recv_timeout(limit) {
        panic!("hangs: not done within {limit:?}");
    }
    if let Err(payload) = thread.join() {
        panic::resume_unwind(payload);
    }
}

/// Looks again and again until `condition` holds; fails after [`LIMIT`].
pub(crate) fn eventually(what: &str, condition: impl Fn() -> bool) {
    let give_up = Instant::now() + LIMIT;
    while !condition() {
        assert!(Instant::now() < give_up, "never happens: {what}");
        thread::sleep(Duration::from_millis(1));
    }
}

/// A runtime with one tag of so many workers.
pub(crate) fn runtime<B: Backend>(workers: usize) -> RuntimeOn<B> {
    RuntimeOn::builder()
        .tag(Tag::new("only").workers(workers))
        .build()
        .unwrap()
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
    if std::any::type_name::<B>().ends_with("Linux") {
        "linux"
    } else {
        "portable"
    }
}

/// Silences the panic messages of workers whose tasks panic on purpose.
pub(crate) fn expect_panics() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let default = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let on_worker = thread::current()
                .name()
                .is_some_and(|name| name.starts_with("pk-"));
            if !on_worker {
                default(info);
            }
        }));
    });
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
