//! The workers: one tag, each worker pinned to a CPU of its own as long as there are enough.

use std::fmt;

use parkade::{Backend, BuildError, CpuList, Pinning, RuntimeOn, Tag};

/// Where the workers run.
#[derive(Debug)]
pub(crate) enum Placement {
    /// Worker `i` on CPU `i` of the list, over and over.
    Pinned(CpuList),
    /// Anywhere, because of that.
    Anywhere(String),
}

/// Starts so many workers, by default one per CPU, on those CPUs, by default all that the process may use.
///
/// The pinning is lenient: a CPU that the process may not use costs the worker its place, which the metrics
/// report, and not the user the program.
pub(crate) fn start<B: Backend>(
    workers: Option<usize>,
    cpus: Option<&CpuList>,
) -> Result<(RuntimeOn<B>, Placement), BuildError> {
    let placement = cpus.map_or_else(allowed::<B>, |cpus| Placement::Pinned(cpus.clone()));
    let mut tag = Tag::new("hash").pinning(Pinning::Lenient);
    if let Placement::Pinned(cpus) = &placement {
        tag = tag.cpus(cpus.to_string());
    }
    if let Some(workers) = workers.or(cpus.map(|cpus| cpus.cpus().len())) {
        tag = tag.workers(workers);
    }
    Ok((RuntimeOn::builder().tag(tag).build()?, placement))
}

/// All CPUs that this process may use.
fn allowed<B: Backend>() -> Placement {
    let cpus = match B::allowed_cpus() {
        Ok(cpus) => cpus,
        Err(unknown) => return Placement::Anywhere(unknown.to_string()),
    };
    let list: Vec<_> = cpus.iter().map(usize::to_string).collect();
    list.join(",").parse().map_or_else(
        |error: parkade::CpuListError| Placement::Anywhere(error.to_string()),
        Placement::Pinned,
    )
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pinned(cpus) => write!(f, "pinned to CPUs {cpus}"),
            Self::Anywhere(reason) => write!(f, "not pinned ({reason})"),
        }
    }
}
