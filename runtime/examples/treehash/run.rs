//! The two ways over a tree: one file after the other, and a task per file.
//!
//! A file larger than [`hash::CHUNK`] is split by its task into a batch of tasks, one per chunk, and the
//! task waits for them. That cannot deadlock, however few workers there are: a worker that joins a task that
//! nobody has started runs it itself, and one that somebody has started waits for nothing.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use blake3::Hash;
use parkade::{Backend, JoinHandle, RuntimeOn};

use crate::error::Error;
use crate::hash::{self, FileHash};
use crate::progress::Progress;
use crate::walk::Tree;

/// What one run over a tree came to.
#[derive(Debug)]
pub(crate) struct Run {
    /// What became of each file, in the tree's order.
    pub(crate) outcomes: Vec<io::Result<FileHash>>,
    /// Of all files that could be read.
    pub(crate) digest: Hash,
    pub(crate) elapsed: Duration,
}

impl Run {
    /// `outcomes` come lazily: they are the work that is timed.
    fn timed(
        tree: &Tree,
        outcomes: impl Iterator<Item = io::Result<FileHash>>,
        began: Instant,
    ) -> Self {
        let outcomes: Vec<_> = outcomes.collect();
        let readable = tree
            .files
            .iter()
            .zip(&outcomes)
            .filter_map(|(file, outcome)| {
                let outcome = outcome.as_ref().ok()?;
                Some((file.path.as_path(), outcome.hash))
            });
        Self {
            digest: hash::listing(readable),
            outcomes,
            elapsed: began.elapsed(),
        }
    }

    /// The files that were hashed.
    pub(crate) fn hashed(&self) -> impl Iterator<Item = &FileHash> {
        self.outcomes.iter().flatten()
    }

    /// The files that could not be read, and why.
    pub(crate) fn failed<'a>(
        &'a self,
        tree: &'a Tree,
    ) -> impl Iterator<Item = (&'a Path, &'a io::Error)> {
        let outcomes = tree.files.iter().zip(&self.outcomes);
        outcomes.filter_map(|(file, outcome)| Some((file.path.as_path(), outcome.as_ref().err()?)))
    }
}

/// Hashes one file after the other on the calling thread.
pub(crate) fn serial(tree: &Tree, progress: &Progress) -> Run {
    let began = Instant::now();
    let files = tree.files.iter();
    let outcomes = files.map(|file| hash::whole(&tree.root.join(&file.path), progress));
    Run::timed(tree, outcomes, began)
}

/// Hashes a file per task; the calling thread only waits.
pub(crate) fn parallel<B: Backend>(
    runtime: &Arc<RuntimeOn<B>>,
    tree: &Arc<Tree>,
    progress: &Arc<Progress>,
) -> Result<Run, Error> {
    let began = Instant::now();
    let mut batch = runtime.batch();
    let tasks: Vec<_> = (0..tree.files.len())
        .map(|index| {
            let (runtime, tree) = (Arc::clone(runtime), Arc::clone(tree));
            let progress = Arc::clone(progress);
            batch.spawn(move || {
                let path = tree.root.join(&tree.files[index].path);
                file(&runtime, path.into(), &progress)
            })
        })
        .collect();
    batch
        .submit()
        .map_err(|refused| Error::Refused(refused.reason))?;
    Ok(Run::timed(tree, tasks.into_iter().map(outcome), began))
}

/// Hashes one file, with the help of other workers if it is large. Runs on a worker.
fn file<B: Backend>(
    runtime: &RuntimeOn<B>,
    path: Arc<Path>,
    progress: &Arc<Progress>,
) -> io::Result<FileHash> {
    // Not the length that was listed: the file may have grown since.
    let bytes = fs::metadata(&path)?.len();
    if bytes <= hash::CHUNK {
        return hash::whole(&path, progress);
    }
    let mut batch = runtime.batch();
    let tasks: Vec<_> = (0..hash::chunks(bytes))
        .map(|index| {
            let (path, progress) = (Arc::clone(&path), Arc::clone(progress));
            batch.spawn(move || hash::chunk(&path, index, bytes, &progress))
        })
        .collect();
    batch
        .submit()
        .map_err(|refused| io::Error::other(refused.to_string()))?;
    // From the back, because thieves take the oldest task: so this worker runs the chunks from one end and
    // the thieves from the other until they meet. From the front it would find each chunk just begun by a
    // thief, and sleep until that one is done.
    let mut chunks = tasks
        .into_iter()
        .rev()
        .map(outcome)
        .collect::<Result<Vec<_>, _>>()?;
    chunks.reverse();
    Ok(FileHash {
        hash: hash::combine(&chunks),
        bytes,
    })
}

/// What a task returned. A task without a value counts as a file that could not be read.
fn outcome<T>(task: JoinHandle<io::Result<T>>) -> io::Result<T> {
    task.join()
        .unwrap_or_else(|lost| Err(io::Error::other(lost)))
}
