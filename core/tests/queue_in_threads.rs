//! The run queue in real threads, small enough for Miri: each task is taken once, and its data is visible.
//!
//! Miri lets a Relaxed load return any value that the language allows, so that one seed shows what no
//! processor would. It counts what a fence orders as well, and a fence hides a weak store behind it: the
//! last tests therefore bring the light half of an asymmetric pair, which is no fence to the language,
//! for the case in which nothing but the stores' own orderings publishes a task.
//!
//! ```text
//! MIRIFLAGS=-Zmiri-many-seeds=0..64 cargo +nightly miri test -p parkade-core --features alloc --test queue_in_threads
//! ```
#![cfg(all(feature = "alloc", not(parkade_loom)))]

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed, compiler_fence};
use std::thread;
use std::time::{Duration, Instant};

use parkade_core::sync::{AtomicPtr, AtomicU32};
use parkade_core::{
    Fences, Lock, Owner, Park, Platform, RunQueue, SeqCstFences, Slot, Steal, Task,
};

/// What a queue needs of a platform: its fences. Nothing here sleeps.
struct Board<F>(F);

#[derive(Debug)]
struct NeverSleeps;

struct OsLock<T>(Mutex<T>);

impl Park for NeverSleeps {
    fn wait(&self, _word: &AtomicU32, _expected: u32) {}

    fn wake(&self, _word: &AtomicU32, _n: u32) -> u32 {
        0
    }
}

impl<T: Send> Lock<T> for OsLock<T> {
    fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        f(&mut self.0.lock().unwrap())
    }
}

impl<F: Fences> Platform for Board<F> {
    type Park = NeverSleeps;
    type Fences = F;
    type Lock<T: Send> = OsLock<T>;
    type Queue = VecDeque<Task>;
    type Ring = Box<[AtomicPtr<()>]>;
    type PerWorker<T: Send + Sync> = Box<[T]>;
    type PerTag<T: Send + Sync> = Box<[T]>;

    fn park(&self, _slot: Slot) -> NeverSleeps {
        NeverSleeps
    }

    fn fences(&self) -> F {
        self.0
    }
}

/// The light half of a pair whose heavy half interrupts the other cores: to the language it orders nothing
/// between threads. No heavy half makes up for it here, so nothing may depend on the pair.
#[derive(Debug, Clone, Copy)]
struct NoFences;

impl Fences for NoFences {
    fn light(self) {
        compiler_fence(std::sync::atomic::Ordering::SeqCst);
    }

    fn heavy(self) {
        self.light();
    }
}

/// Queues that one owner goes through; each is fresh, because a thief that has seen a slot once is not shown
/// that it was empty before.
const QUEUES: usize = if cfg!(miri) { 2 } else { 5_000 };

/// For each task: what it carries, written before it is pushed, and how often it was taken.
struct Records {
    cargo: Vec<AtomicUsize>,
    taken: Vec<AtomicUsize>,
}

impl Records {
    fn new(tasks: usize) -> Self {
        let zeros = || (0..tasks).map(|_| AtomicUsize::new(0)).collect();
        Self {
            cargo: zeros(),
            taken: zeros(),
        }
    }

    /// The word 0 stays for slots that nobody has filled.
    fn make(&self, task: usize) -> Task {
        self.cargo[task].store(!task, Relaxed);
        Task::from_word(task + 1)
    }

    fn take(&self, task: Task) {
        let word = task.into_word();
        assert!(word > 0, "a slot was taken before it was filled");
        let task = word - 1;
        let cargo = self.cargo[task].load(Relaxed);
        assert_eq!(cargo, !task, "task {task} came without its cargo");
        self.taken[task].fetch_add(1, Relaxed);
    }

    fn assert_each_taken_once(&self) {
        for (task, taken) in self.taken.iter().enumerate() {
            assert_eq!(taken.load(Relaxed), 1, "times that task {task} was taken");
        }
    }
}

/// Detects a hang: one minute for what should take microseconds.
struct Patience(Instant);

impl Patience {
    fn new() -> Self {
        Self(Instant::now() + Duration::from_secs(60))
    }

    fn turn<P: Platform>(&self, queue: &RunQueue<P>) {
        assert!(Instant::now() < self.0, "nothing happens to {queue:?}");
        thread::yield_now();
    }
}

struct Arena<F: Fences> {
    fences: F,
    queues: Vec<RunQueue<Board<F>>>,
    tasks_per_queue: usize,
    /// Which queue is in use.
    current: AtomicUsize,
    is_over: AtomicBool,
    records: Records,
    stolen: AtomicUsize,
}

impl<F: Fences> Arena<F> {
    /// Queues that start a task before the wrap of `usize`, at it, or behind it.
    fn new(fences: F, capacity: usize, batch: usize, tasks_per_queue: usize) -> Self {
        let queue = |index: usize| {
            let start = 0_usize.wrapping_sub(index % 3);
            RunQueue::starting_at(fences, capacity, batch, start).unwrap()
        };
        Self {
            fences,
            queues: (0..QUEUES).map(queue).collect(),
            tasks_per_queue,
            current: AtomicUsize::new(0),
            is_over: AtomicBool::new(false),
            records: Records::new(QUEUES * tasks_per_queue),
            stolen: AtomicUsize::new(0),
        }
    }

