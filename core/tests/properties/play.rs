//! Plays a script on the real core and asks the reference about everything that happens.
//!
//! The actors are the workers of all tags, a few outside threads (each an origin) and whoever stops the
//! scheduler. An actor that is inside a call is *busy*: what happens meanwhile leaves it alone. At the
//! end of every script all come to rest, the scheduler is stopped, and each task is accounted for.

use std::cell::{Cell, RefCell};
use std::fmt::Debug;
use std::rc::Rc;

use parkade_core::stop::{Close, Drivers, Interrupt, Join, Lots};
use parkade_core::{
    Next, Origin, Priority, Refused, Slot, State, StopPolicy, TagIndex, Task, TaskControl, Wake,
    Worker, WorkerIndex,
};
use proptest::test_runner::TestCaseError;
use self_cell::self_cell;

use crate::platform::{self, Played, Stage, is_asleep, returns_early};
use crate::reference::{Answer, Kind, Reference, Submitted, Verdict};
use crate::script::{Act, Op, Script, Who};

const ORIGINS: usize = 2;
/// Rounds in which all workers go on, more than any script needs to come to rest.
const ROUNDS: usize = 5_000;

type Control = TaskControl<Stage>;

self_cell!(
    struct World {
        owner: Control,
        #[not_covariant]
        dependent: Play,
    }
);

/// Plays `script`; what is wrong comes back with everything that happened until then.
pub(crate) fn play(script: &Script) -> Result<(), TestCaseError> {
    let control = Control::new(&Stage, &script.tags).expect("every drawn shape can be built");
    let world = Rc::new(World::new(control, |control| Play::new(control, script)));
    let played = Played::by({
        let world = Rc::clone(&world);
        Rc::new(move |ops| world.with_dependent(|_, play| play.interrupted_by(ops)))
    });
    world.with_dependent(|_, play| play.whole(script));
    drop(played);
    let mut world = Rc::into_inner(world).expect("nobody plays any more");
    let (mut reference, verdict, log, all_ran) =
        world.with_dependent_mut(|_, play| play.take_result());
    let verdict = verdict.and_then(|()| {
        // Whatever nobody took before comes out of the control itself.
        let mut control = world.into_owner();
        while let Some((tag, task)) = control.take_queued() {
            reference.taken(task.into_word(), tag.0)?;
        }
        reference.over(all_ran)
    });
    verdict
        .map_err(|what| TestCaseError::fail(format!("{what}\nwhat happened:\n{}", log.join("\n"))))
}

