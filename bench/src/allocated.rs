//! What this process has asked the allocator for, in the build that counts it.
//!
//! Counting is an allocator of its own, with several shared counters, and every allocation would pay for it; so there
//! are two programs of the same parts. `parkade-bench` has the system's allocator, and all rows are measured with it
//! but one; `parkade-bench-counting` has the one that counts, and `parkade-bench` runs it for the row that needs it.

use std::env;
use std::hint::black_box;
use std::process::{Command, ExitStatus};

use anyhow::{Context, Result, ensure};
use stats_alloc::INSTRUMENTED_SYSTEM;

/// The other program, built beside this one.
const COUNTING: &str = "parkade-bench-counting";

/// Bytes, since the start of the process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Allocated {
    /// Asked for, by allocations and by the growth of what was allocated.
    pub(crate) requested: u64,
    /// Given back.
    freed: u64,
}

impl Allocated {
    /// What this process has had so far.
    ///
    /// # Errors
    ///
    /// If this program does not count.
    pub(crate) fn so_far() -> Result<Self> {
        ensure!(is_counted(), "only {COUNTING} counts allocations");
        let stats = INSTRUMENTED_SYSTEM.stats();
        Ok(Self {
            requested: stats.bytes_allocated as u64,
            freed: stats.bytes_deallocated as u64,
        })
    }

    /// What it has had since then.
    pub(crate) fn since(self, before: Self) -> Self {
        Self {
            requested: self.requested - before.requested,
            freed: self.freed - before.freed,
        }
    }

    /// What was asked for and not given back.
    pub(crate) fn held(self) -> u64 {
        self.requested.saturating_sub(self.freed)
    }
}

/// Whether this program is the one that counts.
pub(crate) fn is_counted() -> bool {
    let before = INSTRUMENTED_SYSTEM.stats().allocations;
    drop(black_box(Box::new(0_u64)));
    INSTRUMENTED_SYSTEM.stats().allocations > before
}

/// Runs the program that counts, with the arguments that this one was given.
pub(crate) fn run_counting() -> Result<ExitStatus> {
    let this = env::current_exe().context("where is this program?")?;
    let counting = this
        .with_file_name(COUNTING)
        .with_extension(env::consts::EXE_EXTENSION);
    Command::new(&counting)
        .args(env::args_os().skip(1))
        .status()
        .with_context(|| format!("running {}", counting.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_back_was_requested_and_is_not_held() -> Result<()> {
        const LARGE: u64 = 1 << 30;
        let before = Allocated::so_far()?;
        let kept = black_box(Vec::<u8>::with_capacity(LARGE as usize));
        let kept_only = Allocated::so_far()?.since(before);
        drop(kept);
        let none = Allocated::so_far()?.since(before);
        // Other tests allocate meanwhile, but nothing as large.
        assert!(kept_only.held() >= LARGE / 2, "{kept_only:?}");
        assert!(none.requested >= LARGE, "{none:?}");
        assert!(none.held() < LARGE / 2, "{none:?}");
        Ok(())
    }
}
