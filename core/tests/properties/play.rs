//! Plays a script on the real core and asks the reference about everything that happens.
//!
//! The actors are the workers of all tags, a few outside threads (each an origin) and whoever stops the
//! scheduler. An actor that is inside a call is *busy*: what happens meanwhile leaves it alone. At the
//! end of every script all come to rest, the scheduler is stopped, and each task is accounted for.

mod stopping;
mod submitters;
mod workers;

use std::cell::{Cell, RefCell};
use std::fmt::Debug;
use std::mem::ManuallyDrop;
use std::rc::Rc;

use parkade_core::{Origin, Refused, Slot, TagIndex, TaskControl, Wake, WorkerIndex};
use proptest::test_runner::TestCaseError;
use self_cell::self_cell;

use crate::platform::{self, Played, Stage};
use crate::reference::{Kind, Reference, Submitted, Verdict};
use crate::script::{Act, Op, Script, Who};
use stopping::Stopping;
use workers::Actor;

const ORIGINS: usize = 2;

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
    // A core that is broken may panic again when its workers are dropped; so a failed play is left alone.
    let world = World::new(control, |control| Play::new(control, script));
    let world = Rc::new(ManuallyDrop::new(world));
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
        let mut control = ManuallyDrop::into_inner(world).into_owner();
        while let Some((tag, task)) = control.take_queued() {
            reference.taken(task.into_word(), tag.0)?;
        }
        reference.over(all_ran)
    });
    verdict
        .map_err(|what| TestCaseError::fail(format!("{what}\nwhat happened:\n{}", log.join("\n"))))
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
        self.check();
    }

    fn check(&self) {
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

    // What operations share.

    /// A call into the core, in whose middle others may act. With its result come the workers that it
    /// claimed and whether it was calm.
    fn call<R>(&self, operation: impl FnOnce() -> R) -> Result<(R, Vec<Slot>, bool), String> {
        self.absorb()?;
        if self.depth.get() > 0 {
            return Ok((operation(), self.absorb()?, false));
        }
        self.reference.borrow_mut().begins();
        let (seam, ops) = self.meanwhile.take().unwrap_or_default();
        let (result, disturbed) = platform::meanwhile(seam, &ops, operation);
        if !disturbed {
            return Ok((result, self.absorb()?, true));
        }
        let wakes = platform::wakes();
        let idle = |tag: TagIndex| self.control.tags()[tag.0].counters().idle;
        self.reference.borrow_mut().claimed_late(&wakes, idle)?;
        Ok((result, slots(&wakes), false))
    }

    /// Books the wakes since the last time as claims.
    fn absorb(&self) -> Result<Vec<Slot>, String> {
        let wakes = platform::wakes();
        for wake in &wakes {
            self.reference.borrow_mut().claimed(*wake)?;
        }
        Ok(slots(&wakes))
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

fn slots(wakes: &[platform::Wake]) -> Vec<Slot> {
    wakes.iter().map(|wake| wake.slot).collect()
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
