//! Wakes that come late: under a lock, from anywhere, after the close. None drops a future under its caller's lock.
//!
//! An async channel wakes with the lock of its list held, and the destructor of a future that waits in it takes that
//! lock: dropped inside the wake, it would hang these tests.

use std::future;
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::Duration;

use async_channel::{Receiver, Sender};
use parkade::future::yield_now;
use parkade::{Backend, JoinError, Policy, Report, RuntimeOn, Tag, Task};

use crate::common::{Held, eventually, hold, runtime};

on_each_backend!(
    a_stop_may_drop_the_sender_a_future_waits_for,
    a_sender_in_another_tag_comes_too_late,
    a_draining_tag_takes_wakes_from_anywhere,
    a_task_may_be_dropped_under_a_lock_after_the_close,
    a_future_that_wakes_others_as_it_is_dropped_leaves_none,
    a_refused_future_may_stop_the_runtime,
    wakes_that_meet_a_stop_lose_nothing,
    wakes_that_meet_the_end_of_an_unattended_runtime_lose_nothing,
);

/// A future that waits for a message of a channel, and has been polled.
fn waits<B: Backend>(runtime: &RuntimeOn<B>) -> (Sender<u32>, Task<Option<u32>>) {
    let (send, receive) = async_channel::bounded(1);
    let task = runtime.spawn_async(receives(receive));
    eventually("it waits", || {
        let total = runtime.metrics().total;
        total.ran == total.spawned
    });
    (send, task)
}

async fn receives(receive: Receiver<u32>) -> Option<u32> {
    let received = receive.recv().await.ok();
    // Goes on as any other.
    yield_now().await;
    received
}

/// Begins a stop and, when the runtime has been closed, calls `closed`.
fn stopped<B: Backend>(runtime: &RuntimeOn<B>, policy: Policy, closed: impl FnOnce()) -> Report {
    thread::scope(|scope| {
        let stop = scope.spawn(|| runtime.shutdown(policy, None).unwrap());
        eventually("closed", || runtime.try_spawn(|| ()).is_err());
        closed();
        stop.join().unwrap()
    })
}

fn is_dropped<T>(outcome: &Result<T, JoinError>) -> bool {
    matches!(outcome, Err(JoinError::Dropped))
}

/// The closure that owns the sender is queued; the thread that stops the runtime drops it.
fn a_stop_may_drop_the_sender_a_future_waits_for<B: Backend>() {
    let runtime = runtime::<B>(1);
    let (send, task) = waits(&runtime);
    let held = hold(runtime.default_tag(), 1);
    let owner = runtime.spawn(move || drop(send));
    let report = stopped(&runtime, Policy::Abandon, || {
        eventually("the closure is dropped", || owner.is_finished());
        held.release();
    });
    assert!(is_dropped(&task.join()) && is_dropped(&owner.join()));
    assert!(report.dropped >= 2, "{report}");
}

/// By then the future's own tag has no worker any more.
fn a_sender_in_another_tag_comes_too_late<B: Backend>() {
    let runtime = RuntimeOn::<B>::builder()
        .tag(Tag::new("waits").workers(1))
        .tag(Tag::new("sends").workers(1))
        .build()
        .unwrap();
    let (send, task) = waits(&runtime);
    let go_on = Arc::new(Barrier::new(2));
    let wait = Arc::clone(&go_on);
    let sender = runtime.tag("sends").unwrap().spawn(move || {
        wait.wait();
        send.try_send(7)
    });
    let report = stopped(&runtime, Policy::Drain, || {
        eventually("its worker has left", || {
            runtime.metrics().tag("waits").unwrap().workers == 0
        });
        go_on.wait();
    });
    assert_eq!(sender.join().unwrap(), Ok(()));
    assert!(is_dropped(&task.join()));
    assert_eq!(report.dropped, 1);
}

/// While a worker is there, a future that was accepted goes on: woken by a worker of another tag, by its own, or by a
/// thread from outside.
fn a_draining_tag_takes_wakes_from_anywhere<B: Backend>() {
    let runtime = RuntimeOn::<B>::builder()
        .tag(Tag::new("waits").workers(1).inbox_limit(1))
        .tag(Tag::new("sends").workers(1))
        .build()
        .unwrap();
    let [outside, other, own] = [(); 3].map(|()| waits(&runtime));
    let held = hold(runtime.default_tag(), 1);
    let (wait, go_on) = (Arc::new(Barrier::new(2)), own.0);
    let own_sender = runtime.spawn(move || go_on.try_send(3));
    let (waits, send) = (Arc::clone(&wait), other.0);
    let sender = runtime.tag("sends").unwrap().spawn(move || {
        waits.wait();
        send.try_send(2)
    });
    let report = stopped(&runtime, Policy::Drain, || {
        outside.0.try_send(1).unwrap();
        wait.wait();
        sender.join().unwrap().unwrap();
        held.release();
    });
    assert_eq!(own_sender.join().unwrap(), Ok(()));
    let received = [outside.1, other.1, own.1].map(|task| task.join().unwrap());
    assert_eq!(received, [Some(1), Some(2), Some(3)]);
    assert_eq!(report.dropped, 0);
}

