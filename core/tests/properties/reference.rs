//! The reference scheduler: where each task may be, and what each worker may be told.
//!
//! It has no queues. A tag is a set of normal tasks, a line of high-priority ones and a line of mailbox
//! tasks for each worker; a worker is announced, claimed or neither. That is little, and yet it decides
//! most answers of [`Worker::next`](parkade_core::Worker::next) to the letter ([`answers`]), what a
//! submit may say ([`intake`]), how often a priority may be passed over ([`streak`]), and what must hold
//! between any two operations ([`between`]).
//!
//! An operation is *calm* if nothing happened in the middle of it. Of one that is not calm, only what
//! holds for every interleaving is checked: the others' steps may have changed what it saw.

mod answers;
mod between;
mod intake;
mod streak;

use std::collections::{BTreeSet, VecDeque};

use parkade_core::{Slot, StopPolicy, TagConfig, TagIndex};

use crate::platform::Wake;
use streak::Streak;

pub(crate) use answers::Answer;
pub(crate) use intake::Submitted;

/// What is wrong, in words, or nothing.
pub(crate) type Verdict = Result<(), String>;

macro_rules! ensure {
    ($condition:expr, $($words:tt)+) => {
        if !$condition {
            return Err(format!($($words)+));
        }
    };
}
use ensure;

/// Who may run a task, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Normal,
    High,
    /// For this worker alone.
    Mailbox(usize),
}

/// What became of a task so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// On its way in: the call that takes or refuses it has not returned.
    Offered,
    Refused,
    Queued,
    /// Handed to this worker.
    Picked(usize),
    /// Given back by a stop.
    Taken,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    tag: usize,
    kind: Kind,
    fate: Fate,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Intake {
    Open,
    /// Inside the call that closes: some queues are closed, and some are not.
    Closing(StopPolicy),
    Draining,
    Abandoned,
}

/// Whether a worker's inbox and mailbox take tasks, as far as its retirement is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Door {
    Open,
    Closed,
    /// A request came in the middle of the worker's look.
    Unknown,
}

#[derive(Debug)]
struct WorkerModel {
    registered: bool,
    /// Told to park, and not claimed since.
    announced: bool,
    /// Claimed, and has not asked since.
    claimed: bool,
    /// Inside a call of its own.
    inside: bool,
    asked_to_retire: bool,
    door: Door,
    mailbox: VecDeque<usize>,
    streak: Streak,
}

#[derive(Debug)]
struct TagModel {
    config: TagConfig,
    workers: Vec<WorkerModel>,
    intake: Intake,
    lots_stopped: bool,
    /// Workers that were not asked to retire were there when the lots were stopped, and none gave up its
    /// place since: they drain. (Whoever asks the last one to retire leaves its work to nobody.)
    must_drain: bool,
    normal: BTreeSet<usize>,
    high: VecDeque<usize>,
    accepted: usize,
    picked: usize,
    taken: usize,
    parked: usize,
    claims: usize,
    /// Wakes that a stop or a request to retire must cause.
    asked_wakes: usize,
    wake_calls: usize,
}

impl TagModel {
    fn new(config: TagConfig) -> Self {
        let worker = |_| WorkerModel {
            registered: false,
            announced: false,
            claimed: false,
            inside: false,
            asked_to_retire: false,
            door: Door::Open,
            mailbox: VecDeque::new(),
            streak: Streak::default(),
        };
        Self {
            config,
            workers: (0..config.workers).map(worker).collect(),
            intake: Intake::Open,
            lots_stopped: false,
            must_drain: false,
            normal: BTreeSet::new(),
            high: VecDeque::new(),
            accepted: 0,
            picked: 0,
            taken: 0,
            parked: 0,
            claims: 0,
            asked_wakes: 0,
            wake_calls: 0,
        }
    }

    /// Tasks that any worker of the tag may take.
    fn takeable(&self) -> usize {
        self.normal.len() + self.high.len()
    }

    fn count(&self, which: impl Fn(&WorkerModel) -> bool) -> usize {
        self.workers.iter().filter(|worker| which(worker)).count()
    }

    fn idle(&self) -> usize {
        self.count(|worker| worker.announced)
    }

