//! Recurring tasks: one turn at a time, in the rhythm that they began with, until they end.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{eventually, expect_panics, hold, runtime};
use crate::timers::{FAR, SOON};
use parkade::Backend;

on_each_backend!(
    turns_never_overlap_and_keep_their_beat,
    a_dropped_interval_ends_whatever_its_turn_is_at,
    a_panic_ends_an_interval_and_stays_in_its_timer,
    a_period_of_zero_is_refused,
);

/// A turn that takes many periods is followed by none of the turns that it has missed.
fn turns_never_overlap_and_keep_their_beat<B: Backend>() {
    const TURNS: usize = 10;
    const MISSED: usize = 25;
    let runtime = runtime::<B>(3);
    let period = Duration::from_millis(2);
    let (turn, turns) = mpsc::channel();
    let running = AtomicUsize::new(0);
    let mut first = true;
    let begun = Instant::now();
    let interval = runtime.every(period, move || {
        assert_eq!(running.fetch_add(1, Ordering::Relaxed), 0, "two at once");
        turn.send(Instant::now()).ok();
        if std::mem::take(&mut first) {
            thread::sleep(period * MISSED as u32);
        }
        running.fetch_sub(1, Ordering::Relaxed);
    });
    let turns: Vec<_> = turns.iter().take(TURNS).collect();
    assert!(interval.unwrap().is_active());
    assert_eq!(turns.len(), TURNS);
    let beats = turns
        .iter()
        .map(|at| (*at - begun).as_nanos() / period.as_nanos());
    let beats: Vec<_> = beats.collect();
    assert!(beats[0] >= 1, "early: {beats:?}");
    // Each is in a beat of its own, late or not.
    let in_turn = |turn| beats[turn] >= (MISSED + turn) as u128;
    assert!((1..TURNS).all(in_turn), "a burst: {beats:?}");
}

fn a_dropped_interval_ends_whatever_its_turn_is_at<B: Backend>() {
    let runtime = runtime::<B>(1);
    let token = Arc::new(());
    // Not due yet.
    let pending = Arc::clone(&token);
    let interval = runtime.every(FAR, move || _ = &pending).unwrap();
    drop(interval);
    assert_eq!(Arc::strong_count(&token), 1, "dropped with its handle");
    // Fired, and waiting for a worker.
    let held = hold(runtime.default_tag(), 1);
    let queued = Arc::clone(&token);
    let fired = runtime.metrics().timers.fired;
    let interval = runtime
        .every(SOON, move || unreachable!("{queued:?} after the end"))
        .unwrap();
    eventually("it is queued", || runtime.metrics().timers.fired > fired);
    drop(interval);
    held.release();
    eventually("its turn is over", || Arc::strong_count(&token) == 1);
    // In a turn, which ends it from inside.
    let slot = Arc::new(Mutex::new(None));
    let (inside, own) = (Arc::clone(&token), Arc::clone(&slot));
    let turns = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&turns);
    let mut interval = slot.lock().unwrap();
    *interval = Some(
        runtime
            .every(SOON, move || {
                count.fetch_add(1, Ordering::Relaxed);
                drop(own.lock().unwrap().take());
                _ = &inside;
            })
            .unwrap(),
    );
    drop(interval);
    eventually("its only turn is over", || Arc::strong_count(&token) == 1);
    assert_eq!(turns.load(Ordering::Relaxed), 1);
    let metrics = runtime.metrics();
    assert_eq!((metrics.timers.pending, metrics.total.panicked), (0, 0));
}

/// P1.
fn a_panic_ends_an_interval_and_stays_in_its_timer<B: Backend>() {
    expect_panics();
    let runtime = runtime::<B>(1);
    let mut turn = 0;
    let interval = runtime.every(SOON, move || {
        turn += 1;
        assert!(turn < 2, "the second turn");
    });
    let interval = interval.unwrap();
    eventually("it has ended", || !interval.is_active());
    let task = runtime.after(SOON, || panic!("a timed task")).unwrap();
    assert!(task.join().unwrap_err().is_panic());
    let alarm = runtime.alarm(SOON, || panic!("an alarm")).unwrap();
    assert!(alarm.join().unwrap_err().is_panic());
    assert_eq!(runtime.alarm(SOON, || 1).unwrap().join().unwrap(), 1);
    eventually("all are counted", || {
        let metrics = runtime.metrics();
        (metrics.total.panicked, metrics.timers.panicked_alarms) == (2, 1)
    });
    assert_eq!(runtime.metrics().total.workers, 1);
}

fn a_period_of_zero_is_refused<B: Backend>() {
    let runtime = runtime::<B>(1);
    let refused = runtime.every(Duration::ZERO, || ()).unwrap_err();
    assert_eq!(refused.to_string(), "the task was refused: its period is 0");
}
