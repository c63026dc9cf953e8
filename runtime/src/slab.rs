//! Memory for jobs that live as long as they are queued: one allocation for hundreds of them.
//!
//! A thread that spawns cuts jobs off a *block* of some [`BLOCK`] bytes, one after the other. A general allocator would do for
//! each what is done here for a block; and, where one thread spawns and another runs, it would keep the freed pieces
//! in a list that goes through the pieces themselves, whose cache lines are then in the other processor's cache. Here a
//! job is written once, by whoever spawns it, and only read by whoever runs it.
//!
//! # How a block is freed
//!
//! The first word of a block counts its users ([`Users`]). A thread that gives back a job of its own current block takes
//! it off a number of its own; when that is 0 the block is empty, and begun anew. For another's job the thread
//! remembers block and number, and takes off what it has gathered when it meets other blocks, goes to its park or
//! ends: so a block's word changes hands once for many jobs. A block is full when a job does not fit any more; then its
//! owner leaves it, and takes another.
//!
//! # Danger
//!
//! A block is found by rounding a job's address down, so every job that is given back must have come from here. And a
//! job that lives long keeps a whole block: whatever may wait for long (a job with a handle, a timer) is allocated
//! alone.
//!
//! # Rejected
//!
//! Lists of freed jobs per worker: one that only runs has many, one that only spawns none, and their links are cache
//! misses. A count per job given back: 6 ns, and 100 when two workers run jobs of one block.
//!
//! Source: the blocks are those of a region allocator; that the owner's count and the others' are apart is mimalloc's
//! local and thread-local free (Leijen, Zorn and de Moura, "Mimalloc: free list sharding in action", 2019).

mod users;

use std::alloc::{self, Layout};
use std::cell::Cell;
use std::ptr::{self, NonNull};

pub(crate) use users::{Last, Users};

/// The alignment of a block, in bytes.
const BLOCK: usize = 4096;

/// Where the first job of a block may lie.
const FIRST: usize = 16;

/// The size of a block, in bytes. The rest is for what an allocator puts before each piece: without it, glibc would have
/// room for the next block only after a gap of as much again.
const END: usize = BLOCK - 16;

/// The largest job that is worth it, and the strictest alignment, in bytes.
const LARGEST: usize = 256;
const STRICTEST: usize = 16;

/// Blocks of others that a thread remembers. One each would do for a single spawner; several spawners' jobs come mixed.
const REMEMBERED: usize = 4;

const LAYOUT: Layout = match Layout::from_size_align(END, BLOCK) {
    Ok(layout) => layout,
    Err(_) => panic!("a power of two"),
};

type Block = NonNull<Users>;

const _: () = assert!(size_of::<Users>() <= FIRST && align_of::<Users>() <= BLOCK);

/// Whether a job of this layout comes from here.
pub(crate) const fn takes(job: Layout) -> bool {
    job.size() <= LARGEST && job.align() <= STRICTEST && job.size() > 0
}

/// What a thread knows of blocks.
struct Local {
    /// The block that it cuts jobs off.
    own: Cell<Option<Block>>,
    /// Where the next one may lie in it; with no block, its end.
    next: Cell<usize>,
    /// Jobs that it has cut off and not got back itself.
    jobs: Cell<u32>,
    /// Others' blocks, and how many jobs of each it has done with.
    others: [Cell<(Option<Block>, u32)>; REMEMBERED],
}

thread_local! {
    static LOCAL: Local = const {
        Local {
            own: Cell::new(None),
            next: Cell::new(END),
            jobs: Cell::new(0),
            others: [const { Cell::new((None, 0)) }; REMEMBERED],
        }
    };
}

/// Memory for one job, whose layout is one that this [takes]; with the provenance of its whole block.
#[inline]
pub(crate) fn take(job: Layout) -> NonNull<u8> {
    debug_assert!(takes(job));
    let taken = LOCAL.try_with(|local| local.take(job));
    // A thread that is ending has no blocks any more.
    taken.unwrap_or_else(|_| take_alone(job))
}

/// Gives back the memory of a job.
///
/// # Safety
///
/// It came from [`take`], with its provenance, and nobody uses it any more.
#[inline]
pub(crate) unsafe fn give_back(job: NonNull<u8>) {
    let block = job.as_ptr().map_addr(|address| address & !(BLOCK - 1));
    // SAFETY: it lies in a block, whose address is not null.
    let block: Block = unsafe { NonNull::new_unchecked(block) }.cast();
    let done = LOCAL.try_with(|local| local.give_back(block));
    if done.is_err() {
        // SAFETY: the job that is given back has kept its block alive.
        unsafe { leave(block, 1) };
    }
}

/// Gives up what this thread remembers of others' blocks: before it sleeps, perhaps for long.
pub(crate) fn settle() {
    // A thread that is ending remembers none.
    let _settled = LOCAL.try_with(Local::settle);
}

