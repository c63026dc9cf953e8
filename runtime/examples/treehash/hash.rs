//! The hashes: one file whole, one file in chunks, and the list of all files.
//!
//! BLAKE3 is a tree hash by construction, so a file can be hashed in pieces and still have *its* BLAKE3 hash.
//! Chunks of [`CHUNK`] bytes, a power of two, are subtrees of that tree. A task per chunk computes the
//! subtree's *chaining value*; [`combine`] merges those values in the order of the chunks, pair by pair, as
//! BLAKE3 itself would: the left child of a node is the largest power of two of chunks that leaves something
//! for the right one. So the parallel hash of a file is, bit for bit, what the serial code and the program
//! `b3sum` compute.
//!
//! The digest of a tree is the BLAKE3 hash of its [`listing`].

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use blake3::hazmat::{self, ChainingValue, HasherExt, Mode};
use blake3::{Hash, Hasher};

use crate::progress::Progress;
use crate::walk;

/// How many bytes a large file is split into, and the largest file that is not split.
///
/// At some GB/s it is a task of 0.1 ms: long beside the microsecond that a task costs, short enough to
/// spread one file over all workers.
pub(crate) const CHUNK: u64 = 256 * 1024;

/// The hash of a file's contents, and how many bytes those were.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileHash {
    pub(crate) hash: Hash,
    pub(crate) bytes: u64,
}

/// Hashes a file from its beginning to its end, a small buffer at a time.
pub(crate) fn whole(path: &Path, progress: &Progress) -> io::Result<FileHash> {
    let mut file = File::open(path)?;
    let mut hasher = Hasher::new();
    loop {
        let before = hasher.count();
        hasher.update_reader(file.by_ref().take(CHUNK))?;
        let read = hasher.count() - before;
        progress.add(read);
        if read < CHUNK {
            return Ok(FileHash {
                hash: hasher.finalize(),
                bytes: hasher.count(),
            });
        }
    }
}

/// How many chunks a file of so many bytes has.
pub(crate) fn chunks(bytes: u64) -> u64 {
    bytes.div_ceil(CHUNK)
}

/// Hashes chunk `index` of a file of `bytes` bytes that has more than one.
pub(crate) fn chunk(
    path: &Path,
    index: u64,
    bytes: u64,
    progress: &Progress,
) -> io::Result<ChainingValue> {
    let start = index * CHUNK;
    let length = CHUNK.min(bytes - start);
    // A file of its own: a shared one would have one position for all.
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(start))?;
    let mut hasher = Hasher::new();
    hasher.set_input_offset(start);
    hasher.update_reader(file.take(length))?;
    progress.add(hasher.count());
    if hasher.count() < length {
        return Err(io::Error::new(
            io::ErrorKind::UnexpectedEof,
            "the file became shorter while it was read",
        ));
    }
    Ok(hasher.finalize_non_root())
}

/// The hash of a file from the chaining values of its chunks, in order; there are at least two.
pub(crate) fn combine(chunks: &[ChainingValue]) -> Hash {
    let (left, right) = children(chunks);
    hazmat::merge_subtrees_root(&subtree(left), &subtree(right), Mode::Hash)
}

fn subtree(chunks: &[ChainingValue]) -> ChainingValue {
    if let [only] = chunks {
        return *only;
    }
    let (left, right) = children(chunks);
    hazmat::merge_subtrees_non_root(&subtree(left), &subtree(right), Mode::Hash)
}

fn children(chunks: &[ChainingValue]) -> (&[ChainingValue], &[ChainingValue]) {
    chunks.split_at(chunks.len().next_power_of_two() / 2)
}

/// The digest of a whole tree: the hash of a list with an entry per file, sorted by name.
///
/// An entry is the file's hash in hexadecimal, two spaces, its name, and a zero byte, which no name
/// contains: so two trees have the same list only if they have the same names and contents.
pub(crate) fn listing<'a>(files: impl IntoIterator<Item = (&'a Path, Hash)>) -> Hash {
    let mut hasher = Hasher::new();
    for (path, hash) in files {
        hasher.update(hash.to_hex().as_bytes());
        hasher.update(b"  ");
        hasher.update(&walk::name(path));
        hasher.update(b"\0");
    }
    hasher.finalize()
}
