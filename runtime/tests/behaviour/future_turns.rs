//! The turns of futures: nobody starves beside those that wake each other or yield for ever.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use crate::common::{eventually, hold, runtime};
use parkade::future::{sleep, yield_now};
use parkade::{Backend, Priority, RuntimeOn, Tag, TagRef, Task};

on_each_backend!(
    futures_that_wake_each_other_starve_nobody,
    yielding_futures_take_turns,
    a_yield_goes_behind_all_that_is_queued,
    a_yield_of_high_priority_goes_first_still,
    a_full_inbox_refuses_no_wake,
    tasks_from_outside_start_beside_endless_ones,
    tasks_land_beside_an_endless_future_and_run,
    a_sleep_ends_beside_futures_that_yield_for_ever,
);

/// Futures that yield until this is dropped.
struct Yielding {
    over: Arc<AtomicBool>,
    /// How many have had their first turn.
    begun: Arc<AtomicUsize>,
    tasks: Vec<Task<usize>>,
}

impl Yielding {
    fn begin<B: Backend>(runtime: &RuntimeOn<B>, futures: usize) -> Self {
        let (over, begun) = (Arc::new(AtomicBool::new(false)), Arc::default());
        let tasks = (0..futures).map(|_| {
            let (over, begun) = (Arc::clone(&over), Arc::clone(&begun));
            runtime.spawn_async(async move {
                AtomicUsize::fetch_add(&begun, 1, Ordering::Relaxed);
                let mut turns = 0;
                while !over.load(Ordering::Relaxed) {
                    turns += 1;
                    yield_now().await;
                }
                turns
            })
        });
        let tasks = tasks.collect();
        Self { over, begun, tasks }
    }

    fn have_all_begun(&self) -> bool {
        self.begun.load(Ordering::Relaxed) == self.tasks.len()
    }

    fn end(self) -> Vec<usize> {
        self.over.store(true, Ordering::Relaxed);
        let turns = self.tasks.into_iter().map(Task::join);
        turns.collect::<Result<_, _>>().unwrap()
    }
}

/// Q5.
fn futures_that_wake_each_other_starve_nobody<B: Backend>() {
    let runtime = runtime::<B>(1);
    let (over, turns) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicUsize::new(0)),
    );
    let held = hold(runtime.default_tag(), 1);
    let (to_a, from_b) = async_channel::bounded(1);
    let (to_b, from_a) = async_channel::bounded(1);
    to_a.try_send(()).unwrap();
    let players = [(from_b, to_b), (from_a, to_a)].map(|(receive, send)| {
        let (over, turns) = (Arc::clone(&over), Arc::clone(&turns));
        runtime.spawn_async(async move {
            while !over.load(Ordering::Relaxed) && receive.recv().await.is_ok() {
                turns.fetch_add(1, Ordering::Relaxed);
                if send.send(()).await.is_err() {
                    return;
                }
            }
        })
    });
    let seen = Arc::clone(&turns);
    let third = runtime.spawn(move || {
        over.store(true, Ordering::Relaxed);
        seen.load(Ordering::Relaxed)
    });
    held.release();
    // Polled once each, or twice, before it.
    let turns = third.join().unwrap();
    assert!(turns <= 4, "{turns} turns were taken before");
    for player in players {
        player.join().unwrap();
    }
}

/// Q6.
fn yielding_futures_take_turns<B: Backend>() {
    let runtime = runtime::<B>(1);
    let held = hold(runtime.default_tag(), 1);
    let yielding = Yielding::begin(&runtime, 3);
    let (over, tasks) = (Arc::clone(&yielding.over), runtime.default_tag());
    let ends = tasks.spawn_async(async move {
        for _ in 0..1000 {
            yield_now().await;
        }
        over.store(true, Ordering::Relaxed);
    });
    held.release();
    ends.join().unwrap();
    let turns = yielding.end();
    let (least, most) = (turns.iter().min().unwrap(), turns.iter().max().unwrap());
    assert!(*most <= 2 * least && *least >= 500, "{turns:?}");
}

fn a_yield_goes_behind_all_that_is_queued<B: Backend>() {
    let runtime = runtime::<B>(1);
    let held = hold(runtime.default_tag(), 1);
    let log = Arc::new(Mutex::new(Vec::new()));
    let write = |what: &'static str| {
        let log = Arc::clone(&log);
        move || log.lock().unwrap().push(what)
    };
    let (first, second) = (write("before"), write("after"));
    let task = runtime.spawn_async(async move {
        first();
        yield_now().await;
        second();
    });
    for name in ["one", "two", "three"] {
        runtime.spawn_detached(write(name)).unwrap();
    }
    held.release();
    task.join().unwrap();
    assert_eq!(
        *log.lock().unwrap(),
        ["before", "one", "two", "three", "after"]
    );
}

fn a_yield_of_high_priority_goes_first_still<B: Backend>() {
    let runtime = runtime::<B>(1);
    let held = hold(runtime.default_tag(), 1);
    let log = Arc::new(Mutex::new(Vec::new()));
    let write = |what: &'static str| {
        let log = Arc::clone(&log);
        move || log.lock().unwrap().push(what)
    };
    runtime.spawn_detached(write("normal")).unwrap();
    let urgent = runtime.default_tag().with_priority(Priority::High);
    let turn = write("urgent");
    let task = urgent.spawn_async(async move {
        for _ in 0..3 {
            turn();
            yield_now().await;
        }
    });
    held.release();
    task.join().unwrap();
    runtime.spawn(|| ()).join().unwrap();
    assert_eq!(
        *log.lock().unwrap(),
        ["urgent", "urgent", "urgent", "normal"]
    );
}

