//! What whoever stops the scheduler does: the five steps, one at a time.

use parkade_core::stop::{Close, Drivers, Interrupt, Join, Lots};
use parkade_core::{StopPolicy, TagIndex};

use super::Play;
use crate::platform::{self, Stage};
use crate::reference::Verdict;

pub(super) enum Stopping<'c> {
    NotYet,
    Drivers(Drivers<'c, Stage>, StopPolicy),
    Close(Close<'c, Stage>, StopPolicy),
    Lots(Lots<'c, Stage>),
    Interrupt(Interrupt<'c, Stage>),
    Join(Join<'c, Stage>),
    Busy,
}

impl Play<'_> {
    pub(super) fn stop(&self, policy: StopPolicy) -> Verdict {
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

    pub(super) fn abandon(&self) -> Verdict {
        let stopping = self.stopping.replace(Stopping::Busy);
        if let Stopping::Join(join) = &stopping {
            let ((), _, _) = self.call(|| join.abandon())?;
            self.reference.borrow_mut().closed(StopPolicy::Abandon);
            self.note(format_args!("abandoned"));
        }
        self.stopping.replace(stopping);
        Ok(())
    }

    pub(super) fn take_queued(&self) -> Verdict {
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
}
