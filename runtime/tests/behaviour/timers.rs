//! Timers: they fire once, never early, whatever the workers are at.

use std::sync::{Arc, Barrier, Condvar, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{eventually, hold, runtime};
use parkade::{Backend, JoinError, Policy, Priority, RefusedReason, RuntimeOn, Stopped, Tag};

on_each_backend!(
    timers_fire_though_every_inbox_is_full,
    a_long_task_delays_no_timer,
    an_alarm_releases_the_workers_that_wait_for_it,
    a_million_timers_leave_nothing,
    no_timer_is_early,
    the_longest_delay_is_never_due,
    timed_tasks_run_in_the_order_of_their_deadlines,
    a_timer_honours_tag_and_priority,
    a_worker_that_joins_a_timed_task_runs_it_in_time,
    a_dropped_timer_drops_its_closure,
    a_detached_timer_goes_on,
);

pub(crate) const SOON: Duration = Duration::from_millis(2);
pub(crate) const FAR: Duration = Duration::from_secs(3600);

/// T1: their deadlines come while the tag refuses everybody else, and they are in the queues by then.
fn timers_fire_though_every_inbox_is_full<B: Backend>() {
    let runtime: RuntimeOn<B> = RuntimeOn::builder()
        .tag(Tag::new("full").workers(2).inbox_limit(2))
        .build()
        .unwrap();
    let tag = runtime.default_tag();
    let held = hold(tag, 2);
    for tag in [tag, tag.with_priority(Priority::High)] {
        while tag.spawn_detached(|| ()).is_ok() {}
        assert_eq!(
            tag.try_spawn(|| ()).unwrap_err().reason,
            RefusedReason::Full
        );
    }
    let begun = Instant::now();
    let timed = [tag, tag.with_priority(Priority::High)]
        .map(|tag| [(); 10].map(|()| tag.after(SOON, Instant::now).unwrap()));
    eventually("all have fired", || runtime.metrics().timers.fired == 20);
    assert!(begun.elapsed() >= SOON);
    assert!(tag.try_spawn(|| ()).is_err(), "still full");
    held.release();
    for timer in timed.into_iter().flatten() {
        assert!(timer.join().unwrap() >= begun + SOON, "early");
    }
    assert_eq!(runtime.metrics().total.dropped, 0);
}

/// T2: neither a task that a timer started nor any other is in the way of the next timer.
fn a_long_task_delays_no_timer<B: Backend>() {
    let runtime = runtime::<B>(2);
    let (finish, finished) = mpsc::channel::<()>();
    let (begin, begun) = mpsc::channel();
    let long = runtime.after(SOON, move || {
        begin.send(()).unwrap();
        finished.recv().is_err()
    });
    begun.recv().unwrap();
    // The long one runs until these have: a hang is the failure.
    runtime.after(SOON, || ()).unwrap().join().unwrap();
    runtime.alarm(SOON, || ()).unwrap().join().unwrap();
    drop(finish);
    assert!(long.unwrap().join().unwrap());
}

/// N5.
fn an_alarm_releases_the_workers_that_wait_for_it<B: Backend>() {
    let runtime = runtime::<B>(2);
    let gate = Arc::new((Mutex::new(false), Condvar::new()));
    let inside = Arc::new(Barrier::new(3));
    let blocked = [(); 2].map(|()| {
        let (gate, inside) = (Arc::clone(&gate), Arc::clone(&inside));
        runtime.spawn(move || {
            inside.wait();
            let (open, opened) = &*gate;
            let mut open = open.lock().unwrap();
            while !*open {
                open = opened.wait(open).unwrap();
            }
        })
    });
    inside.wait();
    let released = runtime.alarm(SOON, move || {
        *gate.0.lock().unwrap() = true;
        gate.1.notify_all();
        thread::current().name().map(str::to_owned)
    });
    for task in blocked {
        task.join().unwrap();
    }
    let thread = released.unwrap().join().unwrap();
    assert_eq!(thread.as_deref(), Some("pk-timer"));
    let metrics = runtime.metrics();
    assert_eq!((metrics.total.spawned, metrics.timers.fired), (2, 1));
}

/// T4: from 16 threads, 99 of 100 cancelled. What is left of them is nothing; the counts add up.
fn a_million_timers_leave_nothing<B: Backend>() {
    // A tenth of it unoptimised: the million is the queue's own test.
    const EACH: usize = if cfg!(debug_assertions) {
        6_250
    } else {
        62_500
    };
    const THREADS: usize = 16;
    let runtime = runtime::<B>(2);
    let token = Arc::new(());
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for round in 0..EACH {
                    let token = Arc::clone(&token);
                    let timer = runtime.after(FAR, move || drop(token)).unwrap();
                    if round % 100 == 0 {
                        timer.detach();
                    } else {
                        assert!(timer.cancel());
                    }
                }
            });
        }
    });
    let left = THREADS * EACH.div_ceil(100);
    let timers = runtime.metrics().timers;
    assert_eq!((timers.pending, timers.fired), (left, 0));
    assert_eq!(timers.cancelled, THREADS * EACH - left);
    assert_eq!(Arc::strong_count(&token), 1 + left);
    runtime.shutdown(Policy::Drain, None).unwrap();
    assert_eq!(Arc::strong_count(&token), 1);
}

