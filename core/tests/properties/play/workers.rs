//! What workers do: ask, park, run and push, retire, give up their place.

use parkade_core::{Next, Platform, Slot, State, Task, Worker};

use super::{Play, same_task};
use crate::platform::{self, Stage, is_asleep, returns_early};
use crate::reference::{Answer, Kind, Verdict};
use crate::script::Who;

/// Rounds in which all workers go on, more than any script needs to come to rest.
const ROUNDS: usize = 5_000;

pub(super) enum Actor<'c> {
    Absent,
    Awake(Worker<'c, Stage>),
    /// Told to park.
    Parking(Worker<'c, Stage>, State),
    Asleep(Worker<'c, Stage>),
    Running(Worker<'c, Stage>),
    /// Inside a call.
    Busy,
}

impl<'c> Play<'c> {
    pub(super) fn step(&self, slot: Slot) -> Verdict {
        match self.enter(slot) {
            Actor::Absent => {
                let (worker, _, _) = self.call(|| self.control.register(slot))?;
                let worker = worker.map_err(|error| error.to_string())?;
                self.reference.borrow_mut().registered(slot);
                self.note(format_args!("{slot} registers"));
                self.leave(slot, Actor::Awake(worker));
            }
            Actor::Awake(worker) => return self.ask(slot, worker),
            Actor::Parking(worker, state) => {
                worker.park(state);
                self.reference.borrow_mut().parked(slot);
                let asleep = is_asleep(slot);
                self.note(format_args!("{slot} parks and sleeps: {asleep}"));
                let actor = if asleep { Actor::Asleep } else { Actor::Awake };
                self.leave(slot, actor(worker));
            }
            Actor::Asleep(worker) if !is_asleep(slot) => {
                self.note(format_args!("{slot} wakes up"));
                self.leave(slot, Actor::Awake(worker));
            }
            Actor::Running(worker) => {
                self.note(format_args!("{slot} finishes its task"));
                self.leave(slot, Actor::Awake(worker));
            }
            same => self.leave(slot, same),
        }
        Ok(())
    }

    pub(super) fn ask(&self, slot: Slot, worker: Worker<'c, Stage>) -> Verdict {
        let look = self.reference.borrow().look(slot);
        self.reference.borrow_mut().inside(slot, true);
        let (next, claims, calm) = self.call(|| asked(&worker))?;
        self.reference.borrow_mut().inside(slot, false);
        let (answer, actor) = match next {
            Next::Run(task) => (Answer::Run(task.into_word()), Some(Actor::Running(worker))),
            Next::Park(state) => (Answer::Park, Some(Actor::Parking(worker, state))),
            Next::Stop => (Answer::Stop, None),
            Next::Retire => (Answer::Retire, None),
            Next::Linger => unreachable!("it is asked until it does not linger"),
        };
        self.note(format_args!("{slot} is told {answer:?}, wakes {claims:?}"));
        let verdict = self
            .reference
            .borrow_mut()
            .answered(slot, look, answer, calm);
        // A worker that is told to leave is dropped here.
        match actor {
            Some(actor) => self.leave(slot, actor),
            None => {
                self.reference.borrow_mut().dropped(slot);
                self.leave(slot, Actor::Absent);
            }
        }
        verdict?;
        self.woken_for_work(&claims, calm)
    }

    pub(super) fn push(&self, slot: Slot) -> Verdict {
        let worker = match self.enter(slot) {
            Actor::Running(worker) => worker,
            other => {
                self.leave(slot, other);
                return Ok(());
            }
        };
        let id = self.offer(slot.tag.0, Kind::Normal);
        let (pushed, claims, calm) = self.call(|| worker.push(Task::from_word(id)))?;
        self.leave(slot, Actor::Running(worker));
        self.note(format_args!("{slot} pushes {id}: {pushed:?}"));
        let submitted = same_task(id, pushed)?;
        self.reference
            .borrow_mut()
            .pushed(id, submitted, &claims, calm)?;
        self.woken_for_work(&claims, calm)
    }

    pub(super) fn return_early(&self, slot: Slot) -> Verdict {
        if returns_early(slot) {
            self.note(format_args!("{slot} returns for no reason"));
        }
        Ok(())
    }

    pub(super) fn request_retire(&self, slot: Slot) -> Verdict {
        self.absorb()?;
        self.control.tags()[slot.tag.0].request_retire(slot.worker);
        self.note(format_args!("{slot} is asked to retire"));
        self.reference
            .borrow_mut()
            .asked_to_retire(slot, &platform::wakes())
    }

    pub(super) fn give_up(&self, slot: Slot) -> Verdict {
        let worker = match self.enter(slot) {
            Actor::Awake(worker) | Actor::Parking(worker, _) => worker,
            other => {
                self.leave(slot, other);
                return Ok(());
            }
        };
        let ((), claims, calm) = self.call(|| drop(worker))?;
        self.note(format_args!("{slot} gives up its place, wakes {claims:?}"));
        self.reference.borrow_mut().gave_up(slot);
        self.leave(slot, Actor::Absent);
        self.woken_for_work(&claims, calm)
    }

    /// The tag's workers go on in turn until none has anything to do.
    pub(super) fn rest(&self, tag: usize) -> Verdict {
        if self.depth.get() > 0 {
            return Ok(());
        }
        for _ in 0..ROUNDS {
            let before = self.log.borrow().len();
            for (worker, actor) in self.actors[tag].iter().enumerate() {
                if !matches!(*actor.borrow(), Actor::Absent) {
                    self.step(self.slot(Who { tag, worker }))?;
                    self.check();
                }
            }
            if self.log.borrow().len() == before {
                return self.reference.borrow().at_rest(tag);
            }
        }
        Err(format!("tag {tag} does not come to rest"))
    }
}

/// What a worker says once it has lingered.
fn asked<P: Platform>(worker: &Worker<'_, P>) -> Next {
    loop {
        let next = worker.next();
        if !matches!(next, Next::Linger) {
            return next;
        }
    }
}
