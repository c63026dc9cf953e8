//! High priority goes first, and every so many picks it does not: ageing.
//!
//! One worker, so that there is one order. While it is held in a task, the gate, hart 0 fills the priority
//! inbox and its inbox; then it is let go, and the order of what it runs is written down. As long as tasks of both
//! kinds wait, the distance from one normal task to the next is exactly the ageing period.

use core::ops::Range;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use parkade_core::{Origin, Priority, Task, TaskControl};

use super::Boot;
use super::tally::Tally;
use crate::scheduler::{self, Kernel, ParkKind};
use crate::verdict;
use crate::watchdog;

/// Every how many picks a normal task goes before high ones.
const AGEING: usize = 4;

const NORMAL: usize = 12;
const HIGH: usize = 40;
const ROUND: usize = 1 + NORMAL + HIGH;
const ROUNDS: usize = 50;
const TASKS: usize = ROUND * ROUNDS;

static TALLY: Tally<TASKS> = Tally::new();

/// The tasks in the order in which they ran.
static ORDER: [AtomicUsize; TASKS] = [const { AtomicUsize::new(0) }; TASKS];

/// Whether the worker is held in a gate, and whether it may go.
static HELD: AtomicBool = AtomicBool::new(false);
static GO: AtomicBool = AtomicBool::new(false);

/// What the task of a number is. The first of a round holds the worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Gate,
    Normal,
    High,
}

const fn kind(task: usize) -> Kind {
    match task % ROUND {
        0 => Kind::Gate,
        1..=NORMAL => Kind::Normal,
        _ => Kind::High,
    }
}

pub(super) fn run(hart: usize, boot: Boot) {
    let last = boot.harts - 1;
    if hart == 0 {
        let config = scheduler::tag(1).ageing(AGEING as u32);
        let control = scheduler::build(0, ParkKind::Sound, &[config]);
        if last == 0 {
            GO.store(true, Ordering::Relaxed);
            fill(control, 0..ROUND, boot);
        } else {
            (0..ROUNDS).for_each(|round| one_round(control, round, boot));
        }
    }
    if hart == last {
        let control = scheduler::scheduler(0);
        let worker = scheduler::register(control, 0, 0);
        scheduler::work(&worker, |task| {
            if kind(task) == Kind::Gate {
                HELD.store(true, Ordering::Relaxed);
                watchdog::until(|| GO.load(Ordering::Relaxed));
            }
            let ran = TALLY.ran(task) + 1;
            ORDER[ran - 1].store(task, Ordering::Relaxed);
            // A single hart fills between its tasks.
            if last == 0 && ran.is_multiple_of(ROUND) && ran < TASKS {
                fill(control, ran..ran + ROUND, boot);
            }
            if ran == TASKS {
                scheduler::drain(control);
            }
        });
    }
}

fn one_round(control: &TaskControl<Kernel>, round: usize, boot: Boot) {
    let first = round * ROUND;
    watchdog::until(|| TALLY.total() == first);
    HELD.store(false, Ordering::Relaxed);
    GO.store(false, Ordering::Relaxed);
    super::busy(round + boot.seed);
    fill(control, first..first + 1, boot);
    watchdog::until(|| HELD.load(Ordering::Relaxed));
    fill(control, first + 1..first + ROUND, boot);
    GO.store(true, Ordering::Relaxed);
}

fn fill(control: &TaskControl<Kernel>, tasks: Range<usize>, boot: Boot) {
    let origin = Origin::new(boot.seed);
    for task in tasks {
        let priority = match kind(task) {
            Kind::High => Priority::High,
            Kind::Gate | Kind::Normal => Priority::Normal,
        };
        let submitted = control.tags()[0].submit(Task::from_word(task), priority, &origin);
        verdict::check(
            submitted.is_ok(),
            format_args!("task {task} is refused: {submitted:?}"),
        );
    }
}

pub(super) fn check(boot: Boot) {
    TALLY.check_each_once(TASKS, boot.harts);
    for round in 0..ROUNDS {
        check_round(round);
    }
}

/// The order of a round: while both kinds wait, every `AGEING`th task is a normal one.
fn check_round(round: usize) {
    let (mut high, mut since) = (0, None);
    let first = round * ROUND;
    for (place, task) in ORDER[first..first + ROUND].iter().enumerate() {
        let task = task.load(Ordering::Relaxed);
        verdict::check(
            task / ROUND == round,
            format_args!("task {task} ran in round {round}"),
        );
        match kind(task) {
            Kind::High => high += 1,
            Kind::Gate | Kind::Normal if high == HIGH || high == 0 => {}
            Kind::Gate | Kind::Normal => {
                let distance = since.replace(place).map_or(AGEING, |last| place - last);
                verdict::check(
                    distance == AGEING,
                    format_args!(
                        "round {round}: {distance} picks from one normal task to the next"
                    ),
                );
            }
        }
    }
    verdict::check(
        since.is_some(),
        format_args!("round {round}: no normal task ran before the last high one"),
    );
}
