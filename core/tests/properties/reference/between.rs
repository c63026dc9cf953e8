//! What must hold between any two operations, and when all is at rest or over.
//!
//! Between two operations nobody stands between a push or a count − 1 and its check, so invariant I1
//! holds without its last exception, and the idle word can be told from the wakes and answers alone: a
//! worker is announced from an answer `Park` until it is claimed, and counted as a searcher from a claim
//! until its next answer.

use parkade_core::{Counters, Slot, TagIndex, WorkerIndex};

use super::{Fate, Intake, Reference, Verdict, ensure};
use crate::platform::is_asleep;

impl Reference {
    /// Invariants I1 and I3, and the counters of one tag.
    pub(crate) fn between(&self, index: usize, counters: &Counters) -> Verdict {
        self.nobody_sleeps_on_work(index)?;
        self.nobody_sleeps_through_a_signal(index)?;
        self.a_drain_runs_everything(index)?;
        self.counts_are_right(index, counters)
            .map_err(|what| format!("tag {index}: {what}; {counters}"))
    }

    /// I1, for the tag's queues and for each mailbox; void once a stop has woken everybody.
    fn nobody_sleeps_on_work(&self, index: usize) -> Verdict {
        let tag = &self.tags[index];
        if tag.lots_stopped || tag.intake == Intake::Abandoned {
            return Ok(());
        }
        ensure!(
            tag.takeable() == 0 || tag.idle() == 0 || tag.searching() > 0,
            "I1: tag {index} has {} tasks queued, {} idle and nobody searching",
            tag.takeable(),
            tag.idle()
        );
        for (worker, model) in tag.workers.iter().enumerate() {
            ensure!(
                model.mailbox.is_empty() || !model.announced,
                "I1: worker {worker} of tag {index} is announced with {:?} in its mailbox",
                model.mailbox
            );
        }
        Ok(())
    }

    /// The last worker that leaves a draining tag leaves nothing that anybody could run.
    fn a_drain_runs_everything(&self, index: usize) -> Verdict {
        let tag = &self.tags[index];
        let drained = tag.must_drain && tag.intake == Intake::Draining;
        ensure!(
            !drained || tag.takeable() == 0 || tag.count(|worker| worker.registered) > 0,
            "all workers have left tag {index}, which drains, with {} tasks queued",
            tag.takeable()
        );
        Ok(())
    }

    fn nobody_sleeps_through_a_signal(&self, index: usize) -> Verdict {
        let tag = &self.tags[index];
        for (worker, model) in tag.workers.iter().enumerate() {
            let slot = Slot {
                tag: TagIndex(index),
                worker: WorkerIndex(worker),
            };
            let asked = model.asked_to_retire && tag.intake == Intake::Open;
            let reason = [
                (model.claimed, "claimed"),
                (asked, "asked to retire"),
                (tag.lots_stopped, "stopped"),
            ];
            for (called, what) in reason {
                ensure!(!called || !is_asleep(slot), "{slot} was {what} and sleeps");
            }
        }
        Ok(())
    }

    fn counts_are_right(&self, index: usize, counters: &Counters) -> Verdict {
        let tag = &self.tags[index];
        let registered = tag.count(|worker| worker.registered);
        for (name, counted, true_count) in [
            ("spawned", counters.spawned, tag.accepted),
            ("picked", counters.picked, tag.picked),
            ("parked", counters.parked, tag.parked),
            ("wakes asked", counters.wakes_asked, tag.claims),
            ("wake calls", counters.wake_calls, tag.wake_calls),
            ("workers", counters.workers, registered),
            ("idle", counters.idle, tag.idle()),
            ("searching", counters.searching, tag.searching()),
        ] {
            ensure!(
                counted == true_count,
                "{name} is counted {counted}, not {true_count}"
            );
        }
        ensure!(
            tag.wake_calls <= tag.claims + tag.asked_wakes,
            "I3: {} wake calls for {} claims and {} asked for",
            tag.wake_calls,
            tag.claims,
            tag.asked_wakes
        );
        ensure!(
            tag.workers.len() > 1 || counters.stolen == 0,
            "a lone worker stole"
        );
        let mailboxes = tag.workers.iter().map(|worker| worker.mailbox.len());
        let queued = tag.takeable() + mailboxes.sum::<usize>();
        ensure!(
            counters.spawned == counters.picked + queued + tag.taken,
            "spawned is not picked + {queued} queued + {} taken",
            tag.taken
        );
        Ok(())
    }

    /// A wake is for work: whoever was claimed in a calm operation has something to find.
    pub(crate) fn wakes_are_for_work(&self, claims: &[Slot]) -> Verdict {
        for slot in claims {
            let tag = &self.tags[slot.tag.0];
            ensure!(
                tag.takeable() > 0 || !tag.workers[slot.worker.0].mailbox.is_empty(),
                "{slot} was woken, but nothing is queued"
            );
        }
        Ok(())
    }

    /// All workers that are there sleep: then nothing is queued that they could run.
    pub(crate) fn at_rest(&self, index: usize) -> Verdict {
        let tag = &self.tags[index];
        for (worker, model) in tag.workers.iter().enumerate() {
            if !model.registered || tag.intake == Intake::Abandoned {
                continue;
            }
            ensure!(
                tag.takeable() == 0 && model.mailbox.is_empty(),
                "worker {worker} of tag {index} rests while {:?}, {:?} and its {:?} are queued",
                tag.normal,
                tag.high,
                model.mailbox
            );
        }
        Ok(())
    }

    /// The scheduler is gone: every task was refused, ran or came back, and after a full drain it ran.
    pub(crate) fn over(&self, all_ran: bool) -> Verdict {
        for (id, entry) in self.tasks.iter().enumerate() {
            let done = match entry.fate {
                Fate::Refused | Fate::Picked(_) => true,
                Fate::Taken => !all_ran,
                Fate::Offered | Fate::Queued => false,
            };
            ensure!(
                done,
                "in the end task {id} of tag {} is {:?}",
                entry.tag,
                entry.fate
            );
        }
        Ok(())
    }
}
