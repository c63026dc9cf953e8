//! A scope: any number of tasks that may borrow, all of which end before it does.
//!
//! Its tasks are jobs with handles (`handled.rs`), and the scope keeps the handles. At its end it goes through
//! them, the newest first, until there are none, and there are no more to come then, because a task that spawns
//! another has its own handle looked at later. What nobody has begun, the waiter claims and runs itself; for the
//! rest it waits. So it runs nothing but its own tasks, and never waits for one that is only queued: a task
//! that no queue took, or that a stop has dropped out of one, is run in the end like any other.

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::mem;
use std::panic::{self, AssertUnwindSafe};
use std::process;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use parkade_core::{Priority, TagIndex};

use crate::backend::Backend;
use crate::current::{self, Forks, Home};
use crate::handled::{Outcome, Promised, count, scoped};
use crate::job::{Entry, drop_quietly};
use crate::join_error::{JoinError, PanicPayload};
use crate::linger::Looks;
use crate::runtime::{RuntimeOn, TagRef};
use crate::shared::Shared;

/// Where tasks are spawned that may borrow what outlives the scope; see [`TagRef::scope`].
///
/// Tasks get it by reference and may spawn more.
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
///
/// use parkade::{Backend, Runtime, Scope};
///
/// /// Visits the nodes of a binary tree, each in a task of its own.
/// fn visit<'scope, B: Backend>(
///     scope: &'scope Scope<'scope, '_, B>,
///     depth: u32,
///     nodes: &'scope AtomicUsize,
/// ) {
///     nodes.fetch_add(1, Ordering::Relaxed);
///     if depth > 0 {
///         scope.spawn(move || visit(scope, depth - 1, nodes));
///         scope.spawn(move || visit(scope, depth - 1, nodes));
///     }
/// }
///
/// let runtime = Runtime::builder().build()?;
/// let nodes = AtomicUsize::new(0);
/// runtime.scope(|scope| visit(scope, 3, &nodes));
/// assert_eq!(nodes.into_inner(), 15);
/// # Ok::<(), parkade::BuildError>(())
/// ```
pub struct Scope<'scope, 'env: 'scope, B: Backend> {
    shared: Arc<Shared<B>>,
    tag: TagIndex,
    priority: Priority,
    spawned: Mutex<Spawned>,
    // Invariant in both lifetimes, as std's scope is: neither may be shortened nor stretched.
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

/// The tasks of a scope that have not been seen to have ended.
#[derive(Default)]
struct Spawned {
    tasks: Vec<Spawn>,
    /// How many there have been.
    count: usize,
    /// So many tasks, and those that have ended are cleared away.
    crowded: usize,
    /// The panic of the task that was spawned first of those that did.
    panic: Option<(usize, PanicPayload)>,
}

struct Spawn {
    number: usize,
    promised: Promised<()>,
    /// Whether a queue took it, so that it is counted as spawned.
    accepted: bool,
}

/// The least number of tasks that is a crowd.
const CROWD: usize = 64;

impl<B: Backend> RuntimeOn<B> {
    /// Opens a scope for tasks in the default tag; see [`TagRef::scope`] for more and an example.
    ///
    /// # Panics
    ///
    /// As [`TagRef::scope`].
    pub fn scope<'env, F, T>(&self, body: F) -> T
    where
        F: for<'scope> FnOnce(&'scope Scope<'scope, 'env, B>) -> T,
    {
        self.default_tag().scope(body)
    }
}

impl<B: Backend> TagRef<'_, B> {
    /// Calls `body` on this thread with a scope, and returns when every task that was spawned in it has ended.
    ///
    /// Use it for a number of tasks that borrow from the caller; for two of them, [`join`](crate::join()) is
    /// cheaper. May be called from any thread. What no worker has begun when `body` ends, the caller runs
    /// itself, the newest first, also if it is no worker of the tag; it sleeps until the others have ended, and
    /// runs nothing else meanwhile. So no task of a scope is ever refused or dropped, also when the queues are
    /// full or the runtime stops.
    ///
    /// # Panics
    ///
    /// When all tasks have ended: with the panic of `body`, else with that of the task that was spawned first
    /// of those that panicked.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    ///
    /// use parkade::Runtime;
    ///
    /// let runtime = Runtime::builder().build()?;
    /// let words = ["scopes", "may", "borrow"];
    /// let letters = AtomicUsize::new(0);
    /// runtime.scope(|scope| {
    ///     for word in &words {
    ///         scope.spawn(|| {
    ///             letters.fetch_add(word.len(), Ordering::Relaxed);
    ///         });
    ///     }
    /// });
    /// assert_eq!(letters.into_inner(), 15);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn scope<'env, F, T>(&self, body: F) -> T
    where
        F: for<'scope> FnOnce(&'scope Scope<'scope, 'env, B>) -> T,
    {
        let scope = Scope {
            shared: Arc::clone(self.shared),
            tag: self.tag,
            priority: self.priority,
            spawned: Mutex::default(),
            scope: PhantomData,
            env: PhantomData,
        };
        let unfinished = Unfinished;
        let body = panic::catch_unwind(AssertUnwindSafe(|| body(&scope)));
        let panic = scope.finish();
        mem::forget(unfinished);
        match (body, panic) {
            (Ok(value), None) => value,
            (Ok(value), Some(panic)) => {
                drop_quietly(value);
                panic::resume_unwind(panic)
            }
            (Err(panic), other) => {
                drop_quietly(other);
                panic::resume_unwind(panic)
            }
        }
    }
}

