//! All at once: two tags that grow, shrink and are resized, tasks and futures of every kind, timers, panics, and a
//! stop in the midst of it. Each token that a closure or a future has carried is given back in the end, whatever
//! became of it, so nothing is lost and memory stays as it is.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use parkade::future::{sleep, timeout, yield_now};
use parkade::{Backend, Policy, Priority, RuntimeOn, Tag, TagRef};

use crate::panic_messages::expect_panics;
use crate::rounds::{Dice, Run, pause};

on_each_backend!(everything_meets_and_nothing_stays);

const TAGS: [&str; 2] = ["first", "second"];

/// S1, with everything that there is.
fn everything_meets_and_nothing_stays<B: Backend>() {
    expect_panics();
    let mut run = Run::new("S1", 40, 1);
    for _ in run.rounds() {
        run.step();
        let token = Arc::new(());
        let tag = |name| {
            let tag = Tag::new(name).workers(1).max_workers(4).max_blocked(1);
            tag.run_queue(8).keep_alive(Duration::from_millis(1))
        };
        let builder = RuntimeOn::<B>::builder().tags(TAGS.map(tag)).max_workers(6);
        let runtime = run.watch(builder.build().unwrap());
        let over = AtomicBool::new(false);
        let policy = [Policy::Drain, Policy::Abandon][run.dice.usize(..2)];
        let goes_on = run.steps();
        thread::scope(|threads| {
            for _ in 0..2 {
                let (runtime, over, token) = (&runtime, &over, &token);
                let mut dice = run.dice.fork();
                let goes_on = &goes_on;
                threads.spawn(move || {
                    while !over.load(Ordering::Relaxed) {
                        goes_on();
                        let tag = runtime.tag(TAGS[dice.usize(..2)]).unwrap();
                        let priority = [Priority::Normal, Priority::High][dice.usize(..2)];
                        submit(runtime, tag.with_priority(priority), &mut dice, token);
                    }
                });
            }
            // Long enough for timers to fire and workers to retire.
            let until = Instant::now() + Duration::from_millis(run.dice.u64(..10));
            while Instant::now() < until {
                let tag = runtime.tag(TAGS[run.dice.usize(..2)]).unwrap();
                // At times there is no room below the ceiling.
                let _beyond = tag.resize(run.dice.usize(1..=5));
                pause(run.dice.pause());
                thread::yield_now();
            }
            let report = runtime.shutdown(policy, None).unwrap();
            assert!(report.is_complete(), "{report}");
            over.store(true, Ordering::Relaxed);
        });
        run.step();
        let metrics = runtime.metrics().total;
        assert_eq!((metrics.workers, metrics.blocked), (0, 0), "{metrics:?}");
        drop(runtime);
        // The last reference may be on its way out of a future that another one has waited for.
        crate::rounds::until(|| Arc::strong_count(&token) == 1);
    }
}

/// Something of some kind. Whether it is accepted is the stop's to say.
fn submit<B: Backend>(
    runtime: &Arc<RuntimeOn<B>>,
    tag: TagRef<'_, B>,
    dice: &mut Dice,
    token: &Arc<()>,
) {
    let (hints, short) = (dice.pause(), Duration::from_micros(dice.u64(..500)));
    let token = Arc::clone(token);
    match dice.u32(..13) {
        0 => {
            let _refused = tag.spawn_detached(move || {
                pause(hints);
                drop(token);
            });
        }
        1 => drop(tag.spawn(move || token).join()),
        2 => drop(
            tag.spawn(move || -> () { panic!("on purpose, with {token:?}") })
                .join(),
        ),
        3 => {
            let mut batch = tag.batch();
            for _ in 0..5 {
                let token = Arc::clone(&token);
                batch.spawn_detached(move || drop(token));
            }
        }
        4 => tag.scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| pause(Arc::strong_count(&token).min(50) as u32));
            }
        }),
        5 => {
            let _ = tag.join(|| pause(hints), || Arc::clone(&token));
        }
        6 => {
            let timer = tag.after(short, move || drop(token));
            if let (Ok(timer), true) = (timer, dice.bool()) {
                timer.detach();
            }
        }
        7 => {
            if let Ok(interval) = tag.every(short.max(Duration::from_micros(50)), move || {
                let _held = &token;
            }) && dice.bool()
            {
                interval.detach();
            }
        }
        8 => tag
            .spawn_async(async move {
                for _ in 0..3 {
                    yield_now().await;
                }
                let _stopped = sleep(short).await;
                drop(token);
            })
            .detach(),
        9 => {
            // Cancelled when it is dropped, wherever it has come.
            let waits = tag.spawn_async(async move {
                let _late = timeout(short, std::future::pending::<()>()).await;
                drop(token);
            });
            pause(hints);
            drop(waits);
        }
        10 => {
            let inside = Arc::clone(runtime);
            tag.spawn_async(async move {
                let inner = inside.spawn(move || token);
                // Not as its last owner: that would wait for itself.
                drop(inside);
                drop(inner.await);
            })
            .detach();
        }
        11 => drop(tag.broadcast(move |_| Arc::strong_count(&token))),
        _ => {
            let _refused = tag.spawn_detached(move || {
                parkade::blocking(|| thread::sleep(short));
                drop(token);
            });
        }
    }
}
