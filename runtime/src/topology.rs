//! Which CPUs are threads of one physical core, so that workers can be given cores before their second threads.
//!
//! Two threads of a core share its arithmetic, so a pool of as many workers as cores does best with one on each.
//! The kernel tells by a directory per CPU (`/sys/devices/system/cpu/cpu*/topology`, documented in the kernel's
//! `Documentation/admin-guide/cputopology.rst`): the list of threads of its core, the number of the core, and that
//! of the package. What the process may use is in `/proc/self/status`. Nothing else is asked, so on a system without
//! those files there is an error and no guess.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::cpu_list::{CpuList, CpuListError};

/// The physical cores that this process may use, each with those of its CPUs that the process may use.
///
/// Use it to choose the [`cpus`](crate::Tag::cpus) of a tag that computes. It is a snapshot: CPUs that go offline
/// later, and a mask that is changed later, are not in it.
///
/// ```
/// use parkade::topology::Topology;
/// use parkade::{Pinning, Runtime, Tag};
///
/// let compute = Tag::new("compute").pinning(Pinning::Lenient);
/// let compute = match Topology::detect() {
///     Ok(topology) => {
///         // One worker a core; no two on one core.
///         let cores = topology.cores().len();
///         compute.workers(cores).cpus(topology.cpus_physical_first())
///     }
///     Err(why) => {
///         println!("not pinned: {why}");
///         compute
///     }
/// };
/// let runtime = Runtime::builder().tag(compute).build()?;
/// assert_eq!(runtime.spawn(|| 6 * 7).join()?, 42);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topology {
    cores: Vec<Core>,
}

/// One physical core.
///
/// ```
/// use parkade::topology::Topology;
///
/// if let Ok(topology) = Topology::detect() {
///     for core in topology.cores() {
///         assert!(!core.cpus.is_empty());
///     }
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Core {
    /// The number of its package (its socket), where the kernel knows it.
    pub package: Option<u32>,
    /// Its number within the package as the hardware counts, with gaps; where the kernel knows it.
    pub id: Option<u32>,
    /// Its CPUs that the process may use, ascending; at least one.
    pub cpus: Vec<usize>,
}

/// Why the topology is not known.
///
/// ```
/// use parkade::topology::{Topology, TopologyError};
///
/// match Topology::detect() {
///     Ok(topology) => println!("{} cores", topology.cores().len()),
///     Err(TopologyError::Unsupported { path }) => println!("no {}", path.display()),
///     Err(other) => println!("{other}"),
/// }
/// ```
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TopologyError {
    /// This system does not tell: it is no Linux, or a sandbox hides the files.
    #[error("this system does not tell which CPUs share a core: {} is not there", path.display())]
    Unsupported {
        /// What is missing.
        path: PathBuf,
    },
    /// A file could not be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file is longer than any of its kind.
    #[error("{} is longer than {limit} bytes", path.display())]
    TooLong {
        /// The file.
        path: PathBuf,
        /// The most that is read, in bytes.
        limit: u64,
    },
    /// A file says something else than a list of CPUs that [`CpuList`] takes.
    #[error("{} has no list of CPUs", path.display())]
    CpuList {
        /// The file.
        path: PathBuf,
        /// What is wrong with the list.
        source: CpuListError,
    },
}

/// Where a process reads which CPUs it may use: the mask of its first thread.
const STATUS: &str = "proc/self/status";
const ALLOWED: &str = "Cpus_allowed_list:";
const CPUS: &str = "sys/devices/system/cpu";

/// The most that is read of a file, in bytes; the status of a process with many groups is the longest.
const LIMIT: u64 = 1 << 20;

impl Topology {
    /// Reads the topology of this machine, as far as this process may use it.
    ///
    /// May be called from any thread. Reads one small file for the process and three per CPU.
    /// See [`Topology`] for an example.
    ///
    /// # Errors
    ///
    /// [`TopologyError::Unsupported`] on a system without these files, else what is wrong with which.
    pub fn detect() -> Result<Self, TopologyError> {
        Self::below(Path::new("/"))
    }

