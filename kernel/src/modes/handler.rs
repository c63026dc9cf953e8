//! Submits from an interrupt handler, also while the interrupted code holds the lock of an inbox.
//!
//! Every hart is a worker with a timer whose handler submits a task, at intervals that scan. The code that it
//! interrupts takes and fills inboxes; hart 0 also submits batches slowly, inside the lock, so that timers do
//! come due there. The lock masks them until it is free. Without that, the handler would wait on its own
//! hart for the holder that it has interrupted.

use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parkade_core::{Origin, Priority, Task, TaskControl};

use super::Boot;
use super::tally::Tally;
use crate::console;
use crate::machine::{Board, Machine, ON_TIMER};
use crate::scheduler::{self, DUE_WHILE_LOCKED, Kernel, ParkKind};
use crate::verdict;
use crate::watchdog;

/// Tasks in all, from handlers and from batches.
const TASKS: usize = 1_000;

/// Tasks of a slow batch; each takes its share of an interval, inside the lock.
const BATCH: usize = 4;

/// The least time between two ticks of a hart: what so many turns of a loop take, and not less than so many
/// microseconds, or harts would come to nothing but their handlers. An emulator that counts instructions has
/// its own idea of time.
const TURNS: usize = 20_000;
const LEAST: u64 = 200;
static INTERVAL: AtomicU64 = AtomicU64::new(0);

static TALLY: Tally<TASKS> = Tally::new();

/// How many tasks were made, and how many a handler made.
static MADE: AtomicUsize = AtomicUsize::new(0);
static BY_HANDLER: AtomicUsize = AtomicUsize::new(0);

pub(super) fn run(hart: usize, boot: Boot) {
    if hart == 0 {
        // The shortest of several: the host may be elsewhere meanwhile.
        let measure = || {
            let before = Board::now();
            super::busy(TURNS);
            Board::now() - before
        };
        let measured = (0..5).map(|_| measure()).min().unwrap_or(0);
        let interval = measured.max(watchdog::ticks(LEAST));
        INTERVAL.store(interval, Ordering::Relaxed);
        ON_TIMER.call_once(|| tick);
        scheduler::build(0, ParkKind::Sound, &[scheduler::tag(boot.harts)]);
    }
    let control = scheduler::scheduler(0);
    let worker = scheduler::register(control, 0, hart);
    Board::set_timer(Board::now() + INTERVAL.load(Ordering::Relaxed));
    Board::unmask();
    let origin = Origin::new(boot.seed + hart);
    scheduler::work(&worker, |task| {
        if TALLY.ran(task) == TASKS - 1 {
            scheduler::drain(control);
        } else if hart == 0 {
            slow_batch(control, &origin);
        }
    });
    Board::mask();
    Board::set_timer(u64::MAX);
    if hart == 0 {
        watchdog::allow(10_000);
    }
}

/// The handler: one task, and the next tick, until there are no more tasks to be made.
fn tick() {
    watchdog::look();
    let Some(task) = make() else {
        return watchdog::rearm();
    };
    let least = INTERVAL.load(Ordering::Relaxed);
    Board::set_timer(Board::now() + least + least * (task as u64 % 61) / 61);
    let origin = Origin::new(Board::hart() + task);
    // It is there: a hart has no timer before it is a worker.
    let tag = &scheduler::scheduler(0).tags()[0];
    let submitted = tag.submit(Task::from_word(task), Priority::Normal, &origin);
    verdict::check(submitted.is_ok(), format_args!("refused: {submitted:?}"));
    BY_HANDLER.fetch_add(1, Ordering::Relaxed);
}

/// The number of a new task, while there are any to be made.
fn make() -> Option<usize> {
    let claim = |made| (made < TASKS).then_some(made + 1);
    MADE.fetch_update(Ordering::Relaxed, Ordering::Relaxed, claim)
        .ok()
}

/// A batch whose tasks are made inside the lock, slowly.
fn slow_batch(control: &TaskControl<Kernel>, origin: &Origin) {
    // So few that the queues cannot be full: a batch for each of hart 0's tasks would outgrow them.
    if MADE.load(Ordering::Relaxed) - TALLY.total() > BATCH {
        return;
    }
    let mut tasks = (0..BATCH).map_while(|_| {
        let until = Board::now() + INTERVAL.load(Ordering::Relaxed) / BATCH as u64;
        while Board::now() < until {}
        make().map(Task::from_word)
    });
    let (_, refused) = control.tags()[0].submit_batch(&mut tasks, Priority::Normal, origin);
    verdict::check(refused.is_none(), format_args!("refused: {refused:?}"));
}

pub(super) fn check(boot: Boot) {
    TALLY.check_each_once(TASKS, boot.harts);
    let (by_handler, due) = (
        BY_HANDLER.load(Ordering::Relaxed),
        DUE_WHILE_LOCKED.load(Ordering::Relaxed),
    );
    console::line(format_args!(
        "{by_handler} of {TASKS} tasks from handlers; the timer came due {due} times inside a lock"
    ));
    verdict::check(by_handler > 0, format_args!("no handler submitted"));
    verdict::check(due > 0, format_args!("no timer came due inside a lock"));
}
