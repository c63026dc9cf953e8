//! Futures and the end of their runtime: none is forgotten, none keeps anything, and late wakes do no harm.

use std::future::{self, Future};
use std::sync::{Arc, Mutex, mpsc};
use std::task::Waker;
use std::thread;
use std::time::Duration;

use crate::common::{eventually, hold, runtime};
use crate::futures::leave_waker;
use parkade::future::{TimeoutError, sleep, timeout, yield_now};
use parkade::{Backend, JoinError, Policy, Stopped, Task, block_on};

on_each_backend!(
    a_drain_lets_futures_go_on,
    futures_wake_each_other_under_a_drain,
    a_future_that_waits_is_dropped_at_the_end,
    a_stop_that_nobody_awaits_drops_them_too,
    a_deadline_ends_a_future_that_yields_for_ever,
    a_stop_ends_async_sleeps,
    a_wake_after_the_end_is_harmless,
    a_long_chain_of_futures_is_dropped_flat,
    a_future_may_drop_the_last_of_its_runtime,
);

/// A future that waits for ever and keeps `token`.
fn waits(token: &Arc<()>) -> impl Future<Output = ()> + Send + use<> {
    let token = Arc::clone(token);
    async move {
        let _token = token;
        future::pending::<()>().await;
    }
}

fn is_dropped<T>(outcome: Result<T, JoinError>) -> bool {
    matches!(outcome, Err(JoinError::Dropped))
}

fn a_drain_lets_futures_go_on<B: Backend>() {
    let runtime = runtime::<B>(2);
    let tasks: Vec<_> = (0..20)
        .map(|_| {
            runtime.spawn_async(async {
                for _ in 0..1000 {
                    yield_now().await;
                }
            })
        })
        .collect();
    let report = runtime.shutdown(Policy::Drain, None).unwrap();
    assert_eq!((report.ran, report.dropped), (20 * 1001, 0));
    for task in tasks {
        task.join().unwrap();
    }
}

/// Each is woken by the other, on the one worker, long after the close.
fn futures_wake_each_other_under_a_drain<B: Backend>() {
    let runtime = runtime::<B>(1);
    let held = hold(runtime.default_tag(), 1);
    let (to_a, from_b) = async_channel::bounded(1);
    let (to_b, from_a) = async_channel::bounded(1);
    to_a.try_send(()).unwrap();
    let players = [(from_b, to_b), (from_a, to_a)].map(|(receive, send)| {
        runtime.spawn_async(async move {
            for _ in 0..500 {
                receive.recv().await.unwrap();
                send.send(()).await.ok();
            }
        })
    });
    thread::scope(|scope| {
        let stop = scope.spawn(|| runtime.shutdown(Policy::Drain, None).unwrap());
        eventually("closed", || runtime.try_spawn(|| ()).is_err());
        held.release();
        assert_eq!(stop.join().unwrap().dropped, 0);
    });
    for player in players {
        player.join().unwrap();
    }
}

fn a_future_that_waits_is_dropped_at_the_end<B: Backend>() {
    for policy in [Policy::Drain, Policy::Abandon] {
        let runtime = runtime::<B>(2);
        let token = Arc::new(());
        let task = runtime.spawn_async(waits(&token));
        let awaited = runtime.spawn_async(task);
        // More than any list holds at once.
        let tasks: Vec<_> = (0..100)
            .map(|_| runtime.spawn_async(waits(&token)))
            .collect();
        let detached = runtime.spawn_async(waits(&token));
        detached.detach();
        eventually("all are polled", || {
            let total = runtime.metrics().total;
            total.ran == total.spawned && total.ran >= 103
        });
        let joined = thread::spawn(|| awaited.join());
        let report = runtime.shutdown(policy, None).unwrap();
        assert!(report.dropped >= 102, "{report}");
        assert!(joined.join().unwrap().is_err() || policy == Policy::Drain);
        assert!(tasks.into_iter().map(Task::join).all(is_dropped));
        assert_eq!(Arc::strong_count(&token), 1);
    }
}

