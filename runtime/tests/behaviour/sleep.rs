//! Sleeping: never early, and ended early by a stop alone.

use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{hold, runtime};
use parkade::{Backend, Policy, RuntimeOn, Stopped};

on_each_backend!(
    a_sleep_is_never_early,
    wakes_do_not_shorten_a_sleep,
    a_stop_ends_the_sleep_that_is_under_way,
    a_stop_is_seen_by_the_next_sleep,
    a_stranger_sleeps_as_in_std,
);

/// T3, a hundredth of its rounds.
fn a_sleep_is_never_early<B: Backend>() {
    let runtime = runtime::<B>(2);
    let sleepers = [(); 2].map(|()| {
        runtime.spawn(|| {
            for micros in 0..500 {
                let duration = Duration::from_micros(micros);
                let begun = Instant::now();
                assert_eq!(parkade::sleep(duration), Ok(()));
                assert!(begun.elapsed() >= duration, "early");
            }
        })
    });
    for sleeper in sleepers {
        sleeper.join().unwrap();
    }
    assert_eq!(runtime.metrics().timers.fired, 0, "it takes no timer");
}

/// T3: its thread is unparked all the time, and tasks come and go.
fn wakes_do_not_shorten_a_sleep<B: Backend>() {
    let runtime = runtime::<B>(2);
    let (tell, sleeper) = mpsc::channel();
    let duration = Duration::from_millis(50);
    let slept = runtime.spawn(move || {
        tell.send(thread::current()).unwrap();
        let begun = Instant::now();
        (parkade::sleep(duration), begun.elapsed())
    });
    let sleeper = sleeper.recv().unwrap();
    while !slept.is_finished() {
        sleeper.unpark();
        runtime.spawn(|| ()).join().unwrap();
    }
    let (ended, elapsed) = slept.join().unwrap();
    assert_eq!(ended, Ok(()));
    assert!(elapsed >= duration, "early");
}

/// S10, S14: by a shutdown under either policy, and by a drop.
fn a_stop_ends_the_sleep_that_is_under_way<B: Backend>() {
    for how in [Some(Policy::Drain), Some(Policy::Abandon), None] {
        let runtime = runtime::<B>(2);
        let (begin, begun) = mpsc::channel();
        let [one, two] = [(); 2].map(|()| {
            let begin = begin.clone();
            runtime.spawn(move || {
                begin.send(()).unwrap();
                parkade::sleep(Duration::from_secs(3600))
            })
        });
        for () in begun.iter().take(2) {}
        match how {
            Some(policy) => assert!(runtime.shutdown(policy, None).unwrap().is_complete()),
            None => drop(runtime),
        }
        assert_eq!(one.join().unwrap(), Err(Stopped));
        assert_eq!(two.join().unwrap(), Err(Stopped));
    }
}

/// S10: not swallowed, and not only told to one.
fn a_stop_is_seen_by_the_next_sleep<B: Backend>() {
    let runtime: Arc<RuntimeOn<B>> = Arc::new(runtime(2));
    let held = hold(runtime.default_tag(), 1);
    let (go, may_go) = mpsc::channel::<()>();
    let task = runtime.spawn(move || {
        may_go.recv().ok();
        [(); 3].map(|()| parkade::sleep(Duration::from_millis(1)))
    });
    let stopper = Arc::clone(&runtime);
    let stopper = thread::spawn(move || stopper.shutdown(Policy::Drain, None));
    // Refused from the second step on, so the stop has been requested.
    while runtime.spawn_detached(|| ()).is_ok() {
        thread::yield_now();
    }
    drop(go);
    assert_eq!(task.join().unwrap(), [Err(Stopped); 3]);
    held.release();
    assert!(stopper.join().unwrap().unwrap().is_complete());
    assert_eq!(runtime.sleep(Duration::ZERO), Err(Stopped));
}

fn a_stranger_sleeps_as_in_std<B: Backend>() {
    let _other = runtime::<B>(1);
    let begun = Instant::now();
    assert_eq!(parkade::sleep(Duration::from_millis(5)), Ok(()));
    assert!(begun.elapsed() >= Duration::from_millis(5));
}
