//! Sleeping on a futex: the kernel compares the word and puts the thread to sleep in one step.
//!
//! The futex is private (its queue is found by the address within this process, which is cheaper) and
//! has no state of ours at all: the kernel keeps the sleepers by the word's address, so the park is
//! zero-sized, and its exact count comes from the kernel too.
//!
//! The kernel holds the lock of the word's queue both for the waiter's compare-and-enqueue and for the
//! wake. So a waiter either compares after the word has changed, and returns, or is in the queue before the
//! wake looks at it: obligation 1. Neither call touches the allocator: obligation 5.

use core::sync::atomic::AtomicU32;

use parkade_core::Park;
use rustix::io::Errno;

use crate::fatal::die;

#[cfg(miri)]
use crate::futex_miri::{futex_wait, futex_wake};

/// Sleeps on the word itself, by `FUTEX_WAIT` and `FUTEX_WAKE`.
///
/// The park to use on Linux. It is zero-sized, free to make, and any number of parks may be made for
/// any number of words. A call to [`wake`](Park::wake) costs a system call also when nobody sleeps
/// (about 160 ns on the machine that Parkade was written on), which is why a
/// [`ParkingLot`](parkade_core::ParkingLot) skips it when it can.
///
/// An answer of the kernel that its documentation rules out (a sandbox that forbids futexes, say) ends
/// the process with a message: no other thread could be woken after it.
///
/// ```
/// use parkade_core::{Park, sync::AtomicU32};
/// use parkade_linux::FutexPark;
///
/// let word = AtomicU32::new(1);
/// FutexPark.wait(&word, 0); // the word differs: returns at once
/// assert_eq!(FutexPark.wake(&word, u32::MAX), 0); // nobody sleeps
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FutexPark;

/// The kernel reads the number of sleepers to wake as a signed integer and wakes one even for 0 and for
/// negative numbers: this is the most that can be asked for, and it is more than there can be threads.
const MOST_WAKES: u32 = i32::MAX as u32;

impl Park for FutexPark {
    fn wait(&self, word: &AtomicU32, expected: u32) {
        match futex_wait(word, expected) {
            // Woken; or the word differed; or a signal handler ran.
            Ok(()) | Err(Errno::AGAIN | Errno::INTR) => {}
            Err(errno) => die("futex wait", errno, "a worker cannot sleep"),
        }
    }

    fn wake(&self, word: &AtomicU32, n: u32) -> u32 {
        if n == 0 {
            return 0;
        }
        match futex_wake(word, n.min(MOST_WAKES)) {
            // At most `MOST_WAKES`, so the conversion loses nothing.
            Ok(woken) => woken as u32,
            Err(errno) => die("futex wake", errno, "a sleeping worker cannot be woken"),
        }
    }
}

#[cfg(not(miri))]
fn futex_wait(word: &AtomicU32, expected: u32) -> Result<(), Errno> {
    rustix::thread::futex::wait(word, rustix::thread::futex::Flags::PRIVATE, expected, None)
}

#[cfg(not(miri))]
fn futex_wake(word: &AtomicU32, n: u32) -> Result<usize, Errno> {
    rustix::thread::futex::wake(word, rustix::thread::futex::Flags::PRIVATE, n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_park_takes_no_room() {
        assert_eq!(size_of::<FutexPark>(), 0);
    }

    #[test]
    fn waking_none_and_all_of_nobody_is_zero() {
        let word = AtomicU32::new(0);
        for n in [0, 1, MOST_WAKES, MOST_WAKES + 1, u32::MAX] {
            assert_eq!(FutexPark.wake(&word, n), 0);
        }
    }
}
