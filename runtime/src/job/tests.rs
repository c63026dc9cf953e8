//! Detached jobs and futures as entries: each order, their counts, their memory.

use super::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[test]
fn a_small_detached_job_is_two_words() {
    let pointer = Box::new(0_u8);
    let closure = move || drop(pointer);
    fn size<F: FnOnce()>(_: &F) -> usize {
        size_of::<Detached<F>>()
    }
    assert_eq!(size(&closure), DETACHED_WORDS * size_of::<usize>());
}

#[test]
fn each_order_is_counted_and_uses_the_closure_once() {
    let token = Arc::new(());
    let counts = WorkerCounts::default();
    let dropped = DropCount::default();
    let job = || {
        let token = Arc::clone(&token);
        detached(move || drop(token))
    };
    job().run(&counts);
    job().abandon(&dropped);
    job().refuse(RefusedReason::Full);
    drop(job());
    assert_eq!((counts.ran(), counts.panicked(), dropped.get()), (1, 0, 1));
    assert_eq!(Arc::strong_count(&token), 1, "each closure was dropped");
}

#[test]
fn a_closure_of_any_layout_runs_on_another_thread() {
    #[derive(Clone, Copy, PartialEq, Debug)]
    #[repr(align(16))]
    struct Strict([u8; 16]);
    #[derive(Clone, Copy, PartialEq, Debug)]
    #[repr(align(64))]
    struct Stricter(u8);
    fn from_slab<F: FnOnce() + Send + 'static>(_: &F) -> bool {
        Detached::<F>::FROM_SLAB
    }
    fn check<V: PartialEq + Copy + Send + std::fmt::Debug + 'static>(value: V, slab: bool) {
        let seen = Arc::new(AtomicUsize::new(0));
        let jobs = [(); 3].map(|()| {
            let (seen, is) = (Arc::clone(&seen), value);
            let closure = move || {
                assert_eq!(is, value);
                seen.fetch_add(1, Ordering::Relaxed);
            };
            assert_eq!(from_slab(&closure), slab);
            detached(closure)
        });
        let counts = std::thread::spawn(|| {
            let counts = WorkerCounts::default();
            jobs.into_iter().for_each(|job| job.run(&counts));
            counts
        });
        let counts = counts.join().unwrap();
        assert_eq!((counts.ran(), counts.panicked()), (3, 0));
        assert_eq!(seen.load(Ordering::Relaxed), 3);
    }
    check((), true);
    check(7_u8, true);
    check([3_u16; 7], true);
    check(Strict([9; 16]), true);
    check([5_u64; 40], false);
    check(Stricter(1), false);

    let nothing = || ();
    assert_eq!(size_of_val(&nothing), 0);
    assert!(from_slab(&nothing));
    let counts = WorkerCounts::default();
    let jobs = [(); 3].map(|()| detached(nothing));
    jobs.into_iter().for_each(|job| job.run(&counts));
    assert_eq!(counts.ran(), 3);
}

#[test]
fn a_word_keeps_its_job() {
    let counts = WorkerCounts::default();
    let task = detached(|| ()).into_task();
    // SAFETY: the task was made by `into_task`.
    let entry = unsafe { Entry::from_task(task) };
    entry.run(&counts);
    assert_eq!(counts.ran(), 1);
}

#[test]
fn a_refused_closure_comes_back() {
    let number = Arc::new(AtomicUsize::new(0));
    let shared = Arc::clone(&number);
    let refused = offer_detached(
        move || {
            shared.fetch_add(1, Ordering::Relaxed);
        },
        |entry| {
            Err(RefusedEntry {
                entry,
                reason: RefusedReason::Full,
            })
        },
    )
    .unwrap_err();
    assert_eq!(refused.reason, RefusedReason::Full);
    (refused.task)();
    assert_eq!(number.load(Ordering::Relaxed), 1);
}

#[test]
fn a_destructor_that_panics_with_a_value_that_panics_ends_here() {
    struct Bomb(bool);
    impl Drop for Bomb {
        fn drop(&mut self) {
            if self.0 {
                panic::panic_any(Bomb(false));
            }
            panic::panic_any("second");
        }
    }
    let counts = WorkerCounts::default();
    let bomb = Bomb(true);
    detached(move || drop(bomb)).run(&counts);
    assert_eq!((counts.ran(), counts.panicked()), (1, 1));
    drop_quietly(Bomb(true));
}

#[test]
fn a_future_is_an_entry_without_a_second_allocation() {
    let counts = WorkerCounts::default();
    let dropped = DropCount::default();
    let token = Arc::new(());
    let entry = || {
        let token = Arc::clone(&token);
        let future = async move { drop(token) };
        let (runnable, task) = async_task::spawn(future, drop);
        task.detach();
        Entry::of_future(runnable)
    };
    // SAFETY: the task is made by `into_task`.
    let through_a_queue = |entry: Entry| unsafe { Entry::from_task(entry.into_task()) };
    through_a_queue(entry()).run(&counts);
    through_a_queue(entry()).abandon(&dropped);
    entry().refuse(RefusedReason::Full);
    drop(entry());
    let waiting = entry().clear().expect("a future is no husk");
    waiting.run(&counts);
    assert_eq!((counts.ran(), counts.panicked(), dropped.get()), (2, 0, 1));
    assert_eq!(Arc::strong_count(&token), 1, "each future was dropped");
}
