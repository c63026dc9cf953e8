//! What the user reads in the end. MB are 10^6 bytes.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use indicatif::DecimalBytes;

use crate::hash;
use crate::measure::{self, Measured};
use crate::pool::Placement;
use crate::walk::Tree;

/// How many unreadable files are named.
const FEW: usize = 5;

/// Everything but the runtime's own counters.
#[derive(Debug)]
pub(crate) struct Report<'a> {
    pub(crate) tree: &'a Tree,
    pub(crate) measured: &'a Measured,
    pub(crate) workers: usize,
    /// Those that are not where the placement has them.
    pub(crate) misplaced: usize,
    pub(crate) placement: &'a Placement,
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tree, measured, .. } = self;
        let (serial, parallel) = (measured.serial, measured.parallel);
        let hashed = || measured.first.hashed().map(|file| file.bytes);
        let bytes = hashed().sum();
        let large = hashed().filter(|&bytes| bytes > hash::CHUNK);
        let (split, chunks) = large.fold((0, 0), |(files, chunks), bytes| {
            (files + 1, chunks + hash::chunks(bytes))
        });
        let rounds = measured.rounds;
        writeln!(f, "directory   {}", tree.root.display())?;
        writeln!(f, "files       {}", hashed().count())?;
        writeln!(f, "bytes       {bytes} ({})", DecimalBytes(bytes))?;
        writeln!(
            f,
            "split       {split} files, into {chunks} chunks of {} KiB",
            hash::CHUNK / 1024
        )?;
        writeln!(
            f,
            "left out    {} links, {} special, {} excluded",
            tree.links, tree.special, tree.excluded
        )?;
        self.unreadable(f)?;
        write!(f, "workers     {}, {}", self.workers, self.placement)?;
        if self.misplaced > 0 {
            write!(f, ", {} of them elsewhere", self.misplaced)?;
        }
        writeln!(f)?;
        writeln!(f, "serial      {}", Speed(bytes, serial))?;
        writeln!(f, "parallel    {}", Speed(bytes, parallel))?;
        writeln!(f, "speed-up    {:.2}", seconds(serial) / seconds(parallel))?;
        writeln!(
            f,
            "runs        1 to warm the page cache, then {rounds} of each kind, in turns; times are medians"
        )?;
        write!(
            f,
            "digest      {} (BLAKE3, the same in all {} runs)",
            measured.first.digest,
            measure::passes(rounds)
        )
    }
}

impl Report<'_> {
    fn unreadable(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unlisted = self.tree.unlisted.iter();
        let unlisted = unlisted.map(|(path, reason)| (path.as_path(), reason.clone()));
        let failed = self.measured.first.failed(self.tree);
        let failed = failed.map(|(path, error)| (path, error.to_string()));
        let unreadable: Vec<(&Path, String)> = unlisted.chain(failed).collect();
        writeln!(f, "unreadable  {}", unreadable.len())?;
        for (path, reason) in unreadable.iter().take(FEW) {
            writeln!(f, "            {}: {reason}", path.display())?;
        }
        if unreadable.len() > FEW {
            writeln!(f, "            and {} more", unreadable.len() - FEW)?;
        }
        Ok(())
    }
}

/// So many bytes in such a time.
struct Speed(u64, Duration);

impl fmt::Display for Speed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(bytes, time) = *self;
        let megabytes = bytes as f64 / 1e6;
        write!(f, "{:.1} MB/s ({time:.3?})", megabytes / seconds(time))
    }
}

/// Never zero, so that one can divide by it.
fn seconds(time: Duration) -> f64 {
    time.max(Duration::from_nanos(1)).as_secs_f64()
}
