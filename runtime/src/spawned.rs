//! A future on its way: into a tag, to each of its polls, and to its outcome.
//!
//! async-task has the memory: one allocation with the future or its output, the count of wakers, and the way to the
//! tag. Here is what is put into it: a [`Spawned`] that ends in an [`Outcome`] and lets no panic out, and the [`Way`].
//!
//! # The order of polls
//!
//! A woken future goes to the end of an inbox, never on top of its waker's run queue, where two futures that wake each
//! other would starve all others. On a worker of its tag it is that worker's inbox; the limit, which holds new
//! work back, does not hold for it, and a tag that was closed takes it too. Elsewhere it is a submit of the same
//! kind; if nobody is left to poll it, whoever stops the runtime finds it in the inbox and drops it.
//!
//! # A wake drops nothing
//!
//! Who wakes may hold any lock, such as that of the list from which a destructor of the future would take itself. So
//! the future always goes to somebody else: a queue, or, where the runtime is gone, [`Late`].

use std::future::Future;
use std::panic::{self, AssertUnwindSafe};
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, ready};

use async_task::Runnable;
use parkade_core::{Priority, TagIndex};
use pin_project_lite::pin_project;

use crate::backend::Backend;
use crate::current::{self, Home};
use crate::handled::Outcome;
use crate::job::{Entry, RefusedEntry, drop_quietly};
use crate::join_error::{JoinError, PanicPayload};
use crate::live::{Late, Place, drop_elsewhere};
use crate::refused::RefusedReason;
use crate::runtime::{RuntimeOn, TagRef};
use crate::shared::Shared;
use crate::task::Task;

pin_project! {
    /// A user's future, or its empty place once it has ended.
    #[project = StageProjection]
    enum Stage<F> {
        Going { #[pin] future: F },
        Over,
    }
}

pin_project! {
    /// A user's future with its place among the living. Neither a poll nor a drop of it panics.
    struct Spawned<F> {
        #[pin]
        stage: Stage<F>,
        // Left before the future goes: by then somebody sees to that, and the end need not.
        place: Option<Place>,
    }

    impl<F> PinnedDrop for Spawned<F> {
        fn drop(this: Pin<&mut Self>) {
            let this = this.project();
            *this.place = None;
            this.stage.end();
        }
    }
}

/// What a future came to, until its task takes it.
pub(crate) struct Ended<T>(Option<Outcome<T>>);

impl<T> Ended<T> {
    pub(crate) fn into_outcome(mut self) -> Outcome<T> {
        self.0.take().unwrap_or(Err(JoinError::Dropped))
    }
}

impl<T> Drop for Ended<T> {
    fn drop(&mut self) {
        drop_quietly(self.0.take());
    }
}

impl<F> Stage<F> {
    /// Drops the future; a panic of its destructor ends here.
    fn end(mut self: Pin<&mut Self>) {
        let dropped = panic::catch_unwind(AssertUnwindSafe(|| self.set(Self::Over)));
        drop_quietly(dropped);
    }
}

impl<F: Future> Future for Spawned<F> {
    type Output = Ended<F::Output>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut stage = self.project().stage;
        let polled = panic::catch_unwind(AssertUnwindSafe(|| {
            let value = match stage.as_mut().project() {
                StageProjection::Going { future } => ready!(future.poll(context)),
                StageProjection::Over => unreachable!("a future that has ended is not polled"),
            };
            // Here, so that a panic of its destructor is the task's, as with closures.
            stage.as_mut().set(Stage::Over);
            Poll::Ready(value)
        }));
        let outcome = match polled {
            Ok(value) => Ok(ready!(value)),
            Err(payload) => {
                current::with_own_work(|work| {
                    if let Some(work) = work {
                        work.counts().count_panic(&*payload);
                    }
                });
                stage.end();
                Err(JoinError::Panicked(PanicPayload::new(payload)))
            }
        };
        // Before anybody is told of the end, as with closures.
        current::with_own_work(|work| {
            if let Some(work) = work {
                work.counts().leave_task();
            }
        });
        Poll::Ready(Ended(Some(outcome)))
    }
}

/// How a future comes to its next poll.
struct Way<B: Backend> {
    /// Weak: what the future waits for may keep it for ever, and it must not keep the runtime.
    shared: Weak<Shared<B>>,
    late: Arc<Late>,
    home: Home,
    tag: TagIndex,
    priority: Priority,
}

