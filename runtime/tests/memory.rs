//! A burst of small closures takes few allocations, and their memory comes back, counted by the allocator itself; a
//! program of its own, because a process has one allocator.

#![cfg(any(feature = "std", all(feature = "linux", target_os = "linux")))]

use std::alloc::System;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use parkade::{Backend, RuntimeOn, Tag};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// How much may stay: what queues keep for the next time.
const SLACK: usize = 64 * 1024;

/// How many closures with one captured pointer share an allocation, at least: it is some 250.
const SHARE: usize = 100;

/// Bytes that are allocated and not freed.
fn live_bytes() -> usize {
    let stats = ALLOCATOR.stats();
    stats.bytes_allocated - stats.bytes_deallocated
}

/// Q12, with a tenth of its tasks where nothing is optimised. One test for all backends, one after the other,
/// because others would allocate meanwhile.
#[test]
fn a_burst_gives_its_memory_back() {
    #[cfg(all(feature = "linux", target_os = "linux"))]
    burst::<parkade::backend::Linux>();
    #[cfg(feature = "std")]
    burst::<parkade::backend::Std>();
}

fn burst<B: Backend>() {
    const TASKS: usize = if cfg!(debug_assertions) {
        500_000
    } else {
        5_000_000
    };
    let runtime: RuntimeOn<B> = RuntimeOn::builder()
        .tag(Tag::new("only").workers(2))
        .build()
        .unwrap();
    let ran = Arc::new(AtomicUsize::new(0));
    let submit = |tasks| {
        for _ in 0..tasks {
            let ran = Arc::clone(&ran);
            let task = move || {
                ran.fetch_add(1, Ordering::Relaxed);
            };
            runtime.spawn_detached(task).unwrap();
        }
    };
    let give_up = Instant::now() + Duration::from_secs(150);
    let drained = |tasks| {
        while ran.load(Ordering::Relaxed) < tasks {
            assert!(Instant::now() < give_up, "the tasks are not run");
            thread::sleep(Duration::from_millis(1));
        }
    };
    submit(1000);
    drained(1000);
    let before = live_bytes();
    let allocations = ALLOCATOR.stats().allocations;
    submit(TASKS);
    drained(1000 + TASKS);
    let allocations = ALLOCATOR.stats().allocations - allocations;
    assert!(allocations < TASKS / SHARE, "{allocations} allocations");
    // The last tasks free their memory right after they have counted themselves.
    while live_bytes() > before + SLACK {
        assert!(
            Instant::now() < give_up,
            "{} bytes stay",
            live_bytes() - before
        );
        thread::sleep(Duration::from_millis(1));
    }
}
