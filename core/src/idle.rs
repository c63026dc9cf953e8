//! The idle word: who sleeps, how many search, and whom to wake.
//!
//! # Vocabulary
//!
//! A worker is *announced* while its bit in the idle word is set: it found nothing and is about to sleep
//! or sleeps. A *searcher* is an awake worker without a task that is counted in the same word: it was
//! claimed for a wake, or it withdrew its announcement. A searcher may *linger*: look a few times more, a short
//! pause apart, before it announces itself. A worker fresh from running a task looks for the
//! next one *uncounted*. To *claim* a worker is to clear its bit and count it as a searcher in one step;
//! whoever claims also signals that worker's lot.
//!
//! # Word layout
//!
//! Low bits: one per worker, set while announced ([`LOTS_PER_WORD`] of them). The next bit: one of the searchers
//! lingers. High bits: the number of searchers. More workers than that take several words under the same rules: a worker announces and is
//! counted in its own word only, so sums over the words are safe.
//!
//! # Transitions
//!
//! Every transition is one read-modify-write, Relaxed: the fences F1 to F4 around them carry the order.
//!
//! 1. Submit: push; fence F1; read the word. Nobody announced: done. Searchers cover the tasks in that
//!    queue, as many as there are or one that lingers: done (after F2, if F1 was a light fence: a light fence proves nothing to F4). Else claim;
//!    a claim that fails starts over from the read, never gives up. Then signal the claimed lot.
//! 2. Announce: set the own bit and leave the searchers, and the linger bit, if counted, in one step; heavy fence F3; look
//!    everywhere again. Saw work: withdraw (3) and try again. Else sleep (4).
//! 3. Withdraw: bit still set: clear it and count yourself in one step. Bit gone: the claimer has
//!    counted you. Either way you are counted now.
//! 4. Sleep: take the lot's state; stopped? own bit gone? then you were claimed and counted; else park
//!    on that state. A return from the park says nothing, only the bit does.
//! 5. Release: a counted worker that took a task leaves the searchers; fence F4; looks everywhere; and
//!    where it sees work, claims one more as in 1. This comes before it runs the task.
//! 6. Linger: set the linger bit, if it is clear, and count yourself, if uncounted, in one step; pause; look
//!    again, at others' run queues in the last look alone (`worker/search.rs`). It ends with 2 or 5.
//! 7. Retire: asked by a flag and a signal, no claim. Bit still set: clear it, uncounted. Bit gone: a
//!    claimer has counted this worker, so it passes the wake on by 5. Then it closes its inboxes, makes
//!    what is left in its queues visible as one submit (1), and leaves.
//!
//! F1 is `idle.submit.fence` from outside and the light `idle.push.fence` from a worker, F2
//! `idle.push.second`, F3 the heavy `idle.announce.fence`, F4 `idle.release.fence`.
//!
//! # Danger
//!
//! A task may be pushed just when the last worker goes to sleep; a submitter may trust a searcher that
//! has made its last look already; a wake may go to a worker that is leaving.
//!
//! # Why it cannot happen
//!
//! Push, F1, read against announce, F3, look: one of the two sees the other. Push, F1 (F2), read of the
//! count against release, F4, look: likewise. Every decrement of the count is followed by a full look of
//! the same worker (2 or 5), so no claimed wake and no trusted searcher is lost without a look that comes
//! after. The linger bit goes with its worker's count, so what holds for a trusted searcher holds for it. A claim
//! and its count are one step, so the count is never too low to cover nor too high to
//! trust.
//!
//! # Rejected
//!
//! Waking two per signal and no more (a batch of 64 used 2 of 9 workers); always waking one more after a
//! wake (four system calls for a lone task, the floor is two); trusting any one searcher however many
//! tasks wait (bursts crawl: one that was just woken takes long to come; one that lingers is awake, and wakes the next
//! before it runs its task); two words, one for bits and one for the count (an exit between the two
//! needs another fence).
//!
//! Source: the searcher count goes back to Go's scheduler (`runtime/proc.go`), the announcement with a
//! second look to the eventcount; claiming exactly one sleeper by its bit replaces bthread's broadcast.

use core::fmt;

use crossbeam_utils::CachePadded;

use crate::platform::{Array, CapacityError, Platform, WorkerIndex};
use crate::sync::{AtomicUsize, Ordering, left_out, lots_per_word};

/// How many workers share one idle word: 57 on 64-bit machines, 26 on 32-bit ones. As many searchers can be counted
/// in what is left beside the linger bit.
///
/// ```
/// use parkade_core::idle::LOTS_PER_WORD;
///
/// // The idle words of a tag of 200 workers:
/// assert_eq!(200_usize.div_ceil(LOTS_PER_WORD), if usize::BITS >= 64 { 4 } else { 8 });
/// ```
pub const LOTS_PER_WORD: usize = lots_per_word(if usize::BITS >= 64 { 57 } else { 26 });

