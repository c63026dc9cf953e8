//! Scaling: more workers when all are busy and tasks wait, fewer when they are not needed or not wanted.
//!
//! One thread, the *scaler*, starts every worker that comes after the first ones, so that no submitter, worker
//! or timer waits for a thread to be made. There is none as long as no tag can grow and nobody resizes.
//! [`tally`] decides how many there should be; this file asks, looks and does.
//!
//! # From a task to a worker
//!
//! 1. A submit that finds nobody idle reads the tag's *door*, one relaxed load, which is shut in a tag that
//!    cannot grow. If it is open, the submitter shuts it and leaves a request, both under the lock.
//! 2. The scaler takes the request, opens the door again, and then looks: do more tasks wait than there are
//!    workers between two tasks, with nobody idle or searching? Only then it starts a worker, one at a time in
//!    each tag.
//! 3. The new worker says when it has looked for its first task; then the scaler looks again.
//!
//! # No request is lost
//!
//! A submitter that reads a door as shut leaves no request. The door is opened before the look, and between the
//! two is the heavy fence `grow.look.fence` of the core: so the look sees that submitter's task. Whenever a tag
//! that could not grow can, its door is opened, and a look follows as well.
//!
//! # Strictly sequential work does not grow a pool
//!
//! A worker that is between two tasks is neither idle nor searching, and is about to take the task that waits.
//! It has left its task before anybody is told of the end, and no two of its tasks have the same number. So a worker
//! that is seen inside one task before the look and after it has not come by to take what the look has
//! seen. Each other one may be about to take one of the tasks that wait. If that would be all of them, the look
//! is repeated after a pause, until it is clear.
//!
//! # Stopping
//!
//! The scaler is a driver, as the timers are: told in the first step, and waited for with the workers. In a drain
//! it goes on to start workers, because a task may wait for another that is still queued, and ends when all
//! workers have left. A worker that it is starting just then is let in, finds what the others find, and leaves.
//! In a tag that is stopped alone it starts nobody, whatever the policy.

pub(crate) mod tally;

use std::fmt;
use std::io;
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;
use std::time::Instant;

use crossbeam_utils::CachePadded;
use parkade_core::{Activity, Platform, Slot, TagIndex, Wake, WorkerIndex};

use crate::backend::Backend;
use crate::control::Control;
use crate::process::Process;
use crate::resize::ResizeError;
use crate::shared::Shared;
use crate::start::{LateStart, Starter};
use tally::{Seen, Step, TagCounts, Tally, Verdict};

/// What scales the tags of one runtime.
pub(crate) struct Scaler {
    state: Mutex<State>,
    changed: Condvar,
    /// For each tag, whether a request to grow is of use. Written under the lock.
    doors: Box<[CachePadded<AtomicBool>]>,
    pub(crate) starter: Starter,
    name: String,
    /// Nothing here may be locked in a child of it: another thread may have held the lock at the fork.
    process: Process,
}

struct State {
    tally: Tally,
    thread: Thread,
    /// The runtime stops when what is queued has run: nobody is retired, and no minimum is kept.
    drains: bool,
    /// Why a worker could not be started, the last time.
    last_failure: Option<LateStart>,
}

enum Thread {
    NotStarted,
    Started(thread::JoinHandle<()>),
    /// The runtime stops. The thread, if there was one, is still to be joined.
    Closed(Option<thread::JoinHandle<()>>),
}

impl Scaler {
    pub(crate) fn new(
        tally: Tally,
        tags: usize,
        starter: Starter,
        name: String,
        process: Process,
    ) -> Self {
        let door = || CachePadded::new(AtomicBool::new(false));
        Self {
            state: Mutex::new(State {
                tally,
                thread: Thread::NotStarted,
                drains: false,
                last_failure: None,
            }),
            changed: Condvar::new(),
            doors: (0..tags).map(|_| door()).collect(),
            starter,
            name,
            process,
        }
    }

    /// Starts the thread if a tag can grow.
    pub(crate) fn begin<B: Backend>(shared: &Arc<Shared<B>>) -> io::Result<()> {
        let mut state = shared.scaler.lock();
        if state.tally.may_ever_grow() {
            Self::start(shared, &mut state)?;
        }
        Ok(())
    }

