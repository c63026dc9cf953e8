//! How many workers each tag has, and how many it should have: decides, without a thread, a lock or a clock.
//!
//! Each tag has a fixed number of *places*, one for each worker that there may be at a time. A worker *stays* if
//! its place is taken and it was not asked to leave.
//!
//! # Why a tag is never without a worker
//!
//! Nobody is asked to leave unless another worker stays that has begun to work: a thread that is only being
//! started may fail to start. So a request to leave is never the end of a tag, whatever becomes of the others.
//!
//! # Why nobody is asked twice or by mistake
//!
//! A request is for the worker at a place, and only for one that is there: a place whose thread is being started,
//! or has left and was not joined yet, is passed by.

mod places;

use std::time::{Duration, Instant};

use parkade_core::{Slot, TagIndex, WorkerIndex};

use places::{Keeping, Place, TagTally};

/// The numbers that a tag was described with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    pub(crate) min: usize,
    pub(crate) max: usize,
    /// How many blocked workers may be replaced at a time.
    pub(crate) max_blocked: usize,
    pub(crate) keep_alive: Duration,
}

impl Bounds {
    /// How many workers there may be at a time.
    pub(crate) fn places(&self) -> usize {
        self.max.saturating_add(self.max_blocked)
    }
}

/// What is seen of a worker from outside.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen {
    pub(crate) sleeps: bool,
    /// How often it has gone to sleep.
    pub(crate) parked: usize,
}

/// What is to be done next, outside of the lock.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Join the thread that has left this place, and say [`Tally::joined`].
    Join(Slot),
    /// Start a thread for this place, and say [`Tally::arrived`] or [`Tally::failed`].
    Start(Slot),
    /// Look whether the tag is short of workers, of which these stay, and say [`Tally::judge`].
    Look(TagIndex, Vec<WorkerIndex>),
}

/// What a look at a tag has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing waits, or somebody is there for it.
    Enough,
    /// As many workers are between two tasks as tasks wait: they may be about to take them.
    Unclear,
    /// More tasks wait than there are workers who may be about to take them.
    Short,
}

impl Verdict {
    /// For a tag with so many tasks that wait, and nobody idle or searching; with the task that each worker was
    /// seen inside before the look, and after.
    pub(crate) fn of(
        waiting: usize,
        seen: impl Iterator<Item = (Option<usize>, Option<usize>)>,
    ) -> Self {
        let between = seen.filter(|(before, after)| after.is_none() || before != after);
        match between.count() {
            between if waiting > between => Self::Short,
            _ if waiting > 0 => Self::Unclear,
            _ => Self::Enough,
        }
    }
}

/// What a tag shows of itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TagCounts {
    pub(crate) wanted: usize,
    pub(crate) blocked: usize,
    pub(crate) grown: usize,
    pub(crate) retired: usize,
    pub(crate) failed_starts: usize,
    pub(crate) missing: usize,
}

/// All tags of a runtime.
#[derive(Debug)]
pub(crate) struct Tally {
    tags: Vec<TagTally>,
    ceiling: usize,
}

