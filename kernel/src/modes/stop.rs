//! A stop in five steps, after which every hart has left its loop, again and again.
//!
//! In each round hart 0 makes a scheduler, submits while the others fall asleep or run, and stops it at a
//! moment that differs from round to round. Rounds alternate between draining and abandoning. What was
//! accepted ran or came back, once each; what comes after the close is refused.

use core::sync::atomic::{AtomicUsize, Ordering};

use parkade_core::{Origin, Priority, RefusedReason, StopPolicy, Task, TaskControl, Worker};

use super::Boot;
use super::tally::Tally;
use crate::console;
use crate::scheduler::{self, Kernel, ParkKind, ROUNDS};
use crate::verdict;
use crate::watchdog;

/// Tasks of a round at most: what fits the inbox of one worker.
const ROUND: usize = scheduler::QUEUE;

static TALLY: Tally<{ ROUND * ROUNDS }> = Tally::new();

/// Tasks that an abandoned scheduler gave back.
static RETURNED: AtomicUsize = AtomicUsize::new(0);

/// Harts that have left each round's scheduler.
static LEFT: [AtomicUsize; ROUNDS] = [const { AtomicUsize::new(0) }; ROUNDS];

pub(super) fn run(hart: usize, boot: Boot) {
    for round in 0..ROUNDS {
        if hart == 0 {
            conduct(round, boot);
        } else {
            take_part(round, scheduler::scheduler(round), hart);
        }
    }
}

/// A worker's life in one round.
fn take_part(round: usize, control: &'static TaskControl<Kernel>, hart: usize) {
    let worker = scheduler::register(control, 0, hart);
    leave(round, &worker);
}

fn leave(round: usize, worker: &Worker<'_, Kernel>) {
    scheduler::work(worker, |task| {
        super::busy(10);
        TALLY.ran(task);
    });
    while let Some(task) = worker.take_left() {
        verdict::check(
            policy(round) == StopPolicy::Abandon,
            format_args!("round {round}: a drain left {task:?} to its worker"),
        );
        give_back(task);
    }
    LEFT[round].fetch_add(1, Ordering::Relaxed);
}

/// Counts a task that will not run as if it had, so that each is counted once.
fn give_back(task: Task) {
    TALLY.ran(task.into_word());
    RETURNED.fetch_add(1, Ordering::Relaxed);
}

const fn policy(round: usize) -> StopPolicy {
    if round.is_multiple_of(2) {
        StopPolicy::Drain
    } else {
        StopPolicy::Abandon
    }
}

/// Hart 0's round: worker 0 as well, once it has stopped the others.
fn conduct(round: usize, boot: Boot) {
    let control = scheduler::build(round, ParkKind::Sound, &[scheduler::tag(boot.harts)]);
    let worker = scheduler::register(control, 0, 0);
    // From harts that are not there yet to harts that are asleep.
    super::busy((round * 7919 + boot.seed * 101) % 20_000);
    // And from none queued to as many as fit.
    let tasks = ROUND * (round / 2) * 2 / ROUNDS;
    let origin = Origin::new(boot.seed + round);
    for task in 0..tasks {
        let task = Task::from_word(round * ROUND + task);
        let submitted = control.tags()[0].submit(task, Priority::Normal, &origin);
        verdict::check(
            submitted.is_ok(),
            format_args!("refused before the stop: {submitted:?}"),
        );
    }

    let Ok(drivers) = control.stop(policy(round)) else {
        panic!("round {round} is stopped twice");
    };
    verdict::check(
        control.stop(policy(round)).is_err(),
        format_args!("a second stop is let in"),
    );
    let join = drivers.drivers_stopped().close().stop_lots().interrupted();
    let late = control.tags()[0].submit(Task::from_word(0), Priority::Normal, &origin);
    verdict::check(
        late.as_ref()
            .is_err_and(|refused| refused.reason == RefusedReason::Closed),
        format_args!("after the close: {late:?}"),
    );

    leave(round, &worker);
    drop(worker);
    watchdog::until(|| LEFT[round].load(Ordering::Relaxed) == boot.harts);
    watchdog::until(|| join.remaining() == 0);
    while let Some((_, task)) = join.take_queued() {
        verdict::check(
            policy(round) == StopPolicy::Abandon,
            format_args!("round {round}: a drain left {task:?}"),
        );
        give_back(task);
    }
    let stopped = join.joined();
    verdict::check(
        stopped.remaining == 0,
        format_args!("round {round}: {stopped:?}"),
    );
    for task in 0..ROUND {
        let times = TALLY.times(round * ROUND + task);
        verdict::check(
            times == u8::from(task < tasks),
            format_args!("round {round}: task {task} of {tasks} ran or came back {times} times"),
        );
    }
}

pub(super) fn check(boot: Boot) {
    for (round, left) in LEFT.iter().enumerate() {
        let left = left.load(Ordering::Relaxed);
        verdict::check(
            left == boot.harts,
            format_args!("round {round}: {left} of {} harts left", boot.harts),
        );
    }
    console::line(format_args!(
        "{ROUNDS} stops, {} tasks, {} of them abandoned",
        TALLY.total(),
        RETURNED.load(Ordering::Relaxed)
    ));
}
