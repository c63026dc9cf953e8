//! A worker's thread: place it, wait for the word to begin, then do what the core decides.

use std::mem;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use parkade_core::Slot;

use crate::backend::{AffinityError, Backend};
use crate::control::{Next, Worker};
use crate::current;
use crate::hooks;
use crate::linger;
use crate::shared::{Seat, Shared};
use crate::slab;
use crate::start::{Begin, Gate, Obstacle};
use crate::tag::Pinning;
use crate::trace;

/// Where a worker's thread is to run.
#[derive(Debug)]
pub(crate) struct Placement {
    /// The CPUs of the process, if they can be told.
    pub(crate) process_cpus: Option<Arc<[usize]>>,
    pub(crate) cpu_is_allowed: bool,
    pub(crate) pinning: Pinning,
}

/// The whole life of a worker's thread.
pub(crate) fn live<B: Backend>(
    shared: &Arc<Shared<B>>,
    slot: Slot,
    placement: &Placement,
    turn: Turn,
    gate: &Gate,
) {
    // Dropped last: the worker is gone from the core by then, whatever has happened in between.
    let leaves = shared.stopping.leaves_at_end(slot);
    let seat = &shared.tags[slot.tag.0].seats[slot.worker.0];
    let worker = match place::<B>(seat, placement).and_then(|()| {
        let control = &shared.control;
        let registered = control.register(slot, &shared.scaler, &seat.counts);
        registered.map_err(Obstacle::Register)
    }) {
        Ok(worker) => worker,
        Err(obstacle) => return gate.obstructed(slot, obstacle),
    };
    if let Begin::Leave = gate.ready() {
        return;
    }
    let frees_place = FreesPlace { shared, slot };
    let at_work = shared.interrupter.at_work(slot);
    let retires = current::as_worker(shared, slot, &worker, || work(shared, slot, &worker, turn));
    if !shared.process.is_this() {
        // What others had locked at the fork stays locked here, and nobody waits for this worker.
        mem::forget((worker, frees_place, leaves, at_work));
        return;
    }
    // Before another thread may have the place, and long before this one ends.
    drop(at_work);
    if retires {
        // Not as this worker: what the hook spawns goes to those that stay.
        hooks::call(shared.hooks.stop.as_ref(), &seat.info, &seat.counts);
        trace::worker_stops(&seat.info);
        seat.misplaced.store(false, Ordering::Relaxed);
        if !shared.process.is_this() {
            mem::forget((worker, frees_place, leaves));
            return;
        }
    }
    // The place is free when the worker is gone from the core.
    drop(worker);
    drop(frees_place);
}

/// When a worker has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    /// With the runtime.
    First,
    /// Into a runtime that is at work.
    Late,
}

/// Says, when dropped, that a worker's place is free for another thread.
struct FreesPlace<'s, B: Backend> {
    shared: &'s Shared<B>,
    slot: Slot,
}

impl<B: Backend> Drop for FreesPlace<'_, B> {
    fn drop(&mut self) {
        self.shared.scaler.left(&self.shared.control, self.slot);
    }
}

/// The main loop, with hooks around it. True if the worker was asked to retire, and its stop hook is still to be
/// called.
fn work<B: Backend>(shared: &Shared<B>, slot: Slot, worker: &Worker<'_, B>, turn: Turn) -> bool {
    let tag = &shared.tags[slot.tag.0];
    let Seat { info, counts, .. } = &tag.seats[slot.worker.0];
    let hooks = &shared.hooks;
    trace::worker_starts(info);
    let mut to_look = turn == Turn::Late;
    // Who looks for idle workers takes a hook for a task, but that of a late worker, which has not looked yet.
    counts.enter_task();
    hooks::call(hooks.start.as_ref(), info, counts);
    loop {
        // A task or a hook has forked: what is queued here is the parent's to run.
        if !shared.process.is_this() {
            return false;
        }
        // Also after a hook, and what was not counted.
        counts.leave_task();
        let next = worker.next();
        if let Next::Run(_) = next {
            counts.enter_task();
        }
        // Also by one that retires, which may have been woken for what waits.
        worker.pass_on_what_waits();
        if mem::take(&mut to_look) {
            shared.scaler.looked(&shared.control, slot);
        }
        match next {
            Next::Run(entry) => entry.run(counts),
            Next::Park(state) => {
                // A task that the park hook spawns claims this worker's own announcement, so the park
                // returns at once.
                trace::worker_parks(info);
                hooks::call(hooks.park.as_ref(), info, counts);
                if !shared.process.is_this() {
                    return false;
                }
                slab::settle();
                worker.park(state);
                trace::worker_unparks(info);
                hooks::call(hooks.unpark.as_ref(), info, counts);
            }
            Next::Linger => linger::pause(),
            Next::Retire => return true,
            Next::Stop => break,
        }
    }
    // What this worker queued or moved after whoever stops the runtime had looked.
    while let Some(entry) = worker.take_left() {
        entry.abandon(&tag.dropped);
    }
    hooks::call(hooks.stop.as_ref(), info, counts);
    trace::worker_stops(info);
    false
}

/// Binds this thread to its CPU, or to the CPUs of the process: it may have inherited its creator's pin.
fn place<B: Backend>(seat: &Seat, placement: &Placement) -> Result<(), Obstacle> {
    let to_process = || match &placement.process_cpus {
        Some(cpus) => B::set_current_thread_cpus(cpus),
        None => Ok(()),
    };
    let placed: Result<(), AffinityError> = match seat.info.cpu {
        None => to_process(),
        Some(cpu) if placement.cpu_is_allowed => {
            match (B::pin_current_thread(cpu), placement.pinning) {
                (Err(source), Pinning::Strict) => return Err(Obstacle::Pin { cpu, source }),
                (Err(refused), Pinning::Lenient) => to_process().and(Err(refused)),
                (Ok(()), _) => Ok(()),
            }
        }
        Some(_) => to_process().and(Err(AffinityError::Unsupported)),
    };
    seat.misplaced.store(placed.is_err(), Ordering::Relaxed);
    Ok(())
}
