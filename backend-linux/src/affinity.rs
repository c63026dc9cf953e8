//! Which CPUs a thread may run on, read and set for the calling thread.
//!
//! The kernel intersects a requested set with the CPUs that exist, are online and are granted by the cgroup,
//! and fails only when nothing is left: asked for CPUs 0 and 900 on a machine of two, it silently gives
//! CPU 0. Here a set is granted whole or not at all, and the error names the CPU that was missing.
//!
//! CPUs are plain numbers, as in `/sys/devices/system/cpu` and `taskset`, from 0 to
//! [`CpuSet::MAX_CPUS`]` − 1`. Nothing here allocates except `allowed_cpus` (feature `std`).

use core::fmt;

use rustix::io::Errno;
use rustix::process::getpid;
use rustix::thread::{sched_getaffinity, sched_setaffinity};

/// Why a set of CPUs was not granted or could not be read. `errno` is the kernel's number of the error.
///
/// See [`CpuSet`] for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AffinityError {
    /// The number is beyond what a [`CpuSet`] can name.
    #[error("CPU {cpu} is out of range: CPUs 0 to {} can be named", CpuSet::MAX_CPUS - 1)]
    OutOfRange {
        /// The CPU that was asked for.
        cpu: usize,
    },
    /// A CPU does not exist, is offline, or is not granted to this process. The thread's set is as before.
    #[error(
        "CPU {cpu} is not available: absent, offline or not granted to this process (errno {errno})"
    )]
    Unavailable {
        /// The lowest CPU that was asked for and is not available.
        cpu: usize,
        /// `EINVAL` (22), also where the kernel silently left the CPU out.
        errno: i32,
    },
    /// No CPU was asked for.
    #[error("an empty set of CPUs: a thread must be allowed at least one")]
    Empty,
    /// The kernel refused to set the thread's CPUs at all: a sandbox. The thread's set is as before.
    #[error("the kernel refused to move the thread to CPU {cpu} (errno {errno})")]
    SetRefused {
        /// The lowest CPU that was asked for.
        cpu: usize,
        /// What the kernel said.
        errno: i32,
    },
    /// The kernel refused to tell a thread's CPUs: a sandbox, or a machine of more than
    /// [`CpuSet::MAX_CPUS`] CPUs (`EINVAL`, 22).
    #[error("the kernel refused to tell on which CPUs a thread may run (errno {errno})")]
    ReadRefused {
        /// What the kernel said.
        errno: i32,
    },
}

/// A set of CPUs by number, in 128 bytes.
///
/// ```
/// use parkade_linux::{AffinityError, CpuSet};
///
/// let mut set = CpuSet::from_cpus([3, 0])?;
/// assert!(set.iter().eq([0, 3])); // ascending
/// assert_eq!(set.to_string(), "0,3");
/// assert!(set.contains(3) && set.len() == 2 && CpuSet::new().is_empty());
///
/// let cpu = CpuSet::MAX_CPUS;
/// assert_eq!(set.insert(cpu), Err(AffinityError::OutOfRange { cpu }));
/// # Ok::<(), AffinityError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct CpuSet(rustix::thread::CpuSet);

impl CpuSet {
    /// How many CPUs can be named: numbers from 0 to one less. See [`CpuSet`] for an example.
    pub const MAX_CPUS: usize = rustix::thread::CpuSet::MAX_CPU;

    /// The empty set. See [`CpuSet`] for an example.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The set of these CPUs, in any order, repetitions allowed. See [`CpuSet`] for an example.
    ///
    /// # Errors
    ///
    /// [`AffinityError::OutOfRange`] for the first number of [`MAX_CPUS`](CpuSet::MAX_CPUS) or more. Whether the
    /// CPUs exist is not asked here.
    pub fn from_cpus(cpus: impl IntoIterator<Item = usize>) -> Result<Self, AffinityError> {
        let mut set = Self::new();
        for cpu in cpus {
            set.insert(cpu)?;
        }
        Ok(set)
    }

    /// Adds a CPU. See [`CpuSet`] for an example.
    ///
    /// # Errors
    ///
    /// [`AffinityError::OutOfRange`] when it is [`MAX_CPUS`](CpuSet::MAX_CPUS) or more.
    pub fn insert(&mut self, cpu: usize) -> Result<(), AffinityError> {
        if cpu >= Self::MAX_CPUS {
            return Err(AffinityError::OutOfRange { cpu });
        }
        self.0.set(cpu);
        Ok(())
    }

    /// Whether the CPU is in the set; false for any number out of range. See [`CpuSet`] for an example.
    #[must_use]
    pub fn contains(&self, cpu: usize) -> bool {
        cpu < Self::MAX_CPUS && self.0.is_set(cpu)
    }

    /// How many CPUs are in the set. See [`CpuSet`] for an example.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.count() as usize
    }

    /// Whether no CPU is in the set. See [`CpuSet`] for an example.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The CPUs in ascending order. See [`CpuSet`] for an example.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        (0..Self::MAX_CPUS).filter(|&cpu| self.0.is_set(cpu))
    }
}