    fn start<B: Backend>(shared: &Arc<Shared<B>>, state: &mut State) -> io::Result<()> {
        if let Thread::NotStarted = state.thread {
            let scaler = &shared.scaler;
            let builder = scaler.starter.thread(scaler.name.clone());
            let shared_too = Arc::clone(shared);
            let thread = builder.spawn(move || drive(&shared_too))?;
            // It has not ended: that takes a stop, which takes the lock.
            shared.stopping.driver_has_started(Driver::Scaler);
            state.thread = Thread::Started(thread);
        }
        Ok(())
    }

    /// Takes note of the workers that have begun with the runtime.
    pub(crate) fn began<P: Platform>(
        &self,
        control: &Control<P>,
        slots: impl Iterator<Item = Slot>,
    ) {
        let mut state = self.lock();
        state.tally.began(slots);
        self.settle(control, &mut state);
    }

    /// Step 1: what came of a wake. Call it after the submit, without any lock.
    #[inline]
    pub(crate) fn heed(&self, tag: TagIndex, wake: Wake) {
        if let Wake::NobodyIdle { .. } = wake {
            self.nobody_idle(tag);
        }
    }

    /// Step 1, for whoever has seen tasks wait and nobody idle.
    #[inline]
    pub(crate) fn nobody_idle(&self, tag: TagIndex) {
        if self.is_open(tag) {
            self.ask(tag);
        }
    }

    #[inline]
    pub(crate) fn is_open(&self, tag: TagIndex) -> bool {
        self.door(tag).load(Ordering::Relaxed)
    }

    /// For whoever looks often; it publishes nothing.
    pub(crate) fn door(&self, tag: TagIndex) -> &AtomicBool {
        &self.doors[tag.0]
    }

    /// Whether this is the process that has the workers.
    pub(crate) fn is_in_its_process(&self) -> bool {
        self.process.is_this()
    }

    #[cold]
    fn ask(&self, tag: TagIndex) {
        let mut state = self.lock();
        let is_first = state.tally.ask(tag);
        self.set_doors(&state);
        drop(state);
        if is_first {
            self.changed.notify_one();
        }
    }

    /// Gives a tag so many workers from now on. Whoever is too many has been asked to leave when this returns.
    pub(crate) fn resize<B: Backend>(
        shared: &Arc<Shared<B>>,
        tag: TagIndex,
        workers: usize,
    ) -> Result<(), ResizeError> {
        let scaler = &shared.scaler;
        if !scaler.process.is_this() {
            return Err(ResizeError::Forked);
        }
        let mut state = scaler.lock();
        if state.drains || matches!(state.thread, Thread::Closed(_)) {
            return Err(ResizeError::Stopping);
        }
        if state.tally.is_closed(tag) {
            return Err(ResizeError::Stopping);
        }
        let name = || shared.tags[tag.0].name.clone();
        let places = state.tally.places(tag);
        if workers == 0 {
            return Err(ResizeError::Zero { tag: name() });
        }
        if workers > places {
            return Err(ResizeError::BeyondPlaces {
                tag: name(),
                workers,
                places,
            });
        }
        if let Some(sum) = state.tally.beyond_ceiling(tag, workers) {
            return Err(ResizeError::BeyondCeiling {
                tag: name(),
                workers,
                sum,
                ceiling: state.tally.ceiling(),
            });
        }
        Self::start(shared, &mut state).map_err(|error| ResizeError::NoThread(error.kind()))?;
        state.tally.resize(tag, workers);
        scaler.settle(&shared.control, &mut state);
        Ok(())
    }

    pub(crate) fn block<P: Platform>(&self, control: &Control<P>, tag: TagIndex) {
        let mut state = self.lock();
        if state.tally.block(tag) {
            self.settle(control, &mut state);
        }
    }

    pub(crate) fn unblock<P: Platform>(&self, control: &Control<P>, tag: TagIndex) {
        let mut state = self.lock();
        if state.tally.unblock(tag) {
            self.settle(control, &mut state);
        }
    }

