//! What a runtime takes from its process and leaves behind in it: CPUs and threads.
//!
//! Masks and lists of threads are the whole process's, so each test runs in a process of its own.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parkade::{Backend, Policy, RuntimeOn, Tag};

use crate::child;

on_each_backend!(no_thread_is_left);

/// How many threads this process has.
fn threads() -> usize {
    fs::read_dir("/proc/self/task").unwrap().count()
}

/// S8: whatever way it stops, and whether its workers sleep, work or have never worked.
fn no_thread_is_left<B: Backend>() {
    /// Ten times the 100 ms in which a thread that was joined must be off the list.
    const BOUND: Duration = Duration::from_secs(1);
    child::run::<B>("process", "no_thread_is_left", || {
        let before = threads();
        for round in 0..90 {
            let stopped = Arc::new(AtomicUsize::new(0));
            let count = Arc::clone(&stopped);
            let runtime: RuntimeOn<B> = RuntimeOn::builder()
                .tag(Tag::new("a").workers(2))
                .tag(Tag::new("b").workers(1))
                .on_stop(move |_| {
                    count.fetch_add(1, Ordering::Relaxed);
                })
                .build()
                .unwrap();
            assert_eq!(threads(), before + 3);
            for n in 0..round % 10 {
                drop(runtime.spawn(move || n));
            }
            match round % 3 {
                0 => drop(runtime.shutdown(Policy::Drain, None).unwrap()),
                1 => drop(runtime.shutdown(Policy::Abandon, None).unwrap()),
                _ => drop(runtime),
            }
            let returned = Instant::now();
            assert_eq!(stopped.load(Ordering::Relaxed), 3, "stop hooks have run");
            while threads() > before {
                assert!(
                    returned.elapsed() < BOUND,
                    "{} too many",
                    threads() - before
                );
            }
        }
    });
}

/// What only a program that can bind its threads can set up.
#[cfg(all(feature = "linux", target_os = "linux"))]
mod confined {
    use std::thread;

    use parkade::{BuildError, DEFAULT_TAG, Pinning};
    use parkade_linux::affinity;

    use super::*;
    use crate::common::eventually;

    on_each_backend!(
        a_cpu_outside_the_mask_is_named,
        a_lenient_tag_stays_inside_the_mask,
        the_default_tag_has_one_worker,
    );

    /// Runs `body` in a process that may use one CPU only, the last of those that there are, as under
    /// `taskset`; it gets that CPU and one that is outside the mask.
    fn confined<B: Backend>(test: &str, body: impl FnOnce(usize, usize)) {
        if !child::is_here() {
            // The child inherits this thread's mask; the thread ends with the test.
            let cpus = affinity::allowed_cpus().unwrap();
            affinity::pin_current_thread(cpus[cpus.len() - 1]).unwrap();
        }
        child::run::<B>("process::confined", test, || {
            let cpus = affinity::allowed_cpus().unwrap();
            let [inside] = cpus[..] else {
                panic!("not confined to one CPU: {cpus:?}");
            };
            body(inside, usize::from(inside == 0));
        });
    }

    fn two_workers<B: Backend>(cpu: usize, pinning: Pinning) -> parkade::RuntimeBuilder<B> {
        let tag = Tag::new("two").workers(2).cpus(cpu.to_string());
        RuntimeOn::builder().tag(tag.pinning(pinning))
    }

    /// A2: an error that names the CPU, and no thread.
    fn a_cpu_outside_the_mask_is_named<B: Backend>() {
        confined::<B>("a_cpu_outside_the_mask_is_named", |inside, outside| {
            let before = threads();
            let refused = two_workers::<B>(outside, Pinning::Strict)
                .on_start(|_| panic!("a worker began to work"))
                .build()
                .unwrap_err();
            assert_eq!(threads(), before);
            if B::allowed_cpus().is_ok() {
                assert!(
                    matches!(refused, BuildError::CpuNotAllowed { cpu, .. } if cpu == outside),
                    "{refused:?}"
                );
                let named = format!("CPU {outside}");
                assert!(refused.to_string().contains(&named), "{refused}");
                let granted = two_workers::<B>(inside, Pinning::Strict).build().unwrap();
                assert_eq!(granted.metrics().total.misplaced, 0);
            } else {
                let said = format!(
                    "tag \"two\" asks for CPUs {outside}, but this backend cannot bind threads to CPUs"
                );
                assert_eq!(refused.to_string(), said);
            }
        });
    }

    /// A2: the lenient mode's warning and counter.
    fn a_lenient_tag_stays_inside_the_mask<B: Backend>() {
        confined::<B>("a_lenient_tag_stays_inside_the_mask", |inside, outside| {
            let runtime = two_workers::<B>(outside, Pinning::Lenient).build().unwrap();
            let cpus = runtime.spawn(|| {
                affinity::current_thread()
                    .unwrap()
                    .iter()
                    .collect::<Vec<_>>()
            });
            assert_eq!(cpus.join().unwrap(), vec![inside]);
            let metrics = runtime.metrics();
            assert_eq!(metrics.total.misplaced, 2);
            let warning = "warning: 2 workers of tag \"two\" do not run on the CPUs";
            assert!(metrics.to_string().contains(warning), "{metrics}");
        });
    }

    /// A3.
    fn the_default_tag_has_one_worker<B: Backend>() {
        confined::<B>("the_default_tag_has_one_worker", |_, _| {
            let runtime = RuntimeOn::<B>::builder().build().unwrap();
            assert_eq!(runtime.metrics().tag(DEFAULT_TAG).unwrap().workers, 1);
            let ran = Arc::new(AtomicUsize::new(0));
            for _ in 0..1000 {
                let ran = Arc::clone(&ran);
                runtime
                    .spawn_detached(move || {
                        ran.fetch_add(1, Ordering::Relaxed);
                    })
                    .unwrap();
            }
            eventually("one CPU progresses", || {
                thread::yield_now();
                ran.load(Ordering::Relaxed) == 1000
            });
        });
    }
}
