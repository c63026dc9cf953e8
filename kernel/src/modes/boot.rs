//! Boot: every hart comes up once, says so, and is who it was started as.

use core::sync::atomic::{AtomicUsize, Ordering};

use super::Boot;
use crate::console;
use crate::machine::{Board, Machine};
use crate::verdict;

/// Bit h: hart h has reported.
static REPORTED: AtomicUsize = AtomicUsize::new(0);

pub(super) fn run(hart: usize, boot: Boot) {
    let (own, now) = (Board::hart(), Board::now());
    console::line(format_args!("hart {own} of {}: up at {now}", boot.harts));
    verdict::check(
        own == hart,
        format_args!("hart {own} was started as {hart}"),
    );
    let before = REPORTED.fetch_or(1 << own, Ordering::Relaxed);
    verdict::check(
        before & 1 << own == 0,
        format_args!("hart {own} came up twice"),
    );
}

pub(super) fn check(boot: Boot) {
    let (reported, all) = (REPORTED.load(Ordering::Relaxed), (1 << boot.harts) - 1);
    verdict::check(
        reported == all,
        format_args!("harts {reported:#b} reported, of {all:#b}"),
    );
}
