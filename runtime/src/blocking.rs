//! Blocking: a worker says that it is about to wait, so that another may work in its place.

use std::marker::PhantomData;

use crate::current;

/// Calls `f`, which may block, so that the tag need not be one worker short meanwhile.
///
/// Use it in tasks around whatever waits for something outside of the runtime: a file, a socket, a lock, a child
/// process. While `f` runs, the tag may have one worker more than its maximum, for at most
/// [`max_blocked`](crate::Tag::max_blocked) of them at a time; it is started only if tasks wait for one. When `f`
/// returns, whoever is too many is asked to leave after its task. Calls inside `f` count once. On a thread that
/// is no worker `f` is simply called. [`sleep`](crate::sleep()), [`block_on`](crate::block_on) and a handle's `join` that has to
/// wait count as calls; waiting for a scope or for a stolen fork does not.
///
/// Costs a lock before and after, and where `max_blocked` allows a replacement, a look of the thread that starts
/// workers. A new thread costs some tens of µs: leave waits that are shorter as they are.
///
/// # Panics
///
/// With the panic of `f`.
///
/// ```
/// use std::sync::mpsc;
///
/// use parkade::{Runtime, Tag};
///
/// let runtime = Runtime::builder()
///     .tag(Tag::new("only").workers(1).max_blocked(1))
///     .build()?;
/// let (sender, receiver) = mpsc::channel();
/// let waits = runtime.spawn(move || parkade::blocking(|| receiver.recv()));
/// // The tag's only worker waits for this task, which another one runs.
/// runtime.spawn_detached(move || sender.send(42).unwrap())?;
/// assert_eq!(waits.join()?, Ok(42));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn blocking<R>(f: impl FnOnce() -> R) -> R {
    let _blocked = Blocked::now();
    f()
}

/// This thread's worker, if it is one, is blocked until this is dropped.
pub(crate) struct Blocked(PhantomData<*const ()>);

impl Blocked {
    pub(crate) fn now() -> Self {
        current::with_own_work(|work| {
            if let Some(work) = work {
                work.block();
            }
        });
        Self(PhantomData)
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        // In a process that was forked meanwhile there is no such work.
        current::with_own_work(|work| {
            if let Some(work) = work {
                work.unblock();
            }
        });
    }
}
