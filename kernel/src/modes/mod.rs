//! The modes: each boot runs one, named by a word that the harness puts into RAM.
//!
//! A mode has two functions. Every hart runs the first, and has left its scheduler when it returns; then
//! hart 0 runs the second, which checks what is left to see when all is over. A check that fails ends the
//! run with the code that stands beside the mode here.

pub(crate) mod broken;

mod boot;
mod ends;
mod handler;
mod idle;
mod outside;
mod priority;
mod spread;
mod stop;
mod tags;
mod tally;

use crate::machine::{Board, Machine};
use crate::verdict;

/// What a boot does.
pub(crate) struct Mode {
    /// At most eight letters: a word in RAM.
    name: &'static str,
    /// The exit code of its failed check.
    pub(crate) code: u8,
    /// How long it may take without progress before it is a hang: ten times what it takes.
    pub(crate) milliseconds: u64,
    /// Run by every hart.
    pub(crate) run: fn(usize, Boot),
    /// Run by hart 0 when all have left.
    pub(crate) check: fn(Boot),
}

/// What the harness asked for beside the mode.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Boot {
    /// How many harts take part, from hart 0 on.
    pub(crate) harts: usize,
    /// Where scans of delays begin, and where tasks go.
    pub(crate) seed: usize,
}

#[rustfmt::skip]
const MODES: [Mode; 12] = [
    Mode { name: "boot",     code: 11, milliseconds: 10_000, run: boot::run,     check: boot::check },
    Mode { name: "spread",   code: 12, milliseconds: 40_000, run: spread::run,   check: spread::check },
    Mode { name: "outside",  code: 13, milliseconds: 10_000, run: outside::run,  check: outside::check },
    Mode { name: "tags",     code: 14, milliseconds: 20_000, run: tags::run,     check: tags::check },
    Mode { name: "priority", code: 15, milliseconds: 10_000, run: priority::run, check: priority::check },
    Mode { name: "stop",     code: 16, milliseconds: 10_000, run: stop::run,     check: stop::check },
    Mode { name: "handler",  code: 17, milliseconds: 40_000, run: handler::run,  check: handler::check },
    Mode { name: "idle",     code: 18, milliseconds: 10_000, run: idle::run,     check: idle::check },
    // The rest are not meant to pass.
    Mode { name: "broken",   code: 19, milliseconds: 1_500,  run: broken::run,   check: outside::check },
    Mode { name: "panic",    code: 20, milliseconds: 10_000, run: ends::panic,   check: ends::check },
    Mode { name: "trap",     code: 21, milliseconds: 10_000, run: ends::trap,    check: ends::check },
    Mode { name: "hang",     code: 22, milliseconds: 1_000,  run: ends::hang,    check: ends::check },
];

/// The mode and what else the harness asked for.
pub(crate) fn parameters() -> (&'static Mode, Boot) {
    let name = Board::parameter(0).to_le_bytes();
    let boot = Boot {
        harts: Board::parameter(2) as usize,
        seed: Board::parameter(1) as usize,
    };
    let Some(mode) = MODES.iter().find(|mode| is(name, mode.name)) else {
        verdict::no_such_mode(name);
    };
    (mode, boot)
}

/// Whether the word spells the name, filled up with zeros.
fn is(word: [u8; 8], name: &str) -> bool {
    let (letters, rest) = word.split_at(name.len());
    letters == name.as_bytes() && rest.iter().all(|&byte| byte == 0)
}

/// Passes the time: so many turns of a loop.
fn busy(turns: usize) {
    for turn in 0..turns {
        core::hint::black_box(turn);
    }
}