const LINGERS: usize = 1 << LOTS_PER_WORD;
const ONE_SEARCHER: usize = LINGERS << 1;
const BITS: usize = LINGERS - 1;
const _: () = assert!(usize::MAX / ONE_SEARCHER >= LOTS_PER_WORD);

/// What an awake worker is in the idle word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Search {
    /// Nothing: it runs a task, or looks for the next.
    Uncounted,
    /// One of the searchers.
    Counted,
    /// The one of them that lingers.
    Lingering,
}

impl Search {
    /// What it adds to the word.
    const fn weight(self) -> usize {
        match self {
            Self::Uncounted => 0,
            Self::Counted => ONE_SEARCHER,
            Self::Lingering => ONE_SEARCHER + LINGERS,
        }
    }
}

/// The idle words of one tag.
pub(crate) struct IdleWords<P: Platform> {
    words: P::PerWorker<CachePadded<AtomicUsize>>,
}

/// What a submit found in the idle word, and so what came of its task's wake.
///
/// ```
#[doc = include_str!("../docs/board.md")]
/// use parkade_core::{Next, Origin, Priority, Slot, TagConfig, TagIndex, Task, TaskControl, Wake, WorkerIndex};
///
/// let control = TaskControl::new(&Board, &[TagConfig::new(1)])?;
/// let worker = control.register(Slot { tag: TagIndex(0), worker: WorkerIndex(0) })?;
/// let submit = |word| control.tags()[0].submit(Task::from_word(word), Priority::Normal, &Origin::new(0));
///
/// assert_eq!(submit(1)?, Wake::NobodyIdle { searchers: 0 }); // it has not looked for work yet
/// assert!(matches!(worker.next(), Next::Run(_)));
/// assert!(matches!(worker.next(), Next::Park(_)));
/// assert_eq!(submit(2)?, Wake::Woke(WorkerIndex(0)));
/// assert_eq!(submit(3)?, Wake::NobodyIdle { searchers: 1 }); // it is awake now, and searches
/// # drop(worker);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wake {
    /// An idle worker was claimed and signalled.
    Woke(WorkerIndex),
    /// Enough workers were searching already, or the one worker that must run it was awake.
    Covered,
    /// Nobody was idle. With no searcher either, every worker is busy: the moment to grow.
    NobodyIdle {
        /// How many workers were searching.
        searchers: usize,
    },
}

/// How a cancelled announcement found the own bit; whoever claimed it has counted the worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cancelled {
    TookBack,
    WasClaimed,
}

impl<P: Platform> IdleWords<P> {
    pub(crate) fn new(workers: usize) -> Result<Self, CapacityError> {
        let words = P::PerWorker::from_fn(workers.div_ceil(LOTS_PER_WORD), |_| {
            CachePadded::new(AtomicUsize::new(0))
        })?;
        Ok(Self { words })
    }

    /// The lowest announced worker: where an outside submit puts its task.
    pub(crate) fn first_announced(&self) -> Option<WorkerIndex> {
        self.words.iter().enumerate().find_map(|(at, word)| {
            let announced = word.load(Ordering::Relaxed) & BITS;
            (announced != 0).then(|| worker_at(at, announced))
        })
    }

    /// The number of searchers if nobody is announced: a submit's fast way out.
    #[inline]
    pub(crate) fn nobody_announced(&self) -> Option<usize> {
        self.words.iter().map(|word| nobody_in(word)).sum()
    }

    /// The only word, if there is no other.
    pub(crate) fn only_word(&self) -> Option<&AtomicUsize> {
        match &*self.words {
            [word] => Some(word),
            _ => None,
        }
    }

    /// How many workers are announced, and how many search.
    pub(crate) fn census(&self) -> (usize, usize) {
        self.words.iter().fold((0, 0), |(idle, searching), word| {
            let value = word.load(Ordering::Relaxed);
            (
                idle + (value & BITS).count_ones() as usize,
                searching + value / ONE_SEARCHER,
            )
        })
    }

    pub(crate) fn is_announced(&self, worker: WorkerIndex) -> bool {
        let (word, bit) = self.place(worker);
        word.load(Ordering::Relaxed) & bit != 0
    }

    /// Transition 2, up to the fence.
    pub(crate) fn announce(&self, worker: WorkerIndex, search: Search) {
        let (word, bit) = self.place(worker);
        word.fetch_add(bit.wrapping_sub(search.weight()), Ordering::Relaxed);
    }