/// The pause before an unclear look is repeated, at first and at most.
const FIRST_PAUSE: Duration = Duration::from_micros(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(2);

impl Tally {
    pub(crate) fn new(bounds: impl Iterator<Item = Bounds>, ceiling: usize) -> Self {
        Self {
            tags: bounds.map(TagTally::new).collect(),
            ceiling,
        }
    }

    /// Whether a tag may ever have more workers than at first.
    pub(crate) fn may_ever_grow(&self) -> bool {
        let mut tags = self.tags.iter();
        tags.any(|tag| tag.places.len() > tag.bounds.min)
    }

    /// Takes note of the workers that have begun with the runtime.
    pub(crate) fn began(&mut self, slots: impl Iterator<Item = Slot>) {
        for slot in slots {
            *self.place(slot) = Place::Working;
        }
        for tag in &mut self.tags {
            for place in &mut tag.places {
                if *place == Place::Starting {
                    *place = Place::Empty;
                }
            }
            tag.count_missing();
            tag.failed = tag.counts.missing > 0;
        }
    }

    pub(crate) fn places(&self, tag: TagIndex) -> usize {
        self.tags[tag.0].places.len()
    }

    /// The sum of all minimums if this tag's were `workers`, if that is more than the ceiling.
    pub(crate) fn beyond_ceiling(&self, tag: TagIndex, workers: usize) -> Option<usize> {
        let others = self.tags.iter().enumerate();
        let others = others.filter(|(index, _)| *index != tag.0);
        let sum = others.map(|(_, tag)| tag.bounds.min).sum::<usize>() + workers;
        (sum > self.ceiling).then_some(sum)
    }

    pub(crate) fn ceiling(&self) -> usize {
        self.ceiling
    }

    pub(crate) fn resize(&mut self, tag: TagIndex, workers: usize) {
        let tag = &mut self.tags[tag.0];
        (tag.bounds.min, tag.bounds.max) = (workers, workers);
        tag.counts.wanted = workers;
        tag.counts.missing = 0;
        tag.failed = false;
        tag.keeping = None;
    }

    /// Nobody is wanted in this tag any more: whoever is there leaves unasked, and is joined by whoever stops it.
    pub(crate) fn close(&mut self, tag: TagIndex) {
        self.resize(tag, 0);
        let tag = &mut self.tags[tag.0];
        (tag.closed, tag.asked, tag.look_at) = (true, false, None);
        for place in &mut tag.places {
            if let Place::Left { .. } = place {
                *place = Place::Empty;
            }
        }
    }

    pub(crate) fn is_closed(&self, tag: TagIndex) -> bool {
        self.tags[tag.0].closed
    }

    /// True if it makes a difference to how many workers there may be; as for [`unblock`](Tally::unblock).
    pub(crate) fn block(&mut self, tag: TagIndex) -> bool {
        let tag = &mut self.tags[tag.0];
        tag.counts.blocked += 1;
        tag.bounds.max_blocked > 0
    }

    pub(crate) fn unblock(&mut self, tag: TagIndex) -> bool {
        let tag = &mut self.tags[tag.0];
        tag.counts.blocked -= 1;
        tag.bounds.max_blocked > 0
    }

    /// Takes note of a request to grow; true if it is the first since the last look.
    pub(crate) fn ask(&mut self, tag: TagIndex) -> bool {
        let tag = &mut self.tags[tag.0];
        if tag.closed {
            return false;
        }
        tag.failed = false;
        !std::mem::replace(&mut tag.asked, true)
    }

    /// Whether requests are of use.
    pub(crate) fn is_open(&self, tag: TagIndex) -> bool {
        let tag = &self.tags[tag.0];
        tag.may_grow && !tag.asked
    }

    /// The thread of this place has registered as a worker.
    pub(crate) fn arrived(&mut self, slot: Slot) {
        *self.place(slot) = Place::Fresh;
        let tag = &mut self.tags[slot.tag.0];
        tag.counts.grown += 1;
        tag.count_missing();
    }

    /// The thread of this place could not be started.
    pub(crate) fn failed(&mut self, slot: Slot) {
        *self.place(slot) = Place::Empty;
        let tag = &mut self.tags[slot.tag.0];
        tag.counts.failed_starts += 1;
        tag.count_missing();
        // A request that has come meanwhile is a later one.
        tag.failed = !tag.asked;
        // Else its being able to grow again would itself be taken for a request.
        tag.may_grow = !tag.closed;
    }

    /// This worker has looked for its first task, and is inside it if there was one.
    pub(crate) fn looked(&mut self, slot: Slot) {
        let place = self.place(slot);
        if *place == Place::Fresh {
            *place = Place::Working;
        }
    }

    /// The thread of this place is about to end.
    pub(crate) fn left(&mut self, slot: Slot) {
        let closed = self.is_closed(slot.tag);
        let place = self.place(slot);
        let asked = *place == Place::Leaving;
        *place = if closed {
            Place::Empty
        } else {
            Place::Left { asked }
        };
    }

    /// The thread of this place was not started after all, because its tag is being stopped.
    pub(crate) fn not_started(&mut self, slot: Slot) {
        *self.place(slot) = Place::Empty;
    }

    pub(crate) fn joined(&mut self, slot: Slot) {
        let place = self.place(slot);
        let asked = *place == Place::Left { asked: true };
        *place = Place::Empty;
        self.tags[slot.tag.0].counts.retired += usize::from(asked);
        // What it has left behind may be what another is wanted for.
        for tag in &mut self.tags {
            tag.asked |= tag.may_grow;
        }
    }

    /// Takes note of what a look has come to; the place to start a worker at, if one is wanted.
    pub(crate) fn judge(&mut self, tag: TagIndex, verdict: Verdict, now: Instant) -> Option<Slot> {
        let may_grow = self.may_grow(tag.0, self.total());
        let of_tag = &mut self.tags[tag.0];
        match verdict {
            Verdict::Unclear if !of_tag.closed => {
                let pause = FIRST_PAUSE * 2_u32.pow(of_tag.unclear.min(16));
                of_tag.unclear = of_tag.unclear.saturating_add(1);
                of_tag.asked = true;
                of_tag.look_at = now.checked_add(pause.min(LONGEST_PAUSE));
            }
            Verdict::Short => {
                of_tag.unclear = 0;
                return may_grow.then(|| self.start(tag.0)).flatten();
            }
            Verdict::Enough | Verdict::Unclear => of_tag.unclear = 0,
        }
        None
    }

    /// Finds out anew who may grow. Who can and could not before is as good as asked: requests were not taken.
    /// Returns whether there is something to do.
    pub(crate) fn review(&mut self) -> bool {
        let mut busy = false;
        // Nothing of it changes here.
        let total = self.total();
        for index in 0..self.tags.len() {
            let may_grow = self.may_grow(index, total);
            let tag = &mut self.tags[index];
            tag.asked |= may_grow && !tag.may_grow;
            tag.may_grow = may_grow;
            let left = tag.places.iter().any(Place::has_left);
            busy |= tag.asked || left || tag.is_below_min();
            busy |= tag.is_above_min() != tag.keeping.is_some();
        }
        busy
    }

    /// Who is to leave now, and is marked so: whoever is too many for its tag, or stands in the way of another
    /// tag's minimum. Sleepers first, then those of the highest index.
    pub(crate) fn leavers(&mut self, sleeps: impl Fn(Slot) -> bool) -> Vec<Slot> {
        let mut leavers = Vec::new();
        for index in 0..self.tags.len() {
            let tag = &self.tags[index];
            if tag.closed {
                continue;
            }
            let surplus = tag.staying().saturating_sub(tag.cap());
            self.choose(index, surplus, &sleeps, &mut leavers);
        }
        let total: usize = self.tags.iter().map(TagTally::staying_or_min).sum();
        let mut excess = total.saturating_sub(self.ceiling);
        for index in 0..self.tags.len() {
            let tag = &self.tags[index];
            if tag.closed {
                continue;
            }
            let above = tag.staying().saturating_sub(tag.bounds.min).min(excess);
            let before = leavers.len();
            self.choose(index, above, &sleeps, &mut leavers);
            excess -= leavers.len() - before;
        }
        leavers
    }

    fn choose(
        &mut self,
        tag: usize,
        most: usize,
        sleeps: &impl Fn(Slot) -> bool,
        leavers: &mut Vec<Slot>,
    ) {
        if most == 0 {
            return;
        }
        let tally = &self.tags[tag];
        let mut chosen: Vec<_> = tally.confirmed().map(|worker| slot(tag, worker)).collect();
        let most = most.min(chosen.len().saturating_sub(1));
        chosen.sort_by_key(|slot| (!sleeps(*slot), std::cmp::Reverse(slot.worker.0)));
        for slot in chosen.into_iter().take(most) {
            *self.place(slot) = Place::Leaving;
            leavers.push(slot);
        }
    }

    /// Who is to leave because it has slept all through a keep-alive time, and is marked so.
    pub(crate) fn expired(&mut self, now: Instant, seen: impl Fn(Slot) -> Seen) -> Vec<Slot> {
        let mut leavers = Vec::new();
        for index in 0..self.tags.len() {
            let tag = &self.tags[index];
            if !tag.is_above_min() {
                self.tags[index].keeping = None;
                continue;
            }
            let over = match &tag.keeping {
                Some(keeping) if keeping.until.is_none_or(|until| now < until) => continue,
                over => over,
            };
            if let Some(keeping) = over {
                let idle: Vec<_> = tag
                    .confirmed()
                    .filter(|worker| {
                        let seen = seen(slot(index, *worker));
                        seen.sleeps && seen.parked == keeping.parked[*worker]
                    })
                    .collect();
                let above = tag.staying() - tag.bounds.min;
                let most = above.min(tag.confirmed().count().saturating_sub(1));
                for worker in idle.into_iter().rev().take(most) {
                    self.tags[index].places[worker] = Place::Leaving;
                    leavers.push(slot(index, worker));
                }
            }
            let tag = &mut self.tags[index];
            let workers = 0..tag.places.len();
            tag.keeping = tag.is_above_min().then(|| Keeping {
                until: now.checked_add(tag.bounds.keep_alive),
                parked: workers
                    .map(|worker| seen(slot(index, worker)).parked)
                    .collect(),
            });
        }
        leavers
    }

    /// What to do at once, if there is anything; it is taken for begun.
    pub(crate) fn next(&mut self, now: Instant) -> Option<Step> {
        self.next_step(now, true)
    }

    /// The same in a drain, where nobody is started for a minimum's sake.
    pub(crate) fn next_in_drain(&mut self, now: Instant) -> Option<Step> {
        self.next_step(now, false)
    }

    fn next_step(&mut self, now: Instant, keeps_min: bool) -> Option<Step> {
        for index in 0..self.tags.len() {
            let tag = &mut self.tags[index];
            if let Some(worker) = tag.places.iter().position(Place::has_left) {
                return Some(Step::Join(slot(index, worker)));
            }
            if keeps_min
                && tag.is_below_min()
                && let Some(slot) = self.start(index)
            {
                return Some(Step::Start(slot));
            }
        }
        for (index, tag) in self.tags.iter_mut().enumerate() {
            if tag.asked && tag.look_at.is_none_or(|at| at <= now) {
                (tag.asked, tag.look_at) = (false, None);
                let staying = tag.confirmed().map(WorkerIndex).collect();
                return Some(Step::Look(TagIndex(index), staying));
            }
        }
        None
    }

    /// Retires nobody for having slept through a keep-alive time any more.
    pub(crate) fn keeps_nobody(&mut self) {
        for tag in &mut self.tags {
            tag.keeping = None;
        }
    }

    /// Whether there is no worker any more, and none on its way.
    pub(crate) fn have_all_left(&self) -> bool {
        let mut places = self.tags.iter().flat_map(|tag| &tag.places);
        places.all(|place| *place == Place::Empty || place.has_left())
    }

    /// When there is something to do if nothing happens before: only above a minimum, or for an unclear look.
    pub(crate) fn next_at(&self) -> Option<Instant> {
        let tags = self.tags.iter();
        tags.flat_map(|tag| {
            let keeping = tag.keeping.as_ref().and_then(|keeping| keeping.until);
            [keeping, tag.look_at.filter(|_| tag.asked)]
        })
        .flatten()
        .min()
    }

    pub(crate) fn counts(&self, tag: TagIndex) -> TagCounts {
        self.tags[tag.0].counts
    }

    /// Takes an empty place for a thread that is to be started.
    fn start(&mut self, tag: usize) -> Option<Slot> {
        let tally = &mut self.tags[tag];
        let worker = tally.places.iter().position(|at| *at == Place::Empty)?;
        tally.places[worker] = Place::Starting;
        tally.may_grow = false;
        Some(slot(tag, worker))
    }

    /// Whether a worker may be started, were it wanted: one at a time, the next when it has looked.
    fn may_grow(&self, index: usize, total: usize) -> bool {
        let tag = &self.tags[index];
        if tag.closed {
            return false;
        }
        let arriving = |place: &Place| matches!(place, Place::Starting | Place::Fresh);
        tag.threads() < tag.cap()
            && !tag.places.iter().any(arriving)
            && (tag.threads() < tag.bounds.min || total < self.ceiling)
    }

    fn total(&self) -> usize {
        self.tags.iter().map(TagTally::threads_or_min).sum()
    }

    fn place(&mut self, Slot { tag, worker }: Slot) -> &mut Place {
        &mut self.tags[tag.0].places[worker.0]
    }
}

const fn slot(tag: usize, worker: usize) -> Slot {
    Slot {
        tag: TagIndex(tag),
        worker: WorkerIndex(worker),
    }
}

#[cfg(test)]
mod tests;
