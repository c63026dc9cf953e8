//! The platform of the models: loom's mutex as lock, a compare-and-block on loom's condition variable
//! as park, SeqCst fences on both sides of the pair.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize as Plain, Ordering::Relaxed};

use loom::sync::{Condvar, Mutex};
use parkade_core::stop::Join;
use parkade_core::sync::{AtomicPtr, AtomicU32, Ordering};
use parkade_core::{
    Fences, Lock, Next, Park, Platform, SeqCstFences, Slot, StopPolicy, TagConfig, TagIndex, Task,
    TaskControl, WorkerIndex,
};

#[derive(Default)]
pub(crate) struct Modelled<F = SeqCstFences>(F);

impl<F: Fences> Platform for Modelled<F> {
    type Park = ModelPark;
    type Fences = F;
    type Lock<T: Send> = ModelLock<T>;
    type Queue = VecDeque<Task>;
    type Ring = Box<[AtomicPtr<()>]>;
    type PerWorker<T: Send + Sync> = Box<[T]>;
    type PerTag<T: Send + Sync> = Box<[T]>;

    fn park(&self, _: Slot) -> ModelPark {
        ModelPark::default()
    }

    fn fences(&self) -> F {
        self.0
    }
}

/// The same platform with a light fence that does nothing.
pub(crate) type OneSided = Modelled<OneSidedFences>;

#[derive(Clone, Copy, Default)]
pub(crate) struct OneSidedFences;

impl Fences for OneSidedFences {
    fn light(self) {}
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
    explore_to(2, at_least, body);
}

/// The same with at most `preemptions`.
pub(crate) fn explore_to(
    preemptions: usize,
    at_least: usize,
    body: impl Fn() + Send + Sync + 'static,
) {
    let runs = Arc::new(Plain::new(0));
    let counted = Arc::clone(&runs);
    let mut model = loom::model::Builder::new();
    model.preemption_bound = model.preemption_bound.or(Some(preemptions));
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

/// A tag of so many workers with rings of two tasks.
pub(crate) fn tag_config(workers: usize) -> TagConfig {
    TagConfig::new(workers).run_queue(2)
}

pub(crate) fn new_control(workers: usize) -> TaskControl<Modelled> {
    control_of(tag_config(workers))
}

pub(crate) fn control_of(tag: TagConfig) -> TaskControl<Modelled> {
    TaskControl::new(&Modelled::<SeqCstFences>::default(), &[tag]).unwrap()
}

/// A control of one tag.
pub(crate) fn control(workers: usize) -> Control {
    Arc::new(new_control(workers))
}

pub(crate) fn slot(worker: usize) -> Slot {
    let (tag, worker) = (TAG, WorkerIndex(worker));
    Slot { tag, worker }
}

/// Runs worker `index` until it has run `quota` tasks, each through `run`, and then lets it leave the
/// pool as if its last task never ended; or until it is stopped. Returns the tasks that it ran.
pub(crate) fn work(
    control: &Control,
    index: usize,
    quota: usize,
    run: impl Fn(&parkade_core::Worker<'_, Modelled>, usize),
) -> Vec<usize> {
    let worker = control
        .register(slot(index))
        .expect("nobody else is this worker");
    let mut ran = Vec::new();
    while ran.len() < quota {
        match worker.next() {
            Next::Run(task) => {
                let word = task.into_word();
                run(&worker, word);
                ran.push(word);
            }
            Next::Park(state) => worker.park(state),
            Next::Linger => {}
            Next::Stop | Next::Retire => break,
        }
    }
    ran
}

/// All steps of a stop but the last.
pub(crate) fn stop<P: Platform>(control: &TaskControl<P>, policy: StopPolicy) -> Join<'_, P> {
    let drivers = control.stop(policy).expect("nobody else stops it");
    drivers.drivers_stopped().close().stop_lots().interrupted()
}
