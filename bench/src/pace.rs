//! Moments at even distances, slept for.

use std::thread;
use std::time::{Duration, Instant};

/// Waits for the next of moments that are `apart`, asleep: a submitter that spins would have a processor of its own,
/// which is what the workers are measured for.
#[derive(Debug)]
pub(crate) struct Pace {
    next: Instant,
    apart: Duration,
}

impl Pace {
    pub(crate) fn new(apart: Duration) -> Self {
        Self {
            next: Instant::now(),
            apart,
        }
    }

    /// Sleeps until the next moment. One that is past already is skipped, so that a submitter that was late does not
    /// make up for it by several at once.
    pub(crate) fn wait(&mut self) {
        let now = Instant::now();
        self.next = (self.next + self.apart).max(now);
        thread::sleep(self.next - now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_apart_and_those_missed_are_not_made_up_for() {
        let apart = Duration::from_millis(2);
        let began = Instant::now();
        let mut pace = Pace::new(apart);
        (0..5).for_each(|_| pace.wait());
        assert!(began.elapsed() >= apart * 5);
        thread::sleep(apart * 5);
        let late = Instant::now();
        (0..3).for_each(|_| pace.wait());
        assert!(late.elapsed() >= apart * 2, "the first is due at once");
    }
}
