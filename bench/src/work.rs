//! Work of a known size, the same for every contender.
//!
//! It is measured by the processor time of the thread that does it. A task that is preempted for a while does not get
//! smaller by that, as it would by the clock on the wall, and one on a processor that has just slowed down does not get
//! larger, as it would by a number of iterations that was found before.

use std::hint;
use std::time::Duration;

use cpu_time::ThreadTime;

/// Rounds of arithmetic between two looks at the clock. A look is a system call of some 200 ns; this is about as long,
/// so that a task ends at most half a microsecond late.
const ROUNDS: u64 = 64;

/// Computes for that much processor time of this thread; returns what it really was, a look or two at the clock more.
pub(crate) fn compute_for(wanted: Duration) -> Duration {
    let began = ThreadTime::now();
    loop {
        compute(ROUNDS);
        let used = began.elapsed();
        if used >= wanted {
            return used;
        }
    }
}

/// Computes so many rounds, of some ns each, on any clock.
pub(crate) fn compute(rounds: u64) {
    let mixed = (0..rounds).fold(0_u64, |mixed, round| {
        hint::black_box(mixed.rotate_left(5) ^ round)
    });
    hint::black_box(mixed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_takes_its_processor_time_and_says_so() {
        let wanted = Duration::from_millis(2);
        let began = ThreadTime::now();
        let used = compute_for(wanted);
        assert!(used >= wanted);
        assert!(began.elapsed() >= used);
    }
}
