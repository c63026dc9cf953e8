//! Loops in parallel: one index that all who help take the next part from.
//!
//! The items are cut into parts of one size, and whoever is free claims the next part by adding one to the
//! shared index, so that nobody is bound to a share that turns out to be too large. The caller claims like
//! everybody else, and with it at most as many helpers as the tag has other workers; they are tasks of a
//! [`Scope`](crate::Scope).
//!
//! # A late helper
//!
//! The index lies in the caller's frame. A helper that has begun is waited for, and one that has not is claimed
//! by the caller in the end: what comes to its entry later finds an empty husk in memory of its own, and reads
//! nothing of this loop, nor of the next. So there is no flag of one loop that a straggler of another could meet.

use std::mem;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::backend::Backend;
use crate::runtime::{RuntimeOn, TagRef};

/// How many parts there are for each worker, unless their size is given: the fewer, the less it costs to claim
/// them; the more, the less is to be done when the first one finds none left.
const PARTS_PER_WORKER: usize = 8;

/// What can be cut into parts by position: slices and ranges of `usize`.
///
/// Implement it to loop over something else that is cut by position at no cost.
///
/// ```
/// use std::ops::Range;
/// use std::sync::atomic::{AtomicUsize, Ordering};
///
/// use parkade::{Divide, Runtime};
///
/// /// Every third position of so many.
/// struct Thirds(usize);
///
/// impl Divide for Thirds {
///     type Part = std::iter::StepBy<Range<usize>>;
///     type Item = usize;
///
///     fn count(&self) -> usize {
///         self.0
///     }
///
///     fn part(&self, positions: Range<usize>) -> Self::Part {
///         (3 * positions.start..3 * positions.end).step_by(3)
///     }
/// }
///
/// let runtime = Runtime::builder().build()?;
/// let sum = AtomicUsize::new(0);
/// runtime.for_each(Thirds(4), |position| {
///     sum.fetch_add(position, Ordering::Relaxed);
/// });
/// assert_eq!(sum.into_inner(), 3 + 6 + 9);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Divide: Sync {
    /// A part of it, to be gone through in order.
    type Part: IntoIterator<Item = Self::Item>;
    /// What it consists of.
    type Item;

    /// How many items there are. See [`Divide`] for an example.
    fn count(&self) -> usize;

    /// The items at these positions, which are in order and below [`count`](Divide::count).
    /// See [`Divide`] for an example.
    fn part(&self, positions: Range<usize>) -> Self::Part;
}

impl<'a, T: Sync> Divide for &'a [T] {
    type Part = &'a [T];
    type Item = &'a T;

    fn count(&self) -> usize {
        self.len()
    }

    fn part(&self, positions: Range<usize>) -> &'a [T] {
        &self[positions]
    }
}

impl Divide for Range<usize> {
    type Part = Range<usize>;
    type Item = usize;

    fn count(&self) -> usize {
        self.len()
    }

    fn part(&self, positions: Range<usize>) -> Range<usize> {
        self.start + positions.start..self.start + positions.end
    }
}

impl<B: Backend> RuntimeOn<B> {
    /// Calls `body` for each item, on the default tag's workers and the caller; see [`TagRef::for_each`] for more and
    /// an example.
    ///
    /// # Panics
    ///
    /// As [`TagRef::for_each`].
    pub fn for_each<I: Divide>(&self, items: I, body: impl Fn(I::Item) + Sync) {
        self.default_tag().for_each(items, body);
    }

    /// What `body` returns for each item, in their order; see [`TagRef::map`] for more and an example.
    ///
    /// # Panics
    ///
    /// As [`TagRef::for_each`].
    pub fn map<I: Divide, R: Send>(&self, items: I, body: impl Fn(I::Item) -> R + Sync) -> Vec<R> {
        self.default_tag().map(items, body)
    }

    /// Calls `body` for each part of `size` items; see [`TagRef::chunks`] for more and an example.
    ///
    /// # Panics
    ///
    /// As [`TagRef::chunks`].
    pub fn chunks<I: Divide>(&self, items: I, size: usize, body: impl Fn(I::Part) + Sync) {
        self.default_tag().chunks(items, size, body);
    }
}

