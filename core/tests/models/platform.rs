//! The platform of the models: loom's mutex as lock, a compare-and-block on loom's condition variable
//! as park, SeqCst fences on both sides of the pair.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize as Plain, Ordering::Relaxed};

use loom::sync::{Condvar, Mutex};
use parkade_core::sync::{AtomicPtr, AtomicU32, Ordering};
use parkade_core::{
    Lock, Next, Origin, Park, Platform, Priority, SeqCstFences, Slot, TagConfig, TagIndex, Task,
    TaskControl, WorkerIndex,
};

pub(crate) struct Modelled;

impl Platform for Modelled {
    type Park = ModelPark;
    type Fences = SeqCstFences;
    type Lock<T: Send> = ModelLock<T>;
    type Queue = VecDeque<Task>;
    type Ring = Box<[AtomicPtr<()>]>;
    type PerWorker<T: Send + Sync> = Box<[T]>;
    type PerTag<T: Send + Sync> = Box<[T]>;

    fn park(&self, _: Slot) -> ModelPark {
        ModelPark::default()
    }

    fn fences(&self) -> SeqCstFences {
        SeqCstFences
    }
}

pub(crate) struct ModelLock<T>(Mutex<T>);

impl<T: Send> Lock<T> for ModelLock<T> {
    fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        f(&mut self.0.lock().unwrap())
    }
}

#[derive(Default)]
pub(crate) struct ModelPark {
    sleepers: Mutex<u32>,
    changed: Condvar,
}

impl Park for ModelPark {
    fn wait(&self, word: &AtomicU32, expected: u32) {
        let mut sleepers = self.sleepers.lock().unwrap();
        if word.load(Ordering::Relaxed) == expected {
            *sleepers += 1;
            sleepers = self.changed.wait(sleepers).unwrap();
            *sleepers -= 1;
        }
    }

    fn wake(&self, _: &AtomicU32, n: u32) -> u32 {
        let woken = n.min(*self.sleepers.lock().unwrap());
        for _ in 0..woken {
            self.changed.notify_one();
        }
        woken
    }
}

/// Runs `body` in every interleaving with at most two preemptions (or `LOOM_MAX_PREEMPTIONS`) and
/// asserts that these are at least `at_least`.
pub(crate) fn explore(at_least: usize, body: impl Fn() + Send + Sync + 'static) {
    let runs = Arc::new(Plain::new(0));
    let counted = Arc::clone(&runs);
    let mut model = loom::model::Builder::new();
    model.preemption_bound = model.preemption_bound.or(Some(2));
    model.max_branches = 20_000;
    model.check(move || {
        counted.fetch_add(1, Relaxed);
        body();
    });
    let runs = runs.load(Relaxed);
    println!("{runs} interleavings");
    assert!(
        runs >= at_least,
        "{runs} interleavings, expected at least {at_least}"
    );
}

pub(crate) type Control = Arc<TaskControl<Modelled>>;

pub(crate) const TAG: TagIndex = TagIndex(0);

/// A control of one tag with rings of two tasks.
pub(crate) fn control(workers: usize) -> Control {
    let tag = TagConfig::new(workers).run_queue(2);
    Arc::new(TaskControl::new(&Modelled, &[tag]).unwrap())
}

/// Submits one task from outside.
pub(crate) fn submit(control: &Control, word: usize) -> parkade_core::Wake {
    control.tags()[0]
        .submit(Task::from_word(word), Priority::Normal, &Origin::new(0))
        .expect("an open tag with room takes every task")
}

/// Runs worker `index` until it has run `quota` tasks, each through `run`, and then lets it leave the
/// pool as if its last task never ended; or until it is stopped. Returns the tasks that it ran.
pub(crate) fn work(
    control: &Control,
    index: usize,
    quota: usize,
    run: impl Fn(&parkade_core::Worker<'_, Modelled>, usize),
) -> Vec<usize> {
    let slot = Slot {
        tag: TAG,
        worker: WorkerIndex(index),
    };
    let worker = control.register(slot).expect("nobody else is this worker");
    let mut ran = Vec::new();
    while ran.len() < quota {
        match worker.next() {
            Next::Run(task) => {
                let word = task.into_word();
                run(&worker, word);
                ran.push(word);
            }
            Next::Park(state) => worker.park(state),
            Next::Stop | Next::Retire => break,
        }
    }
    ran
}
