//! The program without its `main`: arguments, and the life of the runtime from build to shutdown.

use std::env;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Parser;
use parkade::{Backend, CpuList, Policy};

use crate::error::Error;
use crate::measure;
use crate::pool;
use crate::progress::Progress;
use crate::report::Report;
use crate::walk::{Tree, walk};

/// Hash every file below a directory, serially and in parallel, and compare.
///
/// Everything below the directory is hashed, hidden files and build output included; symbolic links and special
/// files are counted and not opened. Files that cannot be read are counted and listed, and stop nothing.
#[derive(Debug, Parser)]
#[command(name = "treehash")]
pub(crate) struct Args {
    /// The directory [default: the repository, under `cargo run`, else the current directory]
    pub(crate) dir: Option<PathBuf>,

    /// How many workers [default: one for each CPU]
    #[arg(long, value_name = "N")]
    pub(crate) workers: Option<usize>,

    /// The CPUs to pin workers to, such as 0-3,5 [default: all that this process may use]
    #[arg(long, value_name = "LIST")]
    pub(crate) cpus: Option<CpuList>,

    /// Leave out files and directories of this name; may be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) exclude: Vec<OsString>,

    /// How many times to measure each way
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) rounds: u32,
}

impl Args {
    fn dir(&self) -> PathBuf {
        // Cargo tells what it runs where the package is; the repository is the directory above it.
        let repository = || {
            let package = env::var_os("CARGO_MANIFEST_DIR")?;
            Some(Path::new(&package).parent()?.to_owned())
        };
        let dir = self.dir.clone().or_else(repository);
        dir.unwrap_or_else(|| PathBuf::from("."))
    }
}

/// Does it all; the report goes to `out`.
pub(crate) fn run<B: Backend>(args: &Args, out: &mut impl Write) -> Result<(), Error> {
    let tree = walk(&args.dir(), &args.exclude)?;
    hash::<B>(tree, args, out)
}

/// Hashes a tree that has been listed.
pub(crate) fn hash<B: Backend>(tree: Tree, args: &Args, out: &mut impl Write) -> Result<(), Error> {
    let (runtime, placement) = pool::start::<B>(args.workers, args.cpus.as_ref())?;
    // Tasks may outlive the caller's frame, so they share what they use.
    let (runtime, tree) = (Arc::new(runtime), Arc::new(tree));
    let progress = Arc::new(Progress::new(tree.bytes() * measure::passes(args.rounds)));
    let measured = measure::measure(&runtime, &tree, args.rounds, &progress);
    progress.finish();
    let metrics = runtime.metrics();
    let report = Report {
        tree: &tree,
        measured: &measured?,
        workers: metrics.total.workers,
        misplaced: metrics.total.misplaced,
        placement: &placement,
    };
    writeln!(out, "{report}\n\n{metrics}\n")?;
    writeln!(out, "{}", runtime.shutdown(Policy::Drain, None)?)?;
    Ok(())
}