impl Local {
    #[inline]
    fn take(&self, job: Layout) -> NonNull<u8> {
        let at = self.next.get().next_multiple_of(job.align());
        let end = at + job.size();
        match self.own.get() {
            Some(block) if end <= END => {
                self.next.set(end);
                self.jobs.set(self.jobs.get() + 1);
                place(block, at)
            }
            _ => self.take_from_another(job),
        }
    }

    #[cold]
    fn take_from_another(&self, job: Layout) -> NonNull<u8> {
        self.disown();
        let block = new_block();
        self.own.set(Some(block));
        self.next.set(FIRST + job.size());
        self.jobs.set(1);
        place(block, FIRST)
    }

    #[inline]
    fn give_back(&self, block: Block) {
        if self.own.get() == Some(block) {
            let jobs = self.jobs.get() - 1;
            self.jobs.set(jobs);
            if jobs == 0 {
                self.next.set(FIRST);
            }
            return;
        }
        let cell = &self.others[block.addr().get() / BLOCK % REMEMBERED];
        match cell.get() {
            (Some(same), jobs) if same == block => cell.set((Some(block), jobs + 1)),
            (other, jobs) => {
                cell.set((Some(block), 1));
                if let Some(other) = other {
                    // SAFETY: the jobs that were noted for it have kept it alive, and are taken off once.
                    unsafe { leave(other, jobs) };
                }
            }
        }
    }

    fn settle(&self) {
        for cell in &self.others {
            if let (Some(block), jobs) = cell.replace((None, 0)) {
                // SAFETY: as in `give_back`.
                unsafe { leave(block, jobs) };
            }
        }
    }

    /// Leaves the own block to those who have jobs in it.
    fn disown(&self) {
        self.next.set(END);
        if let Some(block) = self.own.take() {
            // SAFETY: its owner has kept it alive.
            let users = unsafe { block.as_ref() };
            if users.disown(self.jobs.replace(0)) == Last::Yes {
                // SAFETY: nobody else is left.
                unsafe { free(block) };
            }
        }
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        self.settle();
        self.disown();
    }
}

/// A block for one job alone, which has no owner.
#[cold]
fn take_alone(job: Layout) -> NonNull<u8> {
    debug_assert!(takes(job));
    let block = new_block();
    // SAFETY: it is new.
    let users = unsafe { block.as_ref() };
    let Last::No = users.disown(1) else {
        unreachable!("there is a job in it")
    };
    place(block, FIRST)
}

#[inline]
fn place(block: Block, at: usize) -> NonNull<u8> {
    block.cast::<u8>().map_addr(|address| address | at)
}

fn new_block() -> Block {
    // SAFETY: the layout has a size.
    let memory = unsafe { alloc::alloc(LAYOUT) };
    let Some(block) = NonNull::new(memory.cast::<Users>()) else {
        alloc::handle_alloc_error(LAYOUT)
    };
    // SAFETY: the memory is new, and large and aligned enough.
    unsafe { block.write(Users::new()) };
    block
}

/// # Safety
///
/// So many jobs of that block have been given back and not been taken off, by threads that do not own it.
unsafe fn leave(block: Block, jobs: u32) {
    // SAFETY: the jobs that are taken off here have kept it alive.
    let users = unsafe { block.as_ref() };
    if users.leave(jobs) == Last::Yes {
        // SAFETY: nobody else is left.
        unsafe { free(block) };
    }
}

/// # Safety
///
/// The block was made by [`new_block`], and nobody uses it any more.
#[cold]
unsafe fn free(block: Block) {
    // SAFETY: it has been written, and this is the end of it.
    unsafe { ptr::drop_in_place(block.as_ptr()) };
    // SAFETY: it was allocated with this layout.
    unsafe { alloc::dealloc(block.as_ptr().cast(), LAYOUT) };
}

#[cfg(all(test, not(parkade_loom)))]
mod tests {
    use super::*;
    use std::num::NonZero;
    use std::sync::mpsc;
    use std::thread;

    const JOB: Layout = Layout::new::<[u64; 2]>();

    /// A job whose memory is written and read as such.
    #[derive(Debug)]
    struct Job(NonNull<u8>);

    // SAFETY: it is the only one who uses its memory.
    unsafe impl Send for Job {}

    impl Job {
        fn new(number: u64) -> Self {
            let place = take(JOB);
            // SAFETY: the memory is large and aligned enough, and nobody else's.
            unsafe { place.cast().write([number; 2]) };
            Self(place)
        }

        fn end(self) -> u64 {
            // SAFETY: `new` has written it.
            let [one, two] = unsafe { self.0.cast::<[u64; 2]>().read() };
            assert_eq!(one, two);
            // SAFETY: it came from `take`, and ends here.
            unsafe { give_back(self.0) };
            one
        }
    }

