//! The example treehash: right digests whatever the sizes of files, and honest about what it could not read.

#![cfg(any(feature = "std", all(feature = "linux", target_os = "linux")))]

#[macro_use]
#[path = "behaviour/each_backend.rs"]
mod each_backend;

// The example's own modules, at the same place in the crate as there.
#[path = "../examples/treehash/app.rs"]
mod app;
#[path = "../examples/treehash/error.rs"]
mod error;
#[path = "../examples/treehash/hash.rs"]
mod hash;
#[path = "../examples/treehash/measure.rs"]
mod measure;
#[path = "../examples/treehash/pool.rs"]
mod pool;
#[path = "../examples/treehash/progress.rs"]
mod progress;
#[path = "../examples/treehash/report.rs"]
mod report;
#[path = "../examples/treehash/run.rs"]
mod run;
#[path = "../examples/treehash/walk.rs"]
mod walk;

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use app::Args;
use blake3::Hasher;
use clap::Parser;
use each_backend::runtime;
use error::Error;
use hash::FileHash;
use parkade::Backend;
use progress::Progress;
use run::Run;
use tempfile::TempDir;
use walk::{Tree, walk};

on_each_backend!(
    both_ways_compute_what_blake3_does,
    files_that_cannot_be_read_stop_nothing,
    a_file_that_changes_is_a_mismatch,
    the_report_tells_it_all,
    a_missing_directory_is_named,
);

const CHUNK: usize = hash::CHUNK as usize;

/// Around everything where sizes matter: nothing, BLAKE3's own blocks and chunks, and ours, as many as make
/// a full tree, a lopsided one, and one whose last chunk is short.
const SIZES: [usize; 10] = [
    0,
    1,
    64,
    1025,
    CHUNK - 1,
    CHUNK,
    CHUNK + 1,
    3 * CHUNK,
    4 * CHUNK,
    4 * CHUNK + 1024,
];

/// A few of each kind, where sizes do not matter much: unoptimised, the hash is slow.
const FEW: [usize; 5] = [1025, CHUNK, 2, 0, 2 * CHUNK + 1];

/// Bytes that repeat neither within a chunk nor from file to file.
fn contents(size: usize) -> Vec<u8> {
    let seed = size as u32;
    let byte = |at: u32| ((at ^ seed).wrapping_mul(0x9E37_79B9) >> 20) as u8;
    (0..seed).map(byte).collect()
}

/// A directory with files of those sizes, in several directories.
fn directory(sizes: &[usize]) -> TempDir {
    let dir = TempDir::new().unwrap();
    for (number, size) in sizes.iter().enumerate() {
        let below = dir.path().join(["a", "a/b", "a-b", ""][number % 4]);
        fs::create_dir_all(&below).unwrap();
        fs::write(below.join(format!("{size}.bin")), contents(*size)).unwrap();
    }
    dir
}

fn list(dir: &TempDir) -> Arc<Tree> {
    Arc::new(walk(dir.path(), &[]).unwrap())
}

/// A silent one.
fn progress() -> Arc<Progress> {
    Arc::new(Progress::new(0))
}

fn args(words: &[&str]) -> Result<Args, clap::Error> {
    Args::try_parse_from(["treehash"].iter().chain(words))
}

/// The words of the report's line that begins with `heading`.
fn line<'a>(report: &'a str, heading: &str) -> Vec<&'a str> {
    let mut lines = report.lines().map(|line| line.split_whitespace());
    let line = lines.find(|words| words.clone().next() == Some(heading));
    line.unwrap().skip(1).collect()
}

