//! Latency: how long tasks wait between their creation and their start.
//!
//! Each worker records into a histogram of its own, under a lock that nobody else takes but a snapshot; a snapshot
//! adds them up. The histograms are those of HdrHistogram (Gil Tene): a fixed number of counters for any range,
//! with a bound on the relative error. Two significant digits from 1 ns to [`LONGEST`] take 42 KiB a worker.
//!
//! What is measured is a [`Measured`] closure: the user's, with the moment of its creation. It lies in the job in
//! place of the plain closure, so the job is still one allocation and one word, and whatever becomes of it (a
//! refusal, a drop, a handle that runs it and leaves a husk) becomes of it as ever.

use std::fmt;
use std::ops::Add;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use crate::current;
use crate::job::Body;
use crate::refused::Refused;

/// The longest wait that is told from longer ones: one day, in ns.
const LONGEST: u64 = 24 * 60 * 60 * 1_000_000_000;

const SIGNIFICANT_DIGITS: u8 = 2;

/// How long tasks have waited between their creation and their start; part of
/// [`TagMetrics`](crate::TagMetrics) if [`measure_latency`](crate::RuntimeBuilder::measure_latency) is on.
///
/// Use it to see queueing that an average hides. Durations are exact to 1 %, and never below what was measured;
/// what is longer than a day counts as a day. Two of them add up to one of all their tasks.
///
/// ```
/// use parkade::{Runtime, Tag};
///
/// let runtime = Runtime::builder()
///     .tag(Tag::new("io").workers(1))
///     .measure_latency(true)
///     .build()?;
/// for _ in 0..100 {
///     runtime.spawn(|| ()).join()?;
/// }
/// let latency = runtime.metrics().total.latency.ok_or("it is measured")?;
/// assert_eq!(latency.count(), 100);
/// let waits = [latency.p50(), latency.p90(), latency.p99(), latency.p99_9(), latency.max()];
/// assert!(waits.is_sorted());
/// println!("{latency}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct Latency {
    histogram: Histogram<u64>,
    /// Of what was recorded, to the nanosecond.
    sum: Duration,
}

/// Two are equal if each of their counters is, so nothing differs from itself.
impl Eq for Latency {}

impl Latency {
    fn new() -> Self {
        let Ok(histogram) = Histogram::new_with_bounds(1, LONGEST, SIGNIFICANT_DIGITS) else {
            unreachable!("the bounds are in order and the digits are few")
        };
        let sum = Duration::ZERO;
        Self { histogram, sum }
    }

    fn record(&mut self, wait: Duration) {
        let nanoseconds = u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX);
        self.histogram.saturating_record(nanoseconds);
        self.sum = self.sum.saturating_add(wait);
    }

    /// How many tasks were measured: those that have started. See [`Latency`] for an example.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// The wait that this share of the tasks did not exceed; 0 if there were none. A share outside of 0 to 1 is
    /// taken for the nearer of the two.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use parkade::Runtime;
    ///
    /// let runtime = Runtime::builder().measure_latency(true).build()?;
    /// runtime.spawn(|| ()).join()?;
    /// let latency = runtime.metrics().total.latency.ok_or("it is measured")?;
    /// assert_eq!(latency.quantile(1.0), latency.max());
    /// assert!(latency.sum() <= latency.max(), "there was one task");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn quantile(&self, share: f64) -> Duration {
        Duration::from_nanos(self.histogram.value_at_quantile(share))
    }

    /// The median wait. See [`Latency`] for an example.
    #[must_use]
    pub fn p50(&self) -> Duration {
        self.quantile(0.5)
    }

    /// The wait that nine of ten tasks did not exceed. See [`Latency`] for an example.
    #[must_use]
    pub fn p90(&self) -> Duration {
        self.quantile(0.9)
    }

    /// The wait that 99 of 100 tasks did not exceed. See [`Latency`] for an example.
    #[must_use]
    pub fn p99(&self) -> Duration {
        self.quantile(0.99)
    }

    /// The wait that 999 of 1000 tasks did not exceed. See [`Latency`] for an example.
    #[must_use]
    pub fn p99_9(&self) -> Duration {
        self.quantile(0.999)
    }

    /// The longest wait. See [`Latency`] for an example.
    #[must_use]
    pub fn max(&self) -> Duration {
        Duration::from_nanos(self.histogram.max())
    }

    /// The sum of all waits, exact; divided by [`count`](Latency::count) it is their mean.
    /// See [`Latency::quantile`] for an example.
    #[must_use]
    pub fn sum(&self) -> Duration {
        self.sum
    }
}

