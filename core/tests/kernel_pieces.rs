//! The ready pieces for kernels make a whole platform: fixed storage, a ticket lock, no allocator.
#![cfg(not(parkade_loom))]

use parkade_core::pieces::{FixedArray, FixedQueue, TicketLock};
use parkade_core::sync::{AtomicPtr, AtomicU32};
use parkade_core::{
    CapacityError, ConfigError, Next, Origin, Park, Platform, Priority, RefusedReason,
    SeqCstFences, Slot, TagConfig, TagIndex, Task, TaskControl, WorkerIndex,
};

struct Board;

struct NoSleep;

impl Park for NoSleep {
    fn wait(&self, _: &AtomicU32, _: u32) {}

    fn wake(&self, _: &AtomicU32, _: u32) -> u32 {
        0
    }
}

impl Platform for Board {
    type Park = NoSleep;
    type Fences = SeqCstFences;
    type Lock<T: Send> = TicketLock<T>;
    type Queue = FixedQueue<4>;
    type Ring = FixedArray<AtomicPtr<()>, 4>;
    type PerWorker<T: Send + Sync> = FixedArray<T, 2>;
    type PerTag<T: Send + Sync> = FixedArray<T, 1>;

    fn park(&self, _: Slot) -> NoSleep {
        NoSleep
    }

    fn fences(&self) -> SeqCstFences {
        SeqCstFences
    }
}

fn capacity(requested: usize, capacity: usize) -> ConfigError {
    let (tag, source) = (TagIndex(0), too_many(requested, capacity));
    ConfigError::Capacity { tag, source }
}

fn too_many(requested: usize, capacity: usize) -> CapacityError {
    CapacityError {
        requested,
        capacity,
    }
}

#[test]
fn storage_that_is_too_small_says_so() {
    let tag = TagConfig::new(2).run_queue(4);
    let error = |tags: &[TagConfig]| TaskControl::new(&Board, tags).unwrap_err();
    assert_eq!(error(&[tag, tag]), ConfigError::Tags(too_many(2, 1)));
    assert_eq!(error(&[TagConfig::new(3).run_queue(4)]), capacity(3, 2));
    assert_eq!(error(&[tag.run_queue(8)]), capacity(8, 4));
}

#[test]
fn a_bounded_queue_gives_back_and_runs_the_rest() {
    let control = TaskControl::new(&Board, &[TagConfig::new(1).run_queue(4)]).unwrap();
    let tag = &control.tags()[0];
    let mut tasks = (0..6).map(Task::from_word);
    let (accepted, refused) = tag.submit_batch(&mut tasks, Priority::Normal, &Origin::new(0));
    assert_eq!(accepted, 4);
    let refused = refused.unwrap();
    assert_eq!(refused.reason, RefusedReason::Full);
    assert_eq!(refused.task.into_word(), 4);
    let (tag, worker) = (TagIndex(0), WorkerIndex(0));
    let worker = control.register(Slot { tag, worker }).unwrap();
    // Its run queue spills into an inbox that is full in turn.
    let mut ran = Vec::new();
    for word in 10..20 {
        if let Err(refused) = worker.push(Task::from_word(word)) {
            assert_eq!(refused.reason, RefusedReason::Full);
            assert_eq!(refused.task.into_word(), word);
            let Next::Run(task) = worker.next() else {
                panic!("full queues hold tasks")
            };
            ran.push(task.into_word());
        } else {
            ran.push(word + 100);
        }
    }
    assert_eq!(ran[..4], [110, 111, 112, 113], "four fit");
}
