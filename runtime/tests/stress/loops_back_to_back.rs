//! Loops of a few items, back to back, for more workers than the machine has cores: helpers come when their loop
//! is over, and the next one has begun in the same frame.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::each_backend::runtime;
use crate::rounds::{self, Run};
use parkade::Backend;

on_each_backend!(each_loop_completes_and_is_not_touched_after);

const WORKERS: usize = 8;

/// B1: every loop does all its items, and what its body has borrowed is the caller's alone when it returns.
fn each_loop_completes_and_is_not_touched_after<B: Backend>() {
    let mut run = Run::new("B1", 5_000, 5);
    let runtime = run.watch(runtime::<B>(WORKERS));
    let mut total = 0;
    for _ in run.rounds() {
        run.step();
        let items = run.dice.usize(1..=3);
        let mut counted = Arc::new(AtomicU64::new(0));
        let (held, lingers) = (Arc::clone(&counted), run.dice.linger());
        runtime.chunks(0..items, 1, move |_| {
            rounds::pause(lingers);
            held.fetch_add(1, Ordering::Relaxed);
        });
        let alone = Arc::get_mut(&mut counted).expect("the loop has left a reference");
        assert_eq!(*alone.get_mut(), items as u64);
        total += items;
        rounds::pause(run.dice.linger());
    }
    assert!(total >= usize::try_from(run.rounds().end).unwrap());
    assert_eq!(runtime.metrics().total.workers, WORKERS);
}
