//! What a submit or a push may say: whom it woke, and when it may refuse.

use parkade_core::{RefusedReason, Slot, Wake, WorkerIndex};

use super::{Door, Intake, Kind, Reference, TagModel, Verdict, ensure};

/// How a submit of one task ended.
pub(crate) type Submitted = Result<Wake, RefusedReason>;

impl Reference {
    /// One task from outside, for anybody or for one worker.
    pub(crate) fn submitted(
        &mut self,
        id: usize,
        submitted: Submitted,
        claims: &[Slot],
        calm: bool,
    ) -> Verdict {
        if calm {
            let tag = &self.tags[self.tasks[id].tag];
            let kind = self.tasks[id].kind;
            match submitted {
                Ok(_) => tag.may_accept(kind)?,
                Err(reason) => tag.may_refuse(kind, reason)?,
            }
        }
        self.book(id, submitted.is_ok())?;
        match submitted {
            Ok(wake) if calm => self.tells_the_truth(id, wake, claims),
            _ => Ok(()),
        }
    }

    /// One task from a worker that runs another.
    pub(crate) fn pushed(
        &mut self,
        id: usize,
        submitted: Submitted,
        claims: &[Slot],
        calm: bool,
    ) -> Verdict {
        let tag = &self.tags[self.tasks[id].tag];
        let open = tag.intake == Intake::Open;
        let both = tag.config.run_queue.saturating_add(tag.config.inbox_limit);
        if calm {
            match submitted {
                Ok(_) => ensure!(open, "task {id} was pushed to a closed tag"),
                Err(RefusedReason::Closed) => ensure!(!open, "an open tag refused task {id}"),
                Err(RefusedReason::Full) => ensure!(
                    open && tag.normal.len() >= both,
                    "task {id} found both queues full, but only {} of {both} tasks are queued",
                    tag.normal.len()
                ),
            }
        }
        self.book(id, submitted.is_ok())?;
        match submitted {
            Ok(wake) if calm => self.tells_the_truth(id, wake, claims),
            _ => Ok(()),
        }
    }

    /// A batch: `ids[..accepted]` went in, the next came back if `refused` says so, the rest stayed.
    pub(crate) fn submitted_batch(
        &mut self,
        ids: &[usize],
        accepted: usize,
        refused: Option<(usize, RefusedReason)>,
        claims: &[Slot],
        calm: bool,
    ) -> Verdict {
        let came_back = refused.map(|(id, _)| id);
        ensure!(
            came_back == ids.get(accepted).copied(),
            "{accepted} of {ids:?} were accepted, and {came_back:?} came back"
        );
        let Some(&first) = ids.first() else {
            return Ok(());
        };
        let tag = self.tasks[first].tag;
        let kind = self.tasks[first].kind;
        let awake_or_idle = self.tags[tag].idle() + self.tags[tag].searching() + claims.len();
        for &id in &ids[..accepted] {
            if calm {
                self.tags[tag].may_accept(kind)?;
            }
            self.book(id, true)?;
        }
        if let Some((_, reason)) = refused
            && calm
        {
            self.tags[tag].may_refuse(kind, reason)?;
        }
        for &id in &ids[accepted..] {
            self.book(id, false)?;
        }
        if calm && accepted > 0 {
            let tag = &self.tags[tag];
            ensure!(
                tag.idle() == 0 || tag.searching() >= accepted,
                "{accepted} tasks, {} searchers, and {} of {awake_or_idle} still idle",
                tag.searching(),
                tag.idle()
            );
            ensure!(claims.len() <= accepted, "{accepted} tasks woke {claims:?}");
        }
        Ok(())
    }

    fn book(&mut self, id: usize, accepted: bool) -> Verdict {
        if accepted {
            self.accept(id);
            Ok(())
        } else {
            self.refuse(id)
        }
    }

    /// Whether the answer says who was claimed, and who idles and searches after it.
    fn tells_the_truth(&self, id: usize, wake: Wake, claims: &[Slot]) -> Verdict {
        let tag = &self.tags[self.tasks[id].tag];
        let (idle, searching) = (tag.idle(), tag.searching());
        let targeted = match self.tasks[id].kind {
            Kind::Mailbox(worker) => Some(worker),
            _ => None,
        };
        let claimed: Vec<_> = claims.iter().map(|slot| slot.worker).collect();
        let true_words = match wake {
            Wake::Woke(worker) => {
                claimed == [worker] && targeted.is_none_or(|only| worker == WorkerIndex(only))
            }
            Wake::Covered => match targeted {
                Some(worker) => claimed.is_empty() && !tag.workers[worker].announced,
                None => claimed.is_empty() && idle > 0 && searching > 0,
            },
            Wake::NobodyIdle { searchers } => {
                claimed.is_empty() && targeted.is_none() && idle == 0 && searchers == searching
            }
        };
        ensure!(
            true_words,
            "task {id} was told {wake:?}; claimed {claimed:?}, {idle} idle, {searching} searching"
        );
        Ok(())
    }
}

impl TagModel {
    fn open_doors(&self) -> usize {
        self.count(|worker| worker.door == Door::Open)
    }

    fn may_accept(&self, kind: Kind) -> Verdict {
        ensure!(
            self.intake == Intake::Open,
            "a tag that is {:?} accepted",
            self.intake
        );
        let limit = self.config.inbox_limit;
        let (room, door) = match kind {
            Kind::High => (self.high.len() < limit, true),
            Kind::Mailbox(worker) => {
                let worker = &self.workers[worker];
                (worker.mailbox.len() < limit, worker.door != Door::Closed)
            }
            Kind::Normal => {
                let queues = limit.saturating_add(self.config.run_queue);
                let all = queues.saturating_mul(self.workers.len());
                let door = |worker: &super::WorkerModel| worker.door != Door::Closed;
                (self.normal.len() < all, self.count(door) > 0)
            }
        };
        ensure!(
            room && door,
            "accepted a {kind:?} task: room {room}, open {door}"
        );
        Ok(())
    }

    /// "Every inbox is full, or the tag is closed", "the worker's mailbox is full, or …".
    fn may_refuse(&self, kind: Kind, reason: RefusedReason) -> Verdict {
        if self.intake != Intake::Open {
            ensure!(
                reason == RefusedReason::Closed,
                "a closed tag is {reason:?}"
            );
            return Ok(());
        }
        let limit = self.config.inbox_limit;
        let may = match (kind, reason) {
            (Kind::High, RefusedReason::Full) => self.high.len() >= limit,
            (Kind::High, RefusedReason::Closed) => false,
            (Kind::Mailbox(worker), RefusedReason::Full) => {
                let worker = &self.workers[worker];
                worker.mailbox.len() >= limit && worker.door != Door::Closed
            }
            (Kind::Mailbox(worker), RefusedReason::Closed) => {
                self.workers[worker].door != Door::Open
            }
            (Kind::Normal, reason) => {
                let open = self.open_doors();
                let full = self.normal.len() >= limit.saturating_mul(open);
                let some_closed = open < self.workers.len();
                full && (reason == RefusedReason::Full || some_closed)
            }
        };
        ensure!(
            may,
            "an open tag refused a {kind:?} task as {reason:?} with {} normal and {} high ones queued",
            self.normal.len(),
            self.high.len()
        );
        Ok(())
    }
}
