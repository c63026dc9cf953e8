//! Starting the worker threads: all of them, or none is left behind.
//!
//! A thread that has started places itself, registers, and then waits at the [`Gate`] until the verdict
//! over all of them is known. So no hook runs and no task starts in a runtime that is not going to be,
//! and what goes wrong on the new thread (its pin) still is the builder's error.

use std::mem;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use parkade_core::{RegisterError, Slot, TagIndex, WorkerIndex};

use crate::backend::{AffinityError, Backend};
use crate::build_error::BuildError;
use crate::builder::OnThreadError;
use crate::plan::Plan;
use crate::shared::Shared;
use crate::trace;
use crate::worker::{self, Placement};

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

/// How to start the threads.
#[derive(Debug)]
pub(crate) struct StartPolicy {
    pub(crate) stack_size: Option<usize>,
    pub(crate) on_error: OnThreadError,
}

/// Starts a thread per planned worker.
pub(crate) fn start<B: Backend>(
    shared: &Arc<Shared<B>>,
    plan: &Plan,
    policy: &StartPolicy,
) -> Result<(), BuildError> {
    let gate = Arc::new(Gate::default());
    let mut threads = Vec::with_capacity(plan.workers());
    let mut refused = None;
    let process_cpus: Option<Arc<[usize]>> = plan.process_cpus.as_deref().map(Arc::from);
    for slot in breadth_first(plan) {
        let placement = Placement {
            process_cpus: process_cpus.clone(),
            cpu_is_allowed: plan.tags[slot.tag.0].workers[slot.worker.0].cpu_is_allowed,
            pinning: plan.tags[slot.tag.0].pinning,
        };
        match start_one(shared, slot, placement, &gate, policy) {
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
    let enough = policy.on_error == OnThreadError::RunWithFewer && threads.len() >= plan.tags.len();
    let error = match (obstacle, refused) {
        (Some((slot, obstacle)), _) => obstacle.at(slot, plan),
        (None, Some(source)) if !enough => BuildError::Thread {
            started: threads.len(),
            requested: plan.workers(),
            source,
        },
        _ => {
            shared.stopping.has_started(threads, plan.tags.len());
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
    let most = plan.tags.iter().map(|tag| tag.workers.len()).max();
    (0..most.unwrap_or(0)).flat_map(|worker| {
        let tags = plan.tags.iter().enumerate();
        tags.filter(move |(_, tag)| worker < tag.workers.len())
            .map(move |(tag, _)| Slot {
                tag: TagIndex(tag),
                worker: WorkerIndex(worker),
            })
    })
}

fn start_one<B: Backend>(
    shared: &Arc<Shared<B>>,
    slot: Slot,
    placement: Placement,
    gate: &Arc<Gate>,
    policy: &StartPolicy,
) -> std::io::Result<thread::JoinHandle<()>> {
    let info = &shared.tags[slot.tag.0].seats[slot.worker.0].info;
    let mut builder = thread::Builder::new().name(info.thread_name.clone());
    if let Some(bytes) = policy.stack_size {
        builder = builder.stack_size(bytes);
    }
    let (shared, gate) = (Arc::clone(shared), Arc::clone(gate));
    builder.spawn(move || worker::live(&shared, slot, &placement, &gate))
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
