//! Futures: what their tasks say, how they are woken and cancelled, and where time comes from.

use std::future::{self, Future};
use std::panic;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{eventually, expect_panics, hold, runtime};
use parkade::future::{TimeoutError, sleep, timeout, yield_now};
use parkade::{
    Backend, JoinError, PanicPolicy, Policy, Priority, RefusedReason, RuntimeOn, Tag, block_on,
};

on_each_backend!(
    an_output_comes_back_by_any_way,
    a_future_is_refused_as_a_closure_is,
    a_panic_is_the_outcome_after_the_policy_was_asked,
    what_panics_when_dropped_ends_there,
    a_dropped_task_is_cancelled,
    a_cancel_waits_for_the_drop,
    a_wake_comes_from_any_thread_and_is_seen_once,
    a_wake_that_meets_the_end_is_harmless,
    an_awaited_handle_gives_its_outcome,
    a_handle_may_be_polled_by_many_and_dropped,
    a_handle_that_was_polled_may_be_joined,
    a_worker_may_block_on_a_future,
    an_async_sleep_is_never_early_and_holds_no_worker,
    a_dropped_sleep_cancels_its_timer_and_wakes_nobody,
    a_timeout_ends_what_is_too_slow,
    each_poll_is_a_task_that_ran,
);

/// A future that leaves its waker outside and waits for ever.
pub(crate) fn leave_waker(
    slot: &Arc<Mutex<Option<Waker>>>,
) -> impl Future<Output = ()> + Send + use<> {
    let slot = Arc::clone(slot);
    future::poll_fn(move |context: &mut Context<'_>| {
        *slot.lock().unwrap() = Some(context.waker().clone());
        Poll::Pending
    })
}

fn an_output_comes_back_by_any_way<B: Backend>() {
    let runtime = runtime::<B>(2);
    assert_eq!(runtime.spawn_async(async { 1 }).join().unwrap(), 1);
    let awaited = runtime.spawn_async({
        let inside = runtime.spawn_async(async { 2 });
        async move { inside.await.unwrap() + 1 }
    });
    assert_eq!(block_on(awaited).unwrap(), 3);
    let task = runtime.spawn_async(async { 4 });
    eventually("it ends", || task.is_finished());
    assert_eq!(block_on(task.cancel()).unwrap().unwrap(), 4);
    let (tell, told) = mpsc::channel();
    runtime.spawn_async(async move { tell.send(5) }).detach();
    assert_eq!(told.recv(), Ok(5));
}

fn a_future_is_refused_as_a_closure_is<B: Backend>() {
    let tag = Tag::new("only").workers(1).inbox_limit(1);
    let runtime = RuntimeOn::<B>::builder().tag(tag).build().unwrap();
    let token = Arc::new(());
    let held = hold(runtime.default_tag(), 1);
    let first = runtime.spawn_async(future::ready(()));
    let kept = Arc::clone(&token);
    let second = runtime.spawn_async(async move { drop(kept) });
    assert!(second.is_finished());
    assert_eq!(Arc::strong_count(&token), 1, "refused and dropped");
    let refused = |outcome| match outcome {
        Err(JoinError::Refused(reason)) => Some(reason),
        _ => None,
    };
    assert_eq!(refused(second.join()), Some(RefusedReason::Full));
    held.release();
    first.join().unwrap();
    runtime.shutdown(Policy::Drain, None).unwrap();
    let late = runtime.spawn_async(async {});
    assert_eq!(refused(late.join()), Some(RefusedReason::Stopped));
}

fn a_panic_is_the_outcome_after_the_policy_was_asked<B: Backend>() {
    expect_panics();
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let policy = PanicPolicy::handler(move |_, _| {
        count.fetch_add(1, Ordering::Relaxed);
    });
    let tag = Tag::new("only").workers(1).on_panic(policy);
    let runtime = RuntimeOn::<B>::builder().tag(tag).build().unwrap();
    let token = Arc::new(());
    let kept = Arc::clone(&token);
    let task = runtime.spawn_async(async move {
        let _kept = kept;
        yield_now().await;
        panic!("out of tea");
    });
    let error = task.join().unwrap_err();
    assert_eq!(error.to_string(), "the task panicked: out of tea");
    assert_eq!(asked.load(Ordering::Relaxed), 1);
    assert_eq!(runtime.metrics().total.panicked, 1);
    assert_eq!(Arc::strong_count(&token), 1);
    assert_eq!(runtime.spawn_async(async { 1 }).join().unwrap(), 1);
}

/// A value whose destructor panics.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("a bomb");
    }
}

fn what_panics_when_dropped_ends_there<B: Backend>() {
    expect_panics();
    let runtime = runtime::<B>(1);
    // A capture while it runs, an output that nobody takes, and a future that is cancelled.
    let bomb = Bomb;
    let captured = runtime.spawn_async(async move { drop(bomb) });
    assert!(captured.join().unwrap_err().is_panic());
    runtime.spawn_async(async { Bomb }).detach();
    let bomb = Bomb;
    let cancelled = runtime.spawn_async(async move {
        let _bomb = bomb;
        future::pending::<()>().await;
    });
    runtime.spawn(|| ()).join().unwrap();
    assert!(block_on(cancelled.cancel()).is_none());
    assert_eq!(runtime.metrics().total.panicked, 1);
    assert_eq!(runtime.spawn_async(async { 1 }).join().unwrap(), 1);
}

