//! The lot alone: when it calls its park, and with what.

use parkade_core::{ParkingLot, Skip};

use crate::script::{Call, Script, ScriptedPark};

fn lot(skip: Skip, signals: u32) -> (ParkingLot<ScriptedPark>, Script) {
    let script = Script::default();
    let park = ScriptedPark::new(&script, 0);
    (ParkingLot::with_signals(park, skip, signals), script)
}

const WAKE_ONE: Call = Call::Wake { worker: 0, n: 1 };

/// W2: state taken, signal while nobody waits, wait on the old state: neither side calls the park.
#[test]
fn a_signal_between_state_and_wait_ends_the_wait_without_a_call() {
    let (lot, script) = lot(Skip::WhenNobodyWaits, 0);
    let state = lot.state();
    assert_eq!(lot.signal(1), 0);
    lot.wait(state);
    assert_eq!(script.calls(), []);
}

#[test]
fn a_wait_on_a_current_state_parks_on_exactly_that_word() {
    for skip in [Skip::WhenNobodyWaits, Skip::Never] {
        let (lot, script) = lot(skip, 5);
        lot.wait(lot.state());
        let expected = 10;
        assert_eq!(
            script.calls(),
            [Call::Wait {
                worker: 0,
                expected
            }]
        );
    }
}

#[test]
fn a_lot_that_never_skips_wakes_at_every_signal() {
    let (lot, script) = lot(Skip::Never, 0);
    assert_eq!(lot.signal(1), 1, "what the park says it woke");
    assert_eq!(script.calls(), [WAKE_ONE]);
}

#[test]
fn no_signal_is_no_call_and_no_change() {
    let (lot, script) = lot(Skip::Never, 0);
    let state = lot.state();
    assert_eq!(lot.signal(0), 0);
    assert_eq!(lot.state(), state);
    assert_eq!(script.calls(), []);
}

#[test]
fn a_huge_signal_is_clamped_and_leaves_the_stop_bit_alone() {
    let (lot, script) = lot(Skip::Never, 1);
    let _ = lot.signal(u32::MAX);
    let n = u32::MAX >> 1;
    assert_eq!(script.calls(), [Call::Wake { worker: 0, n }]);
    assert!(!lot.is_stopped());
}

#[test]
fn a_stop_wakes_everybody_and_its_state_never_parks() {
    let (lot, script) = lot(Skip::WhenNobodyWaits, 0);
    let _ = lot.stop();
    let n = u32::MAX;
    assert_eq!(script.calls(), [Call::Wake { worker: 0, n }]);
    let state = lot.state();
    assert!(state.is_stopped());
    lot.wait(state);
    assert_eq!(script.calls(), []);
}

/// W12: the count wraps; a signal across the wrap still ends the wait, and the stop bit stays as it was.
#[test]
fn a_signal_across_the_wrap_is_a_signal() {
    for stopped in [false, true] {
        let (lot, script) = lot(Skip::WhenNobodyWaits, u32::MAX >> 1);
        if stopped {
            let _ = lot.stop();
        }
        let _ = script.calls();
        let before = lot.state();
        let _ = lot.signal(1);
        assert_ne!(lot.state(), before);
        assert_eq!(lot.state().is_stopped(), stopped);
        lot.wait(before);
        assert_eq!(script.calls(), []);
    }
}

#[test]
fn a_lot_that_counts_no_waiters_does_not_say_there_are_none() {
    let shown = [Skip::WhenNobodyWaits, Skip::Never].map(|skip| format!("{:?}", lot(skip, 3).0));
    assert_eq!(
        shown,
        [
            "ParkingLot { signals: 3, stopped: false, waiters: 0, .. }",
            "ParkingLot { signals: 3, stopped: false, waiters: not counted, .. }",
        ]
    );
}