fn both_ways_compute_what_blake3_does<B: Backend>() {
    let dir = directory(&SIZES);
    let tree = list(&dir);
    let mut listing = Hasher::new();
    let files = tree.files.iter().map(|file| {
        let bytes = fs::read(dir.path().join(&file.path)).unwrap();
        let hash = blake3::hash(&bytes);
        let name = file.path.to_str().unwrap().replace('\\', "/");
        listing.update(format!("{hash}  {name}\0").as_bytes());
        let bytes = bytes.len() as u64;
        FileHash { hash, bytes }
    });
    let files: Vec<_> = files.collect();
    let digest = listing.finalize();
    assert_eq!(files.len(), SIZES.len());
    let is_right = |run: &Run| {
        let hashed: Vec<_> = run.hashed().copied().collect();
        assert_eq!(hashed, files);
        assert_eq!(run.digest, digest);
    };
    is_right(&run::serial(&tree, &progress()));
    let chunks = SIZES.iter().map(|size| size.div_ceil(CHUNK));
    let tasks = SIZES.len() + chunks.filter(|&chunks| chunks > 1).sum::<usize>();
    for workers in [1, 3] {
        let runtime = Arc::new(runtime::<B>(workers));
        is_right(&run::parallel(&runtime, &tree, &progress()).unwrap());
        let total = runtime.metrics().total;
        assert_eq!(
            (total.spawned, total.ran, total.panicked),
            (tasks, tasks, 0)
        );
    }
}

/// In ways that hold for a superuser too: since it was listed, one file has vanished, one has become a
/// directory, and the directory of a third has become a file.
fn files_that_cannot_be_read_stop_nothing<B: Backend>() {
    let dir = directory(&FEW);
    let tree = walk(dir.path(), &[]).unwrap();
    let at = |name: &str| dir.path().join(name);
    let lost = ["a-b/2.bin", "a/1025.bin", "a/b/262144.bin"];
    fs::remove_file(at(lost[1])).unwrap();
    fs::remove_file(at(lost[2])).unwrap();
    fs::create_dir(at(lost[2])).unwrap();
    fs::remove_dir_all(at("a-b")).unwrap();
    fs::write(at("a-b"), "no directory any more").unwrap();
    let tree = Arc::new(tree);
    let runtime = Arc::new(runtime::<B>(2));
    let serial = run::serial(&tree, &progress());
    let parallel = run::parallel(&runtime, &tree, &progress()).unwrap();
    for run in [&serial, &parallel] {
        let failed: Vec<_> = run.failed(&tree).collect();
        let names: Vec<_> = failed.iter().map(|(path, _)| *path).collect();
        assert_eq!(names, lost.map(Path::new));
        assert_eq!(failed[1].1.kind(), io::ErrorKind::NotFound);
        assert_eq!(run.hashed().count(), FEW.len() - lost.len());
    }
    measure::agree(&tree, &serial, &parallel).unwrap();
    // As the user sees it: the digest is that of what can be read.
    drop(runtime);
    let tree = Arc::into_inner(tree).unwrap();
    let mut report = Vec::new();
    app::hash::<B>(tree, &args(&["--rounds", "1"]).unwrap(), &mut report).unwrap();
    let report = String::from_utf8(report).unwrap();
    assert_eq!(line(&report, "digest")[0], serial.digest.to_string());
    assert_eq!(line(&report, "files"), ["2"]);
    assert_eq!(line(&report, "unreadable"), ["3"]);
    for name in lost {
        assert!(line(&report, &format!("{name}:")).len() > 1, "{report}");
    }
}

fn a_file_that_changes_is_a_mismatch<B: Backend>() {
    let dir = directory(&FEW);
    let tree = list(&dir);
    let runtime = Arc::new(runtime::<B>(2));
    let before = run::serial(&tree, &progress());
    let changed = format!("a/{}.bin", FEW[4]);
    let mut bytes = contents(FEW[4]);
    bytes[CHUNK] ^= 1;
    fs::write(dir.path().join(&changed), bytes).unwrap();
    let after = run::parallel(&runtime, &tree, &progress()).unwrap();
    let mismatch = measure::agree(&tree, &before, &after).unwrap_err();
    assert_eq!(mismatch.files, [Path::new(&changed)]);
    let message = Error::from(mismatch).to_string();
    assert!(
        message.contains(&changed) && message.contains(&after.digest.to_string()),
        "{message}"
    );
}