impl<B: Backend> TagRef<'_, B> {
    /// Calls `body` for each item of a slice or range, on this tag's workers and the caller; returns when all
    /// is done.
    ///
    /// Use it for loops whose rounds are independent of each other and take more than some 10 µs together. May
    /// be called from any thread. The caller does its share, and all of it if no worker is free, if the
    /// queues are full or if the runtime stops; it runs nothing else. Costs one allocation per helper, of which
    /// there are at most one less than the tag has workers, and one addition to a shared word per part. A part
    /// is an eighth of a worker's share, at least one item; to choose its size call [`chunks`](TagRef::chunks).
    ///
    /// # Panics
    ///
    /// With a panic of `body`, when the parts that were begun have ended. No part is begun after it.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU64, Ordering};
    ///
    /// use parkade::Runtime;
    ///
    /// let runtime = Runtime::builder().build()?;
    /// let sum = AtomicU64::new(0);
    /// let numbers: Vec<u64> = (1..=1000).collect();
    /// runtime.for_each(numbers.as_slice(), |number| {
    ///     sum.fetch_add(*number, Ordering::Relaxed);
    /// });
    /// runtime.for_each(0..1000, |position| assert_eq!(numbers[position], position as u64 + 1));
    /// assert_eq!(sum.into_inner(), 500_500);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn for_each<I: Divide>(&self, items: I, body: impl Fn(I::Item) + Sync) {
        self.claim_parts(&Parts::chosen(&items, self.workers()), |positions| {
            items.part(positions).into_iter().for_each(&body);
        });
    }

    /// Calls `body` for each item, as [`for_each`](TagRef::for_each), and returns what it returned, in the
    /// order of the items.
    ///
    /// Costs a lock and a move of the results per part beyond that.
    ///
    /// # Panics
    ///
    /// As [`for_each`](TagRef::for_each).
    ///
    /// ```
    /// use parkade::Runtime;
    ///
    /// let runtime = Runtime::builder().build()?;
    /// let words = ["in", "this", "order"];
    /// assert_eq!(runtime.map(&words[..], |word| word.len()), [2, 4, 5]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn map<I: Divide, R: Send>(&self, items: I, body: impl Fn(I::Item) -> R + Sync) -> Vec<R> {
        let parts = Parts::chosen(&items, self.workers());
        let results = Mutex::new(Vec::with_capacity(parts.number));
        self.claim_parts(&parts, |positions| {
            let start = positions.start;
            let part: Vec<R> = items.part(positions).into_iter().map(&body).collect();
            // Nothing panics while it is held.
            let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
            results.push((start, part));
        });
        let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
        results.sort_unstable_by_key(|(start, _)| *start);
        let mut in_order = Vec::with_capacity(parts.items);
        in_order.extend(results.into_iter().flat_map(|(_, part)| part));
        in_order
    }

    /// Calls `body` for each part of `size` items (the last may be smaller), as
    /// [`for_each`](TagRef::for_each).
    ///
    /// Use it where `body` works on a part as a whole, or where the size that `for_each` chooses is wrong:
    /// smaller for items that differ much, larger for those that are done in nanoseconds.
    ///
    /// # Panics
    ///
    /// As [`for_each`](TagRef::for_each), and if `size` is 0.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU64, Ordering};
    ///
    /// use parkade::Runtime;
    ///
    /// let runtime = Runtime::builder().build()?;
    /// let largest = AtomicU64::new(0);
    /// let numbers: Vec<u64> = (0..1000).map(|n| n * 7919 % 1000).collect();
    /// runtime.chunks(&numbers[..], 128, |part: &[u64]| {
    ///     let largest_here = part.iter().max().copied().unwrap_or(0);
    ///     largest.fetch_max(largest_here, Ordering::Relaxed);
    /// });
    /// assert_eq!(largest.into_inner(), 999);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn chunks<I: Divide>(&self, items: I, size: usize, body: impl Fn(I::Part) + Sync) {
        assert!(size > 0, "a part has at least one item, not 0");
        self.claim_parts(&Parts::new(items.count(), size), |positions| {
            body(items.part(positions));
        });
    }

    fn workers(&self) -> usize {
        // None is left in a runtime that has stopped.
        self.shared.control.tag(self.tag).workers().max(1)
    }

    /// Calls `body` once for each part, on this thread and on those that help.
    fn claim_parts(&self, parts: &Parts, body: impl Fn(Range<usize>) + Sync) {
        let next = AtomicUsize::new(0);
        let claim = || {
            let unless_panic = NoMore(&next, parts.number);
            // Relaxed: what a part has written reaches the caller with the end of its helper.
            while let Some(positions) = parts.at(next.fetch_add(1, Ordering::Relaxed)) {
                body(positions);
            }
            mem::forget(unless_panic);
        };
        let helpers = self.workers().min(parts.number).saturating_sub(1);
        if helpers == 0 {
            return claim();
        }
        self.scope(|scope| {
            scope.spawn_copies(helpers, &claim);
            claim();
        });
    }
}

/// How many items are cut into how many parts.
struct Parts {
    items: usize,
    size: usize,
    number: usize,
}

impl Parts {
    fn new(items: usize, size: usize) -> Self {
        // The index goes past the end once per helper and may not wrap there.
        let size = size.max(items.div_ceil(isize::MAX as usize));
        let number = items.div_ceil(size.max(1));
        Self {
            items,
            size,
            number,
        }
    }

    fn chosen(items: &impl Divide, workers: usize) -> Self {
        let items = items.count();
        Self::new(items, (items / (workers * PARTS_PER_WORKER)).max(1))
    }

    /// The positions of a part, if there is one of that number.
    fn at(&self, number: usize) -> Option<Range<usize>> {
        let start = (number < self.number).then(|| number * self.size)?;
        Some(start..self.items.min(start.saturating_add(self.size)))
    }
}

/// Lets nobody claim another part, when dropped.
struct NoMore<'i>(&'i AtomicUsize, usize);

impl Drop for NoMore<'_> {
    fn drop(&mut self) {
        self.0.fetch_max(self.1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The parts cover all items, in order, without a gap; with the largest numbers too.
    #[test]
    fn parts_cover_everything_once() {
        for items in 0..50 {
            for size in (1..60).chain([usize::MAX]) {
                let parts = Parts::new(items, size);
                let all: Vec<_> = (0..).map_while(|number| parts.at(number)).collect();
                assert_eq!(all.len(), parts.number);
                assert!(all.iter().all(|part| !part.is_empty()));
                assert!(all.into_iter().flatten().eq(0..items), "{items} by {size}");
            }
        }
        let most = Parts::new(usize::MAX, 1);
        assert!(most.number <= isize::MAX as usize);
        let last = most.at(most.number - 1).unwrap();
        assert_eq!(last.end, usize::MAX);
        assert!(most.at(most.number).is_none());
    }
}
