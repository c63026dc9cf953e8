//! What workers have used: CPU time and context switches, as the system counts them for each thread.
//!
//! On Linux both are files of a thread's directory in `/proc` (`schedstat`, in ns, and `status`). Elsewhere the
//! runtime's own count of sleeps has to do: who never went to sleep again was never awake in between.

use std::fs;
use std::ops::{AddAssign, Sub};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use parkade::{Backend, RuntimeOn, UnknownTag};

/// A hang detector for what should take some 20 ms.
const LIMIT: Duration = Duration::from_secs(20);

/// How long nobody must have run to be at rest.
const STILL: Duration = Duration::from_millis(20);

/// The workers of one tag.
pub(crate) struct Threads<'r, B: Backend> {
    runtime: &'r RuntimeOn<B>,
    tag: &'r str,
    /// `None`: the system has no such files.
    directories: Option<Vec<PathBuf>>,
}

/// What they have used, since they started or in some time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Used {
    /// Times that one of them went to sleep, as the runtime counts.
    pub(crate) sleeps: usize,
    /// What the system says.
    pub(crate) system: Option<System>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct System {
    pub(crate) cpu: Duration,
    pub(crate) switches: u64,
}

impl<'r, B: Backend> Threads<'r, B> {
    /// Has each worker of the tag say where the files of its thread are.
    pub(crate) fn of(runtime: &'r RuntimeOn<B>, tag: &'r str) -> Result<Self, UnknownTag> {
        let proc = Path::new("/proc");
        let copies = runtime
            .tag(tag)?
            .broadcast(move |_| fs::read_link(proc.join("thread-self")).ok());
        let links = copies.into_iter().map(|copy| copy.join().ok().flatten());
        let directories = links.map(|link| Some(proc.join(link?))).collect();
        Ok(Self {
            runtime,
            tag,
            directories,
        })
    }

    pub(crate) fn used(&self) -> Used {
        let metrics = self.runtime.metrics();
        let directories = self.directories.iter().flatten();
        let system = directories.map(|directory| System::of(directory));
        let sum = system.reduce(|sum, one| Some(sum?.plus(one?)));
        Used {
            sleeps: metrics.tag(self.tag).map_or(0, |tag| tag.parked),
            system: sum.flatten(),
        }
    }

    /// Waits until every worker sleeps; returns what they have used by then.
    pub(crate) fn rest(&self) -> Result<Used, String> {
        let begun = Instant::now();
        let mut before = self.used();
        while begun.elapsed() < LIMIT {
            thread::sleep(STILL);
            let (now, metrics) = (self.used(), self.runtime.metrics());
            // The metrics see the announcement, the system the sleep; a thread that waits for a CPU is seen by both.
            let idle = metrics
                .tag(self.tag)
                .is_some_and(|tag| tag.idle == tag.workers);
            if idle && self.sleep() && now == before {
                return Ok(now);
            }
            before = now;
        }
        Err(format!("the workers of {} do not come to rest", self.tag))
    }

    /// Whether the system says that each thread sleeps; true if it says nothing.
    fn sleep(&self) -> bool {
        let mut directories = self.directories.iter().flatten();
        directories.all(|directory| {
            let status = fs::read_to_string(directory.join("status")).unwrap_or_default();
            let state = status.lines().find_map(|line| line.strip_prefix("State:"));
            state.is_some_and(|state| state.trim_start().starts_with('S'))
        })
    }
}

impl System {
    fn of(directory: &Path) -> Option<Self> {
        let read = |file| fs::read_to_string(directory.join(file)).ok();
        let schedstat = read("schedstat")?;
        let nanoseconds = schedstat.split_whitespace().next()?.parse().ok()?;
        let status = read("status")?;
        // Voluntary ones and the others.
        let switches = status
            .lines()
            .filter(|line| line.contains("ctxt_switches:"));
        let numbers = switches.map(|line| line.split_whitespace().last()?.parse::<u64>().ok());
        Some(Self {
            cpu: Duration::from_nanos(nanoseconds),
            switches: numbers.sum::<Option<u64>>()?,
        })
    }

    fn plus(self, other: Self) -> Self {
        Self {
            cpu: self.cpu + other.cpu,
            switches: self.switches + other.switches,
        }
    }
}

/// What was used between two readings.
impl Sub for Used {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        let system = self.system.zip(before.system).map(|(now, before)| System {
            cpu: now.cpu.saturating_sub(before.cpu),
            switches: now.switches.saturating_sub(before.switches),
        });
        Self {
            sleeps: self.sleeps.saturating_sub(before.sleeps),
            system,
        }
    }
}

impl AddAssign for Used {
    fn add_assign(&mut self, other: Self) {
        self.sleeps += other.sleeps;
        self.system = match (self.system, other.system) {
            (Some(sum), Some(one)) => Some(sum.plus(one)),
            (sum, one) => sum.or(one),
        };
    }
}
