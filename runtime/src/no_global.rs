//! In place of the global runtime, where no backend is chosen: there is none.

use crate::refused::RefusedReason;
use crate::timer::Timer;
use crate::timers::queue::Due;

/// A timer of nowhere.
pub(crate) fn silent_alarm(_due: Due) -> Result<Timer<()>, RefusedReason> {
    Err(RefusedReason::Stopped)
}
