//! The negative control: a park that takes its doorbell back too late.
//!
//! It differs from `park.rs` in the order of two lines: it looks at the word, *then* takes back the doorbell,
//! then sleeps. A ring that comes between the look and that is taken back unseen, and the hart sleeps on work.
//! The mode runs what `outside.rs` runs; a harness that does not see it hang proves nothing about the sound
//! park.

use core::sync::atomic::fence;

use parkade_core::Park;
use parkade_core::sync::{AtomicU32, Ordering};

use super::{Boot, outside};
use crate::machine::{Board, Machine, masked};
use crate::park::HartPark;
use crate::scheduler::ParkKind;

/// A park that loses wakes.
#[derive(Debug)]
pub(crate) struct LatePark(HartPark);

impl LatePark {
    pub(crate) const fn new() -> Self {
        Self(HartPark::new())
    }
}

impl Park for LatePark {
    fn wait(&self, _word: &AtomicU32, _expected: u32) {
        let asleep = &self.0.asleep;
        let own = 1 << Board::hart();
        masked(|| {
            asleep.fetch_or(own, Ordering::Relaxed);
            // Ordering[broken.asleep]: with `park.changed`, as in the sound park: this is not the mistake.
            fence(Ordering::SeqCst);
            Board::silence();
            while asleep.load(Ordering::Relaxed) & own != 0 && !Board::timer_is_due() {
                Board::sleep();
            }
            asleep.fetch_and(!own, Ordering::Relaxed);
        });
    }

    fn wake(&self, word: &AtomicU32, n: u32) -> u32 {
        self.0.wake(word, n)
    }
}

pub(super) fn run(hart: usize, boot: Boot) {
    outside::run_on(hart, boot, ParkKind::Broken, 1_500);
}
