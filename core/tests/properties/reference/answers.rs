//! Which answers of `next` are allowed.

use parkade_core::{Slot, StopPolicy};

use super::{Door, Fate, Intake, Kind, Reference, Streak, Verdict, ensure};

/// An answer of `next`, with its task's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Run(usize),
    Park,
    Stop,
    Retire,
}

/// What there was when a worker asked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Look {
    announced: bool,
    asked_to_retire: bool,
    abandoned: bool,
    lots_stopped: bool,
    mailbox: Option<usize>,
    high: Option<usize>,
    normal: bool,
}

/// What a calm look must come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Due {
    Exactly(Answer),
    /// A task that anybody may take.
    AnyTask,
}

impl Look {
    fn due(self) -> Due {
        let asleep = self.announced && !self.lots_stopped && !self.asked_to_retire;
        Due::Exactly(if asleep {
            // Only a claim ends an announcement; a return from the park says nothing.
            Answer::Park
        } else if self.abandoned {
            Answer::Stop
        } else if let Some(task) = self.mailbox {
            Answer::Run(task)
        } else if self.asked_to_retire {
            Answer::Retire
        } else if self.high.is_some() || self.normal {
            return Due::AnyTask;
        } else if self.lots_stopped {
            Answer::Stop
        } else {
            Answer::Park
        })
    }
}

impl Reference {
    pub(crate) fn look(&self, slot: Slot) -> Look {
        let tag = &self.tags[slot.tag.0];
        let worker = &tag.workers[slot.worker.0];
        Look {
            announced: worker.announced,
            asked_to_retire: worker.asked_to_retire && tag.intake == Intake::Open,
            abandoned: tag.intake == Intake::Abandoned,
            lots_stopped: tag.lots_stopped,
            mailbox: worker.mailbox.front().copied(),
            high: tag.high.front().copied(),
            normal: !tag.normal.is_empty(),
        }
    }

    pub(crate) fn answered(
        &mut self,
        slot: Slot,
        look: Look,
        answer: Answer,
        calm: bool,
    ) -> Verdict {
        self.is_allowed(slot, look, answer)?;
        if calm {
            self.is_due(look, answer)?;
        }
        self.keep_streak(slot, look, answer, calm)?;
        self.moved_on.insert(slot);
        let open = self.tags[slot.tag.0].intake == Intake::Open;
        let worker = self.worker(slot);
        (worker.announced, worker.claimed) = (answer == Answer::Park, false);
        if answer == Answer::Retire || (look.asked_to_retire && open) {
            worker.door = Door::Closed;
        } else if worker.asked_to_retire && open {
            worker.door = Door::Unknown;
        }
        if answer == Answer::Retire {
            worker.asked_to_retire = false;
        }
        Ok(())
    }

    /// What holds whatever happened in the middle.
    fn is_allowed(&mut self, slot: Slot, look: Look, answer: Answer) -> Verdict {
        let tag = &self.tags[slot.tag.0];
        let worker = &tag.workers[slot.worker.0];
        let still_open = tag.intake == Intake::Open;
        let retiring = look.asked_to_retire && still_open;
        match answer {
            Answer::Run(id) => {
                ensure!(
                    !look.abandoned,
                    "{slot} was given task {id} of an abandoned tag"
                );
                self.remove(id, slot.tag.0, Fate::Picked(slot.worker.0))?;
                self.tags[slot.tag.0].picked += 1;
                let kind = self.tasks[id].kind;
                let meant_for_it = kind == Kind::Mailbox(slot.worker.0);
                ensure!(
                    meant_for_it || !matches!(kind, Kind::Mailbox(_)),
                    "{slot} was given task {id}, which is for {kind:?}"
                );
                ensure!(
                    meant_for_it || !retiring,
                    "{slot} was asked to retire and starts task {id}"
                );
            }
            Answer::Park => {
                ensure!(!look.lots_stopped, "{slot} parks after its lot was stopped");
                ensure!(!retiring, "{slot} was asked to retire and parks");
            }
            Answer::Stop => {
                let abandoned = matches!(
                    tag.intake,
                    Intake::Abandoned | Intake::Closing(StopPolicy::Abandon)
                );
                ensure!(
                    tag.lots_stopped || abandoned,
                    "{slot} leaves a tag that is {:?}",
                    tag.intake
                );
            }
            Answer::Retire => {
                ensure!(worker.asked_to_retire, "{slot} retires without being asked");
                ensure!(
                    worker.mailbox.is_empty(),
                    "{slot} retires and strands {:?} in its mailbox",
                    worker.mailbox
                );
            }
        }
        Ok(())
    }

    /// What must be the answer if nothing happened in the middle.
    fn is_due(&self, look: Look, answer: Answer) -> Verdict {
        let due = look.due();
        let fits = match (due, answer) {
            (Due::Exactly(due), answer) if self.order_known => due == answer,
            // The order of the mailbox is not known.
            (Due::Exactly(Answer::Run(_)), Answer::Run(id)) => {
                matches!(self.tasks[id].kind, Kind::Mailbox(_))
            }
            (Due::Exactly(due), answer) => due == answer,
            (Due::AnyTask, Answer::Run(id)) => {
                !self.order_known || self.tasks[id].kind != Kind::High || look.high == Some(id)
            }
            (Due::AnyTask, _) => false,
        };
        ensure!(
            fits,
            "the answer is {answer:?} where {due:?} was due for {look:?}"
        );
        Ok(())
    }

    fn keep_streak(&mut self, slot: Slot, look: Look, answer: Answer, calm: bool) -> Verdict {
        let ageing = self.tags[slot.tag.0].config.ageing;
        let kind = match answer {
            Answer::Run(id) if calm && !look.asked_to_retire => Some(self.tasks[id].kind),
            _ => None,
        };
        let streak = &mut self.worker(slot).streak;
        match kind {
            Some(kind) => streak
                .pick(ageing, kind, look.high.is_some(), look.normal)
                .map_err(|what| format!("{slot}: {what}")),
            None => {
                *streak = Streak::default();
                Ok(())
            }
        }
    }
}
