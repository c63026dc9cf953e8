//! The dump of a runtime: what it says about workers that rest, run, are stuck or gone, and who prints it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, Weak, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use parkade::backend::AffinityError;
use parkade::{Backend, FenceChoice, Policy, Priority, RuntimeOn, Tag, WorkerInfo};
use parkade_core::sync::{AtomicU32, Ordering as WordOrdering};
use parkade_core::{Park, Platform, Slot};

use crate::common::{eventually, hold, runtime};
use crate::watchdog::Watchdog;

on_each_backend!(
    workers_that_rest_run_and_are_gone,
    workers_in_their_hooks; no_spurious_return:
    a_wake_that_is_lost,
    the_watchdog_shows_what_hangs,
    a_stop_that_waits_for_a_task,
);

/// The first line of a dump that begins so.
fn line<'d>(dump: &'d str, begin: &str) -> &'d str {
    let mut lines = dump.lines().map(str::trim);
    lines
        .find(|line| line.starts_with(begin))
        .unwrap_or_else(|| panic!("no line {begin:?} in {dump}"))
}

fn dump<B: Backend>(runtime: &RuntimeOn<B>) -> String {
    format!("{runtime:#?}")
}

fn workers_that_rest_run_and_are_gone<B: Backend>() {
    let runtime = runtime::<B>(2);
    let held = hold(runtime.default_tag(), 2);
    runtime.spawn_detached(|| ()).unwrap();
    let urgent = runtime.default_tag().with_priority(Priority::High);
    urgent.spawn_detached(|| ()).unwrap();
    let busy = dump(&runtime);
    for worker in ["0: Worker", "1: Worker"] {
        let line = line(&busy, worker);
        assert!(line.contains("{ activity: Running, "), "{line}");
        assert!(line.contains("waiters: not counted"), "{line}");
    }
    assert!(line(&busy, "sleepers").starts_with("sleepers 0b0, searchers 0"));
    assert_eq!(line(&busy, "intake"), "intake: open,");
    assert_eq!(line(&busy, "priority_inbox"), "priority_inbox: 1,");
    assert_eq!(busy.matches("inbox: 1, mailbox: 0").count(), 1, "{busy}");
    assert_eq!(line(&busy, "phase"), "phase: Running,");
    assert_eq!(line(&busy, "threads"), "threads: 2 of 2 have not ended,");
    held.release();
    eventually("both sleep", || {
        let resting = dump(&runtime);
        resting.contains("sleepers 0b11, searchers 0")
            && resting.matches("activity: Parked, lot").count() == 2
    });
    runtime.shutdown(Policy::Drain, None).unwrap();
    let stopped = dump(&runtime);
    assert_eq!(stopped.matches("activity: Gone, ").count(), 2, "{stopped}");
    assert_eq!(stopped.matches("stopped: true").count(), 2, "{stopped}");
    assert_eq!(line(&stopped, "intake"), "intake: draining,");
    assert_eq!(line(&stopped, "phase"), "phase: Stopped(");
    assert_eq!(line(&stopped, "threads"), "threads: 0 of 2 have not ended,");
    let thread = line(&stopped, "0: \"pk-only-0\"");
    assert!(thread.ends_with("ran, 0 panics,"), "{thread}");
}

/// A worker that is about to sleep, and one that leaves.
fn workers_in_their_hooks<B: Backend>() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let whole: Arc<OnceLock<Weak<RuntimeOn<B>>>> = Arc::default();
    let look = |when: &'static str| {
        let (seen, whole) = (Arc::clone(&seen), Arc::clone(&whole));
        move |_: &WorkerInfo| {
            let runtime = whole.wait().upgrade().unwrap();
            let dump = dump(&runtime);
            let line = line(&dump, "0: Worker").to_owned();
            seen.lock().unwrap().push((when, line));
        }
    };
    let runtime = RuntimeOn::<B>::builder()
        .tag(Tag::new("only").workers(1))
        .on_park(look("Announced"))
        .on_stop(look("Leaving"))
        .build()
        .unwrap();
    let runtime = Arc::new(runtime);
    whole.set(Arc::downgrade(&runtime)).unwrap();
    eventually("it goes to sleep", || !seen.lock().unwrap().is_empty());
    runtime.shutdown(Policy::Drain, None).unwrap();
    let seen = seen.lock().unwrap();
    for (activity, line) in seen.iter() {
        let activity = format!("activity: {activity}, ");
        assert!(line.contains(&activity), "{activity} in {line}");
    }
    assert_eq!(seen.last().unwrap().0, "Leaving");
}

