//! How a run ends: each way has an exit code of its own.
//!
//! 0 says that the mode's property held. A mode whose check failed ends with the mode's own code
//! (`modes/mod.rs`); the codes here are for runs that never came to their check.

use core::fmt;
use core::panic::PanicInfo;
use core::sync::atomic::{AtomicU8, Ordering};

use crate::console;
use crate::machine::{Board, Machine};

const PANICKED: u8 = 101;
const TRAPPED: u8 = 102;
const HUNG: u8 = 103;
const NO_SUCH_MODE: u8 = 104;

/// The exit code of the running mode's failed check.
static MODE: AtomicU8 = AtomicU8::new(NO_SUCH_MODE);

/// From now on a failed check is this mode's.
pub(crate) fn judge(code: u8) {
    MODE.store(code, Ordering::Relaxed);
}

/// The mode's property held.
pub(crate) fn passed() -> ! {
    console::line(format_args!("passed"));
    Board::exit(0)
}

/// Ends the run with the mode's code unless `holds`.
pub(crate) fn check(holds: bool, what: fmt::Arguments<'_>) {
    if !holds {
        Board::mask();
        console::last_line(format_args!("FAILED: {what}"));
        Board::exit(MODE.load(Ordering::Relaxed))
    }
}

/// The harness asked for what is not there.
pub(crate) fn no_such_mode(name: [u8; 8]) -> ! {
    console::last_line(format_args!(
        "NO SUCH MODE: {}",
        str::from_utf8(&name).unwrap_or("not even text")
    ));
    Board::exit(NO_SUCH_MODE)
}

/// The processor refused an instruction.
pub(crate) fn trapped(cause: usize, at: usize, value: usize) -> ! {
    console::last_line(format_args!(
        "TRAP: cause {cause:#x} at {at:#x}, value {value:#x}"
    ));
    Board::exit(TRAPPED)
}

/// The watchdog's time is over.
pub(crate) fn hung() -> ! {
    Board::mask();
    console::last_line(format_args!("HANG: the watchdog's time is over"));
    Board::exit(HUNG)
}

#[panic_handler]
fn panicked(info: &PanicInfo<'_>) -> ! {
    Board::mask();
    console::last_line(format_args!("PANIC: {info}"));
    Board::exit(PANICKED)
}