enum Actor<'c> {
    Absent,
    Awake(Worker<'c, Stage>),
    /// Told to park.
    Parking(Worker<'c, Stage>, State),
    Asleep(Worker<'c, Stage>),
    Running(Worker<'c, Stage>),
    /// Inside a call.
    Busy,
}

enum Stopping<'c> {
    NotYet,
    Drivers(Drivers<'c, Stage>, StopPolicy),
    Close(Close<'c, Stage>, StopPolicy),
    Lots(Lots<'c, Stage>),
    Interrupt(Interrupt<'c, Stage>),
    Join(Join<'c, Stage>),
    Busy,
}

struct Play<'c> {
    control: &'c Control,
    actors: Vec<Vec<RefCell<Actor<'c>>>>,
    stopping: RefCell<Stopping<'c>>,
    origins: Vec<Cell<Option<Origin>>>,
    reference: RefCell<Reference>,
    /// What is to happen in the middle of the next call.
    meanwhile: RefCell<Option<(usize, Vec<Op>)>>,
    depth: Cell<usize>,
    all_ran: Cell<bool>,
    log: RefCell<Vec<String>>,
    verdict: RefCell<Verdict>,
}

impl<'c> Play<'c> {
    fn new(control: &'c Control, script: &Script) -> Self {
        let absent = |_| RefCell::new(Actor::Absent);
        let actors = |workers| (0..workers).map(absent).collect();
        Self {
            control,
            actors: script.tags.iter().map(|tag| actors(tag.workers)).collect(),
            stopping: RefCell::new(Stopping::NotYet),
            origins: (0..ORIGINS)
                .map(|seed| Cell::new(Some(Origin::new(seed))))
                .collect(),
            reference: RefCell::new(Reference::new(&script.tags)),
            meanwhile: RefCell::new(None),
            depth: Cell::new(0),
            all_ran: Cell::new(false),
            log: RefCell::new(Vec::new()),
            verdict: RefCell::new(Ok(())),
        }
    }

    fn take_result(&mut self) -> (Reference, Verdict, Vec<String>, bool) {
        (
            self.reference.replace(Reference::new(&[])),
            self.verdict.replace(Ok(())),
            self.log.take(),
            self.all_ran.get(),
        )
    }

    // The whole of a script.

    fn whole(&self, script: &Script) {
        for act in &script.acts {
            self.act(act);
        }
        if matches!(*self.stopping.borrow(), Stopping::NotYet) {
            self.all_rest();
            self.everybody(|actor| matches!(actor, Actor::Absent));
            self.all_rest();
        }
        while !matches!(*self.stopping.borrow(), Stopping::Join(_)) && self.is_well() {
            self.calmly(&Op::Stop(script.last));
            self.everybody(|actor| !matches!(actor, Actor::Absent));
        }
        self.all_rest();
        if self.is_well() && !self.reference.borrow().is_abandoned() {
            // With every worker there, a drain runs everything, mailboxes too.
            self.everybody(|actor| matches!(actor, Actor::Absent));
            self.all_rest();
            self.all_ran.set(true);
        }
        if let Stopping::Join(join) = self.stopping.replace(Stopping::Busy)
            && self.is_well()
        {
            let remaining = join.joined().remaining;
            if remaining > 0 {
                self.judge(Err(format!("{remaining} workers did not leave")));
            }
        }
    }

    fn act(&self, act: &Act) {
        if !act.meanwhile.is_empty() {
            self.meanwhile
                .replace(Some((act.seam, act.meanwhile.clone())));
        }
        self.calmly(&act.op);
        self.meanwhile.take();
    }

    /// One operation, nothing in its middle but what is planned, and what must hold after it.
    fn calmly(&self, op: &Op) {
        self.play(op);
        if !self.is_well() {
            return;
        }
        for (index, tag) in self.control.tags().iter().enumerate() {
            let verdict = self.reference.borrow().between(index, &tag.counters());
            self.judge(verdict);
        }
    }

    fn interrupted_by(&self, ops: &[Op]) {
        let verdict = self.absorb().map(drop);
        self.judge(verdict);
        self.reference.borrow_mut().was_disturbed();
        self.depth.set(self.depth.get() + 1);
        ops.iter().for_each(|op| self.play(op));
        self.depth.set(self.depth.get() - 1);
    }

    /// Every worker of that kind goes on once.
    fn everybody(&self, which: impl Fn(&Actor<'c>) -> bool) {
        for (tag, actors) in self.actors.iter().enumerate() {
            for (worker, actor) in actors.iter().enumerate() {
                if which(&actor.borrow()) {
                    self.calmly(&Op::Step(Who { tag, worker }));
                }
            }
        }
    }

    fn all_rest(&self) {
        (0..self.actors.len()).for_each(|tag| self.calmly(&Op::Rest(tag)));
    }

    // One operation.

    fn play(&self, op: &Op) {
        if !self.is_well() {
            return;
        }
        let verdict = match op {
            Op::Step(who) => self.step(self.slot(*who)),
            Op::Push(who) => self.push(self.slot(*who)),
            Op::Submit { to, priority } => self.submit(to.worker, self.tag(to.tag), *priority),
            Op::Batch {
                to,
                priority,
                tasks,
            } => self.batch(to.worker, self.tag(to.tag), *priority, *tasks),
            Op::SubmitTo(who) => self.submit_to(self.slot(*who)),
            Op::ReturnEarly(who) => self.return_early(self.slot(*who)),
            Op::RequestRetire(who) => self.request_retire(self.slot(*who)),
            Op::Drop(who) => self.give_up(self.slot(*who)),
            Op::Rest(tag) => self.rest(self.tag(*tag)),
            Op::Stop(policy) => self.stop(*policy),
            Op::Abandon => self.abandon(),
            Op::TakeQueued => self.take_queued(),
        };
        self.judge(verdict);
    }

    fn step(&self, slot: Slot) -> Verdict {
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

    fn ask(&self, slot: Slot, worker: Worker<'c, Stage>) -> Verdict {
        let look = self.reference.borrow().look(slot);
        self.reference.borrow_mut().inside(slot, true);
        let (next, claims, calm) = self.call(|| worker.next())?;
        self.reference.borrow_mut().inside(slot, false);
        let (answer, actor) = match next {
            Next::Run(task) => (Answer::Run(task.into_word()), Some(Actor::Running(worker))),
            Next::Park(state) => (Answer::Park, Some(Actor::Parking(worker, state))),
            Next::Stop => (Answer::Stop, None),
            Next::Retire => (Answer::Retire, None),
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

    fn push(&self, slot: Slot) -> Verdict {
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

    fn submit(&self, origin: usize, tag: usize, priority: Priority) -> Verdict {
        let Some(origin) = self.origins[origin % ORIGINS]
            .take()
            .map(|own| (origin, own))
        else {
            return Ok(()); // inside another submit
        };
        let id = self.offer(tag, kind_of(priority));
        let task = Task::from_word(id);
        let called = self.call(|| self.control.tags()[tag].submit(task, priority, &origin.1));
        self.origins[origin.0 % ORIGINS].set(Some(origin.1));
        let (submitted, claims, calm) = called?;
        self.note(format_args!(
            "{priority:?} {id} to tag {tag}: {submitted:?}"
        ));
        self.after_submit(id, submitted, &claims, calm)
    }

    fn submit_to(&self, slot: Slot) -> Verdict {
        let id = self.offer(slot.tag.0, Kind::Mailbox(slot.worker.0));
        let tag = &self.control.tags()[slot.tag.0];
        let (submitted, claims, calm) =
            self.call(|| tag.submit_to(slot.worker, Task::from_word(id)))?;
        self.note(format_args!("{id} to {slot} alone: {submitted:?}"));
        self.after_submit(id, submitted, &claims, calm)
    }

    fn after_submit(
        &self,
        id: usize,
        submitted: Result<Wake, Refused>,
        claims: &[Slot],
        calm: bool,
    ) -> Verdict {
        let submitted = same_task(id, submitted)?;
        self.reference
            .borrow_mut()
            .submitted(id, submitted, claims, calm)?;
        self.woken_for_work(claims, calm)
    }

    fn batch(&self, origin: usize, tag: usize, priority: Priority, tasks: usize) -> Verdict {
        let at = origin % ORIGINS;
        let Some(origin) = self.origins[at].take() else {
            return Ok(()); // inside another submit
        };
        let ids: Vec<_> = (0..tasks)
            .map(|_| self.offer(tag, kind_of(priority)))
            .collect();
        let mut batch = ids.iter().copied().map(Task::from_word);
        let called =
            self.call(|| self.control.tags()[tag].submit_batch(&mut batch, priority, &origin));
        self.origins[at].set(Some(origin));
        let ((accepted, refused), claims, calm) = called?;
        let refused = refused.map(|refused| (refused.task.into_word(), refused.reason));
        self.note(format_args!(
            "{priority:?} {ids:?} to tag {tag}: {accepted}, back {refused:?}, wakes {claims:?}"
        ));
        let left = batch.len() + accepted + usize::from(refused.is_some());
        if left != tasks {
            return Err(format!(
                "{left} of {tasks} tasks of a batch are accounted for"
            ));
        }
        self.reference
            .borrow_mut()
            .submitted_batch(&ids, accepted, refused, &claims, calm)?;
        self.woken_for_work(&claims, calm)
    }

    fn return_early(&self, slot: Slot) -> Verdict {
        if returns_early(slot) {
            self.note(format_args!("{slot} returns for no reason"));
        }
        Ok(())
    }

    fn request_retire(&self, slot: Slot) -> Verdict {
        self.absorb()?;
        self.control.tags()[slot.tag.0].request_retire(slot.worker);
        self.note(format_args!("{slot} is asked to retire"));
        self.reference
            .borrow_mut()
            .asked_to_retire(slot, &platform::wakes())
    }

    fn give_up(&self, slot: Slot) -> Verdict {
        let worker = match self.enter(slot) {
            Actor::Awake(worker) | Actor::Parking(worker, _) => worker,
            other => {
                self.leave(slot, other);
                return Ok(());
            }
        };
        let ((), claims, calm) = self.call(|| drop(worker))?;
        self.note(format_args!("{slot} gives up its place, wakes {claims:?}"));
        self.reference.borrow_mut().dropped(slot);
        self.leave(slot, Actor::Absent);
        self.woken_for_work(&claims, calm)
    }

    /// The tag's workers go on in turn until none has anything to do.
    fn rest(&self, tag: usize) -> Verdict {
        if self.depth.get() > 0 {
            return Ok(());
        }
        for _ in 0..ROUNDS {
            let before = self.log.borrow().len();
            for (worker, actor) in self.actors[tag].iter().enumerate() {
                if !matches!(*actor.borrow(), Actor::Absent) {
                    self.step(self.slot(Who { tag, worker }))?;
                }
            }
            if self.log.borrow().len() == before {
                return self.reference.borrow().at_rest(tag);
            }
        }
        Err(format!("tag {tag} does not come to rest"))
    }

    // Stopping.

    fn stop(&self, policy: StopPolicy) -> Verdict {
        let next = match self.stopping.replace(Stopping::Busy) {
            Stopping::NotYet => {
                let drivers = self
                    .control
                    .stop(policy)
                    .map_err(|error| error.to_string())?;
                if self.control.stop(policy).is_ok() {
                    return Err("a second stop began".into());
                }
                Stopping::Drivers(drivers, policy)
            }
            Stopping::Drivers(drivers, policy) => {
                Stopping::Close(drivers.drivers_stopped(), policy)
            }
            Stopping::Close(close, policy) => {
                self.reference.borrow_mut().closing(policy);
                let (lots, _, _) = self.call(|| close.close())?;
                self.reference.borrow_mut().closed(policy);
                self.note(format_args!("closed: {policy:?}"));
                Stopping::Lots(lots)
            }
            Stopping::Lots(lots) => {
                self.absorb()?;
                let interrupt = lots.stop_lots();
                self.note(format_args!("lots stopped"));
                self.reference
                    .borrow_mut()
                    .lots_stopped(&platform::wakes())?;
                Stopping::Interrupt(interrupt)
            }
            Stopping::Interrupt(interrupt) => Stopping::Join(interrupt.interrupted()),
            same => same,
        };
        self.stopping.replace(next);
        Ok(())
    }

    fn abandon(&self) -> Verdict {
        let stopping = self.stopping.replace(Stopping::Busy);
        if let Stopping::Join(join) = &stopping {
            let ((), _, _) = self.call(|| join.abandon())?;
            self.reference.borrow_mut().closed(StopPolicy::Abandon);
            self.note(format_args!("abandoned"));
        }
        self.stopping.replace(stopping);
        Ok(())
    }

    fn take_queued(&self) -> Verdict {
        let stopping = self.stopping.replace(Stopping::Busy);
        let abandoned = self.reference.borrow().is_abandoned();
        if let Stopping::Join(join) = &stopping
            && abandoned
        {
            let (taken, _, _) = self.call(|| join.take_queued())?;
            let taken = taken.map(|(TagIndex(tag), task)| (tag, task.into_word()));
            self.note(format_args!("taken: {taken:?}"));
            if let Some((tag, id)) = taken {
                self.reference.borrow_mut().taken(id, tag)?;
            }
        }
        self.stopping.replace(stopping);
        Ok(())
    }

    // What operations share.

    /// A call into the core, in whose middle others may act. With its result come the workers that it
    /// claimed and whether it was calm.
    fn call<R>(&self, operation: impl FnOnce() -> R) -> Result<(R, Vec<Slot>, bool), String> {
        self.absorb()?;
        let (result, calm) = if self.depth.get() > 0 {
            (operation(), false)
        } else {
            let (seam, ops) = self.meanwhile.take().unwrap_or_default();
            let (result, disturbed) = platform::meanwhile(seam, &ops, operation);
            (result, !disturbed)
        };
        Ok((result, self.absorb()?, calm))
    }

    /// Books the wakes since the last time as claims.
    fn absorb(&self) -> Result<Vec<Slot>, String> {
        let wakes = platform::wakes();
        for wake in &wakes {
            self.reference.borrow_mut().claimed(*wake)?;
        }
        Ok(wakes.into_iter().map(|wake| wake.slot).collect())
    }

    fn woken_for_work(&self, claims: &[Slot], calm: bool) -> Verdict {
        if calm {
            self.reference.borrow().wakes_are_for_work(claims)
        } else {
            Ok(())
        }
    }

    fn offer(&self, tag: usize, kind: Kind) -> usize {
        self.reference.borrow_mut().offer(tag, kind)
    }

    fn enter(&self, Slot { tag, worker }: Slot) -> Actor<'c> {
        self.actors[tag.0][worker.0].replace(Actor::Busy)
    }

    fn leave(&self, Slot { tag, worker }: Slot, actor: Actor<'c>) {
        self.actors[tag.0][worker.0].replace(actor);
    }

    fn tag(&self, tag: usize) -> usize {
        tag % self.actors.len()
    }

    fn slot(&self, who: Who) -> Slot {
        let tag = self.tag(who.tag);
        Slot {
            tag: TagIndex(tag),
            worker: WorkerIndex(who.worker % self.actors[tag].len()),
        }
    }

    fn note(&self, what: impl Debug) {
        let indent = "  ".repeat(1 + self.depth.get());
        self.log.borrow_mut().push(format!("{indent}{what:?}"));
    }

    fn is_well(&self) -> bool {
        self.verdict.borrow().is_ok()
    }

    /// Keeps the first thing that is wrong.
    fn judge(&self, verdict: Verdict) {
        if self.is_well() {
            *self.verdict.borrow_mut() = verdict;
        }
    }
}

fn kind_of(priority: Priority) -> Kind {
    match priority {
        Priority::Normal => Kind::Normal,
        Priority::High => Kind::High,
    }
}

/// A refused task is the one that was offered.
fn same_task(id: usize, submitted: Result<Wake, Refused>) -> Result<Submitted, String> {
    match submitted {
        Ok(wake) => Ok(Ok(wake)),
        Err(Refused { task, reason }) => {
            let came_back = task.into_word();
            if came_back == id {
                Ok(Err(reason))
            } else {
                Err(format!("task {id} was offered and {came_back} came back"))
            }
        }
    }
}
