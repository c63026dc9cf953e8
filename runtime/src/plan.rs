//! From a builder's wishes to a checked plan, before any thread exists.

use std::collections::HashSet;
use std::num::NonZero;
use std::thread;
use std::time::Duration;

use parkade_core::TagConfig;

use crate::backend::{AffinityError, Backend};
use crate::build_error::BuildError;
use crate::cpu_list::{CpuList, Ranges};
use crate::hooks::WorkerInfo;
use crate::linger;
use crate::names;
use crate::panics::PanicPolicy;
use crate::scaler::tally::Bounds;
use crate::tag::{Pinning, Tag};

/// The most workers of one runtime, over all its tags: those included that come later.
///
/// ```
/// use parkade::{BuildError, MAX_WORKERS, Runtime, Tag};
///
/// let tag = Tag::new("crowd").workers(MAX_WORKERS + 1);
/// let refused = Runtime::builder().tag(tag).build().unwrap_err();
/// assert!(matches!(refused, BuildError::TooManyWorkers { .. }));
/// ```
pub const MAX_WORKERS: usize = 4096;

/// The largest capacity of a run queue, in tasks.
///
/// ```
/// use parkade::{BuildError, MAX_RUN_QUEUE, Runtime, Tag};
///
/// let tag = Tag::new("deep").workers(1).run_queue(2 * MAX_RUN_QUEUE);
/// let refused = Runtime::builder().tag(tag).build().unwrap_err();
/// assert!(matches!(refused, BuildError::RunQueue { .. }));
/// ```
pub const MAX_RUN_QUEUE: usize = 1 << 20;

/// The shortest keep-alive time: it is also the period of the look at a tag above its minimum.
const SHORTEST_KEEP_ALIVE: Duration = Duration::from_millis(1);

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
    pub(crate) bounds: Bounds,
    /// One for each worker that there may be at a time; the first ones come first.
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
        ceiling: Option<usize>,
    ) -> Result<Self, BuildError> {
        let bounds = check_shape(tags, prefix)?;
        check_ceiling(&bounds, ceiling)?;
        check_stack_size(stack_size)?;
        let allowed = B::allowed_cpus();
        let named: Vec<_> = tags
            .iter()
            .map(|tag| tag.name.as_str())
            .zip(bounds.iter().map(Bounds::places))
            .collect();
        let labels = names::labels(prefix, &named);
        let mut plans = Vec::with_capacity(tags.len());
        for ((tag, bounds), label) in tags.iter().zip(bounds).zip(labels) {
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
            queues.workers = bounds.places();
            queues.starting = bounds.min;
            plans.push(TagPlan {
                name: tag.name.clone(),
                queues,
                pinning: tag.pinning,
                on_panic: tag.on_panic.clone(),
                bounds,
                workers: (0..bounds.places()).map(worker).collect(),
            });
        }
        let mut plan = Self {
            tags: plans,
            process_cpus: allowed.ok(),
        };
        plan.set_linger(tags);
        Ok(plan)
    }

    fn set_linger(&mut self, tags: &[Tag]) {
        // This knows quotas; and CPUs too, but for a process that the backend alone knows to be confined.
        let available = thread::available_parallelism().map_or(1, NonZero::get);
        let allowed = self.process_cpus.as_ref().map_or(available, Vec::len);
        let cpus = allowed.min(available);
        let of_tag = |plan: &TagPlan| -> Vec<_> {
            let workers = plan.workers.iter();
            workers.map(|worker| worker.info.cpu).collect()
        };
        let each: Vec<_> = self.tags.iter().map(of_tag).collect();
        let all = each.concat();
        for ((plan, tag), own) in self.tags.iter_mut().zip(tags).zip(&each) {
            plan.queues.linger = linger::looks(tag.linger, own, &all, cpus);
        }
    }

    /// How many workers there are to be at first.
    pub(crate) fn first_workers(&self) -> usize {
        self.tags.iter().map(|tag| tag.bounds.min).sum()
    }
}

/// Checks names and numbers; returns how many workers each tag has.
fn check_shape(tags: &[Tag], prefix: &str) -> Result<Vec<Bounds>, BuildError> {
    if tags.is_empty() {
        return Err(BuildError::NoTags);
    }
    let mut names = HashSet::new();
    let mut requested = 0_usize;
    let mut all = Vec::with_capacity(tags.len());
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
        let bounds = check_bounds(tag)?;
        requested = requested.saturating_add(bounds.places());
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
        all.push(bounds);
    }
    Ok(all)
}

/// Checks how many workers a tag may have.
fn check_bounds(tag: &Tag) -> Result<Bounds, BuildError> {
    let name = || tag.name.clone();
    let min = tag.workers.unwrap_or_else(|| {
        thread::available_parallelism()
            .map_or(1, NonZero::get)
            .min(MAX_WORKERS)
            .min(tag.max_workers.unwrap_or(MAX_WORKERS))
    });
    let max = tag.max_workers.unwrap_or(min);
    if min == 0 {
        return Err(BuildError::NoWorkers { tag: name() });
    }
    if max < min {
        return Err(BuildError::MaxBelowMin {
            tag: name(),
            workers: min,
            max_workers: max,
        });
    }
    if tag.keep_alive < SHORTEST_KEEP_ALIVE {
        return Err(BuildError::KeepAlive {
            tag: name(),
            keep_alive: tag.keep_alive,
            shortest: SHORTEST_KEEP_ALIVE,
        });
    }
    Ok(Bounds {
        min,
        max,
        max_blocked: tag.max_blocked,
        keep_alive: tag.keep_alive,
    })
}

/// Checks that the ceiling has room for what the tags begin with.
fn check_ceiling(bounds: &[Bounds], ceiling: Option<usize>) -> Result<(), BuildError> {
    let sum = bounds.iter().map(|tag| tag.min).sum();
    match ceiling {
        Some(ceiling) if sum > ceiling => Err(BuildError::BelowMinimums { ceiling, sum }),
        _ => Ok(()),
    }
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
