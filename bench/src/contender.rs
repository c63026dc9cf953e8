//! Who is measured: anything that runs closures on worker threads.

mod parkade;
mod threadpool;

use std::fmt;

use anyhow::Result;
use clap::ValueEnum;

pub(crate) use self::parkade::Parkade;
use crate::cell::{Metric, Options, measure_on, measure_with};

/// A pool of workers, as far as a row needs to know it.
pub(crate) trait Contender: Send + Sync + Sized + 'static {
    /// Starts a pool with this many workers.
    fn start(workers: u16) -> Result<Self>;

    /// Submits a task that nobody waits for, in the cheapest way that the contender offers; from
    /// inside a task to the submitting worker's own queue, where there is one.
    fn spawn(&self, task: impl FnOnce() + Send + 'static);
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Name {
    /// Parkade on futexes and membarrier.
    #[cfg(target_os = "linux")]
    Linux,
    /// Parkade on a mutex and a condition variable.
    Std,
    /// The threadpool crate: one locked queue, one condition variable.
    Threadpool,
}

impl Name {
    pub(crate) fn all() -> &'static [Self] {
        Self::value_variants()
    }

    pub(crate) fn measure(self, options: &Options) -> Result<Vec<Metric>> {
        match self {
            #[cfg(target_os = "linux")]
            Self::Linux => measure_on::<::parkade::backend::Linux>(options),
            Self::Std => measure_on::<::parkade::backend::Std>(options),
            Self::Threadpool => measure_with::<threadpool::Threadpool>(options),
        }
    }
}

/// The name as the command line takes it.
impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.to_possible_value() {
            Some(name) => f.write_str(name.get_name()),
            None => write!(f, "{self:?}"),
        }
    }
}
