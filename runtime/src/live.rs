//! The futures that live in a tag, so that its end can end them.
//!
//! A future that waits is in no queue: only the waker that it has left somewhere leads to it. When no worker is left
//! to poll it, nobody would ever drop it, and whoever awaits it would wait for ever. So each has a waker here as
//! well, and the end of the tag or the runtime wakes them all: a wake of a future that no tag takes any more drops it.
//!
//! There are several lists, each with its lock, and a thread stays with one: spawning threads rarely meet.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::mem;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use async_task::Runnable;
use slab::Slab;

use crate::job::{call_quietly, drop_quietly};
use crate::process::Process;

/// How many lists there are.
const LISTS: usize = 16;

/// All futures of one tag that have not ended.
pub(crate) struct LiveFutures {
    lists: [Arc<List>; LISTS],
    process: Process,
}

/// Some of them.
#[derive(Default)]
struct List(Mutex<Slab<Waker>>);

/// A place in a list, which is left when this is dropped.
pub(crate) struct Place {
    list: Arc<List>,
    key: usize,
    process: Process,
}

impl LiveFutures {
    pub(crate) fn new(process: Process) -> Self {
        let lists = std::array::from_fn(|_| Arc::default());
        Self { lists, process }
    }

    /// Lets `make` put a future into its allocation, together with its place here. Only in the process of the runtime.
    pub(crate) fn enter<R>(&self, make: impl FnOnce(Place) -> (Runnable, R)) -> (Runnable, R) {
        let list = &self.lists[own_list()];
        let mut wakers = list.lock();
        let vacant = wakers.vacant_entry();
        let (runnable, rest) = make(Place {
            list: Arc::clone(list),
            key: vacant.key(),
            process: self.process,
        });
        vacant.insert(runnable.waker());
        (runnable, rest)
    }

    /// Wakes all of them, once: nobody is left to poll them.
    pub(crate) fn wake_all(&self) {
        // Whoever had a list locked at a fork is not there to let go.
        if !self.process.is_this() {
            return;
        }
        for list in &self.lists {
            // Taken out first: what is dropped now leaves its place. A key that finds another future there, which
            // came since, takes away what no queue will accept either.
            let wakers = mem::take(&mut *list.lock());
            for (_, waker) in wakers {
                call_quietly(|| waker.wake());
            }
        }
    }
}

impl Drop for LiveFutures {
    fn drop(&mut self) {
        self.wake_all();
    }
}

impl fmt::Debug for LiveFutures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LiveFutures").finish_non_exhaustive()
    }
}

impl List {
    // Nothing of the user's runs under this lock, so a poisoned one is as good as any.
    fn lock(&self) -> MutexGuard<'_, Slab<Waker>> {
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

/// The list that this thread stays with.
fn own_list() -> usize {
    static THREADS: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static OWN: Cell<usize> = const { Cell::new(usize::MAX) };
    }
    let own = OWN.try_with(|own| {
        if own.get() == usize::MAX {
            own.set(THREADS.fetch_add(1, Ordering::Relaxed) % LISTS);
        }
        own.get()
    });
    own.unwrap_or(0)
}

/// Drops what may drop others of its kind: those wait until it is gone.
///
/// A future that is dropped cancels those whose tasks it holds, and wakes those that await it; where no tag takes
/// them, they are dropped in turn. As calls inside calls, a long chain would overflow the stack.
pub(crate) fn drop_in_turn<V: Send + 'static>(value: V) {
    thread_local! {
        static WAITING: RefCell<Option<Vec<Box<dyn Send>>>> = const { RefCell::new(None) };
    }
    let mut value = Some(value);
    let first = WAITING.try_with(|waiting| match &mut *waiting.borrow_mut() {
        Some(waiting) => {
            waiting.extend(value.take().map(|value| Box::new(value) as Box<dyn Send>));
            false
        }
        waiting @ None => {
            *waiting = Some(Vec::new());
            true
        }
    });
    drop_quietly(value);
    if first != Ok(true) {
        return;
    }
    loop {
        let next = WAITING.try_with(|waiting| {
            let mut waiting = waiting.borrow_mut();
            let next = waiting.as_mut().and_then(Vec::pop);
            if next.is_none() {
                *waiting = None;
            }
            next
        });
        match next {
            Ok(Some(next)) => drop_quietly(next),
            Ok(None) | Err(_) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Drops the next one when it is dropped, in turn.
    struct Link(Option<Box<Link>>, Arc<AtomicUsize>);

    impl Drop for Link {
        fn drop(&mut self) {
            self.1.fetch_add(1, Ordering::Relaxed);
            if let Some(next) = self.0.take() {
                drop_in_turn(next);
            }
        }
    }

    #[test]
    fn a_long_chain_is_dropped_without_calls_in_calls() {
        // Miri is slow, and its stack as deep as memory.
        let links = if cfg!(miri) { 100 } else { 1_000_000 };
        let dropped = Arc::new(AtomicUsize::new(0));
        let mut chain = None;
        for _ in 0..links {
            chain = Some(Box::new(Link(chain, Arc::clone(&dropped))));
        }
        drop_in_turn(chain);
        assert_eq!(dropped.load(Ordering::Relaxed), links);
    }
}
