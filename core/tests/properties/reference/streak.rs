//! How often a priority may be passed over: bounds that follow from
//! [`TagConfig::ageing`](parkade_core::TagConfig::ageing).
//!
//! "Every how many picks the priority inbox is looked at last instead of first." With an ageing of n,
//! any n consecutive picks of one worker contain exactly one whose number is a multiple of n. Hence, of
//! any n consecutive picks of one worker,
//!
//! * at most *one* may hand out a normal task while a high-priority one is queued, and
//! * not *all* may hand out high-priority tasks while a normal one is queued throughout. (Mailbox tasks
//!   go before both; a pick that hands one out promises nothing, so it begins a new count.)
//!
//! From outside, picks can be counted only while each answer is a task: an answer of another kind, or a
//! step of others in the middle of a look, may have cost any number of picks, so it begins a new streak.

use super::{Kind, Verdict, ensure};

/// A run of picks by one worker without any other answer in between.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Streak {
    /// Picks since the last that passed over a high-priority task.
    since_passed_over: Option<u32>,
    /// Picks of high-priority tasks in a row while a normal one was queued.
    high_in_a_row: u32,
}

impl Streak {
    /// One more pick; `high` and `normal` say whether such tasks were queued when it began.
    pub(super) fn pick(&mut self, ageing: u32, picked: Kind, high: bool, normal: bool) -> Verdict {
        let since = self.since_passed_over.map(|picks| picks + 1);
        self.since_passed_over = since;
        match picked {
            Kind::Mailbox(_) => self.high_in_a_row = 0,
            Kind::High => {
                self.high_in_a_row = if normal { self.high_in_a_row + 1 } else { 0 };
                ensure!(
                    self.high_in_a_row < ageing,
                    "{ageing} picks in a row went to high-priority tasks while a normal one waited"
                );
            }
            Kind::Normal => {
                self.high_in_a_row = 0;
                if high {
                    ensure!(
                        since.is_none_or(|picks| picks >= ageing),
                        "a high-priority task was passed over, again after {since:?} picks of {ageing}"
                    );
                    self.since_passed_over = Some(0);
                }
            }
        }
        Ok(())
    }
}
