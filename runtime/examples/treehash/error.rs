//! What ends the program early. A file that cannot be read does not; see [`Run::failed`](crate::run::Run::failed).

use std::io;
use std::path::PathBuf;

use parkade::{BuildError, RefusedReason, ShutdownError};
use thiserror::Error;

use crate::measure::Mismatch;

/// Why there is no report.
#[derive(Debug, Error)]
pub(crate) enum Error {
    /// There is no such directory, or it cannot be listed.
    #[error("cannot read the directory {}", path.display())]
    Directory { path: PathBuf, source: io::Error },
    /// The path is there, and something else.
    #[error("{} is not a directory", path.display())]
    NotADirectory { path: PathBuf },
    /// The workers cannot be had.
    #[error("cannot start the workers")]
    Build(#[from] BuildError),
    /// The runtime did not take the files' tasks.
    #[error("the files' tasks were refused: {0}")]
    Refused(RefusedReason),
    /// Two runs over the same files do not agree.
    #[error(transparent)]
    Mismatch(#[from] Mismatch),
    /// The report cannot be written.
    #[error("cannot write the report")]
    Output(#[from] io::Error),
    /// The runtime cannot be stopped.
    #[error("cannot stop the workers")]
    Shutdown(#[from] ShutdownError),
}
