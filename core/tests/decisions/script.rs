//! A park that never sleeps and writes down what it is asked, and short words for tests that use it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use parkade_core::stop::Join;
use parkade_core::sync::{AtomicPtr, AtomicU32};
use parkade_core::{
    Lock, Next, Origin, Park, Platform, Priority, SeqCstFences, Slot, StopPolicy, TagConfig,
    TagIndex, Task, TaskControl, Wake, Worker, WorkerIndex,
};

/// A call to a park: of which worker, with which number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Call {
    Wait { worker: usize, expected: u32 },
    Wake { worker: usize, n: u32 },
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Script {
    calls: Arc<Mutex<Vec<Call>>>,
}

impl Script {
    /// What was called since the last time this was asked.
    pub(crate) fn calls(&self) -> Vec<Call> {
        std::mem::take(&mut self.calls.lock().unwrap())
    }

    /// The workers that were woken since the last time, each by one call for one.
    pub(crate) fn woken(&self) -> Vec<usize> {
        let calls = self.calls().into_iter();
        calls
            .map(|call| match call {
                Call::Wake { worker, n: 1 } => worker,
                other => panic!("{other:?} is no wake of one"),
            })
            .collect()
    }
}

#[derive(Debug)]
pub(crate) struct ScriptedPark {
    script: Script,
    worker: usize,
}

impl ScriptedPark {
    pub(crate) fn new(script: &Script, worker: usize) -> Self {
        let script = script.clone();
        Self { script, worker }
    }
}

impl Park for ScriptedPark {
    fn wait(&self, _: &AtomicU32, expected: u32) {
        let worker = self.worker;
        let mut calls = self.script.calls.lock().unwrap();
        calls.push(Call::Wait { worker, expected });
    }

    fn wake(&self, _: &AtomicU32, n: u32) -> u32 {
        let worker = self.worker;
        let mut calls = self.script.calls.lock().unwrap();
        calls.push(Call::Wake { worker, n });
        1
    }
}

impl Platform for Script {
    type Park = ScriptedPark;
    type Fences = SeqCstFences;
    type Lock<T: Send> = StdLock<T>;
    type Queue = VecDeque<Task>;
    type Ring = Box<[AtomicPtr<()>]>;
    type PerWorker<T: Send + Sync> = Box<[T]>;
    type PerTag<T: Send + Sync> = Box<[T]>;

    fn park(&self, slot: Slot) -> ScriptedPark {
        ScriptedPark::new(self, slot.worker.0)
    }

    fn fences(&self) -> SeqCstFences {
        SeqCstFences
    }
}

#[derive(Debug)]
pub(crate) struct StdLock<T>(Mutex<T>);

impl<T: Send> Lock<T> for StdLock<T> {
    fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        f(&mut self.0.lock().unwrap())
    }
}

pub(crate) type Control = TaskControl<Script>;

/// A tag of so many workers, whose run queues are short: Miri makes each slot by hand.
pub(crate) const fn tag_of(workers: usize) -> TagConfig {
    TagConfig::new(workers).run_queue(16)
}

/// A control of one tag, and the script of its parks.
pub(crate) fn control(config: TagConfig) -> (Control, Script) {
    let script = Script::default();
    (TaskControl::new(&script, &[config]).unwrap(), script)
}

pub(crate) fn slot(worker: usize) -> Slot {
    let (tag, worker) = (TagIndex(0), WorkerIndex(worker));
    Slot { tag, worker }
}

/// Registers the first `count` workers.
pub(crate) fn workers(control: &Control, count: usize) -> Vec<Worker<'_, Script>> {
    let register = |worker| control.register(slot(worker)).unwrap();
    (0..count).map(register).collect()
}

/// Registers the first `count` workers and lets each find nothing, so that all are announced.
pub(crate) fn sleepers(control: &Control, count: usize) -> Vec<Worker<'_, Script>> {
    let workers = workers(control, count);
    workers.iter().for_each(falls_asleep);
    workers
}

pub(crate) fn falls_asleep(worker: &Worker<'_, Script>) {
    let next = worker.next();
    assert!(matches!(next, Next::Park(_)), "{next:?}");
}

pub(crate) fn runs(worker: &Worker<'_, Script>) -> usize {
    match worker.next() {
        Next::Run(task) => task.into_word(),
        other => panic!("{other:?} instead of a task"),
    }
}

pub(crate) fn submit(control: &Control, word: usize) -> Wake {
    submit_as(control, word, Priority::Normal)
}

pub(crate) fn submit_as(control: &Control, word: usize, priority: Priority) -> Wake {
    let task = Task::from_word(word);
    let submitted = control.tags()[0].submit(task, priority, &Origin::new(0));
    submitted.expect("an open tag with room takes every task")
}

pub(crate) fn push(worker: &Worker<'_, Script>, word: usize) -> Wake {
    let pushed = worker.push(Task::from_word(word));
    pushed.expect("an open tag with room takes every task")
}

/// All steps of a stop but the last.
pub(crate) fn stop<P: Platform>(control: &TaskControl<P>, policy: StopPolicy) -> Join<'_, P> {
    let drivers = control.stop(policy).expect("nobody else stops it");
    drivers.drivers_stopped().close().stop_lots().interrupted()
}
