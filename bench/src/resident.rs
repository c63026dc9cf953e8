//! How much memory of this process is resident, and how much of that is stacks.
//!
//! Linux lists every mapping with its resident bytes in `/proc/self/smaps`. The stack of a thread is a mapping of its own,
//! between guard pages, without a name; which one it is is told by the address of any local variable of the thread.

use anyhow::Result;

/// Resident bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Resident {
    /// Of the mappings that have one of the addresses asked for.
    pub(crate) stacks: u64,
    /// Of all others.
    pub(crate) others: u64,
}

/// What is resident now; `on_stacks` are addresses on the stacks of threads that live.
#[cfg(target_os = "linux")]
pub(crate) fn now(on_stacks: &[usize]) -> Result<Option<Resident>> {
    let mut resident = Resident {
        stacks: 0,
        others: 0,
    };
    for map in procfs::process::Process::myself()?.smaps()? {
        let Some(&bytes) = map.extension.map.get("Rss") else {
            // A kernel that does not count.
            return Ok(None);
        };
        let (from, to) = map.address;
        let is_stack = on_stacks
            .iter()
            .any(|&address| (from..to).contains(&(address as u64)));
        if is_stack {
            resident.stacks += bytes;
        } else {
            resident.others += bytes;
        }
    }
    Ok(Some(resident))
}

/// Other systems do not list their mappings.
#[cfg(not(target_os = "linux"))]
pub(crate) fn now(_: &[usize]) -> Result<Option<Resident>> {
    Ok(None)
}

/// An address on the stack of the calling thread.
#[inline(never)]
pub(crate) fn on_this_stack() -> usize {
    let here = 0_u8;
    std::hint::black_box(std::ptr::from_ref(&here)).addr()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::hint::black_box;
    use std::sync::mpsc;
    use std::thread;

    use anyhow::Context;

    use super::*;

    /// Much more than a thread touches by itself, much less than its stack has room for.
    const TOUCHED: usize = 1 << 18;

    /// What is resident while a thread does nothing but what is told, of its stack and of all else.
    fn beside(touch: fn() -> Option<Vec<u8>>) -> Result<Resident> {
        let (told, tells) = mpsc::channel();
        let (seen, until) = mpsc::channel::<()>();
        let thread = thread::spawn(move || {
            let kept = touch();
            told.send(on_this_stack()).ok();
            until.recv().ok();
            drop(kept);
        });
        let resident = now(&[tells.recv()?])?;
        drop(seen);
        thread.join().ok().context("it does not panic")?;
        resident.context("this kernel counts")
    }

    #[test]
    fn a_stack_that_was_touched_is_a_stack_and_what_was_allocated_is_not() -> Result<()> {
        let touched = beside(|| {
            // Filled at run time: a constant would be borrowed from the program.
            let filled = [black_box(1_u8); TOUCHED];
            black_box(&filled);
            None
        })?;
        assert!(touched.stacks >= TOUCHED as u64, "{touched:?}");
        let allocated = beside(|| Some(vec![1; TOUCHED]))?;
        assert!(allocated.stacks < TOUCHED as u64, "{allocated:?}");
        assert!(allocated.others >= TOUCHED as u64, "{allocated:?}");
        Ok(())
    }
}