fn the_report_tells_it_all<B: Backend>() {
    let dir = directory(&FEW);
    let path = dir.path().to_str().unwrap();
    let digest = run::serial(&list(&dir), &progress()).digest.to_string();
    fs::create_dir_all(dir.path().join("x/target")).unwrap();
    fs::write(dir.path().join("x/target/y"), "left out").unwrap();
    fs::write(dir.path().join("x/.hidden"), "left out").unwrap();
    let exclude = ["--exclude", "target", "--exclude", ".hidden"];
    // The largest CPU there can be, so hardly one of ours: a warning, not an error.
    let numbers = ["--rounds", "2", "--workers", "3", "--cpus", "4095"];
    let args = args(&[&exclude[..], &numbers, &[path]].concat()).unwrap();
    let mut report = Vec::new();
    app::run::<B>(&args, &mut report).unwrap();
    let report = String::from_utf8(report).unwrap();
    let bytes: usize = FEW.iter().sum();
    assert_eq!(line(&report, "files"), [FEW.len().to_string()]);
    assert_eq!(line(&report, "bytes")[0], bytes.to_string());
    assert_eq!(line(&report, "split")[..4], ["1", "files,", "into", "3"]);
    assert_eq!(
        line(&report, "left").join(" "),
        "out 0 links, 0 special, 2 excluded"
    );
    assert_eq!(line(&report, "unreadable"), ["0"]);
    assert_eq!(
        line(&report, "workers").join(" "),
        "3, pinned to CPUs 4095, 3 of them elsewhere"
    );
    assert_eq!(line(&report, "digest")[0], digest);
    for heading in ["serial", "parallel"] {
        let [speed, unit, _time] = line(&report, heading)[..] else {
            panic!("{report}");
        };
        assert!(
            speed.parse::<f64>().unwrap() > 0.0 && unit == "MB/s",
            "{report}"
        );
    }
    assert!(line(&report, "speed-up")[0].parse::<f64>().unwrap() > 0.0);
    let tasks = (2 * (FEW.len() + 3)).to_string();
    assert_eq!(line(&report, "total")[..2], [&tasks, &tasks]);
    assert!(report.contains("drained in"), "{report}");
}

fn a_missing_directory_is_named<B: Backend>() {
    let dir = directory(&[0]);
    let run = |path: &Path| {
        let args = args(&[path.to_str().unwrap()]).unwrap();
        app::run::<B>(&args, &mut io::sink())
    };
    let missing = dir.path().join("not-there");
    let error = run(&missing).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("cannot read the directory {}", missing.display())
    );
    let Error::Directory { source, .. } = error else {
        panic!("{error:?}");
    };
    assert_eq!(source.kind(), io::ErrorKind::NotFound);
    let file = dir.path().join("a/0.bin");
    assert_eq!(
        run(&file).unwrap_err().to_string(),
        format!("{} is not a directory", file.display())
    );
}

#[test]
fn bad_arguments_are_named() {
    let refused = |words| args(words).unwrap_err().to_string();
    assert!(refused(&["--cpus", "3-1"]).contains("\"3-1\" runs backwards"));
    assert!(refused(&["--rounds", "0"]).contains("0 is not in 1..=1000"));
    assert!(refused(&["--workers", "many"]).contains("'many'"));
}

#[test]
fn a_chunk_that_is_cut_short_is_an_error() {
    let dir = directory(&[CHUNK + 1]);
    let path = dir.path().join(format!("a/{}.bin", CHUNK + 1));
    let chunk = |index, bytes| hash::chunk(&path, index, bytes, &progress());
    assert!(chunk(1, hash::CHUNK + 1).is_ok());
    for (index, bytes) in [(1, hash::CHUNK + 2), (2, 3 * hash::CHUNK)] {
        let error = chunk(index, bytes).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }
}

#[cfg(unix)]
#[test]
fn links_and_special_files_are_counted_and_not_opened() {
    let dir = directory(&FEW);
    let before = run::serial(&list(&dir), &progress()).digest;
    let at = |name: &str| dir.path().join(name);
    std::os::unix::fs::symlink(at("0.bin"), at("link")).unwrap();
    std::os::unix::fs::symlink(dir.path(), at("circle")).unwrap();
    std::os::unix::fs::symlink("nowhere", at("dangling")).unwrap();
    // Opening it would wait for ever.
    let socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
    let tree = list(&dir);
    drop(socket);
    assert_eq!(
        (tree.links, tree.special, tree.files.len()),
        (3, 1, FEW.len())
    );
    assert!(tree.unlisted.is_empty());
    assert_eq!(run::serial(&tree, &progress()).digest, before);
}