    fn block_of(job: &Job) -> usize {
        job.0.addr().get() & !(BLOCK - 1)
    }

    #[test]
    fn an_empty_block_is_begun_anew() {
        let first = Job::new(1);
        let (block, place) = (block_of(&first), first.0);
        let second = Job::new(2);
        assert_eq!(block_of(&second), block);
        assert_eq!((first.end(), second.end()), (1, 2));
        let third = Job::new(3);
        assert_eq!(third.0, place);
        third.end();
    }

    #[test]
    fn a_full_block_is_left_to_its_jobs() {
        let jobs: Vec<_> = (0..3 * BLOCK as u64 / 16).map(Job::new).collect();
        let mut blocks: Vec<_> = jobs.iter().map(block_of).collect();
        blocks.dedup();
        assert_eq!(blocks.len(), 4, "some room goes to the counts");
        for (number, job) in jobs.into_iter().enumerate() {
            assert_eq!(job.end(), number as u64);
        }
    }

    #[test]
    fn jobs_of_another_are_taken_off_together() {
        let mut jobs = thread::spawn(|| (0..3).map(Job::new).collect::<Vec<_>>())
            .join()
            .unwrap();
        let address = NonZero::new(block_of(&jobs[0])).unwrap();
        let block = jobs[0].0.map_addr(|_| address).cast::<Users>();
        // SAFETY: the last job keeps it alive.
        let left = || unsafe { block.as_ref() }.jobs();
        let last = jobs.pop().unwrap();
        assert_eq!(jobs.into_iter().map(Job::end).sum::<u64>(), 1);
        assert_eq!(left(), 3, "its word is not written for each");
        settle();
        assert_eq!(left(), 1, "but before a sleep");
        assert_eq!(last.end(), 2);
    }

    #[test]
    fn sizes_and_alignments_are_kept() {
        let layouts = [(1, 1), (8, 8), (24, 8), (256, 16), (3, 1), (16, 16), (9, 4)];
        let layouts = layouts.map(|(size, align)| Layout::from_size_align(size, align).unwrap());
        let places: Vec<_> = layouts.iter().map(|layout| take(*layout)).collect();
        for (place, layout) in places.iter().zip(&layouts) {
            assert_eq!(place.addr().get() % layout.align(), 0);
            // SAFETY: that is how large it is.
            unsafe { place.write_bytes(0xff, layout.size()) };
        }
        for place in places {
            // SAFETY: each came from `take`.
            unsafe { give_back(place) };
        }
        assert!(!takes(Layout::new::<[u64; 33]>()));
        assert!(!takes(Layout::new::<()>()));
    }

    #[test]
    fn jobs_outlive_the_thread_that_made_them() {
        let jobs = thread::spawn(|| (0..10).map(Job::new).collect::<Vec<_>>());
        let sum: u64 = jobs.join().unwrap().into_iter().map(Job::end).sum();
        assert_eq!(sum, 45);
    }

    #[test]
    fn a_thread_that_is_ending_takes_and_gives_back() {
        struct AtEnd(Cell<Option<Job>>);
        impl Drop for AtEnd {
            fn drop(&mut self) {
                if let Some(job) = self.0.take() {
                    assert_eq!(job.end(), 5);
                }
                assert_eq!(Job::new(6).end(), 6);
            }
        }
        thread_local! {
            // Made before the blocks, so dropped after them.
            static AT_END: AtEnd = const { AtEnd(Cell::new(None)) };
        }
        let ended = thread::spawn(|| {
            AT_END.with(|at_end| {
                at_end.0.set(None);
                at_end.0.set(Some(Job::new(5)));
            });
        });
        ended.join().unwrap();
    }

    #[test]
    fn jobs_of_many_makers_end_on_many_threads() {
        const MAKERS: u64 = 3;
        const JOBS: u64 = if cfg!(miri) { 300 } else { 50_000 };
        let sum = thread::scope(|threads| {
            let (takers, queues): (Vec<_>, Vec<_>) = (0..2).map(|_| mpsc::channel::<Job>()).unzip();
            for maker in 0..MAKERS {
                let takers = takers.clone();
                threads.spawn(move || {
                    for number in 0..JOBS {
                        let to = (number + maker) as usize % takers.len();
                        takers[to].send(Job::new(number)).unwrap();
                    }
                });
            }
            drop(takers);
            let ends: Vec<_> = queues
                .into_iter()
                .map(|queue| {
                    threads.spawn(move || {
                        let each = queue.into_iter().enumerate().map(|(turn, job)| {
                            if turn % 100 == 0 {
                                settle();
                            }
                            job.end()
                        });
                        each.sum::<u64>()
                    })
                })
                .collect();
            ends.into_iter().map(|end| end.join().unwrap()).sum::<u64>()
        });
        assert_eq!(sum, MAKERS * (JOBS * (JOBS - 1) / 2));
    }
}
