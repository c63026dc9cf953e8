//! Crates that know no runtime just work: their wakers are woken wherever they like.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use async_lock::{Barrier, Mutex, Semaphore};
use event_listener::{Event, Listener};
use futures_util::future::{Either, join_all, select};
use futures_util::stream::{FuturesUnordered, StreamExt};

use crate::common::runtime;
use parkade::future::{sleep, yield_now};
use parkade::{Backend, block_on};

on_each_backend!(
    async_lock_excludes,
    async_lock_meets,
    async_channel_passes_all,
    event_listener_is_told,
    futures_util_joins_and_selects,
    futures_util_takes_them_as_they_end,
);

/// How many futures there are at a time.
const FUTURES: usize = 20;

fn async_lock_excludes<B: Backend>() {
    let runtime = runtime::<B>(2);
    let (count, permits) = (Arc::new(Mutex::new(0)), Arc::new(Semaphore::new(2)));
    let inside = Arc::new(AtomicUsize::new(0));
    let tasks: Vec<_> = (0..FUTURES)
        .map(|_| {
            let (count, permits) = (Arc::clone(&count), Arc::clone(&permits));
            let inside = Arc::clone(&inside);
            runtime.spawn_async(async move {
                for _ in 0..50 {
                    let _permit = permits.acquire().await;
                    assert!(inside.fetch_add(1, Ordering::Relaxed) < 2);
                    let mut count = count.lock().await;
                    let before = *count;
                    yield_now().await;
                    *count = before + 1;
                    inside.fetch_sub(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    for task in tasks {
        task.join().unwrap();
    }
    assert_eq!(*block_on(count.lock()), FUTURES * 50);
}

fn async_lock_meets<B: Backend>() {
    // With a single worker, so nobody may block there.
    let runtime = runtime::<B>(1);
    let barrier = Arc::new(Barrier::new(FUTURES));
    let tasks: Vec<_> = (0..FUTURES)
        .map(|_| {
            let barrier = Arc::clone(&barrier);
            runtime.spawn_async(async move {
                let mut led = 0;
                for _ in 0..10 {
                    led += usize::from(barrier.wait().await.is_leader());
                }
                led
            })
        })
        .collect();
    let led: usize = tasks.into_iter().map(|task| task.join().unwrap()).sum();
    assert_eq!(led, 10);
}

fn async_channel_passes_all<B: Backend>() {
    let runtime = runtime::<B>(2);
    let (send, receive) = async_channel::bounded(3);
    let senders: Vec<_> = (0..4)
        .map(|_| {
            let send = send.clone();
            runtime.spawn_async(async move {
                for number in 1..=100 {
                    send.send(number).await.unwrap();
                }
            })
        })
        .collect();
    drop(send);
    let receivers = [(); 3].map(|()| {
        let receive = receive.clone();
        runtime.spawn_async(async move {
            let mut sum = 0;
            while let Ok(number) = receive.recv().await {
                sum += number;
            }
            sum
        })
    });
    for sender in senders {
        sender.join().unwrap();
    }
    let sum: u32 = receivers.map(|task| task.join().unwrap()).iter().sum();
    assert_eq!(sum, 4 * 5050);
}

fn event_listener_is_told<B: Backend>() {
    let runtime = runtime::<B>(2);
    let (event, flag) = (Arc::new(Event::new()), Arc::new(AtomicBool::new(false)));
    let waiting: Vec<_> = (0..FUTURES)
        .map(|_| {
            let (event, flag) = (Arc::clone(&event), Arc::clone(&flag));
            runtime.spawn_async(async move {
                while !flag.load(Ordering::Acquire) {
                    let listener = event.listen();
                    if flag.load(Ordering::Acquire) {
                        return;
                    }
                    listener.await;
                }
            })
        })
        .collect();
    let told = event.listen();
    flag.store(true, Ordering::Release);
    event.notify(usize::MAX);
    told.wait();
    for task in waiting {
        task.join().unwrap();
    }
}

fn futures_util_joins_and_selects<B: Backend>() {
    let runtime = Arc::new(runtime::<B>(2));
    let within = Arc::clone(&runtime);
    let task = runtime.spawn_async(async move {
        let handles = (0..FUTURES).map(|number| within.spawn(move || number));
        let numbers = join_all(handles.collect::<Vec<_>>()).await;
        let sum: usize = numbers.into_iter().map(Result::unwrap).sum();
        let never = within.spawn_async(sleep(std::time::Duration::MAX));
        match select(never, within.spawn(|| 7)).await {
            Either::Left((slept, _)) => panic!("{slept:?}"),
            Either::Right((seven, _never)) => sum + seven.unwrap(),
        }
    });
    assert_eq!(task.join().unwrap(), (0..FUTURES).sum::<usize>() + 7);
}

fn futures_util_takes_them_as_they_end<B: Backend>() {
    let runtime = Arc::new(runtime::<B>(2));
    let within = Arc::clone(&runtime);
    let task = runtime.spawn_async(async move {
        let spawned = (0..FUTURES).map(|number| {
            within.spawn_async(async move {
                for _ in 0..number {
                    yield_now().await;
                }
                number
            })
        });
        let mut ended: FuturesUnordered<_> = spawned.collect();
        let mut numbers = Vec::new();
        while let Some(number) = ended.next().await {
            numbers.push(number.unwrap());
        }
        numbers.sort_unstable();
        numbers
    });
    assert_eq!(task.join().unwrap(), (0..FUTURES).collect::<Vec<_>>());
}
