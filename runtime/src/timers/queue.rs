//! Which timers are pending, which is due, and when whoever drives them must look again.
//!
//! Only decisions: the queue reads no clock and has no thread, so tests tell it what time it is. It is an
//! ordered map from the deadline (and a serial number, so that equal deadlines keep their order) to what
//! is to be done. A timer's key finds it again: cancelling takes it out at once, in O(log n), so memory
//! follows the timers that are pending and nothing has to be purged.
//!
//! # When the driver is woken
//!
//! The queue remembers until when its driver sleeps. An insert asks for a wake only if its deadline is
//! earlier than that, and only once until the driver has looked again. A cancel never asks for one: the
//! driver of a cancelled earliest timer wakes once at that timer's deadline, finds nothing, and sleeps
//! until the next one. So a server that arms a timeout per request and cancels nearly all of them wakes
//! its driver once per timeout's length, not once per request.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// When a timer is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Due {
    At(Instant),
    /// Beyond what the clock can tell.
    Never,
}

/// Finds a timer again. The order of keys is the order of firing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TimerKey {
    due: Due,
    serial: u64,
}

/// The pending timers, each with what is to be done when it is due.
#[derive(Debug)]
pub(crate) struct TimerQueue<A> {
    pending: BTreeMap<TimerKey, A>,
    serials: u64,
    driver: Driver,
    fired: usize,
    cancelled: usize,
}

/// What the driver is at.
#[derive(Debug, PartialEq, Eq)]
enum Driver {
    /// It will look before it sleeps.
    Awake,
    /// It sleeps until then, unless it is woken.
    AsleepUntil(Due),
}

/// Whether an insert's caller must wake the driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a driver that is not woken fires too late"]
pub(crate) enum WakeDriver {
    Now,
    Needless,
}

/// What the driver does next.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "what is due has left the queue"]
pub(crate) enum Next<A> {
    Fire(A),
    SleepUntil(Due),
}

/// How many timers there are and were.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct TimerCounts {
    pub(crate) pending: usize,
    pub(crate) fired: usize,
    pub(crate) cancelled: usize,
}

impl Due {
    /// So long after `now`.
    pub(crate) fn after(now: Instant, delay: Duration) -> Self {
        now.checked_add(delay).map_or(Self::Never, Self::At)
    }

    /// How long it is until then; [`Duration::MAX`] if for ever.
    pub(crate) fn left(self, now: Instant) -> Duration {
        match self {
            Self::At(due) => due.saturating_duration_since(now),
            Self::Never => Duration::MAX,
        }
    }

    /// The first of `self`, `self + period`, `self + 2 × period`, … that is later than `now`. The period
    /// is not zero.
    pub(crate) fn next_beat(self, period: Duration, now: Instant) -> Self {
        /// Nanoseconds in a second.
        const SECOND: u128 = 1_000_000_000;
        let Self::At(last) = self else {
            return Self::Never;
        };
        let Some(late) = now.checked_duration_since(last) else {
            return self;
        };
        let into_period = late.as_nanos() % period.as_nanos();
        let (seconds, nanos) = (into_period / SECOND, into_period % SECOND);
        // The remainder of a division by a duration's nanoseconds is itself such a number.
        let (Ok(seconds), Ok(nanos)) = (u64::try_from(seconds), u32::try_from(nanos)) else {
            return Self::Never;
        };
        Self::after(now, period - Duration::new(seconds, nanos))
    }
}

impl TimerKey {
    pub(crate) fn due(self) -> Due {
        self.due
    }
}

impl<A> TimerQueue<A> {
    pub(crate) fn new() -> Self {
        Self {
            pending: BTreeMap::new(),
            serials: 0,
            driver: Driver::Awake,
            fired: 0,
            cancelled: 0,
        }
    }

    /// Adds a timer.
    pub(crate) fn insert(&mut self, due: Due, action: A) -> (TimerKey, WakeDriver) {
        let serial = self.serials;
        self.serials += 1;
        let key = TimerKey { due, serial };
        self.pending.insert(key, action);
        match self.driver {
            Driver::AsleepUntil(until) if due < until => {
                self.driver = Driver::Awake;
                (key, WakeDriver::Now)
            }
            Driver::AsleepUntil(_) | Driver::Awake => (key, WakeDriver::Needless),
        }
    }

    /// Takes a timer out; `None` if it has left already.
    pub(crate) fn cancel(&mut self, key: TimerKey) -> Option<A> {
        let action = self.pending.remove(&key)?;
        self.cancelled += 1;
        Some(action)
    }

    pub(crate) fn is_pending(&self, key: TimerKey) -> bool {
        self.pending.contains_key(&key)
    }

    /// The earliest timer if it is due at `now`; else until when the driver, which asks this, sleeps.
    pub(crate) fn next(&mut self, now: Instant) -> Next<A> {
        let earliest = self.pending.first_entry();
        let until = match earliest {
            Some(timer) if timer.key().due <= Due::At(now) => {
                self.driver = Driver::Awake;
                self.fired += 1;
                return Next::Fire(timer.remove());
            }
            Some(timer) => timer.key().due,
            None => Due::Never,
        };
        self.driver = Driver::AsleepUntil(until);
        Next::SleepUntil(until)
    }

    /// Says that a timer which was to fire could not: it counts as cancelled.
    pub(crate) fn has_not_fired(&mut self) {
        self.fired -= 1;
        self.cancelled += 1;
    }

    /// Takes all timers out.
    pub(crate) fn cancel_all(&mut self) -> impl Iterator<Item = A> + use<A> {
        let pending = std::mem::take(&mut self.pending);
        self.cancelled += pending.len();
        pending.into_values()
    }

    /// Takes those timers out for which `chosen` says so, the earliest first.
    pub(crate) fn cancel_each(&mut self, chosen: impl Fn(&A) -> bool) -> Vec<A> {
        let timers = self.pending.iter().filter(|(_, action)| chosen(action));
        let keys: Vec<TimerKey> = timers.map(|(key, _)| *key).collect();
        let cancelled = keys.into_iter().filter_map(|key| self.cancel(key));
        cancelled.collect()
    }

    pub(crate) fn counts(&self) -> TimerCounts {
        TimerCounts {
            pending: self.pending.len(),
            fired: self.fired,
            cancelled: self.cancelled,
        }
    }
}

#[cfg(test)]
mod tests;
