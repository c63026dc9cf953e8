//! Tasks from outside to tags whose workers sleep, at every moment of their falling asleep.
//!
//! Hart 0 belongs to no tag. In each round it submits, lets a delay pass, submits again, and waits until all
//! have run. The delay scans the steps that a worker takes from its task to its sleep (look, announce, look
//! again, take the state, park), so that some round hits each gap between them. A worker that does not look
//! again after its announcement, or a park that loses a ring, hangs within some hundred rounds.
//!
//! The delay is a sleep until a tick of the clock, so that it interrupts the worker wherever it is then, even
//! on a host with one processor; its range differs from round to round, because a step takes nanoseconds
//! or microseconds as the emulator pleases. A tick is many instructions: the task's own length scans between
//! ticks.
//!
//! The first tag has one worker, so that nobody else can make up for its mistake; the second has the rest,
//! and as many tasks a round. On a single hart the worker itself is outside: it submits when it has been
//! told to park, which must then return at once.

use core::sync::atomic::{AtomicUsize, Ordering};

use parkade_core::{Next, Origin, Priority, Tag, Task, TaskControl};

use super::Boot;
use super::tally::Tally;
use crate::console;
use crate::scheduler::{self, Kernel, ParkKind};
use crate::verdict;
use crate::watchdog;

const ROUNDS: usize = 2 * PHASES;

/// How many delays there are, in ticks: a prime.
const PHASES: usize = 1021;

/// The ranges of the delays: each is half of the one before.
const RANGES: usize = 8;

/// The lengths of a task, in turns of a loop: a prime.
const LENGTHS: usize = 61;

/// How often the watchdog is told that there is progress, in rounds.
const PROGRESS: usize = 64;

/// Of 8 harts: each round one more than each tag has workers.
const MOST_TASKS: usize = (2 + 7) * ROUNDS;

static TALLY: Tally<MOST_TASKS> = Tally::new();

/// How many tasks were submitted.
static MADE: AtomicUsize = AtomicUsize::new(0);

pub(super) fn run(hart: usize, boot: Boot) {
    run_on(hart, boot, ParkKind::Sound, 10_000);
}

/// The same with a park of choice, and so many milliseconds for some rounds.
pub(super) fn run_on(hart: usize, boot: Boot, park: ParkKind, milliseconds: u64) {
    match (hart, boot.harts) {
        (0, 1) => alone(boot, park),
        (0, 2) => drive(boot, park, &[1], milliseconds),
        (0, harts) => drive(boot, park, &[1, harts - 2], milliseconds),
        (1, _) => sleep_and_run(0, 0),
        (hart, _) => sleep_and_run(1, hart - 2),
    }
}

fn drive(boot: Boot, park: ParkKind, workers: &[usize], milliseconds: u64) {
    let configs = [workers[0], *workers.last().unwrap_or(&1)].map(scheduler::tag);
    let control = scheduler::build(0, park, &configs[..workers.len()]);
    let origin = Origin::new(boot.seed);
    for (tag, &tasks) in control.tags().iter().zip(workers) {
        for round in 0..ROUNDS {
            if round % PROGRESS == 0 {
                watchdog::allow(milliseconds);
            }
            let scan = round + 127 * boot.seed;
            submit(tag, &origin);
            let delay = (scan % PHASES) >> (scan % RANGES);
            watchdog::sleep(delay as u64);
            (0..tasks).for_each(|_| submit(tag, &origin));
            let made = MADE.load(Ordering::Relaxed);
            watchdog::until(|| TALLY.total() == made);
        }
    }
    scheduler::drain(control);
}

fn submit(tag: &Tag<Kernel>, origin: &Origin) {
    let task = Task::from_word(MADE.fetch_add(1, Ordering::Relaxed));
    let submitted = tag.submit(task, Priority::Normal, origin);
    verdict::check(submitted.is_ok(), format_args!("refused: {submitted:?}"));
}

fn sleep_and_run(tag: usize, worker: usize) {
    let worker = scheduler::register(scheduler::scheduler(0), tag, worker);
    scheduler::work(&worker, |task| {
        TALLY.ran(task);
        super::busy(task % LENGTHS);
    });
}

fn alone(boot: Boot, park: ParkKind) {
    let control: &TaskControl<Kernel> = scheduler::build(0, park, &[scheduler::tag(1)]);
    let worker = scheduler::register(control, 0, 0);
    let origin = Origin::new(boot.seed);
    loop {
        match worker.next() {
            Next::Run(task) => {
                TALLY.ran(task.into_word());
            }
            Next::Park(state) => {
                if MADE.load(Ordering::Relaxed) == ROUNDS {
                    scheduler::drain(control);
                } else {
                    submit(&control.tags()[0], &origin);
                }
                worker.park(state);
                watchdog::look();
            }
            Next::Linger => core::hint::spin_loop(),
            Next::Stop | Next::Retire => return,
        }
    }
}

pub(super) fn check(boot: Boot) {
    let made = MADE.load(Ordering::Relaxed);
    let due = match boot.harts {
        1 => ROUNDS,
        2 => 2 * ROUNDS,
        harts => (harts + 1) * ROUNDS,
    };
    verdict::check(made == due, format_args!("{made} submitted, not {due}"));
    TALLY.check_each_once(made, boot.harts);
    for tag in scheduler::scheduler(0).tags() {
        console::line(format_args!("{}", tag.counters()));
    }
}