    /// Runs `defend` on each queue, with the numbers of its tasks, while so many thieves steal from it. The
    /// last task of each is the thieves'.
    fn fight(&self, thieves: usize, defend: impl Fn(&Owner<'_, Board<F>>, &mut Range<usize>)) {
        thread::scope(|scope| {
            let _over = OverAtEnd(&self.is_over);
            for me in 0..thieves {
                scope.spawn(move || self.rob(me % 2 == 0));
            }
            for (index, queue) in self.queues.iter().enumerate() {
                self.current.store(index, Relaxed);
                let owner = queue.owner().unwrap();
                let mut tasks = index * self.tasks_per_queue..(index + 1) * self.tasks_per_queue;
                let last = tasks.next_back().unwrap();
                defend(&owner, &mut tasks);
                assert_eq!(tasks.next(), None);
                while self.pop(&owner) {}
                self.push(&owner, last);
                let patience = Patience::new();
                while !queue.is_empty() {
                    patience.turn(queue);
                }
            }
        });
        self.records.assert_each_taken_once();
        assert!(self.stolen.load(Relaxed) >= QUEUES);
    }

    fn push(&self, owner: &Owner<'_, Board<F>>, task: usize) {
        let mut refused = owner.push(self.records.make(task));
        while let Err(task) = refused {
            self.pop(owner);
            refused = owner.push(task);
        }
    }

    fn pop(&self, owner: &Owner<'_, Board<F>>) -> bool {
        owner.pop().map(|task| self.records.take(task)).is_some()
    }

    fn rob(&self, alone: bool) {
        let own = RunQueue::<Board<F>>::new(self.fences, 4, 2).unwrap();
        let own = own.owner().unwrap();
        while !self.is_over.load(Relaxed) {
            let victim = &self.queues[self.current.load(Relaxed)];
            let stolen = if alone {
                victim.steal()
            } else {
                victim.steal_into(&own)
            };
            match stolen {
                Steal::Taken(task, moved) => {
                    self.stolen.fetch_add(1 + moved, Relaxed);
                    self.records.take(task);
                    while self.pop(&own) {}
                }
                Steal::Empty => thread::yield_now(),
                Steal::Lost => {}
            }
        }
    }
}

/// Sends the thieves home, also when the owner has failed.
struct OverAtEnd<'a>(&'a AtomicBool);

impl Drop for OverAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// Q11, in short.
#[test]
fn with_fences_each_task_is_taken_once() {
    for (capacity, batch, thieves) in [(2, 1, 1), (4, 2, 2)] {
        let arena = Arena::new(SeqCstFences, capacity, batch, 5);
        arena.fight(thieves, |owner, tasks| {
            for burst in [1, 2].into_iter().cycle() {
                let pushed = tasks.take(burst).map(|task| arena.push(owner, task));
                if pushed.count() == 0 {
                    break;
                }
                arena.pop(owner);
            }
        });
    }
}

/// One owner and one thief on `QUEUES` queues: the owner pushes `tasks` and pops once, the thief takes the
/// others one by one.
///
/// The thief takes too few for the owner's distance K = 2 to fail, so that no task is taken twice although
/// there is no fence: what the stores to bottom publish is all that is tried here.
fn pop_once_and_leave_the_rest(tasks: usize) {
    let queue = |index: usize| {
        let start = 0_usize.wrapping_sub(index % 3);
        RunQueue::<Board<NoFences>>::starting_at(NoFences, 4, 2, start).unwrap()
    };
    let queues: Vec<_> = (0..QUEUES).map(queue).collect();
    let records = Records::new(QUEUES * tasks);
    thread::scope(|scope| {
        scope.spawn(|| {
            for queue in &queues {
                for _ in 1..tasks {
                    let patience = Patience::new();
                    let task = loop {
                        match queue.steal() {
                            Steal::Taken(task, _) => break task,
                            Steal::Empty | Steal::Lost => patience.turn(queue),
                        }
                    };
                    records.take(task);
                }
            }
        });
        for (index, queue) in queues.iter().enumerate() {
            let owner = queue.owner().unwrap();
            for task in index * tasks..(index + 1) * tasks {
                owner.push(records.make(task)).unwrap();
            }
            records.take(owner.pop().unwrap());
        }
    });
    records.assert_each_taken_once();
}

/// The store by which a pop gives back what it cannot have for itself.
#[test]
fn a_restored_bottom_publishes_without_a_fence() {
    pop_once_and_leave_the_rest(2);
}

/// The store by which a pop takes the newest task.
#[test]
fn a_lowered_bottom_publishes_without_a_fence() {
    pop_once_and_leave_the_rest(3);
}
