//! The park, and the platform and backend around it.
//!
//! A worker calls [`wait`](Park::wait) with the word of its lot and the value that it had when there was nothing to
//! do; whoever has something changes the word and calls [`wake`](Park::wake). The numbers in the comments are those
//! of [`Park`]'s obligations.

use std::hint;
use std::io;
use std::sync::atomic::AtomicUsize;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};

use parkade::backend::{AffinityError, Std};
use parkade::{Backend, FenceChoice};
use parkade_core::sync::{AtomicU32, Ordering};
use parkade_core::{Park, Platform, SeqCstFences, Slot};

/// How often the word is looked at before the thread sleeps: some 100 ns, less than a sleep costs.
const SPINS: u32 = 32;

/// A short spin, then std's thread park.
#[derive(Debug, Default)]
pub(crate) struct OwnPark {
    /// Who sleeps. There is one place: each worker has a lot of its own, and a park serves one lot (6).
    sleeper: Mutex<Option<Thread>>,
}

impl Park for OwnPark {
    fn wait(&self, word: &AtomicU32, expected: u32) {
        // A look, no access that publishes: the caller brings the order (4), so Relaxed is enough.
        let differs = || word.load(Ordering::Relaxed) != expected;
        for _ in 0..SPINS {
            if differs() {
                return;
            }
            hint::spin_loop();
        }
        let me = thread::current();
        let id = me.id();
        {
            // (1) No lost wake: the last look and the entry are one step under the lock that `wake` takes after
            // the word has changed. If this comes first, `wake` finds the entry; if not, the look finds the change.
            let mut sleeper = self.sleeper();
            // (2) A second sleeper would be let go for no reason, which is allowed.
            if differs() || sleeper.is_some() {
                return;
            }
            *sleeper = Some(me);
        }
        // `thread::park` may return early, or at once by an old token. Whoever is still entered sleeps on, so that
        // `wake` counts nobody who is awake already (3).
        let is_entered = || {
            self.sleeper()
                .as_ref()
                .is_some_and(|thread| thread.id() == id)
        };
        while is_entered() {
            thread::park();
        }
    }

    fn wake(&self, _word: &AtomicU32, n: u32) -> u32 {
        if n == 0 {
            return 0;
        }
        // (3) At most n, and how many: taking the entry is what releases the sleeper.
        let sleeper = self.sleeper().take();
        // (5) From any thread, without a panic or an allocation: the handle is counted, and outlives its thread.
        sleeper.map_or(0, |thread| {
            thread.unpark();
            1
        })
    }
}

impl OwnPark {
    fn sleeper(&self) -> MutexGuard<'_, Option<Thread>> {
        // (5) Never panics, so never about somebody else's panic either.
        self.sleeper.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The platform: the park above, and for the rest what the std backend has.
#[derive(Debug)]
pub(crate) struct Own;

impl Platform for Own {
    type Park = OwnPark;
    type Fences = SeqCstFences;
    type Lock<T: Send> = <Std as Platform>::Lock<T>;
    type Queue = <Std as Platform>::Queue;
    type Ring = <Std as Platform>::Ring;
    type PerWorker<T: Send + Sync> = <Std as Platform>::PerWorker<T>;
    type PerTag<T: Send + Sync> = <Std as Platform>::PerTag<T>;

    fn park(&self, _worker: Slot) -> OwnPark {
        OwnPark::default()
    }

    fn fences(&self) -> SeqCstFences {
        SeqCstFences
    }
}

/// What a runtime with threads asks for beyond that. This backend does not pin.
impl Backend for Own {
    fn new(_fences: FenceChoice) -> Self {
        Self
    }

    fn allowed_cpus() -> Result<Vec<usize>, AffinityError> {
        Err(AffinityError::Unsupported)
    }

    fn pin_current_thread(_cpu: usize) -> Result<(), AffinityError> {
        Err(AffinityError::Unsupported)
    }

    fn set_current_thread_cpus(_cpus: &[usize]) -> Result<(), AffinityError> {
        Err(AffinityError::Unsupported)
    }

    fn forks() -> io::Result<&'static AtomicUsize> {
        <Std as Backend>::forks()
    }
}
