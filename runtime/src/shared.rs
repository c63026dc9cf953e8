//! What all threads of one runtime share.

use std::fmt;

use crossbeam_utils::CachePadded;
use parkade_core::{Priority, TagIndex};

use crate::backend::Backend;
use crate::control::Control;
use crate::counts::{DropCount, WorkerCounts};
use crate::current;
use crate::hooks::{Hooks, WorkerInfo};
use crate::job::{Entry, RefusedEntry};
use crate::stop::Stopping;

/// One runtime, kept alive by its owner and by each of its threads.
pub(crate) struct Shared<B: Backend> {
    pub(crate) control: Control<B>,
    /// In the order of the control's tags.
    pub(crate) tags: Box<[TagSeats]>,
    pub(crate) hooks: Hooks,
    pub(crate) stopping: Stopping,
}

/// A tag's name, and a seat for each of its workers.
#[derive(Debug)]
pub(crate) struct TagSeats {
    pub(crate) name: String,
    pub(crate) seats: Box<[Seat]>,
    pub(crate) dropped: DropCount,
    /// Workers that do not run where they were asked to.
    pub(crate) misplaced: DropCount,
}

/// What the runtime knows about one worker, whether or not its thread has started.
#[derive(Debug)]
pub(crate) struct Seat {
    pub(crate) info: WorkerInfo,
    pub(crate) counts: CachePadded<WorkerCounts>,
}

impl<B: Backend> Shared<B> {
    /// Puts a task into a tag: into the own run queue where a worker of that tag spawns a normal task,
    /// into the tag's inboxes otherwise.
    #[inline]
    pub(crate) fn submit(
        &self,
        tag: TagIndex,
        priority: Priority,
        entry: Entry,
    ) -> Result<(), RefusedEntry> {
        current::with_worker(self, tag, |worker| match (worker, priority) {
            (Some(worker), Priority::Normal) => worker.push(entry),
            _ => current::with_origin(|origin| self.control.submit(tag, entry, priority, origin)),
        })
    }

    pub(crate) fn tag_index(&self, name: &str) -> Option<TagIndex> {
        self.tags
            .iter()
            .position(|tag| tag.name == name)
            .map(TagIndex)
    }
}

impl<B: Backend> fmt::Debug for Shared<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("control", &self.control)
            .field("tags", &self.tags)
            .field("hooks", &self.hooks)
            .field("stopping", &self.stopping)
            .finish()
    }
}