/// All tasks of both.
impl Add<&Self> for Latency {
    type Output = Self;

    fn add(mut self, other: &Self) -> Self {
        let added = Histogram::add(&mut self.histogram, &other.histogram);
        debug_assert!(added.is_ok(), "all have the same bounds");
        self.sum = self.sum.saturating_add(other.sum);
        self
    }
}

/// The sum of what may not have been measured.
pub(crate) fn both(one: Option<Latency>, other: Option<&Latency>) -> Option<Latency> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one + other),
        (one, other) => one.or_else(|| other.cloned()),
    }
}

impl fmt::Display for Latency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} tasks started after p50 {:?}, p90 {:?}, p99 {:?}, p99.9 {:?}, max {:?}",
            self.count(),
            self.p50(),
            self.p90(),
            self.p99(),
            self.p99_9(),
            self.max()
        )
    }
}

/// The numbers, not the counters.
impl fmt::Debug for Latency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Latency")
            .field("count", &self.count())
            .field("p50", &self.p50())
            .field("p90", &self.p90())
            .field("p99", &self.p99())
            .field("p99_9", &self.p99_9())
            .field("max", &self.max())
            .field("sum", &self.sum)
            .finish()
    }
}

/// Where one worker records.
#[derive(Debug)]
pub(crate) struct Recorder(Mutex<Latency>);

impl Recorder {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Latency::new()))
    }

    pub(crate) fn record(&self, wait: Duration) {
        self.with(|latency| latency.record(wait));
    }

    pub(crate) fn snapshot(&self) -> Latency {
        self.with(|latency| latency.clone())
    }

    fn with<R>(&self, act: impl FnOnce(&mut Latency) -> R) -> R {
        // Nothing of the user's runs under this lock, so a poisoned one is as good as any.
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A closure that says, when it starts, how long it has waited.
pub(crate) struct Measured<F> {
    since: Instant,
    closure: F,
}

impl<F> Measured<F> {
    /// A closure that waits from now on.
    pub(crate) fn now(closure: F) -> Self {
        Self::since(Instant::now(), closure)
    }

    pub(crate) fn since(since: Instant, closure: F) -> Self {
        Self { since, closure }
    }

    /// The refusal of the closure itself.
    pub(crate) fn refused(refused: Refused<Self>) -> Refused<F> {
        let Refused { task, reason } = refused;
        let task = task.closure;
        Refused { task, reason }
    }
}

impl<T, F: FnOnce() -> T> Body<T> for Measured<F> {
    fn call(self) -> T {
        let wait = self.since.elapsed();
        current::with_own_work(|work| {
            if let Some(work) = work {
                work.counts().record_latency(wait);
            }
        });
        (self.closure)()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_exact_to_a_hundredth_and_the_sum_is_exact() {
        let mut latency = Latency::new();
        (1..=1000).for_each(|n| latency.record(Duration::from_micros(n)));
        assert_eq!(latency.count(), 1000);
        assert_eq!(latency.sum(), Duration::from_micros(500_500));
        for (measured, exact) in [
            (latency.p50(), 500),
            (latency.p90(), 900),
            (latency.p99(), 990),
            (latency.p99_9(), 999),
            (latency.max(), 1000),
        ] {
            let exact = Duration::from_micros(exact);
            assert!(
                measured >= exact && measured <= exact + exact / 100,
                "{measured:?}"
            );
        }
    }

    #[test]
    fn two_add_up_and_what_is_too_long_is_the_longest() {
        let (mut one, mut other) = (Latency::new(), Latency::new());
        one.record(Duration::from_nanos(5));
        other.record(Duration::MAX);
        other.record(Duration::ZERO);
        assert_ne!(one, other);
        let sum = both(Some(one.clone()), Some(&other)).unwrap();
        assert_eq!((sum.count(), sum.p50()), (3, Duration::from_nanos(5)));
        assert!(sum.max() >= Duration::from_nanos(LONGEST));
        assert_eq!(both(None, Some(&one)), Some(one));
        assert_eq!(both(None, None), None);
    }

    #[test]
    fn none_is_all_zero() {
        let latency = Latency::new();
        assert_eq!((latency.count(), latency.p99_9()), (0, Duration::ZERO));
    }
}
