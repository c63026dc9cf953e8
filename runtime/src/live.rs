//! The futures that live in a tag, so that its end can end them.
//!
//! A future that waits is in no queue: only the waker that it has left somewhere leads to it. When no worker is left
//! to poll it, nobody would ever drop it, and whoever awaits it would wait for ever. So each has a waker here as
//! well, and the end of the tag or the runtime wakes them all: a wake queues its future in the closed tag, and the end
//! drops what is queued, in turn, until no future is left. A long chain of futures that own each other is no chain of
//! calls.
//!
//! A wake never drops a future itself, because its caller may hold any lock of the user's. The last to find a queue
//! would be a wake that has begun when the runtime's memory goes; what it brings goes to [`Late`].
//!
//! There are several lists, each with its lock. Each thread goes round them from future to future, so those that spawn
//! and those that see futures end rarely meet.

use std::cell::Cell;
use std::fmt;
use std::mem;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::thread;
use std::time::Instant;

use async_task::Runnable;
use crossbeam_utils::Backoff;
use slab::Slab;

use crate::job::{Entry, call_quietly, drop_quietly};
use crate::process::Process;

/// How many lists there are.
const LISTS: usize = 16;

/// All futures of one tag that have not ended.
pub(crate) struct LiveFutures {
    lists: [Arc<List>; LISTS],
    late: Arc<Late>,
    process: Process,
}

/// Some of them; without their wakers if those have been woken by the end.
#[derive(Default)]
struct List(Mutex<Slab<Option<Waker>>>);

/// A place in a list, which is left when this is dropped.
pub(crate) struct Place {
    list: Arc<List>,
    key: usize,
    process: Process,
}

/// Futures to be dropped that no queue could take; `None` when nobody will look here again.
pub(crate) struct Late(Mutex<Option<Vec<Entry>>>);

impl LiveFutures {
    pub(crate) fn new(process: Process) -> Self {
        let lists = std::array::from_fn(|_| Arc::default());
        let late = Arc::new(Late::new());
        Self {
            lists,
            late,
            process,
        }
    }

    pub(crate) fn late(&self) -> Arc<Late> {
        Arc::clone(&self.late)
    }

    /// Lets `make` put a future into its allocation, together with its place here. Only in the process of the runtime.
    pub(crate) fn enter<R>(&self, make: impl FnOnce(Place) -> (Runnable, R)) -> (Runnable, R) {
        let list = &self.lists[next_list()];
        let mut wakers = list.lock();
        let vacant = wakers.vacant_entry();
        let (runnable, rest) = make(Place {
            list: Arc::clone(list),
            key: vacant.key(),
            process: self.process,
        });
        vacant.insert(Some(runnable.waker()));
        (runnable, rest)
    }

    /// Has all of them dropped, when nobody is left to poll them: wakes them, which queues them, and has what is queued
    /// dropped. Waits, at most until `deadline`, for those that another thread is just waking or spawning.
    ///
    /// Not for longer: neither calls anything of the user's on the way to the queue, and a future has left before its
    /// destructor runs.
    pub(crate) fn end(&self, deadline: Option<Instant>, drop_queued: impl Fn()) {
        // Whoever had a list locked at a fork is not there to let go.
        if !self.process.is_this() {
            return;
        }
        let backoff = Backoff::new();
        loop {
            self.wake_all();
            drop_queued();
            self.late.take().into_iter().for_each(drop_quietly);
            let expired = deadline.is_some_and(|deadline| deadline <= Instant::now());
            if expired || self.is_empty() {
                return;
            }
            backoff.snooze();
        }
    }

