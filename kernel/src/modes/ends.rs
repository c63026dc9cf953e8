//! Runs that end badly on purpose: a panic, a trap and a hang, each with an exit code of its own.
//!
//! The last hart does it, so that it is seen that any hart can end the run.

use super::Boot;
use crate::machine::{Board, Machine};
use crate::verdict;
use crate::watchdog;

pub(super) fn panic(hart: usize, boot: Boot) {
    if hart == boot.harts - 1 {
        panic!("on purpose");
    }
    watchdog::until(|| false);
}

pub(super) fn trap(hart: usize, boot: Boot) {
    if hart == boot.harts - 1 {
        Board::trap();
    }
    watchdog::until(|| false);
}

pub(super) fn hang(_: usize, _: Boot) {
    watchdog::until(|| false);
}

pub(super) fn check(_: Boot) {
    verdict::check(false, format_args!("this run was not to come so far"));
}