    /// Transition 6; false if another worker of that word lingers.
    pub(crate) fn linger(&self, worker: WorkerIndex, search: Search) -> bool {
        let (word, _) = self.place(worker);
        let add = Search::Lingering.weight() - search.weight();
        let mut value = word.load(Ordering::Relaxed);
        while value & LINGERS == 0 {
            match word.compare_exchange_weak(
                value,
                value + add,
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Ok(_) => return true,
                Err(now) => value = now,
            }
        }
        false
    }

    /// Transition 3.
    pub(crate) fn withdraw(&self, worker: WorkerIndex) {
        let (word, bit) = self.place(worker);
        let mut value = word.load(Ordering::Relaxed);
        while value & bit != 0 {
            match word.compare_exchange_weak(
                value,
                value - bit + ONE_SEARCHER,
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Ok(_) => return,
                Err(now) => value = now,
            }
        }
    }

    /// Transition 7: takes the own bit back without being counted.
    pub(crate) fn cancel(&self, worker: WorkerIndex) -> Cancelled {
        let (word, bit) = self.place(worker);
        if word.fetch_and(!bit, Ordering::Relaxed) & bit != 0 {
            Cancelled::TookBack
        } else {
            Cancelled::WasClaimed
        }
    }

    /// Transition 5, up to the fence.
    pub(crate) fn leave_searchers(&self, worker: WorkerIndex, search: Search) {
        self.place(worker)
            .0
            .fetch_sub(search.weight(), Ordering::Relaxed);
    }

    /// Transition 1 from the read on: claims `preferred` if it is announced, else the lowest announced
    /// worker, unless `queued` tasks are covered by searchers. The caller signals the claimed lot.
    pub(crate) fn claim(&self, queued: usize, preferred: Option<WorkerIndex>) -> Wake {
        loop {
            let mut searchers = 0;
            let mut lingers = false;
            let mut candidate = None;
            for (at, word) in self.words.iter().enumerate() {
                let value = word.load(Ordering::Relaxed);
                searchers += value / ONE_SEARCHER;
                lingers |= value & LINGERS != 0;
                let announced = value & BITS;
                if announced == 0 {
                    continue;
                }
                let wanted = preferred.filter(|&WorkerIndex(index)| {
                    index / LOTS_PER_WORD == at && announced & bit_of(index) != 0
                });
                if candidate.is_none() || wanted.is_some() {
                    let worker = wanted.unwrap_or(worker_at(at, announced));
                    candidate = Some((worker, word, value));
                }
            }
            let Some((worker, word, value)) = candidate else {
                return Wake::NobodyIdle { searchers };
            };
            if lingers || searchers >= queued.max(1) {
                return Wake::Covered;
            }
            if claim_bit(word, value, bit_of(worker.0)) {
                return Wake::Woke(worker);
            }
            if left_out("idle.claim.retry") {
                return Wake::Covered;
            }
        }
    }

    /// Claims exactly this worker, if it is announced.
    pub(crate) fn claim_exactly(&self, worker: WorkerIndex) -> bool {
        let (word, bit) = self.place(worker);
        loop {
            let value = word.load(Ordering::Relaxed);
            if value & bit == 0 {
                return false;
            }
            if claim_bit(word, value, bit) {
                return true;
            }
        }
    }

    fn place(&self, WorkerIndex(index): WorkerIndex) -> (&AtomicUsize, usize) {
        (&self.words[index / LOTS_PER_WORD], bit_of(index))
    }
}

/// The number of searchers in a word, if nobody is announced there.
#[inline]
pub(crate) fn nobody_in(word: &AtomicUsize) -> Option<usize> {
    let value = word.load(Ordering::Relaxed);
    (value & BITS == 0).then_some(value / ONE_SEARCHER)
}

/// The one step that clears a bit and counts its worker.
fn claim_bit(word: &AtomicUsize, value: usize, bit: usize) -> bool {
    word.compare_exchange(
        value,
        value - bit + ONE_SEARCHER,
        Ordering::Relaxed,
        Ordering::Relaxed,
    )
    .is_ok()
}

const fn bit_of(index: usize) -> usize {
    1 << (index % LOTS_PER_WORD)
}

const fn worker_at(word: usize, announced: usize) -> WorkerIndex {
    WorkerIndex(word * LOTS_PER_WORD + announced.trailing_zeros() as usize)
}

impl<P: Platform> fmt::Debug for IdleWords<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words = f.debug_list();
        for word in self.words.iter() {
            let value = word.load(Ordering::Relaxed);
            let (sleepers, searchers) = (value & BITS, value / ONE_SEARCHER);
            let lingers = if value & LINGERS != 0 {
                ", one lingers"
            } else {
                ""
            };
            words.entry(&format_args!(
                "sleepers {sleepers:#b}, searchers {searchers}{lingers}"
            ));
        }
        words.finish()
    }
}