    /// Wakes all of them that this has not woken before.
    fn wake_all(&self) {
        for list in &self.lists {
            let mut wakers = Vec::new();
            wakers.extend(list.lock().iter_mut().filter_map(|(_, waker)| waker.take()));
            for waker in wakers {
                call_quietly(|| waker.wake());
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.lists.iter().all(|list| list.lock().is_empty())
    }
}

impl Drop for LiveFutures {
    fn drop(&mut self) {
        if !self.process.is_this() {
            return;
        }
        self.wake_all();
        loop {
            let late = self.late.take_or_close();
            if late.is_empty() {
                return;
            }
            late.into_iter().for_each(drop_quietly);
        }
    }
}

impl fmt::Debug for LiveFutures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LiveFutures").finish_non_exhaustive()
    }
}

impl List {
    // Nothing of the user's runs under this lock, so a poisoned one is as good as any.
    fn lock(&self) -> MutexGuard<'_, Slab<Option<Waker>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.process.is_this() {
            let waker = self.list.lock().try_remove(self.key);
            drop(waker);
        }
    }
}

impl Late {
    fn new() -> Self {
        Self(Mutex::new(Some(Vec::new())))
    }

    // As for a list.
    fn lock(&self) -> MutexGuard<'_, Option<Vec<Entry>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Leaves a future to whoever looks here.
    pub(crate) fn push(&self, entry: Entry) {
        let mut late = self.lock();
        match &mut *late {
            Some(late) => late.push(entry),
            None => {
                drop(late);
                drop_elsewhere(entry);
            }
        }
    }

    fn take(&self) -> Vec<Entry> {
        self.lock().as_mut().map(mem::take).unwrap_or_default()
    }

    /// Takes what is here; if nothing is, nobody will look here again.
    fn take_or_close(&self) -> Vec<Entry> {
        let mut late = self.lock();
        match &mut *late {
            Some(entries) if !entries.is_empty() => mem::take(entries),
            late => late.take().unwrap_or_default(),
        }
    }
}

/// Drops what this thread must not, because its caller may hold any lock, on a thread of its own.
///
/// If the system refuses that thread, it is dropped here after all: else whoever awaits it would wait for ever.
pub(crate) fn drop_elsewhere<V: Send + 'static>(value: V) {
    let thread = thread::Builder::new().name("parkade-late".to_owned());
    let _detached = thread.spawn(move || drop_quietly(value));
}

/// The list for this thread's next future.
fn next_list() -> usize {
    static THREADS: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static NEXT: Cell<usize> = Cell::new(THREADS.fetch_add(1, Ordering::Relaxed));
    }
    let next = NEXT.try_with(|next| next.replace(next.get().wrapping_add(1)));
    next.unwrap_or(0) % LISTS
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::job::detached;

    /// Locks when it is dropped, and says so.
    struct Locks(Arc<Mutex<()>>, mpsc::Sender<()>);

    impl Drop for Locks {
        fn drop(&mut self) {
            drop(self.0.lock());
            let _gone = self.1.send(());
        }
    }

    #[test]
    fn what_comes_late_is_dropped_by_another_than_its_bringer() {
        let late = Late::new();
        let (lock, (dropped, was_dropped)) = (Arc::new(Mutex::new(())), mpsc::channel());
        let entry = || {
            let locks = Locks(Arc::clone(&lock), dropped.clone());
            detached(move || drop(locks))
        };
        let held = lock.lock().unwrap();
        late.push(entry());
        let taken = late.take_or_close();
        assert_eq!(taken.len(), 1);
        late.push(entry());
        let again = late.take();
        assert_eq!(again.len(), 1, "open as long as something came");
        assert!(late.take_or_close().is_empty());
        late.push(entry());
        assert!(was_dropped.try_recv().is_err());
        drop(held);
        was_dropped.recv().unwrap();
        drop((taken, again));
        assert_eq!(was_dropped.try_iter().count(), 2);
    }

    #[test]
    fn the_futures_of_one_thread_are_on_all_lists() {
        let lists: std::collections::BTreeSet<_> = (0..LISTS).map(|_| next_list()).collect();
        assert_eq!(lists.len(), LISTS);
    }
}
