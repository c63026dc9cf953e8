//! A kernel with no operating system under it: the core of a work-stealing scheduler, as it is, on bare
//! harts.
//!
//! It shows what a kernel must bring: a park of its own (`park.rs`), the machine under it (`machine.rs` and
//! one file per processor), and a choice of storage and lock (`scheduler.rs`). The rest are the modes in
//! which it is tested. `cargo xtask kernel` builds it, boots it in QEMU once per mode and seed, and judges it
//! by its exit code.
#![no_std]
#![no_main]

mod console;
mod machine;
mod modes;
mod park;
mod scheduler;
mod verdict;
mod watchdog;

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "riscv64")]
mod riscv64;

use core::sync::atomic::{AtomicUsize, Ordering};

use machine::{Board, MAX_HARTS, Machine};
use modes::{Boot, Mode};

/// Harts other than 0 that have come back from the mode.
static LEFT: AtomicUsize = AtomicUsize::new(0);

/// Every hart comes here once, hart 0 first: the others when it starts them.
fn main(hart: usize) {
    let (mode, boot) = modes::parameters();
    if hart == 0 {
        first(mode, boot);
    }
    (mode.run)(hart, boot);
    // Ordering[main.left]: Release, with `main.joined`: what this hart did is there when it is checked.
    LEFT.fetch_add(1, Ordering::Release);
}

/// Hart 0: starts the others, takes part, and judges when all have left.
fn first(mode: &Mode, boot: Boot) -> ! {
    verdict::judge(mode.code);
    verdict::check(
        (1..=MAX_HARTS).contains(&boot.harts),
        format_args!("between 1 and {MAX_HARTS} harts, not {}", boot.harts),
    );
    watchdog::allow(mode.milliseconds);
    (1..boot.harts).for_each(Board::start);
    (mode.run)(0, boot);
    // Ordering[main.joined]: Acquire, with `main.left`: without it a hart's last counts may be missing.
    watchdog::until(|| LEFT.load(Ordering::Acquire) == boot.harts - 1);
    (mode.check)(boot);
    verdict::passed()
}
