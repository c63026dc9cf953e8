//! Serial against parallel, fairly: both find a warm page cache, and neither always goes first.
//!
//! A serial run that does not count reads every file once and gives the digest that all later runs must
//! have. Then come rounds of one serial and one parallel run each, the order turned round every time, so that
//! a machine that gets slower or faster meanwhile favours neither. Each side's time is the median of its runs.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use blake3::Hash;
use parkade::{Backend, RuntimeOn};
use thiserror::Error;

use crate::error::Error;
use crate::progress::Progress;
use crate::run::{self, Run};
use crate::walk::Tree;

/// How many files a mismatch names.
const FEW: usize = 5;

/// The outcome of all runs.
#[derive(Debug)]
pub(crate) struct Measured {
    /// The run that warmed the cache; the others had the same outcome.
    pub(crate) first: Run,
    pub(crate) rounds: u32,
    /// Medians.
    pub(crate) serial: Duration,
    pub(crate) parallel: Duration,
}

/// Two runs do not agree: a defect, unless somebody writes to the files meanwhile.
#[derive(Debug, Error)]
pub(crate) struct Mismatch {
    pub(crate) expected: Hash,
    pub(crate) found: Hash,
    /// The files whose outcomes differ.
    pub(crate) files: Vec<PathBuf>,
}

/// How many times a measurement reads each byte.
pub(crate) fn passes(rounds: u32) -> u64 {
    1 + 2 * u64::from(rounds)
}

/// Runs so many rounds, at least 1.
pub(crate) fn measure<B: Backend>(
    runtime: &Arc<RuntimeOn<B>>,
    tree: &Arc<Tree>,
    rounds: u32,
    progress: &Arc<Progress>,
) -> Result<Measured, Error> {
    let first = run::serial(tree, progress);
    let (mut serial, mut parallel) = (Vec::new(), Vec::new());
    for turn in 0..2 * rounds {
        // Serial, parallel, parallel, serial, serial, …
        let is_serial = turn % 4 == 0 || turn % 4 == 3;
        let (run, times) = if is_serial {
            (run::serial(tree, progress), &mut serial)
        } else {
            (run::parallel(runtime, tree, progress)?, &mut parallel)
        };
        agree(tree, &first, &run)?;
        times.push(run.elapsed);
    }
    Ok(Measured {
        first,
        rounds,
        serial: median(serial),
        parallel: median(parallel),
    })
}

/// Whether the same files were hashed to the same values.
pub(crate) fn agree(tree: &Tree, expected: &Run, found: &Run) -> Result<(), Mismatch> {
    if expected.digest == found.digest {
        return Ok(());
    }
    let outcomes = expected.outcomes.iter().zip(&found.outcomes);
    let differing = tree
        .files
        .iter()
        .zip(outcomes)
        .filter(|(_, outcomes)| match outcomes {
            (Ok(expected), Ok(found)) => expected != found,
            (expected, found) => expected.is_ok() != found.is_ok(),
        });
    Err(Mismatch {
        expected: expected.digest,
        found: found.digest,
        files: differing.map(|(file, _)| file.path.clone()).collect(),
    })
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    let upper = times.len() / 2;
    if times.len() % 2 == 1 {
        times[upper]
    } else {
        (times[upper - 1] + times[upper]) / 2
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            expected,
            found,
            files,
        } = self;
        write!(
            f,
            "a run has the digest {found}, the first one had {expected}. "
        )?;
        write!(f, "{} files differ:", files.len())?;
        for file in files.iter().take(FEW) {
            write!(f, " {}", file.display())?;
        }
        if files.len() > FEW {
            write!(f, " …")?;
        }
        write!(
            f,
            " (if a program writes to them, try again without it, or with --exclude)"
        )
    }
}
