//! The contract of a backend, checked on every backend of this system in one program.
//!
//! One file per obligation of [`parkade_core::Park`], one for [`parkade_core::Fences`]. A check is
//! generic over the park or the fences, gets a way to make fresh ones, and answers `Ok` or the [`Violation`]
//! that it saw; so the same check that passes on a backend is shown in `negative` to catch a park that is
//! broken on purpose. Nothing here waits for a time to pass: a check is over when its counts are reached, and
//! `bed::PATIENCE` only ends the ones that hang.
//!
//! To put a backend under the contract, add a line at the end of this file.

mod bed;
mod bounded_wakes;
mod fences;
mod lost_wake;
// A check that hangs, as it must here, leaves a thread behind, and Miri takes that for an error.
#[cfg(not(miri))]
mod negative;
mod one_word;
mod order;
mod quiet;
mod spurious;

use parkade_core::{Platform, Slot, TagIndex, WorkerIndex};

/// A park as a scheduler on this platform would get it.
fn park_of<P: Platform>(platform: &P) -> P::Park {
    platform.park(Slot {
        tag: TagIndex(0),
        worker: WorkerIndex(0),
    })
}

macro_rules! contract {
    ($backend:ident, $platform:expr) => {
        mod $backend {
            use parkade_core::Platform as _;

            use crate::bed::PATIENCE;

            contract!(@park $platform,
                lost_wake::one_sleeper
                lost_wake::all_sleepers
                lost_wake::hand_over
                lost_wake::stop_races_the_first_wait
                spurious::a_differing_word_returns
                spurious::callers_loop
                bounded_wakes::nobody_slept
                bounded_wakes::counts_are_exact
                order::the_lot_publishes
                order::a_signal_before_the_wait
                quiet::no_allocation
                quiet::a_dying_thread_wakes
                quiet::odd_numbers
                one_word::parks_are_apart
            );

            #[test]
            fn fences_light_against_heavy() {
                crate::fences::light_against_heavy($platform.fences(), PATIENCE).unwrap();
            }

            #[test]
            fn fences_heavy_against_heavy() {
                crate::fences::heavy_against_heavy($platform.fences(), PATIENCE).unwrap();
            }
        }
    };
    (@park $platform:expr, $($obligation:ident::$check:ident)*) => {
        $(
            #[test]
            fn $check() {
                let platform = $platform;
                crate::$obligation::$check(|| crate::park_of(&platform), PATIENCE).unwrap();
            }
        )*
    };
}

contract!(std, parkade_std::Std);

#[cfg(target_os = "linux")]
contract!(linux, parkade_linux::Linux::new());

#[cfg(target_os = "linux")]
contract!(
    linux_without_membarrier,
    parkade_linux::Linux::with_fences(parkade_linux::MembarrierFences::seq_cst())
);
