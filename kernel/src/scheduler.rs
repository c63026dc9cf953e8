//! The core's one type parameter, filled in: which park, which fences, which lock, which storage.
//!
//! Storage is core's ready pieces by `heapless`, with capacities in the type; the lock is core's ticket
//! lock by `spin`, with interrupts masked around it; the fences are the defaults. What is the kernel's
//! own is the park.

use parkade_core::pieces::{FixedArray, FixedQueue, TicketLock};
use parkade_core::sync::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering};
use parkade_core::{
    Lock, Next, Park, Platform, SeqCstFences, Slot, StopPolicy, TagConfig, TagIndex, TaskControl,
    Worker, WorkerIndex,
};
use spin::Once;

use crate::machine::{Board, MAX_HARTS, Machine, masked};
use crate::modes::broken::LatePark;
use crate::park::HartPark;
use crate::watchdog;

/// Tasks that an inbox and a run queue hold.
pub(crate) const QUEUE: usize = 64;

/// Tags that a control has room for.
pub(crate) const MAX_TAGS: usize = 2;

/// This kernel as a [`Platform`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kernel {
    /// How its harts sleep.
    pub(crate) park: ParkKind,
}

/// The park that this kernel is about, or the one that shows what the checks are worth.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ParkKind {
    Sound,
    Broken,
}

/// One of the two, in one type, so that the image holds the core once.
#[derive(Debug)]
pub(crate) enum AnyPark {
    Sound(HartPark),
    Broken(LatePark),
}

impl Park for AnyPark {
    fn wait(&self, word: &AtomicU32, expected: u32) {
        match self {
            Self::Sound(park) => park.wait(word, expected),
            Self::Broken(park) => park.wait(word, expected),
        }
    }

    fn wake(&self, word: &AtomicU32, n: u32) -> u32 {
        match self {
            Self::Sound(park) => park.wake(word, n),
            Self::Broken(park) => park.wake(word, n),
        }
    }
}

impl Platform for Kernel {
    type Park = AnyPark;
    type Fences = SeqCstFences;
    type Lock<T: Send> = MaskingLock<T>;
    type Queue = FixedQueue<QUEUE>;
    type Ring = FixedArray<AtomicPtr<()>, QUEUE>;
    type PerWorker<T: Send + Sync> = FixedArray<T, MAX_HARTS>;
    type PerTag<T: Send + Sync> = FixedArray<T, MAX_TAGS>;

    fn park(&self, _slot: Slot) -> AnyPark {
        match self.park {
            ParkKind::Sound => AnyPark::Sound(HartPark::new()),
            ParkKind::Broken => AnyPark::Broken(LatePark::new()),
        }
    }

    fn fences(&self) -> SeqCstFences {
        SeqCstFences
    }
}

/// A ticket lock that masks interrupts while it is held or waited for.
///
/// A handler that submits takes the lock of an inbox. Were it to interrupt a holder on its own hart, it
/// would wait for ever for code that cannot go on before it returns.
#[derive(Debug)]
pub(crate) struct MaskingLock<T> {
    lock: TicketLock<T>,
    /// A hint, so that whoever comes while it is held gives way instead of spinning.
    held: AtomicBool,
}

/// How often the timer came due while a lock was held: what would have been a deadlock.
pub(crate) static DUE_WHILE_LOCKED: AtomicUsize = AtomicUsize::new(0);

impl<T: Send> Lock<T> for MaskingLock<T> {
    fn new(value: T) -> Self {
        Self {
            lock: TicketLock::new(value),
            held: AtomicBool::new(false),
        }
    }

    fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        masked(|| {
            while self.held.load(Ordering::Relaxed) {
                Board::give_way();
            }
            self.lock.with(|value| {
                self.held.store(true, Ordering::Relaxed);
                let due_before = Board::timer_is_due();
                let result = f(value);
                if !due_before && Board::timer_is_due() {
                    DUE_WHILE_LOCKED.fetch_add(1, Ordering::Relaxed);
                }
                self.held.store(false, Ordering::Relaxed);
                result
            })
        })
    }
}

/// The controls of one boot: all but one mode use the first alone.
static CONTROLS: [Once<TaskControl<Kernel>>; ROUNDS] = [const { Once::new() }; ROUNDS];

/// How many schedulers may follow each other in one boot.
pub(crate) const ROUNDS: usize = 16;

/// Makes the scheduler of a round. Hart 0 does it; the others wait in [`scheduler`].
pub(crate) fn build(
    round: usize,
    park: ParkKind,
    tags: &[TagConfig],
) -> &'static TaskControl<Kernel> {
    CONTROLS[round].call_once(|| match TaskControl::new(&Kernel { park }, tags) {
        Ok(control) => control,
        Err(error) => panic!("{error}"),
    })
}

/// The scheduler of a round, as soon as it is there.
pub(crate) fn scheduler(round: usize) -> &'static TaskControl<Kernel> {
    let mut found = None;
    watchdog::until(|| {
        found = CONTROLS[round].get();
        found.is_some()
    });
    found.unwrap_or_else(|| panic!("there is no scheduler {round}"))
}

/// A tag of this kernel: queues that fit its storage.
pub(crate) const fn tag(workers: usize) -> TagConfig {
    TagConfig::new(workers).run_queue(QUEUE)
}

/// Makes the calling hart a worker.
pub(crate) fn register(
    control: &'static TaskControl<Kernel>,
    tag: usize,
    worker: usize,
) -> Worker<'static, Kernel> {
    let slot = Slot {
        tag: TagIndex(tag),
        worker: WorkerIndex(worker),
    };
    match control.register(slot) {
        Ok(worker) => worker,
        Err(error) => panic!("{error}"),
    }
}

/// After how many tasks a hart gives way to others.
const TURNS: usize = 32;

/// A worker's whole life on its hart: asks, does, until it is told to leave.
pub(crate) fn work(worker: &Worker<'_, Kernel>, mut run: impl FnMut(usize)) {
    for turn in 0_usize.. {
        if turn.is_multiple_of(TURNS) {
            Board::give_way();
        }
        match worker.next() {
            Next::Run(task) => run(task.into_word()),
            Next::Park(state) => {
                worker.park(state);
                watchdog::look();
            }
            Next::Linger => core::hint::spin_loop(),
            Next::Stop | Next::Retire => return,
        }
    }
}

/// Steps 1 to 4 of a stop; any hart may take them, once. What is queued runs.
pub(crate) fn drain(control: &TaskControl<Kernel>) {
    let Ok(drivers) = control.stop(StopPolicy::Drain) else {
        panic!("the scheduler is stopped twice");
    };
    let join = drivers.drivers_stopped().close().stop_lots().interrupted();
    // The fifth is taken by hart 0: it waits until every hart has left its loop.
    drop(join);
}
