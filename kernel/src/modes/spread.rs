//! 100 000 tasks that one hart is given the first of: the others have them by stealing alone.
//!
//! The tasks are a binary tree: each pushes its two children to the run queue of the hart that it runs on.
//! An owner goes down to the leaves, a thief takes the oldest, which is the largest subtree.

use core::sync::atomic::{AtomicUsize, Ordering};

use parkade_core::{Origin, Priority, Task, TaskControl, Worker};

use super::Boot;
use super::tally::Tally;
use crate::console;
use crate::scheduler::{self, Kernel, ParkKind};
use crate::verdict;

const TASKS: usize = 100_000;

/// How long a task takes, in turns of a loop: enough that being woken for it pays.
const TURNS: usize = 50;

/// Tasks for which every queue was full.
static IN_PLACE: AtomicUsize = AtomicUsize::new(0);

static TALLY: Tally<TASKS> = Tally::new();

pub(super) fn run(hart: usize, boot: Boot) {
    let control = if hart == 0 {
        let control = scheduler::build(0, ParkKind::Sound, &[scheduler::tag(boot.harts)]);
        let origin = Origin::new(boot.seed);
        let root = control.tags()[0].submit(Task::from_word(0), Priority::Normal, &origin);
        verdict::check(
            root.is_ok(),
            format_args!("the first task is refused: {root:?}"),
        );
        control
    } else {
        scheduler::scheduler(0)
    };
    let worker = scheduler::register(control, 0, hart);
    scheduler::work(&worker, |task| run_task(control, &worker, task));
}

fn run_task(control: &TaskControl<Kernel>, worker: &Worker<'_, Kernel>, task: usize) {
    super::busy(TURNS);
    for child in [2 * task + 1, 2 * task + 2]
        .into_iter()
        .filter(|&child| child < TASKS)
    {
        if let Err(refused) = worker.push(Task::from_word(child)) {
            // Full is never a sleep: the task came back, so it runs here, now.
            IN_PLACE.fetch_add(1, Ordering::Relaxed);
            run_task(control, worker, refused.task.into_word());
        }
    }
    if TALLY.ran(task) == TASKS - 1 {
        scheduler::drain(control);
    }
}

pub(super) fn check(boot: Boot) {
    TALLY.check_each_once(TASKS, boot.harts);
    let counters = scheduler::scheduler(0).tags()[0].counters();
    console::line(format_args!("{counters}"));
    let queued = TASKS - IN_PLACE.load(Ordering::Relaxed);
    verdict::check(
        counters.spawned == queued && counters.picked == queued,
        format_args!(
            "{} spawned, {} picked, not {queued}",
            counters.spawned, counters.picked
        ),
    );
    for hart in 0..boot.harts {
        verdict::check(
            TALLY.on(hart) > 0,
            format_args!("hart {hart} ran none of {TASKS} tasks"),
        );
    }
}
