//! The CPUs that this process is confined to.

use anyhow::{Result, bail};

/// Confines this thread, and those that it will start, to the first `wanted` of its CPUs; returns which they are.
///
/// # Errors
///
/// If it has fewer.
#[cfg(target_os = "linux")]
pub(crate) fn confine(wanted: u16) -> Result<Vec<usize>> {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

    let mine = sched_getaffinity(None)?;
    let cpus: Vec<_> = (0..CpuSet::MAX_CPU)
        .filter(|&cpu| mine.is_set(cpu))
        .take(usize::from(wanted))
        .collect();
    if cpus.len() < usize::from(wanted) {
        bail!("{wanted} CPUs are wanted, and there are {}", cpus.len());
    }
    let mut confined = CpuSet::new();
    cpus.iter().for_each(|&cpu| confined.set(cpu));
    sched_setaffinity(None, &confined)?;
    Ok(cpus)
}

/// Other systems do not confine a thread.
#[cfg(not(target_os = "linux"))]
pub(crate) fn confine(_: u16) -> Result<Vec<usize>> {
    bail!("threads cannot be confined to CPUs here")
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn a_thread_and_its_own_are_confined_and_no_other() -> Result<()> {
        let mine = || rustix::thread::sched_getaffinity(None);
        let before = mine()?;
        thread::scope(|scope| {
            scope
                .spawn(|| -> Result<()> {
                    assert_eq!(confine(1)?.len(), 1);
                    assert_eq!(mine()?.count(), 1);
                    scope.spawn(|| assert_eq!(mine().map(|cpus| cpus.count()), Ok(1)));
                    assert!(confine(2).is_err());
                    Ok(())
                })
                .join()
                .expect("it does not panic")
        })?;
        assert_eq!(mine()?, before);
        Ok(())
    }
}