impl fmt::Debug for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

/// The CPUs in ascending order, separated by commas.
impl fmt::Display for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, cpu) in self.iter().enumerate() {
            let comma = if place == 0 { "" } else { "," };
            write!(f, "{comma}{cpu}")?;
        }
        Ok(())
    }
}

/// Lets the calling thread run on this one CPU only. Threads that it starts later inherit that.
///
/// Three system calls.
///
/// # Errors
///
/// As for [`set_current_thread`], and [`AffinityError::OutOfRange`].
///
/// ```
/// use parkade_linux::{AffinityError, affinity};
///
/// # if !cfg!(miri) {
/// let last = affinity::process()?.iter().last().expect("a process has a CPU");
/// affinity::pin_current_thread(last)?;
/// assert!(affinity::current_thread()?.iter().eq([last]));
///
/// let refused = affinity::pin_current_thread(1023).unwrap_err();
/// assert!(refused.to_string().starts_with("CPU 1023 is not available"));
/// # }
/// # Ok::<(), AffinityError>(())
/// ```
pub fn pin_current_thread(cpu: usize) -> Result<(), AffinityError> {
    set_current_thread(&CpuSet::from_cpus([cpu])?)
}

/// Lets the calling thread run on exactly these CPUs. Threads that it starts later inherit that.
///
/// The set may go beyond the thread's present one, as far as the system grants it. Three system calls, one
/// more on failure.
///
/// # Errors
///
/// [`AffinityError::Unavailable`] with the lowest CPU that is not available, [`AffinityError::Empty`] for no
/// CPU, [`AffinityError::SetRefused`] or [`AffinityError::ReadRefused`] when the kernel forbids the call. In each
/// case the thread's set is as before.
///
/// ```
/// use parkade_linux::affinity::{self, AffinityError, CpuSet};
///
/// # if !cfg!(miri) {
/// let all = affinity::process()?;
/// affinity::set_current_thread(&all)?;
/// assert_eq!(affinity::current_thread()?, all);
/// assert_eq!(affinity::set_current_thread(&CpuSet::new()), Err(AffinityError::Empty));
/// # }
/// # Ok::<(), AffinityError>(())
/// ```
pub fn set_current_thread(cpus: &CpuSet) -> Result<(), AffinityError> {
    let Some(lowest) = cpus.iter().next() else {
        return Err(AffinityError::Empty);
    };
    let before = current_thread()?;
    match sched_setaffinity(None, &cpus.0) {
        Ok(()) => {}
        // None of them is available.
        Err(Errno::INVAL) => return Err(unavailable(lowest)),
        Err(errno) => return Err(set_refused(lowest, errno)),
    }
    let granted = current_thread()?;
    match cpus.iter().find(|&cpu| !granted.contains(cpu)) {
        None => Ok(()),
        Some(missing) => {
            sched_setaffinity(None, &before.0).map_err(|errno| set_refused(lowest, errno))?;
            Err(unavailable(missing))
        }
    }
}

/// The CPUs on which the calling thread may run now. One system call.
///
/// See [`set_current_thread`] for an example.
///
/// # Errors
///
/// [`AffinityError::ReadRefused`] when the kernel forbids it or has more CPUs than a set can name.
pub fn current_thread() -> Result<CpuSet, AffinityError> {
    sched_getaffinity(None).map(CpuSet).map_err(read_refused)
}

/// The CPUs of the process: those on which its first thread may run now. Two system calls.
///
/// That is what `taskset` gave the process, as long as its first thread has not been pinned. So read it
/// early, and give it to threads that shall not inherit their creator's pin. See [`set_current_thread`] for an example.
///
/// # Errors
///
/// [`AffinityError::ReadRefused`], as for [`current_thread`].
pub fn process() -> Result<CpuSet, AffinityError> {
    sched_getaffinity(Some(getpid()))
        .map(CpuSet)
        .map_err(read_refused)
}

/// The CPUs of [`process`] as a sorted list.
///
/// # Errors
///
/// [`AffinityError::ReadRefused`], as for [`current_thread`].
///
/// ```
/// use parkade_linux::affinity;
///
/// # if !cfg!(miri) {
/// let cpus = affinity::allowed_cpus()?;
/// assert!(affinity::process()?.iter().eq(cpus)); // ascending
/// # }
/// # Ok::<(), affinity::AffinityError>(())
/// ```
#[cfg(feature = "std")]
pub fn allowed_cpus() -> Result<Vec<usize>, AffinityError> {
    Ok(process()?.iter().collect())
}

fn unavailable(cpu: usize) -> AffinityError {
    AffinityError::Unavailable {
        cpu,
        errno: Errno::INVAL.raw_os_error(),
    }
}

fn set_refused(cpu: usize, errno: Errno) -> AffinityError {
    AffinityError::SetRefused {
        cpu,
        errno: errno.raw_os_error(),
    }
}

fn read_refused(errno: Errno) -> AffinityError {
    AffinityError::ReadRefused {
        errno: errno.raw_os_error(),
    }
}