/// The claimed worker is shown as one that sleeps on, with the task in its inbox.
fn a_wake_that_is_lost<B: Backend>() {
    let runtime = two_asleep::<B>();
    let handle = runtime.spawn(|| ());
    let stuck = dump(&runtime);
    let claimed = line(&stuck, "0: Worker");
    assert!(claimed.contains("activity: Parked, claimed, "), "{claimed}");
    assert!(claimed.contains("signals: 1, stopped: false"), "{claimed}");
    assert!(
        claimed.contains("run_queue: 0, inbox: 1, mailbox: 0"),
        "{claimed}"
    );
    let other = line(&stuck, "1: Worker");
    assert!(other.contains("activity: Parked, lot"), "{other}");
    assert!(other.contains("signals: 0"), "{other}");
    assert_eq!(line(&stuck, "sleepers"), "sleepers 0b10, searchers 1,");
    assert!(!handle.is_finished());
    // The stop is heard.
    drop(runtime);
    handle.join().unwrap();
}

fn the_watchdog_shows_what_hangs<B: Backend>() {
    /// Hundreds of times what a step takes, so that none is missed on a busy machine.
    const PATIENCE: Duration = Duration::from_millis(500);
    let (hang, hangs) = mpsc::channel();
    let runtime = Arc::new(two_asleep::<B>());
    let watchdog = Watchdog::new(PATIENCE, move |text| hang.send(text).unwrap());
    watchdog.watch(&runtime);
    let goes_on = watchdog.steps();
    // As long as there are steps it is quiet, however many times its patience.
    let began = Instant::now();
    let mut steps = 0;
    while began.elapsed() < 2 * PATIENCE {
        steps += 1;
        goes_on();
        thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(hangs.try_recv(), Err(mpsc::TryRecvError::Empty));
    let is_over = Arc::new(AtomicBool::new(false));
    let waiting = thread::spawn({
        let (runtime, is_over) = (Arc::clone(&runtime), Arc::clone(&is_over));
        move || {
            runtime.spawn(|| ()).join().unwrap();
            is_over.store(true, Ordering::Relaxed);
        }
    });
    let text = hangs.recv().unwrap();
    let begin = format!("no end of step {steps}: Runtime {{");
    assert!(text.starts_with(&begin), "{text}");
    assert!(line(&text, "0: Worker").contains("activity: Parked, claimed, "));
    assert!(!is_over.load(Ordering::Relaxed));
    let _complete = runtime.shutdown(Policy::Drain, None).unwrap();
    waiting.join().unwrap();
}

fn a_stop_that_waits_for_a_task<B: Backend>() {
    let runtime = runtime::<B>(2);
    let held = hold(runtime.default_tag(), 1);
    thread::scope(|scope| {
        let stop = scope.spawn(|| runtime.shutdown(Policy::Drain, None).unwrap());
        eventually("the other one leaves", || {
            let stopping = dump(&runtime);
            stopping.contains("phase: Stopping {")
                && stopping.contains("threads: 1 of 2 have not ended")
                && stopping.matches("activity: Running, ").count() == 1
                && stopping.matches("activity: Gone, ").count() == 1
        });
        held.release();
        assert!(stop.join().unwrap().is_complete());
    });
}

/// A runtime of two workers that are asleep and hear nothing but the stop.
fn two_asleep<B: Backend>() -> RuntimeOn<Deaf<B>> {
    let runtime = RuntimeOn::builder()
        .tag(Tag::new("deaf").workers(2))
        .build()
        .unwrap();
    eventually("both sleep", || {
        dump(&runtime).matches("activity: Parked, lot").count() == 2
    });
    runtime
}

/// Another backend, but for a park that loses every wake, against its contract. It hears the stop, so that a test
/// can end.
struct Deaf<B>(B);

#[derive(Default)]
struct DeafPark {
    stopped: Mutex<bool>,
    changed: Condvar,
}

impl Park for DeafPark {
    fn wait(&self, word: &AtomicU32, expected: u32) {
        let mut stopped = self.stopped.lock().unwrap();
        if word.load(WordOrdering::Relaxed) != expected {
            return;
        }
        while !*stopped {
            stopped = self.changed.wait(stopped).unwrap();
        }
    }

    fn wake(&self, _: &AtomicU32, n: u32) -> u32 {
        if n == u32::MAX {
            *self.stopped.lock().unwrap() = true;
            self.changed.notify_all();
        }
        0
    }
}

impl<B: Backend> Platform for Deaf<B> {
    type Park = DeafPark;
    type Fences = B::Fences;
    type Lock<T: Send> = B::Lock<T>;
    type Queue = B::Queue;
    type Ring = B::Ring;
    type PerWorker<T: Send + Sync> = B::PerWorker<T>;
    type PerTag<T: Send + Sync> = B::PerTag<T>;

    fn park(&self, _: Slot) -> DeafPark {
        DeafPark::default()
    }

    fn fences(&self) -> B::Fences {
        self.0.fences()
    }
}

impl<B: Backend> Backend for Deaf<B> {
    fn new(fences: FenceChoice) -> Self {
        Self(B::new(fences))
    }

    fn allowed_cpus() -> Result<Vec<usize>, AffinityError> {
        B::allowed_cpus()
    }

    fn pin_current_thread(cpu: usize) -> Result<(), AffinityError> {
        B::pin_current_thread(cpu)
    }

    fn set_current_thread_cpus(cpus: &[usize]) -> Result<(), AffinityError> {
        B::set_current_thread_cpus(cpus)
    }
}
