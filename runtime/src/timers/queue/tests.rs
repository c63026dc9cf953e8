//! The queue under a clock that stands still unless it is told.

use super::*;

const MS: Duration = Duration::from_millis(1);

/// A clock that shows what it is set to.
struct Clock(Instant);

impl Clock {
    fn new() -> Self {
        Self(Instant::now())
    }

    fn at(&self, ms: u32) -> Due {
        Due::after(self.0, MS * ms)
    }

    fn time(&self, ms: u32) -> Instant {
        self.0 + MS * ms
    }
}

/// All that is due, and until when the driver sleeps.
fn fire_all(queue: &mut TimerQueue<u32>, now: Instant) -> (Vec<u32>, Due) {
    let mut fired = Vec::new();
    loop {
        match queue.next(now) {
            Next::Fire(action) => fired.push(action),
            Next::SleepUntil(until) => return (fired, until),
        }
    }
}

#[test]
fn timers_fire_in_the_order_of_their_deadlines_and_equal_ones_in_turn() {
    let (clock, mut queue) = (Clock::new(), TimerQueue::new());
    for (ms, name) in [(30, 3), (10, 1), (20, 2), (10, 11), (10, 12)] {
        let _awake = queue.insert(clock.at(ms), name);
    }
    assert_eq!(fire_all(&mut queue, clock.time(9)), (vec![], clock.at(10)));
    assert_eq!(
        fire_all(&mut queue, clock.time(10)),
        (vec![1, 11, 12], clock.at(20))
    );
    assert_eq!(
        fire_all(&mut queue, clock.time(99)),
        (vec![2, 3], Due::Never)
    );
    let all = TimerCounts {
        pending: 0,
        fired: 5,
        cancelled: 0,
    };
    assert_eq!(queue.counts(), all);
}

/// T4: what the driver is woken for.
#[test]
fn only_an_earlier_deadline_wakes_the_driver_and_only_once() {
    let (clock, mut queue) = (Clock::new(), TimerQueue::new());
    let insert = |queue: &mut TimerQueue<u32>, ms| queue.insert(clock.at(ms), ms).1;
    assert_eq!(insert(&mut queue, 50), WakeDriver::Needless, "it will look");
    assert_eq!(queue.next(clock.time(0)), Next::SleepUntil(clock.at(50)));
    assert_eq!(insert(&mut queue, 50), WakeDriver::Needless);
    assert_eq!(insert(&mut queue, 60), WakeDriver::Needless);
    assert_eq!(insert(&mut queue, 40), WakeDriver::Now);
    assert_eq!(insert(&mut queue, 30), WakeDriver::Needless, "on its way");
    assert_eq!(queue.next(clock.time(1)), Next::SleepUntil(clock.at(30)));
}

#[test]
fn a_driver_without_timers_is_woken_by_any_but_one_that_is_never_due() {
    let (clock, mut queue) = (Clock::new(), TimerQueue::new());
    assert_eq!(queue.next(clock.time(0)), Next::SleepUntil(Due::Never));
    assert_eq!(queue.insert(Due::Never, 0).1, WakeDriver::Needless);
    assert_eq!(queue.insert(clock.at(1_000_000), 1).1, WakeDriver::Now);
}

/// T4: a million timers (where they are optimised), of which one in a hundred stays: the driver is woken once,
/// looks twice, and what was cancelled is gone at once.
#[test]
fn cancelled_timers_leave_nothing_and_wake_nobody() {
    const TIMERS: u32 = if cfg!(miri) {
        1_000
    } else if cfg!(debug_assertions) {
        50_000
    } else {
        1_000_000
    };
    let (clock, mut queue) = (Clock::new(), TimerQueue::new());
    assert_eq!(queue.next(clock.time(0)), Next::SleepUntil(Due::Never));
    let mut wakes = 0;
    for name in 0..TIMERS {
        let (key, wake) = queue.insert(
            Due::after(clock.time(10), Duration::from_nanos(name.into())),
            name,
        );
        wakes += u32::from(wake == WakeDriver::Now);
        if name == 0 {
            assert_eq!(queue.next(clock.time(0)), Next::SleepUntil(clock.at(10)));
        }
        if name % 100 != 99 {
            assert_eq!(queue.cancel(key), Some(name));
            assert_eq!(queue.cancel(key), None);
        }
        assert_eq!(queue.counts().pending, (name as usize + 1) / 100);
    }
    assert_eq!(wakes, 1);
    // The first one's deadline, which was cancelled: one look for nothing.
    assert_eq!(fire_all(&mut queue, clock.time(10)).0, [0_u32; 0]);
    let (fired, _) = fire_all(&mut queue, clock.time(100));
    assert!(fired.iter().copied().eq((99..TIMERS).step_by(100)));
}

/// T6.
#[test]
fn the_longest_delay_is_never_due() {
    let (clock, mut queue) = (Clock::new(), TimerQueue::new());
    let due = Due::after(clock.time(0), Duration::MAX);
    assert_eq!((due, due.left(clock.time(5))), (Due::Never, Duration::MAX));
    let (key, _) = queue.insert(due, 7);
    let in_a_year = clock.0 + Duration::from_secs(365 * 24 * 3600);
    assert_eq!(fire_all(&mut queue, in_a_year), (vec![], Due::Never));
    assert!(queue.is_pending(key));
    assert_eq!(queue.cancel(key), Some(7));
}

#[test]
fn all_are_cancelled_in_order() {
    let (clock, mut queue) = (Clock::new(), TimerQueue::new());
    for ms in [3, 1, 2] {
        let _awake = queue.insert(clock.at(ms), ms);
    }
    assert_eq!(queue.cancel_all().collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!((queue.counts().pending, queue.counts().cancelled), (0, 3));
}

#[test]
fn beats_keep_their_rhythm_and_missed_ones_are_skipped() {
    let clock = Clock::new();
    let beat = |last, now| clock.at(last).next_beat(10 * MS, clock.time(now));
    assert_eq!(beat(10, 10), clock.at(20), "done at once");
    assert_eq!(beat(10, 13), clock.at(20), "no drift");
    assert_eq!(beat(10, 20), clock.at(30), "later, not now");
    assert_eq!(beat(10, 57), clock.at(60), "no burst");
    assert_eq!(beat(30, 20), clock.at(30), "not due yet");
    let long = clock.at(10).next_beat(Duration::MAX, clock.time(11));
    assert_eq!(long, Due::Never);
    assert_eq!(Due::Never.next_beat(MS, clock.time(1)), Due::Never);
}
