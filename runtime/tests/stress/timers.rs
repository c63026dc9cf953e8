//! Timers and sleeps by the thousand.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::each_backend::runtime;
use crate::rounds::{Run, until};
use parkade::Backend;

on_each_backend!(sleeps, timers_from_sixteen_threads,);

/// T3: always well, never early.
fn sleeps<B: Backend>() {
    let run = Run::new("T3", 500, 3);
    let runtime = run.watch(runtime::<B>(1));
    const LENGTH: Duration = Duration::from_millis(1);
    for _ in run.rounds() {
        run.step();
        let slept = runtime.spawn(|| {
            let begun = Instant::now();
            (parkade::sleep(LENGTH), begun.elapsed())
        });
        let (ended, elapsed) = slept.join().unwrap();
        assert_eq!(ended, Ok(()));
        assert!(elapsed >= LENGTH, "early: {elapsed:?}");
    }
}

/// T4: of a hundred timers one is left, some while they are about to fire. Each fires once or is cancelled, as
/// its handle said.
fn timers_from_sixteen_threads<B: Backend>() {
    let mut run = Run::new("T4", 300, 2);
    let runtime = run.watch(runtime::<B>(2));
    let fired = Arc::new(AtomicU64::new(0));
    let rounds = run.rounds();
    let to_fire: u64 = thread::scope(|scope| {
        let dice = [(); 16].map(|()| run.dice.fork());
        let run = &run;
        let threads: Vec<_> = dice
            .into_iter()
            .map(|mut dice| {
                let (runtime, fired, rounds) = (&runtime, &fired, rounds.clone());
                scope.spawn(move || {
                    let mut to_fire = 0;
                    for n in rounds {
                        run.step();
                        let delay = Duration::from_micros(dice.u64(0..5_000));
                        let count = Arc::clone(fired);
                        let body = move || _ = count.fetch_add(1, Ordering::Relaxed);
                        let timer = if dice.bool() {
                            runtime.after(delay, body).unwrap()
                        } else {
                            runtime.alarm(delay, body).unwrap()
                        };
                        if n % 100 == 0 {
                            timer.detach();
                            to_fire += 1;
                        } else {
                            to_fire += u64::from(!timer.cancel());
                        }
                    }
                    to_fire
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .sum()
    });
    run.step();
    until(|| fired.load(Ordering::Relaxed) == to_fire);
    let timers = runtime.metrics().timers;
    assert_eq!((timers.pending, timers.fired as u64), (0, to_fire));
}