fn no_timer_is_early<B: Backend>() {
    let runtime = runtime::<B>(2);
    for ms in [0, 1, 3, 10, 20] {
        let delay = Duration::from_millis(ms);
        let begun = Instant::now();
        let task = runtime.after(delay, Instant::now).unwrap();
        let alarm = runtime.alarm(delay, Instant::now).unwrap();
        assert!(task.join().unwrap() >= begun + delay, "early");
        assert!(alarm.join().unwrap() >= begun + delay, "early");
    }
}

/// T6.
fn the_longest_delay_is_never_due<B: Backend>() {
    let runtime = Arc::new(runtime::<B>(1));
    let never = runtime.after(Duration::MAX, || ()).unwrap();
    let interval = runtime.every(Duration::MAX, || ()).unwrap();
    runtime.alarm(SOON, || ()).unwrap().join().unwrap();
    assert!(never.is_pending() && !never.is_finished() && interval.is_active());
    let sleeper = Arc::clone(&runtime);
    let sleeper = thread::spawn(move || sleeper.sleep(Duration::MAX));
    let asleep = runtime.spawn(|| parkade::sleep(Duration::MAX));
    let timers = runtime.metrics().timers;
    assert_eq!((timers.pending, timers.fired), (2, 1));
    runtime.shutdown(Policy::Drain, None).unwrap();
    assert_eq!(sleeper.join().unwrap(), Err(Stopped));
    assert_eq!(asleep.join().unwrap(), Err(Stopped));
    assert!(matches!(never.join(), Err(JoinError::Dropped)));
    assert!(!interval.is_active());
}

fn timed_tasks_run_in_the_order_of_their_deadlines<B: Backend>() {
    let runtime = runtime::<B>(1);
    let order = Arc::new(Mutex::new(Vec::new()));
    // The only worker is held until all have fired, so that the order is that of the queue.
    let held = hold(runtime.default_tag(), 1);
    // Far apart, because each counts from its own moment.
    let timers: Vec<_> = [900, 300, 600, 0]
        .into_iter()
        .map(|ms| {
            let order = Arc::clone(&order);
            let note = move || order.lock().unwrap().push(ms);
            runtime.after(Duration::from_millis(ms), note).unwrap()
        })
        .collect();
    eventually("all have fired", || runtime.metrics().timers.fired == 4);
    held.release();
    for timer in timers {
        timer.join().unwrap();
    }
    assert_eq!(*order.lock().unwrap(), [0, 300, 600, 900]);
}

fn a_timer_honours_tag_and_priority<B: Backend>() {
    let runtime: RuntimeOn<B> = RuntimeOn::builder()
        .tag(Tag::new("a").workers(1))
        .tag(Tag::new("b").workers(1))
        .build()
        .unwrap();
    let b = runtime.tag("b").unwrap();
    let (done, order) = mpsc::channel();
    let held = hold(b, 1);
    for (name, tag) in [("normal", b), ("high", b.with_priority(Priority::High))] {
        let done = done.clone();
        let note = move || {
            done.send((name, thread::current().name().map(str::to_owned)))
                .unwrap();
        };
        tag.after(SOON, note).unwrap().detach();
    }
    eventually("both have fired", || runtime.metrics().timers.fired == 2);
    held.release();
    let on_b = Some("pk-b-0".to_owned());
    assert_eq!(order.recv().unwrap(), ("high", on_b.clone()));
    assert_eq!(order.recv().unwrap(), ("normal", on_b));
}

