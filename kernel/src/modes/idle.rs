//! Idle: every hart parks, and the host sees what that costs it.
//!
//! Hart 0 is a worker like the others. It says when to measure, parks, and is woken once, by its timer, when the
//! measurement is over.

use parkade_core::Next;

use super::Boot;
use crate::console;
use crate::machine::{Board, Machine};
use crate::scheduler::{self, ParkKind};
use crate::verdict;
use crate::watchdog;

/// Microseconds that the harts stay parked: the harness's window, and some time around it.
const PARKED: u64 = 4_500_000;

pub(super) fn run(hart: usize, boot: Boot) {
    if hart != 0 {
        let worker = scheduler::register(scheduler::scheduler(0), 0, hart);
        return scheduler::work(&worker, |_| {});
    }
    let control = scheduler::build(0, ParkKind::Sound, &[scheduler::tag(boot.harts)]);
    let worker = scheduler::register(control, 0, 0);
    watchdog::until(|| control.tags()[0].counters().idle == boot.harts - 1);
    let until = Board::now() + watchdog::ticks(PARKED);
    let mut said = false;
    loop {
        match worker.next() {
            Next::Park(state) if Board::now() < until => {
                if !said {
                    console::line(format_args!("parked"));
                    said = true;
                }
                Board::set_timer(until);
                worker.park(state);
            }
            Next::Park(_) => scheduler::drain(control),
            Next::Run(task) => panic!("there is no task, but {task:?} came"),
            Next::Linger => core::hint::spin_loop(),
            Next::Stop | Next::Retire => break,
        }
    }
    watchdog::allow(10_000);
}

pub(super) fn check(boot: Boot) {
    let counters = scheduler::scheduler(0).tags()[0].counters();
    console::line(format_args!("{counters}"));
    verdict::check(
        counters.parked >= boot.harts && counters.picked == 0,
        format_args!("{} parks, {} tasks", counters.parked, counters.picked),
    );
}
