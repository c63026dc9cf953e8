//! A run queue whose indices wrap, under one owner and several thieves in real threads: each task comes out
//! once, whoever takes it.
//!
//! Each queue is tiny, starts a few tasks before the wrap of `usize`, and lives for a few dozen tasks, so that
//! all that is delicate happens all the time: the last task, the full ring, the first use of a slot. Each
//! thief has such a queue as well, for what it takes beyond one task, and is robbed in turn.
//!
//! It runs under Miri as well, which shows an owner and a thief stale values that this machine's cores
//! never would:
//!
//! ```text
//! MIRIFLAGS=-Zmiri-many-seeds=0..64 cargo +nightly miri test -p parkade --test stress run_queue
//! ```

use std::fmt;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use crate::rounds::{self, Dice, Run};
use parkade::{Backend, FenceChoice};
use parkade_core::{Owner, RunQueue, Steal, Task};

on_each_backend!(each_task_is_taken_once);

/// Q11, with the backend's own fences: `membarrier` on Linux, sequentially consistent ones elsewhere and under
/// Miri.
fn each_task_is_taken_once<B: Backend>() {
    let mut run = Run::new("Q11", 60, 2);
    let fences = B::new(FenceChoice::Auto).fences();
    // Every shape with every number of thieves, in turn; Miri gets to a few of them with each of its seeds.
    let first = run.dice.u64(..12);
    for turn in run.rounds().map(|round| first + round) {
        let (capacity, batch) = [(2, 1), (4, 1), (4, 2)][(turn % 3) as usize];
        let thieves = 1 + (turn / 3 % 4) as usize;
        let shape = Shape { capacity, batch };
        let arena = Arena::<B>::new(shape, fences, thieves, &mut run.dice);
        run.watch(arena).fight(&mut run);
    }
}

/// Queues that the owner goes through, one after the other, in one fight.
const QUEUES: usize = if cfg!(miri) { 2 } else { 200 };

/// Tasks that the owner pushes to each: more than the distance to the wrap.
const TASKS: usize = if cfg!(miri) { 8 } else { 40 };

/// The furthest from the wrap that a queue begins, in tasks.
const BEFORE_THE_WRAP: usize = TASKS / 2;

#[derive(Debug, Clone, Copy)]
struct Shape {
    capacity: usize,
    batch: usize,
}

struct Arena<B: Backend> {
    shape: Shape,
    owners: Vec<RunQueue<B>>,
    thieves: Vec<RunQueue<B>>,
    /// Which of the owner's queues is in use.
    current: AtomicUsize,
    is_over: AtomicBool,
    /// For each task: what it carries, written before it is pushed and read by whoever takes it.
    cargo: Vec<AtomicUsize>,
    /// For each task: how often it was taken.
    taken: Vec<AtomicUsize>,
    stolen: AtomicUsize,
}

impl<B: Backend> Arena<B> {
    fn new(shape: Shape, fences: B::Fences, thieves: usize, dice: &mut Dice) -> Self {
        let mut queues = |count| {
            let queue = |_| {
                let start = usize::MAX - dice.usize(..BEFORE_THE_WRAP);
                RunQueue::starting_at(fences, shape.capacity, shape.batch, start).unwrap()
            };
            (0..count).map(queue).collect()
        };
        let zeros = || (0..QUEUES * TASKS).map(|_| AtomicUsize::new(0)).collect();
        Self {
            shape,
            owners: queues(QUEUES),
            thieves: queues(thieves),
            current: AtomicUsize::new(0),
            is_over: AtomicBool::new(false),
            cargo: zeros(),
            taken: zeros(),
            stolen: AtomicUsize::new(0),
        }
    }

