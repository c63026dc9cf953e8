//! What this kernel asks of a machine: the one door between the park and the hardware.
//!
//! Everything above this trait is the same on every processor. A port is a file that implements it, with
//! the boot code beside it; `Board` is the one that was compiled in. All methods act on the hart that
//! calls them unless they name another.

use spin::Once;

#[cfg(target_arch = "aarch64")]
pub(crate) use crate::aarch64::Virt as Board;
#[cfg(target_arch = "riscv64")]
pub(crate) use crate::riscv64::Virt as Board;

/// The most harts that take part; `Board`'s boot code has as many stacks.
pub(crate) const MAX_HARTS: usize = 8;

/// What the timer does when it is due and interrupts are not masked; set once, before they are unmasked.
pub(crate) static ON_TIMER: Once<fn()> = Once::new();

/// One processor family on one board.
pub(crate) trait Machine {
    /// How many ticks of the clock make a microsecond.
    const TICKS_PER_MICROSECOND: u64;

    /// Which hart this is, from 0 to [`MAX_HARTS`] − 1.
    fn hart() -> usize;

    /// Lets another hart run `main`, once. What was written before is visible to it.
    fn start(hart: usize);

    /// Rings a hart's doorbell: the inter-processor interrupt. Every write before it is visible to the
    /// hart once it has [silenced](Machine::silence) that ring.
    fn ring(hart: usize);

    /// Takes the own doorbell back, before every read that follows: a ring that comes later stays pending.
    fn silence();

    /// Sleeps until an interrupt is pending, the doorbell or the timer, even while they are masked;
    /// returns at once if one is pending already, and may return for no reason.
    fn sleep();

    /// Lets other harts go first where they take turns, as in an emulator that counts instructions: without
    /// it a hart that waits for another spins out a turn that is as long as some whole modes. May silence a
    /// doorbell, so not between a park's look and its sleep.
    fn give_way();

    /// Masks interrupts; returns whether they were unmasked. Pending ones stay pending.
    fn mask() -> bool;

    /// Unmasks interrupts: a pending timer runs [`ON_TIMER`], a pending doorbell is silenced.
    fn unmask();

    /// The clock, in ticks, the same on all harts.
    fn now() -> u64;

    /// Makes the timer due at that tick; `u64::MAX` turns it off.
    fn set_timer(at: u64);

    /// Whether the timer is due.
    fn timer_is_due() -> bool;

    /// Puts one byte on the serial line.
    fn put(byte: u8);

    /// Ends the emulator with this exit code.
    fn exit(code: u8) -> !;

    /// Does what no processor allows.
    fn trap() -> !;

    /// One of the words that the harness puts into RAM.
    fn parameter(index: usize) -> u64;
}

/// Runs `f` with interrupts masked on this hart.
pub(crate) fn masked<R>(f: impl FnOnce() -> R) -> R {
    let were_unmasked = Board::mask();
    let result = f();
    if were_unmasked {
        Board::unmask();
    }
    result
}

/// What a port's interrupt handler does with a timer that is due: the same on every machine.
pub(crate) fn on_timer() {
    match ON_TIMER.get() {
        Some(handler) => handler(),
        None => Board::set_timer(u64::MAX),
    }
}