/// The runtime is dropped by its own worker, so that it ends by itself.
fn a_stop_that_nobody_awaits_drops_them_too<B: Backend>() {
    let runtime = Arc::new(runtime::<B>(2));
    let token = Arc::new(());
    let task = runtime.spawn_async(waits(&token));
    let (go_on, wait) = mpsc::channel::<()>();
    let last = Arc::clone(&runtime);
    let dropped = runtime.spawn(move || {
        let _ended = wait.recv();
        drop(last);
    });
    drop(runtime);
    drop(go_on);
    dropped.join().unwrap();
    assert!(is_dropped(task.join()));
    eventually("gone", || Arc::strong_count(&token) == 1);
}

fn a_deadline_ends_a_future_that_yields_for_ever<B: Backend>() {
    let runtime = runtime::<B>(2);
    let task = runtime.spawn_async(async {
        loop {
            yield_now().await;
        }
    });
    let deadline = Duration::from_millis(20);
    runtime.shutdown(Policy::Drain, Some(deadline)).unwrap();
    let _never: Result<(), _> = task
        .join()
        .map(|never: std::convert::Infallible| match never {});
}

/// S10, S14 for futures: by a drain too, after which they go on.
fn a_stop_ends_async_sleeps<B: Backend>() {
    let runtime = runtime::<B>(1);
    let sleeper = runtime.spawn_async(async {
        let slept = sleep(Duration::MAX).await;
        (slept, sleep(Duration::ZERO).await)
    });
    let limited = runtime.spawn_async(timeout(Duration::MAX, future::pending::<()>()));
    eventually("both sleep", || runtime.metrics().timers.pending == 2);
    runtime.shutdown(Policy::Drain, None).unwrap();
    assert_eq!(sleeper.join().unwrap(), (Err(Stopped), Err(Stopped)));
    assert_eq!(limited.join().unwrap(), Err(TimeoutError::Stopped));
}

/// The wakers outlive runtime and task.
fn a_wake_after_the_end_is_harmless<B: Backend>() {
    let slot = Arc::<Mutex<Option<Waker>>>::default();
    let runtime = runtime::<B>(2);
    let task = runtime.spawn_async(leave_waker(&slot));
    eventually("it waits", || slot.lock().unwrap().is_some());
    runtime.shutdown(Policy::Drain, None).unwrap();
    let waker = slot.lock().unwrap().take().unwrap();
    waker.wake_by_ref();
    drop(runtime);
    waker.wake_by_ref();
    assert!(is_dropped(block_on(task)));
    let other = waker.clone();
    drop(waker);
    other.wake();
}

/// Each future holds the task of the next and waits for it: more calls within calls than any stack has room for.
fn a_long_chain_of_futures_is_dropped_flat<B: Backend>() {
    let runtime = runtime::<B>(1);
    let token = Arc::new(());
    let mut last = runtime.spawn_async(waits(&token));
    for _ in 0..20_000 {
        last = runtime.spawn_async(async move { last.await.unwrap_or(()) });
    }
    eventually("all are polled", || runtime.metrics().total.ran == 20_001);
    runtime.shutdown(Policy::Abandon, None).unwrap();
    assert!(is_dropped(last.join()));
    assert_eq!(Arc::strong_count(&token), 1);
}

fn a_future_may_drop_the_last_of_its_runtime<B: Backend>() {
    let runtime = Arc::new(runtime::<B>(2));
    let last = Arc::clone(&runtime);
    let (go_on, wait) = async_channel::bounded::<()>(1);
    let task = runtime.spawn_async(async move {
        wait.recv().await.unwrap_err();
        drop(last);
        yield_now().await;
        7
    });
    drop(runtime);
    drop(go_on);
    assert_eq!(task.join().unwrap(), 7);
}
