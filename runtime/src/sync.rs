//! The door to what two sides of a job share: its atomic word, its cells, and the sleep of its waiter.
//!
//! In a normal build these are std's, at no cost. Under the cfg `parkade_loom` they are loom's, so that
//! `models.rs` explores this crate's own `state.rs`, `latch.rs` and `handled.rs`: there a cell also notices
//! that it is freed while somebody uses it, and an atomic that it is never freed at all. Under the same cfg
//! each named ordering can be weakened, and each named step be left out, by the environment variable
//! `PARKADE_MUTANT`: `job.done` is Relaxed then, `job.done-acquire` loses its Acquire half, and
//! `job.done-release` its Release half.

#[cfg(not(parkade_loom))]
pub(crate) use as_written::*;
#[cfg(parkade_loom)]
pub(crate) use modelled::*;

#[cfg(not(parkade_loom))]
mod as_written {
    //! What is shipped.

    pub(crate) use std::sync::atomic::{AtomicU32, Ordering};
    pub(crate) use std::thread::{Thread, current, park, park_timeout};

    /// A cell whose accesses are the caller's to keep apart.
    #[repr(transparent)]
    pub(crate) struct UnsafeCell<V>(std::cell::UnsafeCell<V>);

    impl<V> UnsafeCell<V> {
        pub(crate) const fn new(value: V) -> Self {
            Self(std::cell::UnsafeCell::new(value))
        }

        /// Hands out the place for one access. It is the caller's to use, like that of std's cell.
        #[inline(always)]
        pub(crate) fn with_mut<R>(&self, access: impl FnOnce(*mut V) -> R) -> R {
            access(self.0.get())
        }

        pub(crate) fn into_inner(self) -> V {
            self.0.into_inner()
        }
    }

    /// The ordering of the operation called `id`, as written.
    #[inline(always)]
    pub(crate) const fn order(_id: &'static str, written: Ordering) -> Ordering {
        written
    }

    /// Whether the step called `id` is to be left out: never.
    #[inline(always)]
    pub(crate) const fn left_out(_id: &'static str) -> bool {
        false
    }
}

#[cfg(parkade_loom)]
mod modelled {
    //! The same under loom, with a crowbar.

    use std::sync::{Arc, OnceLock};
    use std::time::Duration;

    pub(crate) use loom::sync::atomic::Ordering;
    use loom::sync::{Condvar, Mutex};

    /// A thread's token, as std describes it. Loom's own `unpark` also wakes a thread that is blocked on
    /// something else, which breaks its model of a join.
    #[derive(Clone)]
    pub(crate) struct Thread(Arc<(Mutex<bool>, Condvar)>);

    impl Thread {
        pub(crate) fn unpark(&self) {
            let (token, given) = &*self.0;
            *token.lock().unwrap() = true;
            given.notify_one();
        }
    }

    loom::thread_local! {
        static THIS: Thread = Thread(Arc::new((Mutex::new(false), Condvar::new())));
    }

    pub(crate) fn current() -> Thread {
        THIS.with(Clone::clone)
    }

    pub(crate) fn park() {
        let this = current();
        let (token, given) = &*this.0;
        let mut token = token.lock().unwrap();
        while !*token {
            token = given.wait(token).unwrap();
        }
        *token = false;
    }

    /// Loom has no clock: a sleep with an end may end at any time, so it does at once.
    pub(crate) fn park_timeout(_limit: Duration) {
        loom::thread::yield_now();
    }

    /// Loom's atomic, which must be freed, and only after the last access.
    #[derive(Debug)]
    pub(crate) struct AtomicU32 {
        value: loom::sync::atomic::AtomicU32,
        _freed: loom::alloc::Track<()>,
    }

    impl AtomicU32 {
        pub(crate) fn new(value: u32) -> Self {
            Self {
                value: loom::sync::atomic::AtomicU32::new(value),
                _freed: loom::alloc::Track::new(()),
            }
        }

        pub(crate) fn load(&self, order: Ordering) -> u32 {
            self.value.load(order)
        }

        pub(crate) fn fetch_or(&self, bits: u32, order: Ordering) -> u32 {
            self.value.fetch_or(bits, order)
        }

        pub(crate) fn fetch_sub(&self, value: u32, order: Ordering) -> u32 {
            self.value.fetch_sub(value, order)
        }

        pub(crate) fn fetch_and(&self, bits: u32, order: Ordering) -> u32 {
            self.value.fetch_and(bits, order)
        }

        pub(crate) fn compare_exchange_weak(
            &self,
            current: u32,
            new: u32,
            success: Ordering,
            failure: Ordering,
        ) -> Result<u32, u32> {
            self.value
                .compare_exchange_weak(current, new, success, failure)
        }
    }

    impl Drop for AtomicU32 {
        fn drop(&mut self) {
            if !std::thread::panicking() {
                self.value.with_mut(|_| ());
            }
        }
    }

    /// Loom's cell, whose freeing is an access too.
    pub(crate) struct UnsafeCell<V> {
        value: loom::cell::UnsafeCell<V>,
        freed: Freed,
    }

    impl<V> UnsafeCell<V> {
        pub(crate) fn new(value: V) -> Self {
            Self {
                value: loom::cell::UnsafeCell::new(value),
                freed: Freed(loom::cell::UnsafeCell::new(())),
            }
        }

        pub(crate) fn with_mut<R>(&self, access: impl FnOnce(*mut V) -> R) -> R {
            self.freed.0.with(|_| ());
            self.value.with_mut(access)
        }

        pub(crate) fn into_inner(self) -> V {
            self.value.into_inner()
        }
    }

    struct Freed(loom::cell::UnsafeCell<()>);

    impl Drop for Freed {
        fn drop(&mut self) {
            if !std::thread::panicking() {
                self.0.with_mut(|_| ());
            }
        }
    }

    static MUTANT: OnceLock<Option<String>> = OnceLock::new();

    fn mutant() -> Option<&'static str> {
        let asked = MUTANT.get_or_init(|| std::env::var("PARKADE_MUTANT").ok());
        asked.as_deref()
    }

    pub(crate) fn order(id: &'static str, written: Ordering) -> Ordering {
        let Some(half) = mutant().and_then(|mutant| mutant.strip_prefix(id)) else {
            return written;
        };
        match (half, written) {
            ("", _) => Ordering::Relaxed,
            ("-acquire", Ordering::AcqRel) => Ordering::Release,
            ("-release", Ordering::AcqRel) => Ordering::Acquire,
            _ => written,
        }
    }

    pub(crate) fn left_out(id: &'static str) -> bool {
        mutant() == Some(id)
    }
}