impl<B: Backend> Way<B> {
    /// Queues a future that was accepted before. Nothing of the user's is dropped here.
    fn go_on(&self, runnable: Runnable) {
        let entry = Entry::of_future(runnable);
        if !self.home.is_in_this_process() {
            // The copy of one that is the parent's: its destructor might wait for what is locked here for ever.
            entry.forget();
            return;
        }
        let queued = current::with_work(self.home, |work| match work {
            Some(work) => work
                .requeue(entry, self.priority)
                .map_err(|refused| refused.entry),
            None => Err(entry),
        });
        let Err(entry) = queued else { return };
        let Some(shared) = self.shared.upgrade() else {
            return self.late.push(entry);
        };
        if let Err(refused) = shared.submit_again(self.tag, entry, self.priority) {
            self.late.push(refused.entry);
        }
        // All others may have let go meanwhile, and hooks are the user's.
        if let Some(last) = Arc::into_inner(shared) {
            drop_elsewhere(Box::new(last));
        }
    }
}

impl<B: Backend> RuntimeOn<B> {
    /// Spawns a future in the default tag; see [`TagRef::spawn_async`] for more and an example.
    pub fn spawn_async<F>(&self, future: F) -> Task<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.default_tag().spawn_async(future)
    }
}

impl<B: Backend> TagRef<'_, B> {
    /// Spawns a future, which the tag's workers poll among its other tasks, and returns the handle to its output.
    ///
    /// Each poll takes its turn as a task from outside does: oldest first, in an inbox, also when a worker spawns or
    /// wakes it. So futures that wake each other, or yield for ever, starve nobody. The limit of an inbox may refuse the
    /// first poll; then the future is dropped, and its task says [`JoinError::Refused`] at once. The later polls
    /// are never refused.
    ///
    /// In the numbers each poll is a task that was spawned, when the future was woken, and that ran. A panic is the
    /// task's outcome, after the tag's [`PanicPolicy`](crate::PanicPolicy) has been asked.
    ///
    /// May be called from any thread. Costs an allocation (two for a future of 2 KiB or more), two locks that are rarely contended, and a wake.
    ///
    /// # When the runtime stops
    ///
    /// Under a drain, futures that are queued or woken go on, as long as their tag has workers; those leave when they see
    /// nothing queued in the tag. What is woken later, or still waits at the end, is dropped, and its task says
    /// [`JoinError::Dropped`]. A future that yields for ever keeps a drain from ending.
    ///
    /// A wake never drops a future, whatever its caller has locked: a worker does, or the thread that stops the
    /// runtime. If a wake comes just as the last thread of the runtime goes, a thread is started for that.
    ///
    /// ```
    /// use parkade::{Priority, Runtime, Tag};
    ///
    /// let runtime = Runtime::builder().tag(Tag::new("io").workers(1)).build()?;
    /// let io = runtime.tag("io")?;
    /// let (send, receive) = async_channel::bounded(1);
    /// let sender = io.spawn_async(async move { send.send("ping").await });
    /// let receiver = io.with_priority(Priority::High).spawn_async(async move { receive.recv().await });
    /// assert_eq!(receiver.join()?, Ok("ping"));
    /// assert_eq!(sender.join()?, Ok(()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn spawn_async<F>(&self, future: F) -> Task<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let shared = self.shared;
        let home = self.home();
        if !home.is_in_this_process() {
            drop_quietly(future);
            return Task::refused(RefusedReason::Forked, home);
        }
        let live = &shared.tags[self.tag.0].live;
        let way = Way {
            shared: Arc::downgrade(shared),
            late: live.late(),
            home,
            tag: self.tag,
            priority: self.priority,
        };
        let (runnable, task) = live.enter(|place| {
            let (stage, place) = (Stage::Going { future }, Some(place));
            async_task::spawn(Spawned { stage, place }, move |runnable| {
                way.go_on(runnable)
            })
        });
        let entry = Entry::of_future(runnable);
        let offered = shared.submit_to_inbox(self.tag, entry, self.priority);
        match offered {
            Ok(()) => Task::new(task, home),
            Err(RefusedEntry { entry, reason }) => {
                entry.refuse(reason);
                Task::refused(reason, home)
            }
        }
    }
}
