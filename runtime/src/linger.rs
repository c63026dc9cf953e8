//! Lingering: what a worker without work does for some microseconds before it goes to sleep.
//!
//! A sleep and the wake that ends it cost both sides several microseconds. Where tasks come closer together than
//! that, the submitter pays for a wake every few tasks, and never gets ahead of its own wakes. So one worker of a tag
//! looks again a few times, for about as long as a sleep and a wake take, before it sleeps: at worst it doubles the
//! price of falling asleep, and while it lingers no submit makes a system call. The core decides who lingers and
//! when it is over ([`parkade_core::TagConfig::linger`]); here is how long, and who may.
//!
//! The looks are a pause apart. Each takes all that has come meanwhile in one go, and the submitters have the inbox's
//! cache line for themselves in between.
//!
//! A worker that waits for another, which runs what it has forked or spawned in a scope, looks as often before it
//! sleeps: its waker would pay for the wake. Any number of workers may, for each of them has a CPU that has nothing to do.
//!
//! Source of the bound: Karlin, Manasse, McGeoch and Owicki, "Competitive randomized algorithms for nonuniform
//! problems", 1990 (waiting as long as the alternative costs is at most twice as dear as knowing the future).

use std::collections::HashMap;
use std::hint;
use std::time::{Duration, Instant};

/// Whether a tag's worker that runs out of work looks again for some microseconds before it sleeps.
///
/// ```
/// use parkade::{Linger, Runtime, Tag};
///
/// let tag = Tag::new("frugal").workers(2).linger(Linger::Never);
/// let runtime = Runtime::builder().tag(tag).build()?;
/// assert_eq!(runtime.spawn(|| 6 * 7).join()?, 42);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Linger {
    /// One worker of the tag at a time, for about 4 µs, if no worker of the runtime waits for a CPU meanwhile: not
    /// if there may be more workers than CPUs, or one CPU alone, and not in a tag with a CPU that two workers are pinned
    /// to. It goes on, up to 16 times as long, while another worker of the tag spawns tasks or forks and takes them back
    /// sooner than that, for what lies longer.
    ///
    /// A worker that waits for a fork, or at the end of a scope for a task, which another worker has begun, looks as long
    /// for its end.
    #[default]
    Auto,
    /// No worker: each goes to sleep as soon as it has found nothing twice, and at once when it waits.
    Never,
}

/// How many more looks a worker takes.
const LOOKS: u32 = 16;

/// Between one look and the next. All of them together are what a sleep and a wake cost: 4 to 8 µs on the machine
/// where the bench was first run.
const PAUSE: Duration = Duration::from_nanos(250);

/// How often a worker that waits for the end of what another runs looks before it sleeps.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Looks(u32);

impl Looks {
    /// For who is no worker: its thread may take a worker's CPU.
    pub(crate) const NONE: Self = Self(0);

    pub(crate) fn new(looks: u32) -> Self {
        Self(looks)
    }

    /// Looks until `ended` says so, or as often as that.
    pub(crate) fn look(self, ended: impl Fn() -> bool) {
        for _ in 0..self.0 {
            if ended() {
                return;
            }
            pause();
        }
    }
}

/// Waits for the next look.
pub(crate) fn pause() {
    let began = Instant::now();
    while began.elapsed() < PAUSE {
        hint::spin_loop();
    }
}

/// For a tag whose workers have these CPUs (`None`: not pinned), how many looks one of them takes; `all` are the
/// workers of the runtime, which has `cpus` CPUs.
pub(crate) fn looks(
    linger: Linger,
    tag: &[Option<usize>],
    all: &[Option<usize>],
    cpus: usize,
) -> u32 {
    let mut pinned: HashMap<usize, usize> = HashMap::new();
    for cpu in all.iter().flatten() {
        *pinned.entry(*cpu).or_default() += 1;
    }
    let shared = tag.iter().flatten().any(|cpu| pinned[cpu] > 1);
    match linger {
        Linger::Auto if cpus > 1 && all.len() <= cpus && !shared => LOOKS,
        Linger::Auto | Linger::Never => 0,
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn a_worker_lingers_only_where_it_keeps_no_other_from_its_cpu() {
        let auto = |tag: &[Option<usize>], all: &[Option<usize>]| looks(Linger::Auto, tag, all, 2);
        let anywhere = [None, None];
        assert_eq!(auto(&anywhere, &anywhere), LOOKS);
        assert_eq!(auto(&anywhere, &[None; 3]), 0, "more workers than CPUs");
        let alone = looks(Linger::Auto, &[None], &[None], 1);
        assert_eq!(alone, 0, "whoever submits wants the one CPU");
        let apart = [Some(0), Some(1)];
        assert_eq!(auto(&apart[..1], &apart), LOOKS);
        let together = [Some(1), Some(1)];
        assert_eq!(auto(&together[..1], &together), 0, "one CPU for two");
        assert_eq!(looks(Linger::Never, &anywhere, &anywhere, 2), 0);
    }

    #[test]
    fn a_waiter_looks_until_it_has_seen_the_end_or_as_often_as_it_may() {
        let looked = |looks: Looks, end: u32| {
            let count = Cell::new(0);
            looks.look(|| count.replace(count.get() + 1) == end);
            count.get()
        };
        assert_eq!(looked(Looks::NONE, 0), 0);
        assert_eq!(looked(Looks::new(5), 0), 1);
        assert_eq!(looked(Looks::new(5), 3), 4);
        assert_eq!(looked(Looks::new(5), 9), 5);
    }
}
