//! Parks and fences that are broken on purpose, each in one way, and the checks that must catch them.
//!
//! [`Faulty`] is the algorithm of a right park with one switch per fault. With no fault it passes every
//! check, so what a check catches below is the fault and nothing else.

use std::cell::Cell;
use std::hint::black_box;
use std::sync::atomic::{AtomicU32, Ordering, compiler_fence, fence};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use parkade_core::{Fences, Park};

use crate::bed::{PATIENCE, Verdict, Violation};
use crate::{bounded_wakes, fences, lost_wake, one_word, order, quiet, spurious};

/// How long a check may hang here, where it must.
const SHORT: Duration = Duration::from_secs(5);

#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    ComparesBeforeItLocks,
    IgnoresTheWord,
    NewcomersStealGrants,
    CountsSleepersTwice,
    ReleasesAllCountsOne,
    ReleasesOneAtMost,
    CountsNobody,
    CountsOneForNone,
    Allocates,
    PanicsOnLargeNumbers,
    ForgetsDyingThreads,
}

#[derive(Clone)]
struct Faulty {
    fault: Fault,
    shared: Arc<(Mutex<Turnstile>, Condvar)>,
}

#[derive(Default)]
struct Turnstile {
    sleepers: u32,
    grants: u32,
    wakes: u64,
}

thread_local! {
    static ALIVE: Cell<Option<Box<()>>> = const { Cell::new(None) };
}

impl Faulty {
    fn new(fault: Fault) -> Self {
        Self {
            fault,
            shared: Arc::default(),
        }
    }

    fn has(&self, fault: Fault) -> bool {
        self.fault == fault
    }
}

impl Park for Faulty {
    fn wait(&self, word: &AtomicU32, expected: u32) {
        if self.has(Fault::Allocates) {
            black_box(Box::new(1));
        }
        let same = || word.load(Ordering::Relaxed) == expected;
        if self.has(Fault::ComparesBeforeItLocks) {
            if !same() {
                return;
            }
            // The gap, made wide: the waker comes in between.
            let end = Instant::now() + SHORT / 10;
            while same() && Instant::now() < end {
                thread::yield_now();
            }
            thread::sleep(Duration::from_millis(10));
        }
        let (turnstile, granted) = &*self.shared;
        let mut turnstile = turnstile.lock().unwrap();
        if !self.has(Fault::ComparesBeforeItLocks) && !self.has(Fault::IgnoresTheWord) && !same() {
            return;
        }
        turnstile.sleepers += 1;
        let arrived = turnstile.wakes;
        while turnstile.grants == 0
            || (turnstile.wakes == arrived && !self.has(Fault::NewcomersStealGrants))
        {
            turnstile = granted.wait(turnstile).unwrap();
        }
        turnstile.grants -= 1;
        if self.has(Fault::CountsSleepersTwice) {
            turnstile.sleepers -= 1;
        }
    }

    fn wake(&self, _word: &AtomicU32, n: u32) -> u32 {
        if self.has(Fault::ForgetsDyingThreads)
            && ALIVE
                .try_with(|alive| alive.set(Some(Box::new(()))))
                .is_err()
        {
            return 0;
        }
        assert!(!self.has(Fault::PanicsOnLargeNumbers) || n <= i32::MAX as u32);
        let (turnstile, granted) = &*self.shared;
        let mut turnstile = turnstile.lock().unwrap();
        let most = match self.fault {
            Fault::ReleasesAllCountsOne if n > 0 => u32::MAX,
            Fault::ReleasesOneAtMost => n.min(1),
            Fault::CountsOneForNone => n.max(1),
            _ => n,
        };
        let released = most.min(turnstile.sleepers);
        if released == 0 {
            return 0;
        }
        if !self.has(Fault::CountsSleepersTwice) {
            turnstile.sleepers -= released;
            turnstile.grants += released;
        } else {
            turnstile.grants = released;
        }
        turnstile.wakes += 1;
        granted.notify_all();
        match self.fault {
            Fault::ReleasesAllCountsOne => 1,
            Fault::CountsNobody => 0,
            _ => released,
        }
    }
}

/// The verdict of a check on a park with this fault; it may hang, so it is not given long.
macro_rules! verdict {
    ($obligation:ident::$check:ident, $fault:ident) => {
        $obligation::$check(|| Faulty::new(Fault::$fault), SHORT)
    };
}

#[test]
fn without_a_fault_every_check_passes() {
    let make = || Faulty::new(Fault::None);
    let verdicts: [Verdict; 14] = [
        lost_wake::one_sleeper(make, PATIENCE),
        lost_wake::all_sleepers(make, PATIENCE),
        lost_wake::hand_over(make, PATIENCE),
        lost_wake::stop_races_the_first_wait(make, PATIENCE),
        spurious::a_differing_word_returns(make, PATIENCE),
        spurious::callers_loop(make, PATIENCE),
        bounded_wakes::nobody_slept(make, PATIENCE),
        bounded_wakes::counts_are_exact(make, PATIENCE),
        order::the_lot_publishes(make, PATIENCE),
        order::a_signal_before_the_wait(make, PATIENCE),
        quiet::no_allocation(make, PATIENCE),
        quiet::a_dying_thread_wakes(make, PATIENCE),
        quiet::odd_numbers(make, PATIENCE),
        one_word::parks_are_apart(make, PATIENCE),
    ];
    assert_eq!(verdicts, [const { Ok(()) }; 14]);
}

