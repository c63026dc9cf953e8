//! What all threads of one runtime share.

use std::fmt;
use std::sync::Arc;

use crossbeam_utils::CachePadded;
use parkade_core::{Priority, TagIndex};

use crate::backend::Backend;
use crate::control::Control;
use crate::counts::{DropCount, WorkerCounts};
use crate::current;
use crate::hooks::{Hooks, WorkerInfo};
use crate::job::{Entry, RefusedEntry};
use crate::live::LiveFutures;
use crate::process::Process;
use crate::refused::RefusedReason;
use crate::stop::Stopping;
use crate::timers::Timers;

/// One runtime, kept alive by its owner and by each of its threads.
pub(crate) struct Shared<B: Backend> {
    pub(crate) control: Control<B>,
    /// The process that has this runtime's threads.
    pub(crate) process: Process,
    /// In the order of the control's tags.
    pub(crate) tags: Box<[TagSeats]>,
    pub(crate) hooks: Hooks,
    pub(crate) timers: Arc<Timers>,
    pub(crate) stopping: Stopping,
    /// Ended with the runtime, or with the last of its threads.
    pub(crate) live: LiveFutures,
}

/// A tag's name, and a seat for each of its workers.
pub(crate) struct TagSeats {
    pub(crate) name: String,
    pub(crate) seats: Box<[Seat]>,
    pub(crate) dropped: DropCount,
    /// Tasks that a thread which is no worker of the tag ran, because it waited for them.
    pub(crate) ran_outside: DropCount,
    /// Workers that do not run where they were asked to.
    pub(crate) misplaced: DropCount,
}

/// What the runtime knows about one worker, whether or not its thread has started.
pub(crate) struct Seat {
    pub(crate) info: WorkerInfo,
    pub(crate) counts: CachePadded<WorkerCounts>,
}

impl TagSeats {
    /// How many of the tag's tasks have run to their end, wherever.
    pub(crate) fn ran(&self) -> usize {
        let on_workers: usize = self.seats.iter().map(|seat| seat.counts.ran()).sum();
        on_workers + self.ran_outside.get()
    }
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
        if !self.process.is_this() {
            let reason = RefusedReason::Forked;
            return Err(RefusedEntry { entry, reason });
        }
        current::with_worker(self, tag, |worker| match (worker, priority) {
            (Some(worker), Priority::Normal) => match worker.push(entry) {
                Err(refused) if worker.has_forks() => current::with_origin(|origin| {
                    self.control.submit(tag, refused.entry, priority, origin)
                }),
                pushed => pushed,
            },
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
        f.debug_struct("Runtime")
            .field("stop", &self.stopping)
            .field("timers", &self.timers)
            .field("hooks", &self.hooks)
            .field("tags", &Tags(self))
            .finish()
    }
}

/// Each tag by its name: the core's half, and the runtime's.
struct Tags<'s, B: Backend>(&'s Shared<B>);

impl<B: Backend> fmt::Debug for Tags<'_, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut tags = f.debug_map();
        for (index, seats) in self.0.tags.iter().enumerate() {
            let core = self.0.control.tag(TagIndex(index));
            let both = fmt::from_fn(|f| {
                f.debug_struct("Tag")
                    .field("core", core)
                    .field("threads", &Threads(&seats.seats))
                    .field("dropped", &seats.dropped.get())
                    .field("misplaced", &seats.misplaced.get())
                    .finish()
            });
            tags.entry(&seats.name, &both);
        }
        tags.finish()
    }
}

/// One line per worker, as in the core's half: its thread, and what it has run.
struct Threads<'s>(&'s [Seat]);

impl fmt::Debug for Threads<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut threads = f.debug_map();
        for Seat { info, counts } in self.0 {
            let (ran, panicked) = (counts.ran(), counts.panicked());
            let cpu = info.cpu.map_or("any".to_owned(), |cpu| cpu.to_string());
            threads.entry(
                &info.index,
                &format_args!(
                    "{:?}, CPU {cpu}: {ran} ran, {panicked} panics",
                    info.thread_name
                ),
            );
        }
        threads.finish()
    }
}