fn a_dropped_task_is_cancelled<B: Backend>() {
    let runtime = runtime::<B>(1);
    let (token, polls) = (Arc::new(()), Arc::new(AtomicUsize::new(0)));
    let (kept, count) = (Arc::clone(&token), Arc::clone(&polls));
    let task = runtime.spawn_async(future::poll_fn(move |_| {
        let _kept = &kept;
        count.fetch_add(1, Ordering::Relaxed);
        Poll::<()>::Pending
    }));
    eventually("it is polled", || polls.load(Ordering::Relaxed) == 1);
    drop(task);
    eventually("it is dropped", || Arc::strong_count(&token) == 1);
    assert_eq!(polls.load(Ordering::Relaxed), 1, "not polled again");
}

fn a_cancel_waits_for_the_drop<B: Backend>() {
    let runtime = runtime::<B>(2);
    for _ in 0..100 {
        let token = Arc::new(());
        let kept = Arc::clone(&token);
        let task = runtime.spawn_async(async move {
            let _kept = kept;
            loop {
                yield_now().await;
            }
        });
        assert!(block_on(task.cancel()).is_none());
        assert_eq!(Arc::strong_count(&token), 1);
    }
}

fn a_wake_comes_from_any_thread_and_is_seen_once<B: Backend>() {
    let runtime = runtime::<B>(2);
    let slot = Arc::default();
    let polls = Arc::new(AtomicUsize::new(0));
    let counted = {
        let (polls, mut waits) = (Arc::clone(&polls), Box::pin(leave_waker(&slot)));
        runtime.spawn_async(future::poll_fn(move |context| {
            let polled = polls.fetch_add(1, Ordering::Relaxed);
            let _pending = waits.as_mut().poll(context);
            if polled == 100 {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        }))
    };
    let waking = thread::spawn({
        let polls = Arc::clone(&polls);
        move || {
            for polled in 1..=100 {
                eventually("polled", || polls.load(Ordering::Relaxed) == polled);
                eventually("a waker", || slot.lock().unwrap().is_some());
                let waker = slot.lock().unwrap().take().unwrap();
                waker.wake();
            }
        }
    });
    counted.join().unwrap();
    waking.join().unwrap();
    assert_eq!(polls.load(Ordering::Relaxed), 101);
}

/// W13: what the waker wrote before a wake is seen by a poll after it, also if the wake meets a poll that is just
/// ending or the end of the task.
fn a_wake_that_meets_the_end_is_harmless<B: Backend>() {
    const LAST: usize = 200;
    let runtime = runtime::<B>(2);
    for _ in 0..20 {
        let slot = Arc::<Mutex<Option<Waker>>>::default();
        let written = Arc::new(AtomicUsize::new(0));
        let task = {
            let (written, mut waits) = (Arc::clone(&written), Box::pin(leave_waker(&slot)));
            runtime.spawn_async(future::poll_fn(move |context| {
                let _pending = waits.as_mut().poll(context);
                // The last write comes before the last wake, so a poll that misses it is followed by another.
                match written.load(Ordering::Relaxed) {
                    LAST => Poll::Ready(()),
                    _ => Poll::Pending,
                }
            }))
        };
        for write in 1..=LAST {
            written.store(write, Ordering::Relaxed);
            if let Some(waker) = &*slot.lock().unwrap() {
                waker.wake_by_ref();
            }
        }
        task.join().unwrap();
        slot.lock().unwrap().take().unwrap().wake();
    }
}

fn an_awaited_handle_gives_its_outcome<B: Backend>() {
    expect_panics();
    // One worker: a handle that is awaited holds none.
    let runtime = runtime::<B>(1);
    let values = [1, 2, 3].map(|value| runtime.spawn(move || value));
    let panics = runtime.spawn(|| panic!("out of tea"));
    let sum = runtime.spawn_async(async move {
        let mut sum = 0;
        for value in values {
            sum += value.await.unwrap();
        }
        assert!(panics.await.unwrap_err().is_panic());
        sum
    });
    assert_eq!(sum.join().unwrap(), 6);
    let held = hold(runtime.default_tag(), 1);
    let dropped = runtime.spawn(|| ());
    thread::scope(|scope| {
        let waiting = scope.spawn(|| block_on(dropped));
        let stopping = scope.spawn(|| runtime.shutdown(Policy::Abandon, None));
        eventually("told", || runtime.try_spawn(|| ()).is_err());
        held.release();
        assert!(matches!(waiting.join().unwrap(), Err(JoinError::Dropped)));
        stopping.join().unwrap().unwrap();
    });
}

/// W13: each poll leaves another waker, and the last one is woken, once.
fn a_handle_may_be_polled_by_many_and_dropped<B: Backend>() {
    struct Count(AtomicUsize);
    impl std::task::Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let runtime = runtime::<B>(1);
    let counts = [(); 3].map(|()| Arc::new(Count(AtomicUsize::new(0))));
    let held = hold(runtime.default_tag(), 1);
    let mut handle = pin!(runtime.spawn(|| 7));
    let mut abandoned = Box::pin(runtime.spawn(|| ()));
    for count in &counts {
        let waker = Arc::clone(count).into();
        let mut context = Context::from_waker(&waker);
        assert!(handle.as_mut().poll(&mut context).is_pending());
        assert!(abandoned.as_mut().poll(&mut context).is_pending());
    }
    drop(abandoned);
    assert_eq!(
        counts.each_ref().map(Arc::strong_count),
        [1, 1, 2],
        "the last waker is kept, and by the handle that is left alone"
    );
    held.release();
    eventually("woken", || counts[2].0.load(Ordering::Relaxed) == 1);
    runtime.spawn(|| ()).join().unwrap();
    let woken = counts
        .each_ref()
        .map(|count| count.0.load(Ordering::Relaxed));
    assert_eq!(woken, [0, 0, 1]);
    assert_eq!(block_on(handle).unwrap(), 7);
}

fn a_handle_that_was_polled_may_be_joined<B: Backend>() {
    let runtime = runtime::<B>(2);
    for round in 0..200 {
        let mut handle = runtime.spawn(move || round);
        let polled = panic::catch_unwind(panic::AssertUnwindSafe(|| {
            pin!(&mut handle).poll(&mut Context::from_waker(Waker::noop()))
        }));
        match polled.unwrap() {
            Poll::Ready(outcome) => assert_eq!(outcome.unwrap(), round),
            Poll::Pending => match handle.join_timeout(Duration::ZERO) {
                Ok(outcome) => assert_eq!(outcome.unwrap(), round),
                Err(handle) => assert_eq!(handle.join().unwrap(), round),
            },
        }
    }
}

fn a_worker_may_block_on_a_future<B: Backend>() {
    let runtime = Arc::new(runtime::<B>(2));
    let inside = Arc::clone(&runtime);
    let blocked = runtime.spawn(move || {
        let task = inside.spawn_async(async {
            yield_now().await;
            sleep(Duration::from_millis(1)).await.map(|()| 7)
        });
        block_on(task)
    });
    assert_eq!(blocked.join().unwrap().unwrap(), Ok(7));
}

/// T3.
fn an_async_sleep_is_never_early_and_holds_no_worker<B: Backend>() {
    let runtime = runtime::<B>(1);
    let sleepers: Vec<_> = (0..200)
        .map(|millis| {
            runtime.spawn_async(async move {
                let (begun, duration) = (Instant::now(), Duration::from_millis(millis % 20));
                sleep(duration).await.unwrap();
                assert!(begun.elapsed() >= duration, "early");
            })
        })
        .collect();
    for sleeper in sleepers {
        sleeper.join().unwrap();
    }
    assert_eq!(runtime.metrics().timers.fired, 200);
}

fn a_dropped_sleep_cancels_its_timer_and_wakes_nobody<B: Backend>() {
    let runtime = runtime::<B>(1);
    let task = runtime.spawn_async(async {
        for limit in [Duration::MAX, Duration::from_secs(3600)] {
            timeout(limit, yield_now()).await.unwrap();
        }
        future::pending::<()>().await;
    });
    eventually("both are cancelled", || {
        runtime.metrics().timers.cancelled == 2
    });
    // The second one comes behind whatever a cancelled timer has woken.
    for _ in 0..2 {
        runtime.spawn(|| ()).join().unwrap();
    }
    let metrics = runtime.metrics();
    assert_eq!((metrics.timers.pending, metrics.timers.fired), (0, 0));
    assert_eq!(metrics.total.ran, 3 + 2, "three polls, and two closures");
    drop(task);
}

fn a_timeout_ends_what_is_too_slow<B: Backend>() {
    let runtime = runtime::<B>(1);
    let token = Arc::new(());
    let kept = Arc::clone(&token);
    let slow = async move {
        let _kept = kept;
        future::pending::<()>().await;
    };
    let begun = Instant::now();
    let limited = runtime.spawn_async(timeout(Duration::from_millis(5), slow));
    assert_eq!(limited.join().unwrap(), Err(TimeoutError::Elapsed));
    assert!(begun.elapsed() >= Duration::from_millis(5));
    eventually("dropped", || Arc::strong_count(&token) == 1);
    let ready = timeout(Duration::ZERO, future::ready(1));
    assert_eq!(runtime.spawn_async(ready).join().unwrap(), Ok(1));
}

fn each_poll_is_a_task_that_ran<B: Backend>() {
    let runtime = runtime::<B>(1);
    let urgent = runtime.default_tag().with_priority(Priority::High);
    for tag in [runtime.default_tag(), urgent] {
        let before = runtime.metrics().total;
        let task = tag.spawn_async(async {
            for _ in 0..9 {
                yield_now().await;
            }
        });
        task.join().unwrap();
        let after = runtime.metrics().total;
        assert_eq!(after.ran - before.ran, 10);
        assert_eq!(after.spawned - before.spawned, 10);
    }
}
