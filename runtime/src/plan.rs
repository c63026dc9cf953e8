//! From a builder's wishes to a checked plan, before any thread exists.

use std::collections::HashSet;
use std::num::NonZero;
use std::thread;

use parkade_core::TagConfig;

use crate::backend::{AffinityError, Backend};
use crate::build_error::BuildError;
use crate::cpu_list::{CpuList, Ranges};
use crate::hooks::WorkerInfo;
use crate::names;
use crate::panics::PanicPolicy;
use crate::tag::{Pinning, Tag};

/// The most workers of one runtime, over all its tags.
pub const MAX_WORKERS: usize = 4096;

/// The largest capacity of a run queue, in tasks.
pub const MAX_RUN_QUEUE: usize = 1 << 20;

/// The smallest and the largest stack of a worker, in bytes.
const STACK_SIZES: std::ops::RangeInclusive<usize> = 16 * 1024..=usize::MAX / 4;

/// A runtime that can be built, as far as can be known without building it.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) tags: Vec<TagPlan>,
    /// The CPUs of the process as it is now, if they can be told.
    pub(crate) process_cpus: Option<Vec<usize>>,
}

#[derive(Debug)]
pub(crate) struct TagPlan {
    pub(crate) name: String,
    pub(crate) queues: TagConfig,
    pub(crate) pinning: Pinning,
    pub(crate) on_panic: PanicPolicy,
    pub(crate) workers: Vec<WorkerPlan>,
}

#[derive(Debug)]
pub(crate) struct WorkerPlan {
    pub(crate) info: WorkerInfo,
    /// Whether the CPU in `info` is one that the process may use.
    pub(crate) cpu_is_allowed: bool,
}

impl Plan {
    pub(crate) fn new<B: Backend>(
        tags: &[Tag],
        prefix: &str,
        stack_size: Option<usize>,
    ) -> Result<Self, BuildError> {
        let workers = check_shape(tags, prefix)?;
        check_stack_size(stack_size)?;
        let allowed = B::allowed_cpus();
        let named: Vec<_> = tags
            .iter()
            .map(|tag| tag.name.as_str())
            .zip(workers)
            .collect();
        let labels = names::labels(prefix, &named);
        let mut plans = Vec::with_capacity(tags.len());
        for ((tag, (_, workers)), label) in tags.iter().zip(named).zip(labels) {
            let cpus = tag
                .cpus
                .as_deref()
                .map(|list| read_cpus(tag, list))
                .transpose()?;
            if let (Some(cpus), Pinning::Strict) = (&cpus, tag.pinning) {
                check_cpus(tag, cpus, &allowed)?;
            }
            let cpu_of = |index: usize| {
                cpus.as_ref()
                    .map(|list| list.cpus()[index % list.cpus().len()])
            };
            let is_allowed = |cpu| matches!(&allowed, Ok(allowed) if allowed.contains(&cpu));
            let worker = |index| WorkerPlan {
                info: WorkerInfo {
                    tag: tag.name.clone(),
                    index,
                    thread_name: format!("{label}-{index}"),
                    cpu: cpu_of(index),
                },
                cpu_is_allowed: cpu_of(index).is_some_and(is_allowed),
            };
            let mut queues = tag.queues;
            queues.workers = workers;
            plans.push(TagPlan {
                name: tag.name.clone(),
                queues,
                pinning: tag.pinning,
                on_panic: tag.on_panic.clone(),
                workers: (0..workers).map(worker).collect(),
            });
        }
        Ok(Self {
            tags: plans,
            process_cpus: allowed.ok(),
        })
    }

    pub(crate) fn workers(&self) -> usize {
        self.tags.iter().map(|tag| tag.workers.len()).sum()
    }
}

/// Checks names and numbers; returns how many workers each tag has.
fn check_shape(tags: &[Tag], prefix: &str) -> Result<Vec<usize>, BuildError> {
    if tags.is_empty() {
        return Err(BuildError::NoTags);
    }
    let mut names = HashSet::new();
    let mut requested = 0_usize;
    let mut workers = Vec::with_capacity(tags.len());
    for (index, tag) in tags.iter().enumerate() {
        let name = || tag.name.clone();
        if tag.name.is_empty() {
            return Err(BuildError::EmptyTagName { index });
        }
        if let Some(name) = [prefix, &tag.name].iter().find(|name| name.contains('\0')) {
            return Err(BuildError::ZeroByteInName {
                name: (*name).to_owned(),
            });
        }
        if !names.insert(&tag.name) {
            return Err(BuildError::DuplicateTag { name: name() });
        }
        let own = tag.workers.unwrap_or_else(|| {
            thread::available_parallelism()
                .map_or(1, NonZero::get)
                .min(MAX_WORKERS)
        });
        if own == 0 {
            return Err(BuildError::NoWorkers { tag: name() });
        }
        requested = requested.saturating_add(own);
        if requested > MAX_WORKERS {
            return Err(BuildError::TooManyWorkers {
                requested,
                limit: MAX_WORKERS,
            });
        }
        let capacity = tag.queues.run_queue;
        if !capacity.is_power_of_two() || !(2..=MAX_RUN_QUEUE).contains(&capacity) {
            return Err(BuildError::RunQueue {
                tag: name(),
                capacity,
                limit: MAX_RUN_QUEUE,
            });
        }
        workers.push(own);
    }
    Ok(workers)
}

fn check_stack_size(stack_size: Option<usize>) -> Result<(), BuildError> {
    match stack_size {
        Some(bytes) if !STACK_SIZES.contains(&bytes) => Err(BuildError::StackSize {
            bytes,
            smallest: *STACK_SIZES.start(),
            largest: *STACK_SIZES.end(),
        }),
        _ => Ok(()),
    }
}

fn read_cpus(tag: &Tag, list: &str) -> Result<CpuList, BuildError> {
    list.parse().map_err(|source| BuildError::CpuList {
        tag: tag.name.clone(),
        source,
    })
}

/// Checks the whole list, also what is beyond the number of workers: a slip is a slip.
fn check_cpus(
    tag: &Tag,
    cpus: &CpuList,
    allowed: &Result<Vec<usize>, AffinityError>,
) -> Result<(), BuildError> {
    let allowed = match allowed {
        Ok(allowed) => allowed,
        Err(refused) => {
            return Err(BuildError::PinningUnavailable {
                tag: tag.name.clone(),
                cpus: cpus.to_string(),
                reason: refused.to_string(),
            });
        }
    };
    match cpus.cpus().iter().find(|cpu| !allowed.contains(cpu)) {
        None => Ok(()),
        Some(&cpu) => Err(BuildError::CpuNotAllowed {
            tag: tag.name.clone(),
            cpu,
            allowed: Ranges(allowed).to_string(),
        }),
    }
}