impl<'scope, B: Backend> Scope<'scope, '_, B> {
    /// Spawns a task that ends before the scope does; it has no handle and returns what it borrows to write.
    ///
    /// Never waits for room. Costs one allocation, and a lock of the scope.
    ///
    /// ```
    /// use parkade::Runtime;
    ///
    /// let runtime = Runtime::builder().build()?;
    /// let mut halves = [0; 2];
    /// let [left, right] = &mut halves;
    /// runtime.scope(|scope| {
    ///     scope.spawn(|| {
    ///         *left = 1;
    ///         // A task may spawn another.
    ///         scope.spawn(|| *right = 2);
    ///     });
    /// });
    /// assert_eq!(halves, [1, 2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn spawn<F>(&'scope self, task: F)
    where
        F: FnOnce() + Send + 'scope,
    {
        // A job that is in a queue and not kept here would outlive the scope.
        let unkept = Unfinished;
        let (entry, promised) = self.job(task);
        let accepted = self.shared.submit(self.tag, self.priority, entry).is_ok();
        self.lock().keep(promised, accepted);
        mem::forget(unkept);
    }

    /// Spawns `task` as often as that, as one submit where it goes to an inbox.
    pub(crate) fn spawn_copies<F>(&'scope self, copies: usize, task: &'scope F)
    where
        F: Fn() + Sync,
    {
        if current::with_work(self.home(), |work| work.is_some()) {
            // In the run queue, where what turns out needless is taken back.
            (0..copies).for_each(|_| self.spawn(task));
            return;
        }
        // In a fork nobody would come to help.
        if !self.shared.process.is_this() {
            return;
        }
        let unkept = Unfinished;
        let (entries, promised): (Vec<_>, Vec<_>) = (0..copies).map(|_| self.job(task)).unzip();
        let mut entries = entries.into_iter();
        let (accepted, _refused) = self
            .shared
            .submit_batch(self.tag, &mut entries, self.priority);
        let mut spawned = self.lock();
        for (copy, promised) in promised.into_iter().enumerate() {
            spawned.keep(promised, copy < accepted);
        }
        drop(spawned);
        mem::forget(unkept);
    }

    fn job<F>(&'scope self, task: F) -> (Entry, Promised<()>)
    where
        F: FnOnce() + Send + 'scope,
    {
        // SAFETY: the handle is kept, and `finish` runs the task or waits for it before the scope ends, which
        // `'scope` outlives; nothing in between unwinds past it.
        unsafe { scoped(task) }
    }

    /// Runs or waits for every task; returns the first panic.
    fn finish(&self) -> Option<Box<dyn Any + Send>> {
        loop {
            let next = self.lock().tasks.pop();
            let Some(Spawn {
                number,
                promised,
                accepted,
            }) = next
            else {
                break;
            };
            let outcome = self
                .run(promised, accepted)
                .unwrap_or_else(|promised| self.wait(promised));
            self.lock().note(number, outcome);
        }
        let panic = self.lock().panic.take();
        panic.map(|(_, payload)| payload.into_inner())
    }

    /// Runs a task that nobody has begun.
    fn run(&self, promised: Promised<()>, accepted: bool) -> Result<Outcome<()>, Promised<()>> {
        current::with_work(self.home(), |work| {
            let outcome = promised.claim_here(|husk| {
                if let (Some(work), true) = (work, accepted) {
                    work.clear_husk(husk);
                }
            })?;
            match work {
                _ if !accepted => {}
                Some(work) => {
                    count(work.counts(), &outcome);
                    work.counts().enter_task();
                }
                None => self.shared.tags[self.tag.0].ran_outside.count(),
            }
            Ok(outcome)
        })
    }

    /// Waits for a task that somebody has begun: a worker as for a fork that was stolen.
    fn wait(&self, mut promised: Promised<()>) -> Outcome<()> {
        let looks = current::with_work(self.home(), |work| {
            work.map_or(Looks::NONE, |work| work.looks())
        });
        looks.look(|| promised.is_done());
        loop {
            promised.wait(None);
            match promised.take() {
                Ok(outcome) => return outcome,
                Err(not_yet) => promised = not_yet,
            }
        }
    }

    fn home(&self) -> Home {
        Home::new(&self.shared, self.tag)
    }

    // Nothing of the user's runs under this lock but destructors of payloads, which are caught.
    fn lock(&self) -> MutexGuard<'_, Spawned> {
        self.spawned.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Spawned {
    fn keep(&mut self, promised: Promised<()>, accepted: bool) {
        let number = self.count;
        self.count += 1;
        if self.tasks.len() >= self.crowded {
            for Spawn {
                number,
                promised,
                accepted,
            } in mem::take(&mut self.tasks)
            {
                match promised.take() {
                    Ok(outcome) => self.note(number, outcome),
                    Err(promised) => self.tasks.push(Spawn {
                        number,
                        promised,
                        accepted,
                    }),
                }
            }
            self.crowded = CROWD.max(2 * self.tasks.len());
        }
        self.tasks.push(Spawn {
            number,
            promised,
            accepted,
        });
    }

    fn note(&mut self, number: usize, outcome: Outcome<()>) {
        let Err(JoinError::Panicked(payload)) = outcome else {
            return;
        };
        match &self.panic {
            Some((first, _)) if *first < number => drop_quietly(payload),
            _ => drop_quietly(self.panic.replace((number, payload))),
        }
    }
}

/// A scope whose tasks may still run.
struct Unfinished;

impl Drop for Unfinished {
    /// By a defect of this crate: what tasks borrow is about to go, and no way out is sound but this.
    fn drop(&mut self) {
        process::abort();
    }
}

impl<B: Backend> fmt::Debug for Scope<'_, '_, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope")
            .field("tag", &self.shared.tags[self.tag.0].name)
            .field("priority", &self.priority)
            .finish_non_exhaustive()
    }
}