/// Its destructor takes the very lock.
fn a_task_may_be_dropped_under_a_lock_after_the_close<B: Backend>() {
    struct Locks(Arc<Mutex<u32>>);
    impl Drop for Locks {
        fn drop(&mut self) {
            *self.0.lock().unwrap() += 1;
        }
    }
    for policy in [Policy::Drain, Policy::Abandon] {
        let runtime = runtime::<B>(1);
        let lock = Arc::new(Mutex::new(0));
        let locks = Locks(Arc::clone(&lock));
        let task = runtime.spawn_async(async move {
            let _locks = locks;
            future::pending::<()>().await;
        });
        eventually("it waits", || runtime.metrics().total.ran == 1);
        let held = hold(runtime.default_tag(), 1);
        stopped(&runtime, policy, || {
            let locked = lock.lock().unwrap();
            drop(task);
            assert_eq!(*locked, 0);
            drop(locked);
            held.release();
        });
        assert_eq!(*lock.lock().unwrap(), 1);
    }
}

/// Each owns the sender of the next, so each is dropped because of the one before.
fn a_future_that_wakes_others_as_it_is_dropped_leaves_none<B: Backend>() {
    let runtime = runtime::<B>(2);
    let (first, mut receive) = async_channel::bounded::<()>(1);
    let tasks: Vec<_> = (0..1000)
        .map(|_| {
            let (send, next) = async_channel::bounded(1);
            let waits = std::mem::replace(&mut receive, next);
            runtime.spawn_async(async move {
                let _send = send;
                waits.recv().await
            })
        })
        .collect();
    eventually("all wait", || runtime.metrics().total.ran == 1000);
    let report = runtime.shutdown(Policy::Abandon, None).unwrap();
    assert_eq!(report.dropped, 1000);
    assert!(
        tasks
            .into_iter()
            .map(Task::join)
            .all(|ended| is_dropped(&ended))
    );
    assert!(receive.is_closed() && first.is_closed());
}

/// The stop waits for no future whose destructor has called it.
fn a_refused_future_may_stop_the_runtime<B: Backend>() {
    struct Stops<B: Backend>(Arc<RuntimeOn<B>>, Option<Held>);
    impl<B: Backend> Drop for Stops<B> {
        fn drop(&mut self) {
            drop(self.1.take());
            let report = self.0.shutdown(Policy::Drain, None).unwrap();
            assert!(report.is_complete());
        }
    }
    let tag = Tag::new("only").workers(1).inbox_limit(1);
    let runtime = Arc::new(RuntimeOn::<B>::builder().tag(tag).build().unwrap());
    let held = hold(runtime.default_tag(), 1);
    let fills = runtime.spawn(|| ());
    let stops = Stops(Arc::clone(&runtime), Some(held));
    let refused = runtime.spawn_async(async move { drop(stops) });
    assert!(matches!(refused.join(), Err(JoinError::Refused(_))));
    fills.join().unwrap();
}

fn wakes_that_meet_a_stop_lose_nothing<B: Backend>() {
    for round in 0..50 {
        let runtime = runtime::<B>(2);
        let (sends, tasks): (Vec<_>, Vec<_>) = (0..8).map(|_| waits(&runtime)).unzip();
        let policy = [Policy::Drain, Policy::Abandon][round % 2];
        let begin = Barrier::new(2);
        let report = thread::scope(|scope| {
            scope.spawn(|| {
                begin.wait();
                for (number, send) in (0..).zip(&sends) {
                    // It fails if the receiver is gone already.
                    let _sent = send.try_send(number);
                    thread::sleep(Duration::from_micros(20));
                }
            });
            begin.wait();
            runtime.shutdown(policy, None).unwrap()
        });
        let outcomes: Vec<_> = tasks.into_iter().map(Task::join).collect();
        for (number, outcome) in (0..).zip(&outcomes) {
            assert!(is_dropped(outcome) || matches!(outcome, Ok(Some(n)) if *n == number));
        }
        let dropped = outcomes.iter().filter(|outcome| is_dropped(outcome));
        assert_eq!(report.dropped, dropped.count());
        assert!(sends.iter().all(Sender::is_closed), "no future is left");
    }
}

/// Nobody performs its stop: the last of its threads, or a wake, has the rest.
fn wakes_that_meet_the_end_of_an_unattended_runtime_lose_nothing<B: Backend>() {
    for _ in 0..50 {
        let runtime = Arc::new(runtime::<B>(1));
        let (sends, tasks): (Vec<_>, Vec<_>) = (0..8).map(|_| waits(&runtime)).unzip();
        let begin = Arc::new(Barrier::new(2));
        let (last, wait) = (Arc::clone(&runtime), Arc::clone(&begin));
        let drops = runtime.spawn(move || {
            wait.wait();
            drop(last);
        });
        drop(runtime);
        begin.wait();
        for (number, send) in (0..).zip(&sends) {
            let _sent = send.try_send(number);
        }
        drops.join().unwrap();
        for (number, task) in (0..).zip(tasks) {
            let outcome = task.join();
            assert!(is_dropped(&outcome) || matches!(outcome, Ok(Some(n)) if n == number));
        }
        eventually("no future is left", || sends.iter().all(Sender::is_closed));
    }
}
