//! A watchdog: if a test makes no step for too long, it shows what the test waits for, and fails it.
//!
//! The waits themselves have no limit: a handle is joined and a runtime stopped as users do it. The test says
//! what can be seen of it ([`Watchdog::watch`]) and, before each wait, that it goes on ([`Watchdog::steps`]).
//! What is shown is held weakly, so that a watched runtime is dropped where the test drops it; a hang in that
//! very drop cannot be looked into.

use std::fmt::Debug;
use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, Weak};
use std::thread;
use std::time::Duration;

type Subject = dyn Debug + Send + Sync;

/// Watches until it is dropped.
pub(crate) struct Watchdog {
    watched: Arc<Watched>,
    /// Never sent to: its end is the word to stop watching.
    on_duty: Option<mpsc::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

#[derive(Default)]
struct Watched {
    steps: AtomicU64,
    subject: Mutex<Option<Weak<Subject>>>,
}

impl Watchdog {
    /// Calls `hang` with what can be seen, once and on another thread, when no step was made for `patience`;
    /// after twice that at the latest.
    pub(crate) fn new(patience: Duration, hang: impl FnOnce(String) + Send + 'static) -> Self {
        let watched = Arc::new(Watched::default());
        let (on_duty, off_duty) = mpsc::channel::<()>();
        let thread = thread::spawn({
            let watched = Arc::clone(&watched);
            move || {
                let mut seen = watched.steps.load(Ordering::Relaxed);
                while off_duty.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
                    let steps = watched.steps.load(Ordering::Relaxed);
                    if mem::replace(&mut seen, steps) == steps {
                        let subject = watched.subject();
                        hang(watched.show(&subject));
                        // Dropped here, after all is said: this may be its last owner by now, and wait.
                        return drop(subject);
                    }
                }
            }
        });
        Self {
            watched,
            on_duty: Some(on_duty),
            thread: Some(thread),
        }
    }

    /// From now on `subject` is what is shown.
    pub(crate) fn watch<T: Debug + Send + Sync + 'static>(&self, subject: &Arc<T>) {
        let subject: Weak<T> = Arc::downgrade(subject);
        *self.watched.subject.lock().unwrap() = Some(subject);
    }

    /// What says that the test goes on, when it is called.
    pub(crate) fn steps(&self) -> impl Fn() + Send + Sync + 'static {
        let watched = Arc::clone(&self.watched);
        move || {
            watched.steps.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Watched {
    fn subject(&self) -> Option<Arc<Subject>> {
        self.subject.lock().unwrap().as_ref()?.upgrade()
    }

    fn show(&self, subject: &Option<Arc<Subject>>) -> String {
        let step = self.steps.load(Ordering::Relaxed);
        match subject {
            Some(subject) => format!("no end of step {step}: {subject:#?}"),
            None => format!("no end of step {step}, in which what is watched is made or dropped"),
        }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        drop(self.on_duty.take());
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}
