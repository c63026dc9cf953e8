//! What all threads of one runtime share.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crossbeam_utils::CachePadded;
use parkade_core::{Origin, Priority, Slot, TagIndex, Wake};

use crate::backend::Backend;
use crate::control::Control;
use crate::counts::{DropCount, WorkerCounts};
use crate::current;
use crate::hooks::{Hooks, WorkerInfo};
use crate::interrupt::Interrupter;
use crate::job::{Entry, RefusedEntry};
use crate::latency::{self, Latency};
use crate::live::LiveFutures;
use crate::process::Process;
use crate::progress::Stopping;
use crate::refused::RefusedReason;
use crate::scaler::Scaler;
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
    pub(crate) scaler: Scaler,
    pub(crate) stopping: Stopping,
    pub(crate) interrupter: Interrupter,
    /// Whether tasks are spawned as [`Measured`](crate::latency::Measured) ones.
    pub(crate) measures_latency: bool,
}

/// A tag's name, and a seat for each of its workers.
pub(crate) struct TagSeats {
    pub(crate) name: String,
    pub(crate) seats: Box<[Seat]>,
    pub(crate) dropped: DropCount,
    /// Tasks that a thread which is no worker of the tag ran, because it waited for them.
    pub(crate) ran_outside: DropCount,
    /// Ended with the tag or the runtime, or with the last of its threads.
    pub(crate) live: LiveFutures,
}

/// What the runtime knows about one worker, whether or not its thread has started.
pub(crate) struct Seat {
    pub(crate) info: WorkerInfo,
    pub(crate) counts: CachePadded<WorkerCounts>,
    /// Whether its worker does not run where it was asked to.
    pub(crate) misplaced: AtomicBool,
}

impl TagSeats {
    /// How many of the tag's tasks have run to their end, wherever.
    pub(crate) fn ran(&self) -> usize {
        let on_workers: usize = self.seats.iter().map(|seat| seat.counts.ran()).sum();
        on_workers + self.ran_outside.get()
    }

    /// How long the tasks that its workers started had waited, if that is measured.
    pub(crate) fn latency(&self) -> Option<Latency> {
        let of_workers = self.seats.iter().map(|seat| seat.counts.latency());
        of_workers.fold(None, |sum, one| latency::both(sum, one.as_ref()))
    }

    /// How many workers do not run where they were asked to.
    pub(crate) fn misplaced(&self) -> usize {
        let misplaced = |seat: &&Seat| seat.misplaced.load(Ordering::Relaxed);
        self.seats.iter().filter(misplaced).count()
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
                Err(refused) if worker.has_forks() => {
                    self.submit_to_inbox(tag, refused.entry, priority)
                }
                pushed => pushed,
            },
            _ => self.submit_to_inbox(tag, entry, priority),
        })
    }

    /// Puts a task into the mailbox of one worker.
    pub(crate) fn submit_to(&self, slot: Slot, entry: Entry) -> Result<(), RefusedEntry> {
        if !self.process.is_this() {
            let reason = RefusedReason::Forked;
            return Err(RefusedEntry { entry, reason });
        }
        self.control.submit_to(slot, entry)
    }

    #[inline]
    pub(crate) fn submit_to_inbox(
        &self,
        tag: TagIndex,
        entry: Entry,
        priority: Priority,
    ) -> Result<(), RefusedEntry> {
        self.place(tag, |control, origin| {
            control.submit(tag, entry, priority, origin)
        })
    }

    /// Puts a task that was accepted before into a tag's inboxes, whatever their limits.
    pub(crate) fn submit_accepted(
        &self,
        tag: TagIndex,
        entry: Entry,
        priority: Priority,
    ) -> Result<(), RefusedEntry> {
        self.place(tag, |control, origin| {
            control.submit_accepted(tag, entry, priority, origin)
        })
    }

    /// Puts a future that is to go on into a tag's inboxes, whatever their limits, and closed or not.
    pub(crate) fn submit_again(
        &self,
        tag: TagIndex,
        entry: Entry,
        priority: Priority,
    ) -> Result<(), RefusedEntry> {
        self.place(tag, |control, origin| {
            control.submit_again(tag, entry, priority, origin)
        })?;
        if !self.control.tag(tag).is_open() {
            // Whoever stops it may have looked through the queues already.
            self.stopping.something_came();
        }
        Ok(())
    }

    /// Calls `submit` with this thread's origin, and tells the scaler what came of the wake.
    #[inline]
    fn place(
        &self,
        tag: TagIndex,
        submit: impl FnOnce(&Control<B>, &Origin) -> Result<Wake, RefusedEntry>,
    ) -> Result<(), RefusedEntry> {
        let wake = current::with_origin(|origin| submit(&self.control, origin))?;
        self.scaler.heed(tag, wake);
        Ok(())
    }

    /// Puts tasks into a tag's inboxes as one submit; see [`Control::submit_batch`].
    pub(crate) fn submit_batch(
        &self,
        tag: TagIndex,
        entries: &mut impl Iterator<Item = Entry>,
        priority: Priority,
    ) -> (usize, Option<RefusedEntry>) {
        let submitted = current::with_origin(|origin| {
            let control = &self.control;
            control.submit_batch(tag, entries, priority, origin)
        });
        if self.scaler.is_open(tag) && self.control.tag(tag).has_nobody_idle() {
            self.scaler.nobody_idle(tag);
        }
        submitted
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
            .field("interrupts", &self.interrupter)
            .field("timers", &self.timers)
            .field("scaler", &self.scaler)
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
                    .field("misplaced", &seats.misplaced())
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
        for Seat { info, counts, .. } in self.0 {
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