    /// Step 3: this worker has looked for its first task, and is inside it if there was one.
    pub(crate) fn looked<P: Platform>(&self, control: &Control<P>, slot: Slot) {
        let mut state = self.lock();
        state.tally.looked(slot);
        self.settle(control, &mut state);
    }

    /// The worker of this place is gone from the core, and its thread is about to end.
    pub(crate) fn left<P: Platform>(&self, control: &Control<P>, slot: Slot) {
        let mut state = self.lock();
        state.tally.left(slot);
        self.settle(control, &mut state);
    }

    /// After any change: asks whoever is too many to leave, opens and shuts the doors, and tells the thread.
    fn settle<P: Platform>(&self, control: &Control<P>, state: &mut State) {
        if let Thread::Closed(_) = state.thread {
            return;
        }
        if !state.drains {
            let leavers = state.tally.leavers(|slot| seen(control, slot).sleeps);
            ask_to_leave(control, &leavers);
        }
        let busy = state.tally.review();
        self.set_doors(state);
        // In a drain, who has just left may have been the last.
        if busy || state.drains {
            self.changed.notify_one();
        }
    }

    fn set_doors(&self, state: &State) {
        let running = matches!(state.thread, Thread::Started(_));
        for (index, door) in self.doors.iter().enumerate() {
            let open = running && state.tally.is_open(TagIndex(index));
            // Every submit reads it: no store that says nothing new.
            if door.load(Ordering::Relaxed) != open {
                door.store(open, Ordering::Relaxed);
            }
        }
    }

    pub(crate) fn counts(&self, tag: TagIndex) -> TagCounts {
        if !self.process.is_this() {
            return TagCounts::default();
        }
        self.lock().tally.counts(tag)
    }

    /// Retires nobody from now on, and tells the thread to end when all workers have left.
    pub(crate) fn drain(&self) {
        let mut state = self.lock();
        if let Thread::Started(_) = state.thread {
            state.drains = true;
            state.tally.keeps_nobody();
            drop(state);
            self.changed.notify_one();
        } else {
            drop(state);
            self.close();
        }
    }

    /// Starts and retires nobody in this tag from now on. What it has no use for, the others may.
    pub(crate) fn close_tag<P: Platform>(&self, control: &Control<P>, tag: TagIndex) {
        let mut state = self.lock();
        state.tally.close(tag);
        self.settle(control, &mut state);
    }

