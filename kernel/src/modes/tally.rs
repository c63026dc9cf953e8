//! Counting what ran: by task, and by hart.

use core::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

use crate::console;
use crate::machine::{Board, MAX_HARTS, Machine};
use crate::verdict::check;

/// How often each of `N` tasks ran, and how many each hart ran. The counts are read when all harts have left.
pub(super) struct Tally<const N: usize> {
    times: [AtomicU8; N],
    by_hart: [AtomicUsize; MAX_HARTS],
    total: AtomicUsize,
}

impl<const N: usize> Tally<N> {
    pub(super) const fn new() -> Self {
        Self {
            times: [const { AtomicU8::new(0) }; N],
            by_hart: [const { AtomicUsize::new(0) }; MAX_HARTS],
            total: AtomicUsize::new(0),
        }
    }

    /// Counts a run of this task on the calling hart; returns how many ran before, over all.
    pub(super) fn ran(&self, task: usize) -> usize {
        check(task < N, format_args!("a task {task} was never made"));
        self.times[task].fetch_add(1, Ordering::Relaxed);
        self.by_hart[Board::hart()].fetch_add(1, Ordering::Relaxed);
        self.total.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn total(&self) -> usize {
        self.total.load(Ordering::Relaxed)
    }

    pub(super) fn on(&self, hart: usize) -> usize {
        self.by_hart[hart].load(Ordering::Relaxed)
    }

    /// How often a task ran.
    pub(super) fn times(&self, task: usize) -> u8 {
        self.times[task].load(Ordering::Relaxed)
    }

    /// Checks that the first `count` tasks ran once each and no other ran, and prints who ran them.
    pub(super) fn check_each_once(&self, count: usize, harts: usize) {
        for task in 0..N {
            let (times, due) = (self.times(task), u8::from(task < count));
            check(
                times == due,
                format_args!("task {task} ran {times} times, not {due}"),
            );
        }
        for hart in 0..harts {
            console::line(format_args!("hart {hart}: {} tasks", self.on(hart)));
        }
    }
}
