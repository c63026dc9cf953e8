//! The two clocks of most rows: how long it took, and what it cost the machine.

use std::hint::black_box;
use std::time::{Duration, Instant};

use cpu_time::ProcessTime;

use crate::cell::{Figure, Metric};
use crate::tally;

/// The main figure of the rows that run many tasks.
pub(crate) const UNTIL_ALL_RAN: Figure = Figure::lower("until all ran", "ns/task").main();

/// Processor time of the whole process for each task.
pub(crate) const PROCESSOR_TIME: Figure = Figure::lower("processor time", "ns/task");

/// Both clocks, started.
pub(crate) struct Clocks {
    wall: Instant,
    processor: ProcessTime,
}

impl Clocks {
    pub(crate) fn start() -> Self {
        Self {
            processor: ProcessTime::now(),
            wall: Instant::now(),
        }
    }

    /// [`UNTIL_ALL_RAN`] and [`PROCESSOR_TIME`], when so many tasks have run.
    pub(crate) fn all_ran(&self, tasks: u64) -> [Metric; 2] {
        self.per(tasks, UNTIL_ALL_RAN, PROCESSOR_TIME)
    }

    /// Both clocks as nanoseconds for each of so many.
    pub(crate) fn per(&self, number: u64, wall: Figure, processor: Figure) -> [Metric; 2] {
        let took = self.wall.elapsed();
        let cost = self.processor.elapsed();
        [
            wall.of(per_task(took, number)),
            processor.of(per_task(cost, number)),
        ]
    }

    /// How long it is since the start.
    pub(crate) fn elapsed(&self) -> Duration {
        self.wall.elapsed()
    }
}

/// The floor of the rows that run many tasks: each is allocated, called through a pointer and freed, one after the
/// other on one thread.
pub(crate) fn run_boxed(tasks: u64) -> [Metric; 2] {
    let clocks = Clocks::start();
    for _ in 0..tasks {
        let task: Box<dyn FnOnce() + Send> = Box::new(tally::task());
        black_box(task)();
    }
    clocks.all_ran(tasks)
}

/// A whole time as nanoseconds per task.
pub(crate) fn per_task(whole: Duration, tasks: u64) -> f64 {
    whole.as_nanos() as f64 / tasks as f64
}
