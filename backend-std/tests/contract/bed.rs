//! The bed that checks put their sleepers in, and the ways in which a check fails.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use parkade_core::Park;

/// How long a check may take before it counts as hung: more than ten times what the slowest needs on a
/// busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// `many` rounds, or few under Miri, which is some thousand times slower and repeats each check with many
/// seeds.
pub(crate) const fn rounds(many: u32) -> u32 {
    if cfg!(miri) { 10 } else { many }
}

/// The same for a round that starts threads of its own.
pub(crate) const fn starts(many: u32) -> u32 {
    if cfg!(miri) { 2 } else { many }
}

/// What a check saw that the contract forbids.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Violation {
    /// A thread slept on, or a call did not return.
    Hung,
    /// A call panicked.
    Panicked,
    /// `wake(n)` answered more than `n`.
    MoreThanAsked { asked: u32, counted: u32 },
    /// Wakes counted more sleepers than ever went to sleep.
    CountedTwice { counted: u32, waits: u32 },
    /// Sleepers came back, too often for chance, without having been counted.
    NotCounted { counted: u32, waits: u32 },
    /// A wake counted somebody although nobody slept.
    CountedNobody { counted: u32 },
    /// A wake on one park reached a sleeper of another.
    WrongPark { counted: u32 },
    /// A call allocated.
    Allocated { times: u64 },
    /// Both sides of a fence pair missed what the other had stored.
    BothStale { round: u32 },
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

pub(crate) type Verdict = Result<(), Violation>;

/// Runs a check on a thread of its own and gives it up after `patience`; its threads are then left behind.
pub(crate) fn within(
    patience: Duration,
    check: impl FnOnce(Deadline) -> Verdict + Send + 'static,
) -> Verdict {
    let deadline = Deadline(Instant::now() + patience);
    let (verdict, answer) = channel();
    let thread = thread::spawn(move || {
        // Nobody listens any more after the timeout below.
        let _ = verdict.send(check(deadline));
    });
    match answer.recv_timeout(patience) {
        Ok(verdict) => {
            // It has sent its verdict, so this is short; Miri wants no thread left behind.
            thread.join().map_err(|_| Violation::Panicked)?;
            verdict
        }
        Err(RecvTimeoutError::Timeout) => Err(Violation::Hung),
        Err(RecvTimeoutError::Disconnected) => Err(Violation::Panicked),
    }
}

/// When a check is given up.
#[derive(Clone, Copy)]
pub(crate) struct Deadline(Instant);

impl Deadline {
    /// Waits for a condition that other threads bring about.
    pub(crate) fn until(self, mut condition: impl FnMut() -> bool) -> Verdict {
        for turn in 0_u32.. {
            if condition() {
                return Ok(());
            }
            if turn % 1024 == 1023 && Instant::now() > self.0 {
                return Err(Violation::Hung);
            }
            if turn < 100 && !cfg!(miri) {
                std::hint::spin_loop();
            } else {
                thread::yield_now();
            }
        }
        Err(Violation::Hung)
    }

    /// Waits for a thread to end.
    pub(crate) fn join<T>(self, thread: JoinHandle<T>) -> Result<T, Violation> {
        self.until(|| thread.is_finished())?;
        thread.join().map_err(|_| Violation::Panicked)
    }
}

/// A park, its word, and the threads that sleep on it until the word is no longer 0.
pub(crate) struct Bed<K> {
    pub(crate) park: K,
    pub(crate) word: AtomicU32,
}

impl<K: Park + 'static> Bed<K> {
    pub(crate) fn new(park: K) -> Arc<Self> {
        Arc::new(Self {
            park,
            word: AtomicU32::new(0),
        })
    }

    /// Starts a thread that waits until the word changes; its result is how often it called `wait`.
    pub(crate) fn sleeper(self: &Arc<Self>) -> JoinHandle<u32> {
        let bed = Arc::clone(self);
        thread::spawn(move || {
            let mut waits = 0;
            while bed.word.load(Ordering::Relaxed) == 0 {
                waits += 1;
                bed.park.wait(&bed.word, 0);
            }
            waits
        })
    }

    pub(crate) fn wake(&self, n: u32) -> u32 {
        self.park.wake(&self.word, n)
    }

    /// Changes the word, so that nobody goes to sleep any more, and wakes those who sleep.
    pub(crate) fn get_up(&self) -> u32 {
        self.word.store(1, Ordering::Relaxed);
        self.wake(u32::MAX)
    }
}
