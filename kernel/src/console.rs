//! The serial line as a place to print to, a line at a time.

use core::fmt::{self, Write};

use spin::Mutex;

use crate::machine::{Board, Machine, masked};

struct Line;

impl Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.bytes().for_each(Board::put);
        Ok(())
    }
}

static LINE: Mutex<Line> = Mutex::new(Line);

/// Prints a line; lines of several harts do not mix.
pub(crate) fn line(text: fmt::Arguments<'_>) {
    masked(|| {
        // Writing to the line cannot fail.
        let _ = writeln!(LINE.lock(), "{text}");
    });
}

/// Prints a line though another may be half printed: the last one, before the end.
pub(crate) fn last_line(text: fmt::Arguments<'_>) {
    let _ = writeln!(Line, "\n{text}");
}
