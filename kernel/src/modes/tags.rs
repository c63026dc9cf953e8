//! Two tags that never mix: a task runs on a hart of its own tag, whoever submits it.
//!
//! Each tag has a tree of tasks as in `spread.rs`, and even harts work for the first, odd ones for the second.
//! Now and then a task submits a leaf to the *other* tag, as anybody from outside does. On a single hart
//! two workers take turns, one of each tag, and never park.

use core::sync::atomic::{AtomicUsize, Ordering};

use parkade_core::{Next, Origin, Priority, Task, TaskControl, Worker};

use super::Boot;
use super::tally::Tally;
use crate::console;
use crate::scheduler::{self, Kernel, ParkKind};
use crate::verdict;
use crate::watchdog;

/// Tasks of each tag's tree.
const TREE: usize = 20_000;

/// Every how many tasks of a tree a leaf is submitted to the other tag; so many fit into one inbox.
const LEAF_EVERY: usize = 512;
const LEAVES: usize = TREE.div_ceil(LEAF_EVERY);
const _: () = assert!(LEAVES <= scheduler::QUEUE);

/// Tasks of a tag: its tree, and the other tag's leaves.
const TASKS: usize = TREE + LEAVES;

static TALLIES: [Tally<TASKS>; 2] = [const { Tally::new() }; 2];
static RAN: AtomicUsize = AtomicUsize::new(0);

/// A task's word: which tag it was made for, and which of its tasks it is.
fn word(tag: usize, task: usize) -> Task {
    Task::from_word(2 * task + tag)
}

pub(super) fn run(hart: usize, boot: Boot) {
    if hart == 0 {
        let sizes = [boot.harts.div_ceil(2), (boot.harts / 2).max(1)];
        let control = scheduler::build(0, ParkKind::Sound, &sizes.map(scheduler::tag));
        for tag in 0..2 {
            submit(control, tag, 0, boot.seed);
        }
    }
    let control = scheduler::scheduler(0);
    if boot.harts == 1 {
        return take_turns(control, boot);
    }
    let own = hart % 2;
    let worker = scheduler::register(control, own, hart / 2);
    scheduler::work(&worker, |task| run_task(control, &worker, own, task, boot));
}

fn take_turns(control: &'static TaskControl<Kernel>, boot: Boot) {
    let workers = [0, 1].map(|tag| scheduler::register(control, tag, 0));
    let mut left = [false; 2];
    while left != [true; 2] {
        for (own, worker) in workers.iter().enumerate() {
            match worker.next() {
                Next::Run(task) => run_task(control, worker, own, task.into_word(), boot),
                Next::Park(_) => watchdog::look(),
                Next::Linger => core::hint::spin_loop(),
                Next::Stop | Next::Retire => left[own] = true,
            }
        }
    }
}

fn run_task(
    control: &TaskControl<Kernel>,
    worker: &Worker<'_, Kernel>,
    own: usize,
    word_: usize,
    boot: Boot,
) {
    let (tag, task) = (word_ % 2, word_ / 2);
    verdict::check(
        tag == own,
        format_args!("a task of tag {tag} ran in tag {own}"),
    );
    if task < TREE {
        for child in [2 * task + 1, 2 * task + 2] {
            if child < TREE {
                let pushed = worker.push(word(tag, child));
                verdict::check(
                    pushed.is_ok(),
                    format_args!("task {child} is refused: {pushed:?}"),
                );
            }
        }
        if task.is_multiple_of(LEAF_EVERY) {
            submit(control, 1 - tag, TREE + task / LEAF_EVERY, boot.seed + task);
        }
    }
    TALLIES[tag].ran(task);
    if RAN.fetch_add(1, Ordering::Relaxed) == 2 * TASKS - 1 {
        scheduler::drain(control);
    }
}

fn submit(control: &TaskControl<Kernel>, tag: usize, task: usize, seed: usize) {
    let origin = Origin::new(seed);
    let submitted = control.tags()[tag].submit(word(tag, task), Priority::Normal, &origin);
    verdict::check(
        submitted.is_ok(),
        format_args!("task {task} is refused: {submitted:?}"),
    );
}

pub(super) fn check(boot: Boot) {
    for (index, tally) in TALLIES.iter().enumerate() {
        console::line(format_args!("tag {index}"));
        tally.check_each_once(TASKS, boot.harts);
        let counters = scheduler::scheduler(0).tags()[index].counters();
        verdict::check(
            counters.spawned == TASKS && counters.picked == TASKS,
            format_args!(
                "tag {index}: {} spawned, {} picked, not {TASKS}",
                counters.spawned, counters.picked
            ),
        );
    }
}
