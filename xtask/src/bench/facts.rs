//! What a reader must know of the machine to judge a figure.

use std::fmt;
use std::thread;

use anyhow::Result;
use serde::{Deserialize, Serialize};
use sysinfo::{CpuRefreshKind, RefreshKind, System};

use crate::run::Step;

const COMMIT: &str = "commit";

/// The machine, and what was built on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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

impl Facts {
    /// In words, what differs from an earlier machine. Commits differ by intention and are not among it.
    pub(super) fn differences(&self, earlier: &Self) -> Vec<String> {
        let facts = self.listed().into_iter().zip(earlier.listed());
        facts
            .filter(|((name, now), (_, then))| now != then && *name != COMMIT)
            .map(|((name, now), (_, then))| format!("{name}: {then} then, {now} now"))
            .collect()
    }

    /// Each fact with its name.
    pub(super) fn listed(&self) -> [(&'static str, String); 5] {
        [
            ("processor", self.cpu.clone()),
            ("CPUs", self.cpus.to_string()),
            ("system", self.kernel.clone()),
            ("compiler", self.rustc.clone()),
            (COMMIT, self.commit.clone()),
        ]
    }

    #[cfg(test)]
    pub(super) fn fixture() -> Self {
        Self {
            cpu: "test".to_owned(),
            cpus: 2,
            kernel: "Linux".to_owned(),
            rustc: "rustc 1".to_owned(),
            commit: "abc".to_owned(),
        }
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
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
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
}

/// The CPUs that this process may use.
pub(super) fn cpus() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_named_with_both_values() {
        let here = Facts::fixture();
        let there = Facts {
            cpu: "other".to_owned(),
            commit: "older".to_owned(),
            ..here.clone()
        };
        assert_eq!(here.differences(&here), Vec::<String>::new());
        assert_eq!(
            here.differences(&there),
            ["processor: other then, test now"]
        );
    }
}
