//! Starting the worker threads: all that a runtime begins with, or none is left behind; and later ones.
//!
//! A thread that has started places itself, registers, and then waits at the [`Gate`] until the verdict
//! over all of them is known. So no hook runs and no task starts in a runtime that is not going to be,
//! and what goes wrong on the new thread (its pin) still is the builder's error. A later worker goes the same way
//! alone.

use std::mem;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use parkade_core::{RegisterError, Slot, TagIndex, WorkerIndex};
use thiserror::Error;

use crate::backend::{AffinityError, Backend};
use crate::build_error::BuildError;
use crate::builder::OnThreadError;
use crate::plan::{Plan, TagPlan};
use crate::scaler::Scaler;
use crate::shared::Shared;
use crate::tag::Pinning;
use crate::trace;
use crate::worker::{self, Placement, Turn};

/// Where new threads wait for each other.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    arrivals: Mutex<Arrivals>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Arrivals {
    arrived: usize,
    obstacle: Option<(Slot, Obstacle)>,
    verdict: Option<Begin>,
}

/// The verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Begin {
    Work,
    Leave,
}

/// Why a thread that has started cannot be the worker that it should be.
#[derive(Debug)]
pub(crate) enum Obstacle {
    Pin { cpu: usize, source: AffinityError },
    Register(RegisterError),
}

impl Gate {
    /// Says that this thread is ready, and waits for the verdict.
    pub(crate) fn ready(&self) -> Begin {
        let mut arrivals = self.lock();
        arrivals.arrived += 1;
        self.changed.notify_all();
        loop {
            if let Some(verdict) = arrivals.verdict {
                return verdict;
            }
            arrivals = self.wait(arrivals);
        }
    }

    /// Says that this thread leaves, and why.
    pub(crate) fn obstructed(&self, slot: Slot, obstacle: Obstacle) {
        let mut arrivals = self.lock();
        arrivals.arrived += 1;
        arrivals.obstacle.get_or_insert((slot, obstacle));
        self.changed.notify_all();
    }

    /// Waits until `threads` have arrived and returns the first obstacle.
    fn all_arrived(&self, threads: usize) -> Option<(Slot, Obstacle)> {
        let mut arrivals = self.lock();
        while arrivals.arrived < threads {
            arrivals = self.wait(arrivals);
        }
        arrivals.obstacle.take()
    }

    fn open(&self, verdict: Begin) {
        self.lock().verdict = Some(verdict);
        self.changed.notify_all();
    }

