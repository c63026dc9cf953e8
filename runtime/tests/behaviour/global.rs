//! The global runtime. There is one per process and backend, so each test runs in a process of its own, on the
//! default backend.

use std::panic;
use std::process;
use std::ptr;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use parkade::{DEFAULT_TAG, JoinError, Policy, RefusedReason, Runtime, Tag};
use rlimit::Resource;

use crate::child;
use crate::common::hold;
use crate::each_backend::{LIMIT, within};

/// Makes a test of each function, in a child process and with the detector of hangs around it.
macro_rules! in_children {
    ($($name:ident),+ $(,)?) => {
        mod child_of {
            $(
                #[test]
                fn $name() {
                    let test = concat!("global::child_of::", stringify!($name));
                    super::within(test, super::LIMIT, || super::child::run_test(test, super::$name));
                }
            )+
        }
    };
}

in_children!(
    no_configuration_is_needed,
    all_who_need_it_first_get_the_same,
    it_can_be_replaced_before_its_first_use,
    it_stays_once_it_was_used,
    a_worker_of_another_runtime_means_the_global_one,
    main_returns_over_queued_and_running_tasks,
    a_stopped_one_refuses,
    threads_that_are_refused_are_a_panic_of_the_first_use,
);

fn no_configuration_is_needed() {
    let sum = parkade::spawn(|| (1..=100_u64).sum::<u64>());
    assert_eq!(sum.join().unwrap(), 5050);

    let metrics = parkade::global().metrics();
    let cpus = thread::available_parallelism().unwrap().get();
    assert_eq!((metrics.total.workers, metrics.total.ran), (cpus, 1));
    assert_eq!(metrics.tags.len(), 1);
    assert_eq!(metrics.tags[0].name, DEFAULT_TAG);
}

fn all_who_need_it_first_get_the_same() {
    const THREADS: usize = 8;
    let together = Barrier::new(THREADS);
    thread::scope(|threads| {
        for n in 0..THREADS {
            let together = &together;
            threads.spawn(move || {
                together.wait();
                assert_eq!(parkade::spawn(move || n).join().unwrap(), n);
            });
        }
    });
    let metrics = parkade::global().metrics();
    assert_eq!(metrics.total.ran, THREADS, "{metrics}");
}

fn it_can_be_replaced_before_its_first_use() {
    let runtime = Runtime::builder().tag(Tag::new("own").workers(3));
    parkade::set_global(runtime.build().unwrap()).unwrap();
    assert_eq!(parkade::spawn(|| 7).join().unwrap(), 7);
    assert_eq!(parkade::global().default_tag().name(), "own");
    assert_eq!(parkade::global().metrics().total.workers, 3);

    let second = Runtime::builder().tag(Tag::new("second").workers(1));
    let refused = parkade::set_global(second.build().unwrap()).unwrap_err();
    assert_eq!(refused.to_string(), "there is a global runtime already");
    // It comes back alive.
    assert_eq!(refused.0.spawn(|| 8).join().unwrap(), 8);
    assert_eq!(parkade::global().default_tag().name(), "own");
}

fn it_stays_once_it_was_used() {
    let first = parkade::global();
    let refused = parkade::set_global(Runtime::builder().build().unwrap());
    assert!(refused.is_err());
    assert!(ptr::eq(first, parkade::global()));
}

fn a_worker_of_another_runtime_means_the_global_one() {
    let other = Runtime::builder()
        .tag(Tag::new("other").workers(1))
        .thread_name("other-")
        .build()
        .unwrap();
    let name = other.spawn(|| {
        let name = parkade::spawn(|| thread::current().name().unwrap().to_owned());
        name.join().unwrap()
    });
    let name = name.join().unwrap();
    assert!(name.starts_with("pk-default"), "{name}");
    assert_eq!(other.metrics().total.spawned, 1);
}

/// S14. What the process leaves behind is neither run nor dropped.
fn main_returns_over_queued_and_running_tasks() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            process::abort();
        }
    }
    let workers = parkade::global().metrics().total.workers;
    let held = hold(parkade::global().default_tag(), workers);
    for _ in 0..10_000 {
        let bomb = Bomb;
        drop(parkade::spawn(move || drop(bomb)));
    }
    // The workers stay in their tasks, and so the queued ones stay queued; the test's main returns now.
    Box::leak(Box::new(held));
    let sleeper = Runtime::builder().tag(Tag::new("sleeper").workers(1));
    let sleeper = Box::leak(Box::new(sleeper.build().unwrap()));
    drop(sleeper.spawn(|| thread::sleep(Duration::from_secs(3600))));
}

fn a_stopped_one_refuses() {
    assert_eq!(parkade::spawn(|| 1).join().unwrap(), 1);
    let report = parkade::global().shutdown(Policy::Drain, None).unwrap();
    assert!(report.is_complete());
    let refused = parkade::spawn(|| 2).join().unwrap_err();
    assert!(
        matches!(refused, JoinError::Refused(RefusedReason::Stopped)),
        "{refused}"
    );
}

fn threads_that_are_refused_are_a_panic_of_the_first_use() {
    /// Half a worker's stack of address space.
    const ROOM: u64 = 1 << 20;
    let (_, hard) = Resource::AS.get().unwrap();
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = pages.split(' ').next().unwrap().parse().unwrap();
    Resource::AS.set(pages * 4096 + ROOM, hard).unwrap();
    let payload = panic::catch_unwind(|| parkade::spawn(|| ())).unwrap_err();
    Resource::AS.set(hard, hard).unwrap();

    let message = payload.downcast_ref::<String>().unwrap();
    let expected = "the global runtime cannot be built: only 0 of ";
    assert!(message.starts_with(expected), "{message}");
    // Nothing is left of the attempt that would spoil the next.
    assert_eq!(parkade::spawn(|| 1).join().unwrap(), 1);
}