    fn searching(&self) -> usize {
        self.count(|worker| worker.claimed)
    }
}

#[derive(Debug)]
pub(crate) struct Reference {
    tags: Vec<TagModel>,
    tasks: Vec<Entry>,
    /// Whether every operation so far was calm: then the order of arrival is known.
    order_known: bool,
    /// Who was told something, or left, in the middle of the call that is being played.
    moved_on: BTreeSet<Slot>,
}

impl Reference {
    pub(crate) fn new(tags: &[TagConfig]) -> Self {
        Self {
            tags: tags.iter().copied().map(TagModel::new).collect(),
            tasks: Vec::new(),
            order_known: true,
            moved_on: BTreeSet::new(),
        }
    }

    /// A new task, as its submitter is about to offer it.
    pub(crate) fn offer(&mut self, tag: usize, kind: Kind) -> usize {
        let fate = Fate::Offered;
        self.tasks.push(Entry { tag, kind, fate });
        self.tasks.len() - 1
    }

    pub(crate) fn was_disturbed(&mut self) {
        self.order_known = false;
    }

    fn worker(&mut self, slot: Slot) -> &mut WorkerModel {
        &mut self.tags[slot.tag.0].workers[slot.worker.0]
    }

    fn accept(&mut self, id: usize) {
        let Entry { tag, kind, .. } = self.tasks[id];
        let tag = &mut self.tags[tag];
        tag.accepted += 1;
        // It may have been picked before its submitter heard that it was accepted.
        if self.tasks[id].fate != Fate::Offered {
            return;
        }
        self.tasks[id].fate = Fate::Queued;
        match kind {
            Kind::Normal => drop(tag.normal.insert(id)),
            Kind::High => tag.high.push_back(id),
            Kind::Mailbox(worker) => tag.workers[worker].mailbox.push_back(id),
        }
    }

    fn refuse(&mut self, id: usize) -> Verdict {
        let fate = self.tasks[id].fate;
        ensure!(
            fate == Fate::Offered,
            "task {id} was refused, but it is {fate:?}"
        );
        self.tasks[id].fate = Fate::Refused;
        Ok(())
    }

    /// Exactly once, and only what was accepted, and never across tags.
    fn remove(&mut self, id: usize, from: usize, fate: Fate) -> Verdict {
        let Some(entry) = self.tasks.get_mut(id) else {
            return Err(format!("task {id} was never made"));
        };
        ensure!(
            matches!(entry.fate, Fate::Offered | Fate::Queued),
            "task {id} is {:?} already, and now {fate:?}",
            entry.fate
        );
        ensure!(
            entry.tag == from,
            "task {id} of tag {} came out of tag {from}",
            entry.tag
        );
        entry.fate = fate;
        let tag = &mut self.tags[from];
        match entry.kind {
            Kind::Normal => drop(tag.normal.remove(&id)),
            Kind::High => tag.high.retain(|&other| other != id),
            Kind::Mailbox(worker) => tag.workers[worker].mailbox.retain(|&other| other != id),
        }
        Ok(())
    }

    /// A task was given back by a stop.
    pub(crate) fn taken(&mut self, id: usize, from: usize) -> Verdict {
        self.remove(id, from, Fate::Taken)?;
        self.tags[from].taken += 1;
        Ok(())
    }

    pub(crate) fn registered(&mut self, slot: Slot) {
        let open = self.tags[slot.tag.0].intake == Intake::Open;
        let worker = self.worker(slot);
        worker.registered = true;
        worker.streak = Streak::default();
        if open {
            worker.door = Door::Open;
        }
    }

    /// A worker's thread gave up its place without being told to.
    pub(crate) fn gave_up(&mut self, slot: Slot) {
        self.tags[slot.tag.0].must_drain = false;
        self.dropped(slot);
    }

    /// A worker is gone.
    pub(crate) fn dropped(&mut self, slot: Slot) {
        self.moved_on.insert(slot);
        let worker = self.worker(slot);
        (worker.registered, worker.announced, worker.claimed) = (false, false, false);
    }

    pub(crate) fn parked(&mut self, slot: Slot) {
        self.tags[slot.tag.0].parked += 1;
    }

