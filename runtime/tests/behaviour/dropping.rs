//! Dropping the runtime, wherever its last owner is.

use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};

use parkade::{Backend, Policy, RefusedReason, RuntimeOn, ShutdownError, Tag};

use crate::common::{eventually, hold, runtime};

on_each_backend!(
    dropping_the_runtime_drains,
    the_last_reference_may_be_in_a_task,
    a_thread_local_may_refer_to_the_runtime,
);

fn dropping_the_runtime_drains<B: Backend>() {
    let runtime = runtime::<B>(2);
    let ran = Arc::new(AtomicUsize::new(0));
    for _ in 0..1000 {
        let ran = Arc::clone(&ran);
        runtime
            .spawn_detached(move || {
                ran.fetch_add(1, Ordering::Relaxed);
            })
            .unwrap();
    }
    drop(runtime);
    assert_eq!(ran.load(Ordering::Relaxed), 1000);
}

fn the_last_reference_may_be_in_a_task<B: Backend>() {
    let left = Arc::new(AtomicUsize::new(0));
    let leaving = Arc::clone(&left);
    let runtime: RuntimeOn<B> = RuntimeOn::builder()
        .tag(Tag::new("only").workers(2))
        .on_stop(move |_| {
            leaving.fetch_add(1, Ordering::Relaxed);
        })
        .build()
        .unwrap();
    let runtime = Arc::new(runtime);
    let ran = Arc::new(AtomicUsize::new(0));
    let held = hold(runtime.default_tag(), 1);
    let (inside, counted) = (Arc::clone(&runtime), Arc::clone(&ran));
    let (outside_is_gone, wait) = mpsc::channel::<()>();
    let last = runtime.spawn(move || {
        let _ = wait.recv();
        for _ in 0..10 {
            let counted = Arc::clone(&counted);
            inside
                .spawn_detached(move || {
                    counted.fetch_add(1, Ordering::Relaxed);
                })
                .unwrap();
        }
        assert_eq!(Arc::strong_count(&inside), 1);
        drop(inside);
    });
    drop(runtime);
    drop(outside_is_gone);
    last.join().unwrap();
    held.release();
    eventually("what was queued runs", || ran.load(Ordering::Relaxed) == 10);
    eventually("the workers leave", || left.load(Ordering::Relaxed) == 2);
}

/// Its destructor runs while the stop waits for that very thread.
fn a_thread_local_may_refer_to_the_runtime<B: Backend>() {
    thread_local! {
        static KEPT: RefCell<Option<Box<dyn Send>>> = const { RefCell::new(None) };
    }
    struct Kept<B: Backend>(Arc<RuntimeOn<B>>, mpsc::Sender<Result<(), ShutdownError>>);
    impl<B: Backend> Drop for Kept<B> {
        fn drop(&mut self) {
            let refused = self.0.try_spawn(|| ()).unwrap_err();
            assert_eq!(refused.reason, RefusedReason::Stopped);
            self.1
                .send(self.0.shutdown(Policy::Drain, None).map(drop))
                .unwrap();
        }
    }
    let runtime: Arc<RuntimeOn<B>> = Arc::new(runtime(1));
    let (answer, answers) = mpsc::channel();
    let kept = Kept(Arc::clone(&runtime), answer);
    runtime
        .spawn(move || KEPT.set(Some(Box::new(kept))))
        .join()
        .unwrap();
    assert!(runtime.shutdown(Policy::Drain, None).unwrap().is_complete());
    assert_eq!(answers.recv().unwrap(), Err(ShutdownError::InsideWorker));
}