    /// The cores, by package and then by their lowest CPU; at least one. See [`Topology`] for an example.
    #[must_use]
    pub fn cores(&self) -> &[Core] {
        &self.cores
    }

    /// All CPUs of all cores: first one of each core, then the second of each that has one, and so on.
    ///
    /// A tag of `n` workers with this list has its workers on as many cores as there are, up to `n`.
    ///
    /// ```
    /// use parkade::topology::Topology;
    ///
    /// if let Ok(topology) = Topology::detect() {
    ///     let list = topology.cpus_physical_first();
    ///     let all: usize = topology.cores().iter().map(|core| core.cpus.len()).sum();
    ///     assert_eq!(list.cpus().len(), all);
    ///     println!("one worker a core, then the others: {list}");
    /// }
    /// ```
    #[must_use]
    pub fn cpus_physical_first(&self) -> CpuList {
        let most = self.cores.iter().map(|core| core.cpus.len()).max();
        let round = |thread| {
            let cores = self.cores.iter();
            cores.filter_map(move |core| core.cpus.get(thread).copied())
        };
        CpuList::of((0..most.unwrap_or(0)).flat_map(round).collect())
    }

    /// Reads what is below `root`, which is `/` but in tests.
    fn below(root: &Path) -> Result<Self, TopologyError> {
        let status = root.join(STATUS);
        let text = read(&status)?.ok_or_else(|| missing(&status))?;
        let allowed = text.lines().find_map(|line| line.strip_prefix(ALLOWED));
        let allowed = parse(&status, allowed.ok_or_else(|| missing(&status))?)?;
        let directory = root.join(CPUS);
        let mut left: Vec<usize> = allowed.cpus().to_vec();
        left.sort_unstable();
        left.dedup();
        // One that is offline has no topology.
        left.retain(|cpu| topology_of(&directory, *cpu).exists());
        let mut cores = Vec::new();
        while let Some(first) = left.first().copied() {
            let of_cpu = topology_of(&directory, first);
            let list = of_cpu.join("thread_siblings_list");
            let siblings = read(&list)?.ok_or_else(|| missing(&list))?;
            let siblings = parse(&list, &siblings)?;
            let is_of_core = |cpu: &usize| *cpu == first || siblings.cpus().contains(cpu);
            // Taken out of what is left, so that a CPU is in one core, whatever the files say.
            let cpus = left.extract_if(.., |cpu| is_of_core(cpu)).collect();
            cores.push(Core {
                package: number(&of_cpu.join("physical_package_id"))?,
                id: number(&of_cpu.join("core_id"))?,
                cpus,
            });
        }
        if cores.is_empty() {
            return Err(missing(&directory.join("cpu*/topology")));
        }
        cores.sort_by_key(|core| (core.package, core.cpus[0]));
        Ok(Self { cores })
    }
}

fn topology_of(directory: &Path, cpu: usize) -> PathBuf {
    directory.join(format!("cpu{cpu}/topology"))
}

fn missing(path: &Path) -> TopologyError {
    let path = path.to_owned();
    TopologyError::Unsupported { path }
}

/// The text of a file; `None` if there is none.
fn read(path: &Path) -> Result<Option<String>, TopologyError> {
    let mut text = String::new();
    let opened = File::open(path);
    match opened.and_then(|file| file.take(LIMIT + 1).read_to_string(&mut text)) {
        Ok(_) if text.len() as u64 > LIMIT => Err(TopologyError::TooLong {
            path: path.to_owned(),
            limit: LIMIT,
        }),
        Ok(_) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(TopologyError::Read {
            path: path.to_owned(),
            source,
        }),
    }
}

fn parse(path: &Path, list: &str) -> Result<CpuList, TopologyError> {
    list.trim().parse().map_err(|source| {
        let path = path.to_owned();
        TopologyError::CpuList { path, source }
    })
}

/// A number that the kernel may not know: then it says −1, or nothing.
fn number(path: &Path) -> Result<Option<u32>, TopologyError> {
    Ok(read(path)?.and_then(|text| text.trim().parse().ok()))
}

#[cfg(test)]
mod tests;
