//! The park contract: what a platform must supply so that a worker can sleep and be woken.
//!
//! [`Park`] is compare-and-block on one word, no more; [`Fences`] is the pair of fences by which a
//! rare event pays for a frequent one. Both are safe traits: a wrong implementation may hang the
//! scheduler or make it take a task twice, so they are small and their obligations are numbered.

use crate::sync::{AtomicU32, sequentially_consistent};

/// Compare-and-block and wake on one 32-bit word: the platform's whole part in sleeping.
///
/// Implement it to bring the scheduler to a new system; a futex, a mutex with a condition variable and
/// `WFI` with an inter-processor interrupt all fit. One `Park` serves one word: each
/// [`ParkingLot`](crate::ParkingLot) owns its own and always passes the same word.
///
/// # Obligations
///
/// 1. *No lost wake.* If the word changes and [`wake`](Park::wake) is called after that, for at least as
///    many as compared before the change, none of their [`wait`](Park::wait)s sleeps on.
/// 2. *Spurious returns are allowed.* `wait` may return for no reason, though rarely; callers loop.
/// 3. *Bounded wakes.* `wake(n)` releases at most `n` sleepers and returns how many, and for `n` of at
///    least 1 it returns 0 only if nobody slept. `n` may be `u32::MAX`, which means everybody.
/// 4. *No memory order is promised* by `wait` or `wake`; the lot brings its own.
/// 5. *Never panics, never allocates*, after construction; `wake` may be called from any thread, also
///    one that is about to exit, and `wait` returns to the caller's thread alone.
/// 6. *One park, one word.* The word that is passed is the same for the whole life of the park, so an
///    implementation may ignore its address, or use nothing else.
///
/// ```
/// use std::sync::{Mutex, PoisonError};
/// use std::thread::{self, Thread};
///
/// use parkade_core::Park;
/// use parkade_core::sync::{AtomicU32, Ordering};
///
/// /// For a lot with one sleeper, on std's thread park.
/// #[derive(Default)]
/// struct ThreadPark(Mutex<Option<Thread>>);
///
/// impl Park for ThreadPark {
///     fn wait(&self, word: &AtomicU32, expected: u32) {
///         let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
///         let mut sleeper = lock();
///         // 1: the compare and the entry are one step under the lock that `wake` takes.
///         if word.load(Ordering::Relaxed) != expected || sleeper.is_some() {
///             return;
///         }
///         let me = thread::current();
///         let id = me.id();
///         *sleeper = Some(me);
///         drop(sleeper);
///         // 3: whoever is still entered sleeps on, so that no wake counts who is awake.
///         while lock().as_ref().is_some_and(|sleeper| sleeper.id() == id) {
///             thread::park();
///         }
///     }
///
///     fn wake(&self, _word: &AtomicU32, n: u32) -> u32 {
///         if n == 0 {
///             return 0;
///         }
///         let sleeper = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
///         sleeper.map_or(0, |sleeper| {
///             sleeper.unpark();
///             1
///         })
///     }
/// }
///
/// let (park, word) = (ThreadPark::default(), AtomicU32::new(1));
/// park.wait(&word, 0); // it differs
/// thread::scope(|threads| {
///     threads.spawn(|| {
///         while word.load(Ordering::Acquire) == 1 {
///             park.wait(&word, 1);
///         }
///     });
///     word.store(2, Ordering::Release);
///     assert!(park.wake(&word, u32::MAX) <= 1);
/// });
/// ```
pub trait Park: Send + Sync {
    /// Sleeps while `*word == expected`; returns at once if it differs, and at any time for no reason.
    /// See [`Park`] for an example.
    fn wait(&self, word: &AtomicU32, expected: u32);

    /// Releases at most `n` sleepers and returns how many it released. See [`Park`] for an example.
    fn wake(&self, word: &AtomicU32, n: u32) -> u32;
}

/// A pair of fences of which one side is cheap because the other pays for both.
///
/// The promise: if one thread runs `light` between two accesses and another runs `heavy` between two
/// of its own, then at least one of them sees what the other did before its fence, exactly as if both
/// had run `fence(SeqCst)`; `heavy` against `heavy` holds as well. **`light` against `light` promises
/// nothing.** The defaults are SeqCst fences on both sides, which is right everywhere.
///
/// ```
/// use parkade_core::Fences;
///
/// /// SeqCst fences on both sides, by the defaults.
/// #[derive(Clone, Copy)]
/// struct Plain;
///
/// impl Fences for Plain {}
///
/// Plain.light();
/// Plain.heavy();
/// ```
pub trait Fences: Copy + Send + Sync + 'static {
    /// The frequent side: once per push and per pop of a worker's own queue. See [`Fences`] for an example.
    #[inline(always)]
    fn light(self) {
        sequentially_consistent();
    }

    /// The rare side: once per steal, and once per worker that is about to sleep. See [`Fences`] for an example.
    #[inline(always)]
    fn heavy(self) {
        sequentially_consistent();
    }
}

/// [`Fences`] that are SeqCst on both sides: right on every platform, at some 6 ns a fence on x86-64.
///
/// See [`RunQueue`](crate::RunQueue) for an example.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SeqCstFences;

impl Fences for SeqCstFences {}