    // Nothing panics under this lock, so a poisoned one is as good as any.
    fn lock(&self) -> MutexGuard<'_, Arrivals> {
        self.arrivals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, arrivals: MutexGuard<'a, Arrivals>) -> MutexGuard<'a, Arrivals> {
        self.changed
            .wait(arrivals)
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// How to start a worker's thread, at any time.
#[derive(Debug)]
pub(crate) struct Starter {
    stack_size: Option<usize>,
    /// The CPUs of the process, if they can be told.
    process_cpus: Option<Arc<[usize]>>,
    tags: Vec<TagPlaces>,
}

/// Where the workers of a tag are to run.
#[derive(Debug)]
struct TagPlaces {
    pinning: Pinning,
    /// For each worker, whether its CPU is one that the process may use.
    cpu_is_allowed: Vec<bool>,
}

impl Starter {
    pub(crate) fn new(plan: &Plan, stack_size: Option<usize>) -> Self {
        let places = |tag: &TagPlan| TagPlaces {
            pinning: tag.pinning,
            cpu_is_allowed: tag
                .workers
                .iter()
                .map(|worker| worker.cpu_is_allowed)
                .collect(),
        };
        Self {
            stack_size,
            process_cpus: plan.process_cpus.as_deref().map(Arc::from),
            tags: plan.tags.iter().map(places).collect(),
        }
    }

    /// A thread of this name, to be spawned.
    pub(crate) fn thread(&self, name: String) -> thread::Builder {
        let builder = thread::Builder::new().name(name);
        match self.stack_size {
            Some(bytes) => builder.stack_size(bytes),
            None => builder,
        }
    }

    /// Lets this thread run on all CPUs of the process: it may have inherited its creator's pin.
    pub(crate) fn place_on_process<B: Backend>(&self) -> Result<(), AffinityError> {
        match &self.process_cpus {
            Some(cpus) => B::set_current_thread_cpus(cpus),
            None => Ok(()),
        }
    }

    /// Starts a worker of a runtime that is at work. `arrived` is called when its thread has registered, before
    /// it calls a hook or runs a task.
    pub(crate) fn start_late<B: Backend>(
        &self,
        shared: &Arc<Shared<B>>,
        slot: Slot,
        arrived: impl FnOnce(),
    ) -> Result<(), LateStart> {
        let gate = Arc::new(Gate::default());
        let thread = self.start_one(shared, slot, Turn::Late, &gate);
        let thread = thread.map_err(LateStart::Thread)?;
        match gate.all_arrived(1) {
            None => {
                shared.stopping.has_started_late(slot, thread);
                arrived();
                gate.open(Begin::Work);
                Ok(())
            }
            Some((_, obstacle)) => {
                drop(thread.join());
                Err(LateStart::Obstacle(obstacle))
            }
        }
    }

    fn start_one<B: Backend>(
        &self,
        shared: &Arc<Shared<B>>,
        slot: Slot,
        turn: Turn,
        gate: &Arc<Gate>,
    ) -> std::io::Result<thread::JoinHandle<()>> {
        let info = &shared.tags[slot.tag.0].seats[slot.worker.0].info;
        let places = &self.tags[slot.tag.0];
        let placement = Placement {
            process_cpus: self.process_cpus.clone(),
            cpu_is_allowed: places.cpu_is_allowed[slot.worker.0],
            pinning: places.pinning,
        };
        let (shared, gate) = (Arc::clone(shared), Arc::clone(gate));
        self.thread(info.thread_name.clone())
            .spawn(move || worker::live(&shared, slot, &placement, turn, &gate))
    }
}

/// Why a worker could not be started in a runtime that is at work.
#[derive(Debug, Error)]
pub(crate) enum LateStart {
    #[error("no thread: {0}")]
    Thread(std::io::Error),
    #[error("no place: {0:?}")]
    Obstacle(Obstacle),
}

/// Starts a thread per worker that the tags begin with, and one that starts others if a tag can grow.
pub(crate) fn start<B: Backend>(
    shared: &Arc<Shared<B>>,
    plan: &Plan,
    on_error: OnThreadError,
) -> Result<(), BuildError> {
    match Scaler::begin(shared) {
        Err(source) if on_error == OnThreadError::Fail => {
            return Err(BuildError::ScalerThread(source));
        }
        // Those that there are have to do.
        Ok(()) | Err(_) => {}
    }
    let started = start_workers(shared, plan, on_error);
    if started.is_err() {
        shared.scaler.close();
        if let Some(thread) = shared.scaler.take_thread() {
            drop(thread.join());
        }
    }
    started
}

fn start_workers<B: Backend>(
    shared: &Arc<Shared<B>>,
    plan: &Plan,
    on_error: OnThreadError,
) -> Result<(), BuildError> {
    let gate = Arc::new(Gate::default());
    let mut threads = Vec::with_capacity(plan.first_workers());
    let mut refused = None;
    for slot in breadth_first(plan) {
        match shared
            .scaler
            .starter
            .start_one(shared, slot, Turn::First, &gate)
        {
            Ok(thread) => threads.push((slot, thread)),
            // After one refusal the next ones cost time and are refused as well.
            Err(source) => {
                trace::worker_not_started(
                    &plan.tags[slot.tag.0].workers[slot.worker.0].info,
                    &source,
                );
                refused = Some(source);
                break;
            }
        }
    }
    let obstacle = gate.all_arrived(threads.len());
    let enough = on_error == OnThreadError::RunWithFewer && threads.len() >= plan.tags.len();
    let error = match (obstacle, refused) {
        (Some((slot, obstacle)), _) => obstacle.at(slot, plan),
        (None, Some(source)) if !enough => BuildError::Thread {
            started: threads.len(),
            requested: plan.first_workers(),
            source,
        },
        _ => {
            let slots = threads.iter().map(|(slot, _)| *slot);
            shared.scaler.began(&shared.control, slots);
            shared.stopping.has_started(threads);
            gate.open(Begin::Work);
            return Ok(());
        }
    };
    gate.open(Begin::Leave);
    for (_, thread) in threads {
        // A thread that only waited at the gate has nothing to say.
        mem::drop(thread.join());
    }
    Err(error)
}

/// The first worker of each tag, then the second of each: if threads run out, every tag has its share.
fn breadth_first(plan: &Plan) -> impl Iterator<Item = Slot> {
    let most = plan.tags.iter().map(|tag| tag.bounds.min).max();
    (0..most.unwrap_or(0)).flat_map(|worker| {
        let tags = plan.tags.iter().enumerate();
        tags.filter(move |(_, tag)| worker < tag.bounds.min)
            .map(move |(tag, _)| Slot {
                tag: TagIndex(tag),
                worker: WorkerIndex(worker),
            })
    })
}

impl Obstacle {
    fn at(self, slot: Slot, plan: &Plan) -> BuildError {
        match self {
            Self::Pin { cpu, source } => BuildError::Pin {
                tag: plan.tags[slot.tag.0].name.clone(),
                worker: slot.worker.0,
                cpu,
                source,
            },
            Self::Register(error) => BuildError::Register(error),
        }
    }
}