/// N3: the only worker waits for a task that nobody else could run; but not before its time.
fn a_worker_that_joins_a_timed_task_runs_it_in_time<B: Backend>() {
    let runtime: Arc<RuntimeOn<B>> = Arc::new(runtime(1));
    let inside = Arc::clone(&runtime);
    let waited = runtime.spawn(move || {
        let begun = Instant::now();
        let timed = inside.after(10 * SOON, Instant::now).unwrap();
        let alarm = inside.alarm(SOON, || thread::current().id()).unwrap();
        assert_ne!(alarm.join().unwrap(), thread::current().id());
        timed.join().unwrap() - begun
    });
    assert!(waited.join().unwrap() >= 10 * SOON, "early");
}

fn a_dropped_timer_drops_its_closure<B: Backend>() {
    let runtime = runtime::<B>(1);
    let token = Arc::new(());
    for _ in 0..2 {
        let (one, other) = (Arc::clone(&token), Arc::clone(&token));
        let task = runtime.after(FAR, move || drop(one)).unwrap();
        let alarm = runtime.alarm(FAR, move || drop(other)).unwrap();
        assert_eq!(Arc::strong_count(&token), 3);
        drop(task);
        assert!(alarm.cancel());
        assert_eq!(Arc::strong_count(&token), 1);
    }
    let fired = runtime.after(SOON, || ()).unwrap();
    eventually("it has run", || fired.is_finished());
    assert!(!fired.is_pending() && !fired.cancel());
    let timers = runtime.metrics().timers;
    assert_eq!((timers.pending, timers.fired, timers.cancelled), (0, 1, 4));
}

fn a_detached_timer_goes_on<B: Backend>() {
    let runtime = runtime::<B>(1);
    let (done, ran) = mpsc::channel();
    let other = done.clone();
    runtime.after(SOON, move || done.send(())).unwrap().detach();
    runtime
        .alarm(SOON, move || other.send(()))
        .unwrap()
        .detach();
    assert_eq!(ran.iter().count(), 2);
}

/// What only a system that counts each thread's sleeps can show.
#[cfg(target_os = "linux")]
mod counted {
    use std::fs;
    use std::path::PathBuf;

    use super::*;
    use crate::common::module_of;

    on_each_backend!(timers_that_are_cancelled_wake_nobody);

    /// The directory of the one thread of that name.
    fn thread_called(name: &str) -> PathBuf {
        let tasks = fs::read_dir("/proc/self/task").unwrap();
        let mut paths = tasks.map(|task| task.unwrap().path());
        let is_it = |path: &PathBuf| {
            fs::read_to_string(path.join("comm")).is_ok_and(|comm| comm.trim_end() == name)
        };
        paths.find(is_it).unwrap()
    }

    fn status(thread: &std::path::Path, field: &str) -> String {
        let status = fs::read_to_string(thread.join("status")).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(field));
        line.unwrap().trim().to_owned()
    }

    /// T4, I2: the timer thread sleeps through timers that come and go, and through the time in which none is
    /// due.
    fn timers_that_are_cancelled_wake_nobody<B: Backend>() {
        let module = module_of::<B>();
        let prefix = format!("t4{}{}-", &module[..1], &module[module.len() - 1..]);
        let runtime: RuntimeOn<B> = RuntimeOn::builder()
            .tag(Tag::new("only").workers(1))
            .thread_name(&prefix)
            .build()
            .unwrap();
        let earliest = runtime.after(FAR, || ()).unwrap();
        runtime
            .alarm(Duration::ZERO, || ())
            .unwrap()
            .join()
            .unwrap();
        let thread = thread_called(&format!("{prefix}timer"));
        let sleeps = || status(&thread, "voluntary_ctxt_switches:");
        // Until its deadline, and not for a lock of the allocator's: it is still the same sleep a while later.
        eventually("it sleeps", || {
            let before = sleeps();
            let asleep = || status(&thread, "State:").starts_with('S');
            let was_asleep = asleep();
            thread::sleep(Duration::from_millis(20));
            was_asleep && asleep() && sleeps() == before
        });
        let before = sleeps();
        for _ in 0..10_000 {
            drop(runtime.after(FAR, || ()).unwrap());
        }
        drop(earliest);
        let idle = Instant::now();
        while idle.elapsed() < Duration::from_millis(100) {
            runtime.spawn(|| ()).join().unwrap();
        }
        assert_eq!(sleeps(), before, "it was woken for nothing");
        // It is not merely dead.
        assert_eq!(runtime.alarm(SOON, || 1).unwrap().join().unwrap(), 1);
        eventually("it sleeps again", || sleeps() != before);
    }
}