    /// A call of this worker's own begins or ends; in between it may announce itself and be claimed.
    pub(crate) fn inside(&mut self, slot: Slot, inside: bool) {
        self.worker(slot).inside = inside;
    }

    /// A call begins: nobody has done anything in its middle yet.
    pub(crate) fn begins(&mut self) {
        self.moved_on.clear();
    }

    /// A wake that was not asked for by a stop or a request is a claim: of an announced worker, once.
    pub(crate) fn claimed(&mut self, wake: Wake) -> Verdict {
        let slot = wake.slot;
        self.count_claim(wake)?;
        let worker = self.worker(slot);
        ensure!(
            worker.announced || worker.inside,
            "{slot} was claimed, but it is not announced"
        );
        (worker.announced, worker.claimed) = (false, true);
        Ok(())
    }

    /// The same at the end of a call in whose middle others acted. A claim comes before its wake, and a
    /// worker that has moved on in between may have used it, or left, or be announced anew; `idle` tells,
    /// the number of announced workers of a tag as the core counts it.
    pub(crate) fn claimed_late(
        &mut self,
        wakes: &[Wake],
        idle: impl Fn(TagIndex) -> usize,
    ) -> Verdict {
        let (late, plain): (Vec<_>, Vec<_>) = wakes
            .iter()
            .partition(|wake| self.moved_on.contains(&wake.slot));
        for wake in plain {
            self.claimed(wake)?;
        }
        for wake in late {
            self.count_claim(wake)?;
            let anew = self.tags[wake.slot.tag.0].idle() == idle(wake.slot.tag);
            let worker = self.worker(wake.slot);
            if worker.announced && !anew {
                (worker.announced, worker.claimed) = (false, true);
            }
        }
        Ok(())
    }

    fn count_claim(&mut self, Wake { slot, n }: Wake) -> Verdict {
        ensure!(n == 1, "{slot} was woken for {n} by a claim");
        let tag = &mut self.tags[slot.tag.0];
        tag.claims += 1;
        tag.wake_calls += 1;
        Ok(())
    }

    /// The wakes of one request to retire.
    pub(crate) fn asked_to_retire(&mut self, slot: Slot, wakes: &[Wake]) -> Verdict {
        ensure!(
            wakes == [Wake { slot, n: 1 }],
            "{slot} was asked to retire by {wakes:?}"
        );
        self.worker(slot).asked_to_retire = true;
        let tag = &mut self.tags[slot.tag.0];
        tag.asked_wakes += 1;
        tag.wake_calls += 1;
        Ok(())
    }

    pub(crate) fn is_abandoned(&self) -> bool {
        self.tags.iter().all(|tag| tag.intake == Intake::Abandoned)
    }

    pub(crate) fn closing(&mut self, policy: StopPolicy) {
        for tag in &mut self.tags {
            tag.intake = match tag.intake {
                Intake::Open => Intake::Closing(policy),
                closed => closed,
            };
        }
    }

    pub(crate) fn closed(&mut self, policy: StopPolicy) {
        for tag in &mut self.tags {
            tag.intake = match policy {
                StopPolicy::Drain => Intake::Draining,
                StopPolicy::Abandon => Intake::Abandoned,
            };
        }
    }

    /// The wakes of the step that stops the lots: everybody, of each lot, once.
    pub(crate) fn lots_stopped(&mut self, wakes: &[Wake]) -> Verdict {
        let mut woken: Vec<_> = wakes.iter().map(|wake| (wake.slot, wake.n)).collect();
        woken.sort_unstable();
        let all: usize = self.tags.iter().map(|tag| tag.workers.len()).sum();
        woken.dedup();
        ensure!(
            woken.len() == all && wakes.len() == all && woken.iter().all(|&(_, n)| n == u32::MAX),
            "the {all} lots were stopped by {wakes:?}"
        );
        for tag in &mut self.tags {
            tag.lots_stopped = true;
            tag.must_drain = tag.count(|worker| worker.registered && !worker.asked_to_retire) > 0;
            tag.asked_wakes += tag.workers.len();
            tag.wake_calls += tag.workers.len();
        }
        Ok(())
    }
}
