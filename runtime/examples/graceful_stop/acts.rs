//! Three stops of a busy runtime, and what became of each task.

use std::error::Error;
use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use clap::{Parser, value_parser};
use parkade::{Backend, JoinError, Policy, RuntimeOn, Stopped, Tag};

/// A hang detector for what should take some ms.
const LIMIT: Duration = Duration::from_secs(20);

/// What a task still has to do when its sleep has ended.
const CLEAN_UP: Duration = Duration::from_millis(10);

/// Timed tasks that are due before the stop, and that are not.
const SOON: usize = 3;
const LATER: usize = 5;

/// Stop a busy runtime in three ways, and account for every task.
#[derive(Debug, Parser)]
#[command(name = "graceful_stop")]
pub(crate) struct Args {
    /// Tasks in the queue when the stop comes
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = value_parser!(u32).range(1..=1_000_000))]
    tasks: u32,

    /// How long the second stop waits for a task that does not end, in ms
    #[arg(long, value_name = "MILLIS", default_value_t = 100, value_parser = value_parser!(u32).range(1..=10_000))]
    deadline: u32,
}

/// What the handles of an act say in the end.
#[derive(Debug, Default, Clone, Copy)]
struct Said {
    ran: usize,
    dropped: usize,
}

impl Said {
    fn note<T>(&mut self, outcome: Result<T, JoinError>) -> Result<(), JoinError> {
        match outcome {
            Ok(_) => self.ran += 1,
            Err(JoinError::Dropped) => self.dropped += 1,
            Err(other) => return Err(other),
        }
        Ok(())
    }
}

pub(crate) fn run<B: Backend>(args: &Args, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let deadline = Duration::from_millis(args.deadline.into());
    let patience = Some(LIMIT);
    act::<B>("drain", args, (Policy::Drain, patience), false, out)?;
    act::<B>("deadline", args, (Policy::Drain, Some(deadline)), true, out)?;
    act::<B>("abandon", args, (Policy::Abandon, patience), false, out)
}

/// Two workers that are inside tasks, much that waits for them, and a stop.
fn act<B: Backend>(
    name: &str,
    args: &Args,
    (policy, deadline): (Policy, Option<Duration>),
    stubborn: bool,
    out: &mut impl Write,
) -> Result<(), Box<dyn Error>> {
    let runtime = RuntimeOn::<B>::builder()
        .tag(Tag::new("only").workers(2))
        .build()?;
    let (begun, begins) = mpsc::channel();
    let started = begun.clone();
    // The runtime's own sleep: a stop ends it, and it says so.
    let sleeper = runtime.spawn(move || {
        started.send(()).ok();
        let slept = parkade::sleep(Duration::MAX);
        thread::sleep(CLEAN_UP);
        slept
    });
    let (let_go, wait) = mpsc::channel::<()>();
    let second = runtime.spawn(move || {
        begun.send(()).ok();
        if stubborn {
            // A wait that no stop ends; it ends when the sender is dropped.
            wait.recv().ok();
        } else {
            parkade::sleep(Duration::MAX).ok();
            thread::sleep(CLEAN_UP);
        }
    });
    begins.iter().take(2).for_each(drop);

    // Nobody is free, so all of this is queued or timed.
    let queued: Vec<_> = (0..args.tasks)
        .map(|task| runtime.spawn(move || task))
        .collect();
    let mut timed = Vec::new();
    for _ in 0..SOON {
        timed.push(runtime.after(Duration::from_millis(1), || ())?);
    }
    for _ in 0..LATER {
        timed.push(runtime.after(Duration::from_secs(3600), || ())?);
    }
    let turns = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&turns);
    let interval = runtime.every(Duration::from_millis(1), move || {
        count.fetch_add(1, Ordering::Relaxed);
    })?;
    // What is due joins the queue; of the interval one turn, because turns do not overlap.
    eventually("the timers fire", || runtime.metrics().timers.fired > SOON)?;

    let report = runtime.shutdown(policy, deadline)?;
    drop(let_go);

    let mut said = Said::default();
    let accepted = 2 + queued.len() + timed.len();
    if sleeper.join()? != Err(Stopped) {
        return Err("the sleep was slept out".into());
    }
    said.ran += 1;
    said.note(second.join())?;
    for task in queued {
        said.note(task.join())?;
    }
    let queue = said;
    for timer in timed {
        said.note(timer.join())?;
    }
    // A worker that was left to itself is not in the report, but in the metrics, once its task has ended.
    eventually("every task has run or was dropped", || {
        let total = runtime.metrics().total;
        total.spawned == total.ran + total.dropped
    })?;
    let metrics = runtime.metrics();
    let (total, timers) = (&metrics.total, metrics.timers);

    writeln!(out, "{name}")?;
    writeln!(out, "  report    {report}")?;
    writeln!(
        out,
        "  queue     {} tasks: {} ran, {} dropped",
        2 + args.tasks,
        queue.ran,
        queue.dropped
    )?;
    writeln!(
        out,
        "  timed     {} tasks: {} ran, {} dropped; {} turns of the interval",
        SOON + LATER,
        said.ran - queue.ran,
        said.dropped - queue.dropped,
        turns.load(Ordering::Relaxed)
    )?;
    writeln!(
        out,
        "  accepted  {accepted} = {} ran + {} dropped, say their handles",
        said.ran, said.dropped
    )?;
    writeln!(
        out,
        "  spawned   {} = {} ran + {} dropped, say the metrics; {} timers fired, {} were cancelled",
        total.spawned, total.ran, total.dropped, timers.fired, timers.cancelled
    )?;

    if accepted != said.ran + said.dropped {
        return Err(format!("{name}: {accepted} tasks were accepted, and {said:?}").into());
    }
    // What was spawned at once, and what was when it was due.
    let spawned = 2 + args.tasks as usize + timers.fired;
    if total.spawned != spawned {
        return Err(format!("{name}: {} were spawned, not {spawned}", total.spawned).into());
    }
    if report.is_complete() == stubborn {
        return Err(format!("{name}: {report}").into());
    }
    if !stubborn && (report.ran, report.dropped) != (total.ran, total.dropped) {
        return Err(format!("{name}: the report has other numbers than the metrics").into());
    }
    if (name, queue.dropped > 0) == ("drain", true) {
        return Err(format!("a drain dropped {} tasks", queue.dropped).into());
    }
    if timers.pending > 0 || interval.is_active() {
        return Err(format!("{name}: a timer survived the stop").into());
    }
    // What comes too late comes back.
    match runtime.try_spawn(|| 6 * 7) {
        Ok(_) => return Err(format!("{name}: a stopped runtime took a task").into()),
        Err(refused) => writeln!(
            out,
            "  refused   {}; ran here: {}",
            refused.reason,
            (refused.task)()
        )?,
    }
    Ok(())
}

fn eventually(what: &str, is_so: impl Fn() -> bool) -> Result<(), String> {
    let begun = Instant::now();
    while !is_so() {
        if begun.elapsed() > LIMIT {
            return Err(format!("it did not come about that {what}"));
        }
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}
