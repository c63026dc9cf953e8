//! What a reader must know of the machine to judge a figure.

use std::fmt;
use std::thread;

use anyhow::Result;
use serde::Serialize;
use sysinfo::{CpuRefreshKind, RefreshKind, System};

use crate::run::Step;

/// A load per processor above which figures say more about the neighbours than about the contenders.
const BUSY: f64 = 0.5;

#[derive(Debug, Serialize)]
pub(super) struct Facts {
    cpu: String,
    cpus: usize,
    kernel: String,
    rustc: String,
    commit: String,
}

impl Facts {
    pub(super) fn gather() -> Result<Self> {
        let system =
            System::new_with_specifics(RefreshKind::nothing().with_cpu(CpuRefreshKind::nothing()));
        Ok(Self {
            cpu: system
                .cpus()
                .first()
                .map_or_else(|| "unknown".to_owned(), |cpu| cpu.brand().trim().to_owned()),
            cpus: cpus(),
            kernel: System::kernel_long_version(),
            rustc: Step::new("rustc", ["--version"])
                .capture()?
                .trim()
                .to_owned(),
            // A source archive has no history, and is measured all the same.
            commit: Step::new("git", ["describe", "--always", "--dirty"])
                .capture()
                .map_or_else(|_| "unknown".to_owned(), |text| text.trim().to_owned()),
        })
    }
}

impl fmt::Display for Facts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            cpu,
            cpus,
            kernel,
            rustc,
            commit,
        } = self;
        write!(f, "{cpu}, {cpus} CPUs, {kernel}, {rustc}, commit {commit}")
    }
}

/// The load averages over 1, 5 and 15 minutes, in runnable threads.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Load {
    one: f64,
    five: f64,
    fifteen: f64,
}

impl Load {
    pub(super) fn now() -> Self {
        let load = System::load_average();
        Self {
            one: load.one,
            five: load.five,
            fifteen: load.fifteen,
        }
    }

    /// Says so when the machine was already at work.
    pub(super) fn warn(self) {
        if self.one > BUSY * cpus() as f64 {
            println!(
                "warning: the machine was busy before the first cell (load {:.2} on {} CPUs): \
                 compare ratios, do not quote figures",
                self.one,
                cpus()
            );
        }
    }
}

fn cpus() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}
