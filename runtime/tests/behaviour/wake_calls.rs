//! Wake-ups, counted where they are made: by a backend that passes everything on and counts the calls.
//!
//! So the metrics are checked against something that they do not make themselves.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parkade::backend::AffinityError;
use parkade::{Backend, FenceChoice, Policy, RuntimeOn};
use parkade_core::sync::AtomicU32;
use parkade_core::{Park, Platform, Slot};

use crate::common::{eventually, hold, runtime};

on_each_backend!(
    no_submit_to_busy_workers_calls_the_backend,
    the_metrics_count_what_the_backend_sees,
);

thread_local! {
    /// The count of the backend that this thread made last.
    static LAST: RefCell<Arc<AtomicUsize>> = RefCell::default();
}

struct Counted<B> {
    backend: B,
    wakes: Arc<AtomicUsize>,
}

struct CountedPark<K> {
    park: K,
    wakes: Arc<AtomicUsize>,
}

impl<K: Park> Park for CountedPark<K> {
    fn wait(&self, word: &AtomicU32, expected: u32) {
        self.park.wait(word, expected);
    }

    fn wake(&self, word: &AtomicU32, n: u32) -> u32 {
        self.wakes.fetch_add(1, Ordering::Relaxed);
        self.park.wake(word, n)
    }
}

impl<B: Backend> Platform for Counted<B> {
    type Park = CountedPark<B::Park>;
    type Fences = B::Fences;
    type Lock<T: Send> = B::Lock<T>;
    type Queue = B::Queue;
    type Ring = B::Ring;
    type PerWorker<T: Send + Sync> = B::PerWorker<T>;
    type PerTag<T: Send + Sync> = B::PerTag<T>;

    fn park(&self, slot: Slot) -> Self::Park {
        CountedPark {
            park: self.backend.park(slot),
            wakes: Arc::clone(&self.wakes),
        }
    }

    fn fences(&self) -> B::Fences {
        self.backend.fences()
    }
}

impl<B: Backend> Backend for Counted<B> {
    fn new(fences: FenceChoice) -> Self {
        let wakes = Arc::default();
        LAST.set(Arc::clone(&wakes));
        Self {
            backend: B::new(fences),
            wakes,
        }
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

/// A runtime, and the calls to wake somebody that its backend has seen.
fn counted<B: Backend>(workers: usize) -> (RuntimeOn<Counted<B>>, Arc<AtomicUsize>) {
    let runtime = runtime(workers);
    (runtime, LAST.with_borrow(Arc::clone))
}

/// I8: from outside one by one and as a batch, and from a worker, into its run queue and over its edge.
fn no_submit_to_busy_workers_calls_the_backend<B: Backend>() {
    const TASKS: usize = 100_000;
    let (runtime, wakes) = counted::<B>(3);
    let (runtime, ran) = (Arc::new(runtime), Arc::new(AtomicUsize::new(0)));
    let task = || {
        let ran = Arc::clone(&ran);
        move || {
            ran.fetch_add(1, Ordering::Relaxed);
        }
    };
    let held = hold(runtime.default_tag(), 2);
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let (entered, enters) = std::sync::mpsc::channel();
    let (pushed, pushes) = std::sync::mpsc::channel();
    let inside = Arc::clone(&runtime);
    let own: Vec<_> = (0..1000).map(|_| task()).collect();
    let third = runtime.spawn(move || {
        entered.send(()).unwrap();
        assert!(wait.recv().is_ok());
        own.into_iter()
            .for_each(|task| inside.spawn_detached(task).unwrap());
        pushed.send(()).unwrap();
        assert!(wait.recv().is_ok());
    });
    enters.recv().unwrap();
    // Now all three are busy. The last who took a task may have had one more look to take.
    eventually("nobody searches", || {
        let total = runtime.metrics().total;
        (total.idle, total.searching) == (0, 0)
    });
    let before = wakes.load(Ordering::Relaxed);
    for _ in 0..TASKS {
        runtime.spawn_detached(task()).unwrap();
    }
    let mut batch = runtime.batch();
    (0..1000).for_each(|_| batch.spawn_detached(task()));
    assert_eq!(batch.submit().unwrap(), 1000);
    go.send(()).unwrap();
    pushes.recv().unwrap();
    assert_eq!(wakes.load(Ordering::Relaxed) - before, 0);
    go.send(()).unwrap();
    held.release();
    third.join().unwrap();
    runtime.shutdown(Policy::Drain, None).unwrap();
    assert_eq!(ran.load(Ordering::Relaxed), TASKS + 2000);
}

/// I8: the counter that says so is the truth, up to and with the stop.
fn the_metrics_count_what_the_backend_sees<B: Backend>() {
    let (runtime, wakes) = counted::<B>(2);
    for n in 0..1000 {
        assert_eq!(runtime.spawn(move || n).join().unwrap(), n);
    }
    runtime.shutdown(Policy::Drain, None).unwrap();
    let metrics = runtime.metrics().total;
    assert_eq!(metrics.wake_calls, wakes.load(Ordering::Relaxed));
    assert!(metrics.wakes_asked > 0, "nobody ever slept: {metrics:?}");
}
