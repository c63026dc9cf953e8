//! Copies for workers that are about to fall asleep, each at another point of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::each_backend::runtime;
use crate::rounds::{self, Run};
use parkade::Backend;

on_each_backend!(each_worker_runs_its_copy);

/// W9.
fn each_worker_runs_its_copy<B: Backend>() {
    const WORKERS: usize = 3;
    let mut run = Run::new("W9", 10_000, 5);
    let runtime = run.watch(runtime::<B>(WORKERS));
    let ran: Arc<[AtomicU64; WORKERS]> = Arc::default();
    for round in run.rounds() {
        run.step();
        let counts = Arc::clone(&ran);
        let copies = runtime.broadcast(move |worker| {
            counts[worker.index()].fetch_add(1, Ordering::Relaxed);
        });
        for copy in copies {
            copy.join().unwrap();
        }
        assert!(
            ran.iter()
                .all(|ran| ran.load(Ordering::Relaxed) == round + 1)
        );
        rounds::pause(run.dice.pause());
    }
}
