//! What outside threads do: submit one, several, or one for a certain worker.

use parkade_core::{Priority, Refused, Slot, Task, Wake};

use super::{ORIGINS, Play, same_task};
use crate::reference::{Kind, Verdict};

impl Play<'_> {
    pub(super) fn submit(&self, origin: usize, tag: usize, priority: Priority) -> Verdict {
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

    pub(super) fn submit_to(&self, slot: Slot) -> Verdict {
        let id = self.offer(slot.tag.0, Kind::Mailbox(slot.worker.0));
        let tag = &self.control.tags()[slot.tag.0];
        let (submitted, claims, calm) =
            self.call(|| tag.submit_to(slot.worker, Task::from_word(id)))?;
        self.note(format_args!("{id} to {slot} alone: {submitted:?}"));
        self.after_submit(id, submitted, &claims, calm)
    }

    pub(super) fn after_submit(
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

    pub(super) fn batch(
        &self,
        origin: usize,
        tag: usize,
        priority: Priority,
        tasks: usize,
    ) -> Verdict {
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
}

fn kind_of(priority: Priority) -> Kind {
    match priority {
        Priority::Normal => Kind::Normal,
        Priority::High => Kind::High,
    }
}
