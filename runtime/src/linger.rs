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
    /// One worker of the tag at a time that has run some tasks in a row, for about 4 µs, if no worker of the runtime waits for a CPU meanwhile: not
    /// if there may be more workers than CPUs, and not in a tag with a CPU that two workers are pinned to.
    #[default]
    Auto,
    /// No worker: each goes to sleep as soon as it has found nothing twice.
    Never,
}

/// How many tasks in a row are a stream. After fewer a worker does not linger: a task now and then would only pay for
/// it.
pub(crate) const STREAM: u32 = 8;

/// How many more looks a worker takes.
const LOOKS: u32 = 8;

/// Between one look and the next. All of them together are what a sleep and a wake cost: 4 to 8 µs on the machine
/// where the bench was first run.
const PAUSE: Duration = Duration::from_nanos(500);

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
        Linger::Auto if all.len() <= cpus && !shared => LOOKS,
        Linger::Auto | Linger::Never => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_lingers_only_where_it_keeps_no_other_from_its_cpu() {
        let auto = |tag: &[Option<usize>], all: &[Option<usize>]| looks(Linger::Auto, tag, all, 2);
        let anywhere = [None, None];
        assert_eq!(auto(&anywhere, &anywhere), LOOKS);
        assert_eq!(auto(&anywhere, &[None; 3]), 0, "more workers than CPUs");
        let apart = [Some(0), Some(1)];
        assert_eq!(auto(&apart[..1], &apart), LOOKS);
        let together = [Some(1), Some(1)];
        assert_eq!(auto(&together[..1], &together), 0, "one CPU for two");
        assert_eq!(looks(Linger::Never, &anywhere, &anywhere, 2), 0);
    }
}