#[test]
fn a_compare_outside_the_lock_loses_a_wake() {
    let verdict = verdict!(lost_wake::one_sleeper, ComparesBeforeItLocks);
    assert_eq!(verdict, Err(Violation::Hung));
    let verdict = verdict!(order::the_lot_publishes, ComparesBeforeItLocks);
    assert_eq!(verdict, Err(Violation::Hung));
    let verdict = verdict!(lost_wake::stop_races_the_first_wait, ComparesBeforeItLocks);
    assert_eq!(verdict, Err(Violation::Hung));
}

#[test]
fn a_park_that_ignores_the_word_hangs() {
    let verdict = verdict!(spurious::a_differing_word_returns, IgnoresTheWord);
    assert_eq!(verdict, Err(Violation::Hung));
    let verdict = verdict!(order::a_signal_before_the_wait, IgnoresTheWord);
    assert_eq!(verdict, Ok(()), "the lot compares too, before it parks");
    let verdict = verdict!(lost_wake::one_sleeper, IgnoresTheWord);
    assert_eq!(verdict, Err(Violation::Hung));
}

#[test]
fn a_stolen_grant_is_a_lost_wake() {
    let verdict = verdict!(lost_wake::hand_over, NewcomersStealGrants);
    assert_eq!(verdict, Err(Violation::Hung));
}

#[test]
fn a_wake_for_all_that_releases_one_hangs() {
    let verdict = verdict!(lost_wake::all_sleepers, ReleasesOneAtMost);
    assert_eq!(verdict, Err(Violation::Hung));
}

#[test]
fn a_sleeper_counted_twice_is_seen() {
    let verdict = verdict!(bounded_wakes::counts_are_exact, CountsSleepersTwice);
    assert!(
        matches!(verdict, Err(Violation::CountedTwice { .. })),
        "{verdict:?}"
    );
}

#[test]
fn a_release_that_is_not_counted_is_seen() {
    // It takes a moment in which two sleep, and on a busy machine there may be none for a while.
    let verdicts = (0..50).map(|_| verdict!(bounded_wakes::counts_are_exact, ReleasesAllCountsOne));
    let seen = verdicts
        .filter(|verdict| matches!(verdict, Err(Violation::NotCounted { .. })))
        .take(1);
    assert_eq!(seen.count(), 1);
    let verdict = verdict!(bounded_wakes::nobody_slept, CountsNobody);
    assert_eq!(verdict, Err(Violation::Hung));
}

#[test]
fn a_release_for_nothing_is_seen() {
    let verdict = verdict!(bounded_wakes::counts_are_exact, CountsOneForNone);
    assert_eq!(
        verdict,
        Err(Violation::MoreThanAsked {
            asked: 0,
            counted: 1
        })
    );
}

#[test]
fn an_allocation_is_seen() {
    let verdict = verdict!(quiet::no_allocation, Allocates);
    assert_eq!(verdict, Err(Violation::Allocated { times: 1 }));
}

#[test]
fn a_panic_is_seen() {
    let verdict = verdict!(quiet::odd_numbers, PanicsOnLargeNumbers);
    assert_eq!(verdict, Err(Violation::Panicked));
}

#[test]
fn a_wake_that_needs_a_living_thread_is_seen() {
    let verdict = verdict!(quiet::a_dying_thread_wakes, ForgetsDyingThreads);
    assert_eq!(verdict, Err(Violation::Hung));
}

#[test]
fn parks_that_share_their_sleepers_are_seen() {
    let one = Faulty::new(Fault::None);
    let verdict = one_word::parks_are_apart(|| one.clone(), SHORT);
    assert!(
        matches!(verdict, Err(Violation::WrongPark { .. })),
        "{verdict:?}"
    );
}

/// Fences of which at least one side is for the compiler alone.
#[derive(Clone, Copy)]
struct HalfFences {
    heavy_is_real: bool,
}

impl Fences for HalfFences {
    #[inline(always)]
    fn light(self) {
        compiler_fence(Ordering::SeqCst);
    }

    #[inline(always)]
    fn heavy(self) {
        if self.heavy_is_real {
            fence(Ordering::SeqCst);
        } else {
            compiler_fence(Ordering::SeqCst);
        }
    }
}

/// Whether the litmus test sees both sides stale, sooner or later. It needs two processors that run at the
/// same time: on one there is nothing to see, and the control says nothing.
fn is_seen(fences: HalfFences) -> bool {
    if thread::available_parallelism().is_ok_and(|cpus| cpus.get() == 1) {
        eprintln!("one CPU: two stores never cross");
        return true;
    }
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        if let Err(Violation::BothStale { .. }) = fences::light_against_heavy(fences, PATIENCE) {
            return true;
        }
    }
    false
}

#[test]
fn fences_for_the_compiler_alone_are_seen() {
    assert!(is_seen(HalfFences {
        heavy_is_real: false
    }));
}

/// As if the heavy side fell back to a plain fence and the light side did not.
#[test]
fn a_light_side_without_its_partner_is_seen() {
    assert!(is_seen(HalfFences {
        heavy_is_real: true
    }));
}