    fn fight(&self, run: &mut Run) {
        let ready = Barrier::new(1 + self.thieves.len());
        thread::scope(|scope| {
            let _over = OverAtEnd(&self.is_over);
            for me in 0..self.thieves.len() {
                let (ready, dice) = (&ready, run.dice.fork());
                scope.spawn(move || {
                    ready.wait();
                    self.rob(me, dice);
                });
            }
            ready.wait();
            self.defend(run);
        });
        for (task, taken) in self.taken.iter().enumerate() {
            let taken = taken.load(Ordering::Relaxed);
            let (shape, thieves) = (self.shape, self.thieves.len());
            assert_eq!(
                taken, 1,
                "task {task} was taken {taken} times: {shape:?}, {thieves} thieves"
            );
        }
        assert!(
            self.stolen.load(Ordering::Relaxed) > 0,
            "nothing was stolen"
        );
    }

    /// The owner: pushes and pops in random bursts, half of them of a single task; now and then it leaves all
    /// to the thieves.
    fn defend(&self, run: &mut Run) {
        for (index, queue) in self.owners.iter().enumerate() {
            run.step();
            self.current.store(index, Ordering::Relaxed);
            let owner = queue.owner().unwrap();
            let mut tasks = index * TASKS..(index + 1) * TASKS;
            while !tasks.is_empty() {
                let burst = if run.dice.bool() {
                    1
                } else {
                    run.dice.usize(1..=self.shape.capacity)
                };
                self.push(&owner, tasks.by_ref().take(burst));
                match run.dice.u32(..16) {
                    0 => rounds::until(|| queue.is_empty()),
                    1..4 => {}
                    _ => (0..burst).for_each(|_| self.take(owner.pop())),
                }
            }
            while let Some(task) = owner.pop() {
                self.take(Some(task));
            }
            assert!(queue.is_empty(), "nobody has pushed since: {queue:?}");
        }
    }

    fn push(&self, owner: &Owner<'_, B>, tasks: impl Iterator<Item = usize>) {
        for task in tasks {
            self.cargo[task].store(!task, Ordering::Relaxed);
            // The word 0 stays for slots that nobody has filled.
            let mut refused = owner.push(Task::from_word(task + 1));
            while let Err(task) = refused {
                self.take(owner.pop());
                refused = owner.push(task);
            }
        }
    }

    /// A thief: robs the owner, and now and then a fellow, one task at a time or several.
    fn rob(&self, me: usize, mut dice: Dice) {
        let own = self.thieves[me].owner().unwrap();
        while !self.is_over.load(Ordering::Relaxed) {
            let victim = if dice.u32(..8) == 0 {
                &self.thieves[dice.usize(..self.thieves.len())]
            } else {
                &self.owners[self.current.load(Ordering::Relaxed)]
            };
            let alone = dice.bool() || std::ptr::eq(victim, own.queue());
            let stolen = if alone {
                victim.steal()
            } else {
                victim.steal_into(&own)
            };
            match stolen {
                Steal::Taken(task, moved) => {
                    self.stolen.fetch_add(1 + moved, Ordering::Relaxed);
                    self.take(Some(task));
                }
                Steal::Empty => thread::yield_now(),
                Steal::Lost => {}
            }
            if dice.bool() {
                self.take(own.pop());
            }
        }
        while let Some(task) = own.pop() {
            self.take(Some(task));
        }
    }

    fn take(&self, task: Option<Task>) {
        let Some(word) = task.map(Task::into_word) else {
            return;
        };
        assert!(word > 0, "a slot was taken before it was filled");
        let task = word - 1;
        let cargo = self.cargo[task].load(Ordering::Relaxed);
        assert_eq!(cargo, !task, "task {task} came without its cargo");
        self.taken[task].fetch_add(1, Ordering::Relaxed);
    }
}

impl<B: Backend> fmt::Debug for Arena<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let current = self.current.load(Ordering::Relaxed);
        f.debug_struct("Arena")
            .field("shape", &self.shape)
            .field("current", &current)
            .field("owner", &self.owners[current])
            .field("thieves", &self.thieves)
            .field("stolen", &self.stolen)
            .finish_non_exhaustive()
    }
}

/// Sends the thieves home, also when the owner has failed.
struct OverAtEnd<'a>(&'a AtomicBool);

impl Drop for OverAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
