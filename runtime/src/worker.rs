//! A worker's thread: place it, wait for the word to begin, then do what the core decides.

use std::mem;
use std::sync::Arc;

use parkade_core::Slot;

use crate::backend::{AffinityError, Backend};
use crate::control::{Next, Worker};
use crate::current;
use crate::hooks;
use crate::shared::{Seat, Shared, TagSeats};
use crate::start::{Begin, Gate, Obstacle};
use crate::tag::Pinning;

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
    gate: &Gate,
) {
    // Dropped last: the worker is gone from the core by then, whatever has happened in between.
    let leaves = shared.stopping.leaves_at_end(slot);
    let tag = &shared.tags[slot.tag.0];
    let seat = &tag.seats[slot.worker.0];
    let worker = match place::<B>(tag, seat, placement)
        .and_then(|()| shared.control.register(slot).map_err(Obstacle::Register))
    {
        Ok(worker) => worker,
        Err(obstacle) => return gate.obstructed(slot, obstacle),
    };
    match gate.ready() {
        Begin::Work => current::as_worker(shared, slot.tag, &seat.counts, &worker, || {
            work(shared, tag, seat, &worker);
        }),
        Begin::Leave => {}
    }
    if !shared.process.is_this() {
        // What others had locked at the fork stays locked here, and nobody waits for this worker.
        mem::forget((worker, leaves));
    }
}

/// The main loop, with hooks around it.
fn work<B: Backend>(shared: &Shared<B>, tag: &TagSeats, seat: &Seat, worker: &Worker<'_, B>) {
    let Seat { info, counts } = seat;
    let hooks = &shared.hooks;
    hooks::call(hooks.start.as_ref(), info, counts);
    loop {
        // A task or a hook has forked: what is queued here is the parent's to run.
        if !shared.process.is_this() {
            return;
        }
        match worker.next() {
            Next::Run(entry) => entry.run(counts),
            Next::Park(state) => {
                // A task that the park hook spawns claims this worker's own announcement, so the park
                // returns at once.
                hooks::call(hooks.park.as_ref(), info, counts);
                if !shared.process.is_this() {
                    return;
                }
                worker.park(state);
                hooks::call(hooks.unpark.as_ref(), info, counts);
            }
            Next::Stop => break,
        }
    }
    // What this worker queued or moved after whoever stops the runtime had looked.
    while let Some(entry) = worker.take_left() {
        entry.abandon(&tag.dropped);
    }
    hooks::call(hooks.stop.as_ref(), info, counts);
}

/// Binds this thread to its CPU, or to the CPUs of the process: it may have inherited its creator's pin.
fn place<B: Backend>(tag: &TagSeats, seat: &Seat, placement: &Placement) -> Result<(), Obstacle> {
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
    if placed.is_err() {
        tag.misplaced.count();
    }
    Ok(())
}
