//! The watchdog: whoever waits looks at the clock, and a hang has an exit code of its own.
//!
//! Hart 0's timer is due at the deadline, so a hart 0 that is parked for ever wakes to see it. A wait in
//! code naps in short sleeps, so that it costs neither the host nor the harts that have something to do.

use core::sync::atomic::{AtomicU64, Ordering};

use crate::machine::{Board, Machine, masked};
use crate::verdict;

static DEADLINE: AtomicU64 = AtomicU64::new(u64::MAX);

/// Looks that a wait takes before it naps.
const EAGER: u32 = 200;

/// The lengths of the first nap and of the longest, in microseconds: each is twice the one before.
const FIRST_NAP: u64 = 20;
const LONGEST_NAP: u64 = 2_000;

/// From now on, what takes longer than this is a hang. Called by hart 0.
pub(crate) fn allow(milliseconds: u64) {
    let deadline = Board::now() + ticks(milliseconds * 1_000);
    DEADLINE.store(deadline, Ordering::Relaxed);
    Board::set_timer(deadline);
}

/// Ends everything if the time is over.
pub(crate) fn look() {
    if Board::now() >= DEADLINE.load(Ordering::Relaxed) {
        verdict::hung();
    }
}

/// Waits until `done` says so.
pub(crate) fn until(mut done: impl FnMut() -> bool) {
    for _ in 0..EAGER {
        if done() {
            return;
        }
    }
    let mut nap = FIRST_NAP;
    while !done() {
        look();
        sleep(ticks(nap));
        nap = LONGEST_NAP.min(2 * nap);
    }
}

/// Sleeps for so many ticks, by the timer. Not for modes whose timer has a handler.
pub(crate) fn sleep(ticks: u64) {
    masked(|| {
        Board::set_timer(Board::now() + ticks);
        while !Board::timer_is_due() {
            Board::sleep();
            // A stale ring would keep the hart awake; whoever parks later looks before it sleeps.
            Board::silence();
        }
        rearm();
    });
}

/// Gives the own timer back to the watchdog, on hart 0, or to nobody.
pub(crate) fn rearm() {
    Board::set_timer(if Board::hart() == 0 {
        DEADLINE.load(Ordering::Relaxed)
    } else {
        u64::MAX
    });
}

/// Microseconds as ticks of the clock.
pub(crate) const fn ticks(microseconds: u64) -> u64 {
    microseconds * Board::TICKS_PER_MICROSECOND
}
