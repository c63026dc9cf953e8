//! Placement: in which inbox a task from outside is put.

use super::Tag;
use crate::inbox::{Inbox, Refused, RefusedReason};
use crate::origin::Origin;
use crate::platform::{Platform, WorkerIndex};
use crate::task::Task;
use crate::walk::Walk;

/// Each time that an inbox is found as long as a multiple of this many tasks, an outside thread draws another one.
const LONG_INBOX: usize = 256;

/// How often all inboxes are tried, should each be closed in an open tag: all of them are, where nobody has
/// registered yet.
const ROUNDS: u32 = 8;

impl<P: Platform> Tag<P> {
    /// The group to submit to: that of the worker who will be claimed, else the origin's.
    pub(super) fn choose(&self, origin: &Origin) -> (usize, Option<WorkerIndex>) {
        if let Some(worker) = self.idle.first_announced() {
            return (worker.0, Some(worker));
        }
        let sticky = &self.groups[origin.group(self.groups.len())].inbox;
        let len = sticky.len();
        let is_long = len >= LONG_INBOX && len.is_multiple_of(LONG_INBOX);
        if is_long || sticky.is_closed() {
            origin.redraw(self.groups.len(), |group| {
                !self.groups[group].inbox.is_closed()
            });
        }
        (origin.group(self.groups.len()), None)
    }

    /// Pushes to the chosen inbox, or to any other that has room.
    pub(super) fn place(
        &self,
        push: impl Fn(&Inbox<P>, Task) -> Result<(), Refused>,
        task: Task,
        origin: &Origin,
    ) -> Result<(&Inbox<P>, Option<WorkerIndex>), Refused> {
        let (chosen, preferred) = self.choose(origin);
        let inbox = &self.groups[chosen].inbox;
        let mut refused = match push(inbox, task) {
            Ok(()) => return Ok((inbox, preferred)),
            Err(refused) => refused,
        };
        for _ in 0..ROUNDS {
            for index in Walk::new(self.groups.len(), &mut origin.dice()) {
                let inbox = &self.groups[index].inbox;
                match push(inbox, refused.task) {
                    Ok(()) => return Ok((inbox, preferred)),
                    // One that is full says more than one whose worker is not there.
                    Err(again) => {
                        refused = Refused {
                            task: again.task,
                            reason: match refused.reason {
                                RefusedReason::Full if self.is_open() => RefusedReason::Full,
                                _ => again.reason,
                            },
                        }
                    }
                }
            }
            // Each was closed when its turn came, if one worker came while another one left: go round again.
            if refused.reason != RefusedReason::Closed || !self.is_open() {
                break;
            }
        }
        Err(refused)
    }
}