fn a_full_inbox_refuses_no_wake<B: Backend>() {
    let tag = Tag::new("only").workers(1).inbox_limit(1);
    let other = Tag::new("other").workers(1);
    let builder = RuntimeOn::<B>::builder().tag(tag).tag(other);
    let runtime = builder.build().unwrap();
    let normal = runtime.default_tag();
    let urgent = normal.with_priority(Priority::High);
    let log = Arc::new(Mutex::new(Vec::new()));
    // Each waits, and yields once: a wake from elsewhere, and one from its worker.
    let waits = |tag: TagRef<'_, B>, name: &'static str| {
        let (go_on, wait) = async_channel::bounded::<()>(1);
        let log = Arc::clone(&log);
        let task = tag.spawn_async(async move {
            wait.recv().await.unwrap_err();
            log.lock().unwrap().push(name);
            yield_now().await;
            log.lock().unwrap().push(name);
        });
        eventually("it waits", || {
            let total = runtime.metrics().total;
            total.ran == total.spawned
        });
        (go_on, task)
    };
    let (wake_a, a) = waits(normal, "a");
    let (wake_b, b) = waits(normal, "b");
    let (wake_c, c) = waits(urgent, "C");
    let (wake_d, d) = waits(urgent, "D");
    let held = hold(normal, 1);
    let fill = |tag: TagRef<'_, B>, name: &'static str| {
        let log = Arc::clone(&log);
        tag.spawn(move || log.lock().unwrap().push(name))
    };
    let filled = [fill(normal, "full"), fill(urgent, "FULL")];
    for tag in [normal, urgent] {
        assert!(tag.try_spawn(|| ()).is_err(), "full");
    }
    // From outside, and from a worker of another tag.
    drop((wake_a, wake_c));
    let other = runtime.tag("other").unwrap();
    other.spawn(move || drop((wake_b, wake_d))).join().unwrap();
    let queued = runtime.metrics().tag("only").unwrap().queued;
    assert_eq!(queued, 2 + 4);
    held.release();
    for filled in filled {
        filled.join().unwrap();
    }
    for task in [a, b, c, d] {
        task.join().unwrap();
    }
    let urgent = ["FULL", "C", "D", "C", "D"];
    let normal = ["full", "a", "b", "a", "b"];
    assert_eq!(*log.lock().unwrap(), [urgent, normal].concat());
}

/// Q4. Half of the endless tasks are closures that spawn themselves, half are futures that yield.
fn tasks_from_outside_start_beside_endless_ones<B: Backend>() {
    fn again<B: Backend>(runtime: &Arc<RuntimeOn<B>>, over: &Arc<AtomicBool>) {
        if !over.load(Ordering::Relaxed) {
            let (next, over) = (Arc::clone(runtime), Arc::clone(over));
            // Refused by the end of the test alone.
            let _refused = runtime.spawn_detached(move || again(&next, &over));
        }
    }
    let runtime = Arc::new(runtime::<B>(4));
    let yielding = Yielding::begin(&runtime, 32);
    for _ in 0..32 {
        again(&runtime, &yielding.over);
    }
    let (start, started) = mpsc::channel();
    for _ in 0..20 {
        let start = start.clone();
        runtime
            .spawn_detached(move || start.send(()).unwrap())
            .unwrap();
    }
    for _ in 0..20 {
        // Expected within 100 ms.
        started.recv_timeout(Duration::from_secs(10)).unwrap();
    }
    eventually("each future has its turn", || yielding.have_all_begun());
    yielding.end();
}

/// W8. Both workers are busy as the tasks land, in the inboxes of both. One of them stays in a poll of the endless future;
/// the other runs them all.
fn tasks_land_beside_an_endless_future_and_run<B: Backend>() {
    const LAND: usize = 32;
    let runtime = runtime::<B>(2);
    for _ in 0..10 {
        let ((stay, stays), (over, wait)) = (mpsc::channel(), mpsc::channel::<()>());
        let endless = runtime.spawn_async(async move {
            for _ in 0..10 {
                yield_now().await;
            }
            stay.send(()).unwrap();
            let _over = wait.recv();
        });
        stays.recv().unwrap();
        let held = hold(runtime.default_tag(), 1);
        let ran = Arc::new(AtomicUsize::new(0));
        let count = || {
            let ran = Arc::clone(&ran);
            move || {
                ran.fetch_add(1, Ordering::Relaxed);
            }
        };
        // Each of these threads stays with an inbox.
        thread::scope(|scope| {
            for _ in 0..LAND {
                scope.spawn(|| {
                    runtime.spawn_detached(count()).unwrap();
                    let count = count();
                    runtime.spawn_async(async move { count() }).detach();
                });
            }
        });
        let rows = runtime.metrics().workers;
        assert!(rows.iter().all(|row| row.inbox > 0), "{rows:?}");
        held.release();
        let all = || ran.load(Ordering::Relaxed) == 2 * LAND;
        eventually("all run", all);
        assert!(!endless.is_finished());
        drop(over);
        endless.join().unwrap();
    }
}

/// T5.
fn a_sleep_ends_beside_futures_that_yield_for_ever<B: Backend>() {
    let runtime = runtime::<B>(2);
    let yielding = Yielding::begin(&runtime, 2);
    let (woke, wake) = mpsc::channel();
    let sleeper = runtime.spawn_async(async move {
        let slept = sleep(Duration::from_millis(10)).await;
        woke.send(slept).unwrap();
    });
    // Expected within 100 ms.
    assert_eq!(wake.recv_timeout(Duration::from_secs(10)), Ok(Ok(())));
    sleeper.join().unwrap();
    yielding.end();
}