    /// Starts and retires nobody from now on, and tells the thread to end.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.thread = match mem::replace(&mut state.thread, Thread::Closed(None)) {
            Thread::NotStarted => Thread::Closed(None),
            Thread::Started(thread) => Thread::Closed(Some(thread)),
            closed @ Thread::Closed(_) => closed,
        };
        self.set_doors(&state);
        drop(state);
        self.changed.notify_one();
    }

    /// The thread, after [`close`](Scaler::close): to be joined, or to be left to itself.
    pub(crate) fn take_thread(&self) -> Option<thread::JoinHandle<()>> {
        match &mut self.lock().thread {
            Thread::Closed(thread) => thread.take(),
            Thread::NotStarted | Thread::Started(_) => None,
        }
    }

    /// Sleeps until there is something to do; `None` when the runtime stops. Without a timeout, unless a tag is
    /// above its minimum or a look is to be repeated.
    fn next<P: Platform>(&self, control: &Control<P>) -> Option<Step> {
        let mut state = self.lock();
        loop {
            if let Thread::Closed(_) = state.thread {
                return None;
            }
            if state.drains && state.tally.have_all_left() {
                return None;
            }
            let now = Instant::now();
            let step = if state.drains {
                state.tally.next_in_drain(now)
            } else {
                let leavers = state.tally.expired(now, |slot| seen(control, slot));
                ask_to_leave(control, &leavers);
                state.tally.next(now)
            };
            state.tally.review();
            self.set_doors(&state);
            if step.is_some() {
                return step;
            }
            state = match state.tally.next_at() {
                None => self
                    .changed
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner),
                Some(at) => {
                    let left = at.saturating_duration_since(now);
                    let waited = self.changed.wait_timeout(state, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    // Nothing of the user's runs under this lock, so a poisoned one is as good as any.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Which thread of a runtime makes work or workers by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Driver {
    Timers,
    Scaler,
}

/// The whole life of the scaler's thread.
fn drive<B: Backend>(shared: &Arc<Shared<B>>) {
    let _leaves = shared.stopping.driver_leaves_at_end(Driver::Scaler);
    // What it starts inherits the process's CPUs, not those of a pinned worker that has started this thread.
    let _as_it_is = shared.scaler.starter.place_on_process::<B>();
    while let Some(step) = shared.scaler.next(&shared.control) {
        match step {
            Step::Join(slot) => join(shared, slot),
            Step::Start(slot) => start(shared, slot),
            Step::Look(tag, workers) => look(shared, tag, &workers),
        }
    }
}

fn join<B: Backend>(shared: &Shared<B>, slot: Slot) {
    // None if the stop has taken it.
    if let Some(thread) = shared.stopping.take_thread(slot) {
        drop(thread.join());
        shared.stopping.has_joined(slot);
    }
    let mut state = shared.scaler.lock();
    state.tally.joined(slot);
    shared.scaler.settle(&shared.control, &mut state);
}

fn start<B: Backend>(shared: &Arc<Shared<B>>, slot: Slot) {
    // Under the lock, so that whoever has closed the scaler waits for it or knows that it does not come.
    let mut state = shared.scaler.lock();
    let is_closed = matches!(state.thread, Thread::Closed(_));
    if is_closed || !shared.stopping.is_about_to_start(slot) {
        state.tally.not_started(slot);
        shared.scaler.settle(&shared.control, &mut state);
        return;
    }
    drop(state);
    let started = shared.scaler.starter.start_late(shared, slot, || {
        // Before it begins: it may be the first to say more.
        let mut state = shared.scaler.lock();
        state.tally.arrived(slot);
        shared.scaler.settle(&shared.control, &mut state);
    });
    if let Err(failure) = started {
        shared.stopping.has_not_started(slot);
        let mut state = shared.scaler.lock();
        state.tally.failed(slot);
        state.last_failure = Some(failure);
        shared.scaler.settle(&shared.control, &mut state);
    }
}

/// Step 2.
fn look<B: Backend>(shared: &Arc<Shared<B>>, tag: TagIndex, workers: &[WorkerIndex]) {
    let seats = &shared.tags[tag.0].seats;
    let inside = || workers.iter().map(|worker| seats[worker.0].counts.task());
    let before: Vec<_> = inside().collect();
    let of_core = shared.control.tag(tag);
    let verdict = if of_core.is_short() {
        Verdict::of(of_core.waiting(), before.into_iter().zip(inside()))
    } else {
        Verdict::Enough
    };
    let scaler = &shared.scaler;
    let mut state = scaler.lock();
    if let Thread::Closed(_) = state.thread {
        return;
    }
    let place = state.tally.judge(tag, verdict, Instant::now());
    scaler.settle(&shared.control, &mut state);
    drop(state);
    if let Some(slot) = place {
        start(shared, slot);
    }
}

fn seen<P: Platform>(control: &Control<P>, slot: Slot) -> Seen {
    let worker = control.tag(slot.tag).worker(slot.worker);
    Seen {
        sleeps: worker.activity == Activity::Parked && !worker.claimed,
        parked: worker.parked,
    }
}

fn ask_to_leave<P: Platform>(control: &Control<P>, leavers: &[Slot]) {
    for slot in leavers {
        control.tag(slot.tag).request_retire(slot.worker);
    }
}

/// Never waits for the lock.
impl fmt::Debug for Scaler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match self.state.try_lock() {
            Ok(state) => state,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return f.write_str("changing at this moment"),
        };
        let thread = match state.thread {
            Thread::NotStarted => "not started",
            Thread::Started(_) => "started",
            Thread::Closed(_) => "closed",
        };
        let tags: Vec<_> = (0..self.doors.len())
            .map(|tag| state.tally.counts(TagIndex(tag)))
            .collect();
        let failure = state.last_failure.as_ref().map(ToString::to_string);
        drop(state);
        f.debug_struct("Scaler")
            .field("thread", &format_args!("{thread}"))
            .field("last_failure", &failure)
            .field("tags", &tags)
            .finish()
    }
}
