//! Finding the files: everything below a directory, in an order that does not depend on the file system.
//!
//! Symbolic links are not followed and special files (pipes, sockets, devices) not opened: both are counted.
//! Nothing else is left out unless the user names it, hidden files and build output included.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use walkdir::{DirEntry, WalkDir};

use crate::error::Error;

/// The files below a directory, and what else was met there.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    pub(crate) root: PathBuf,
    /// Sorted by [`name`].
    pub(crate) files: Vec<Listed>,
    /// What could not even be listed, with the reason.
    pub(crate) unlisted: Vec<(PathBuf, String)>,
    pub(crate) links: usize,
    pub(crate) special: usize,
    /// Files and directories that the user left out; what is below those directories is not counted.
    pub(crate) excluded: usize,
}

/// A file that was found.
#[derive(Debug)]
pub(crate) struct Listed {
    /// Relative to the root.
    pub(crate) path: PathBuf,
    /// Its length when it was found.
    pub(crate) bytes: u64,
}

impl Tree {
    pub(crate) fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }
}

/// Lists what is below `root`, except files and directories whose name is one of `exclude`.
pub(crate) fn walk(root: &Path, exclude: &[OsString]) -> Result<Tree, Error> {
    let unreadable = |source| Error::Directory {
        path: root.to_owned(),
        source,
    };
    if !fs::metadata(root).map_err(unreadable)?.is_dir() {
        return Err(Error::NotADirectory {
            path: root.to_owned(),
        });
    }
    let mut tree = Tree {
        root: root.to_owned(),
        ..Tree::default()
    };
    let mut excluded = 0;
    let wanted = |entry: &DirEntry| {
        let is_wanted = entry.depth() == 0 || !exclude.iter().any(|name| name == entry.file_name());
        excluded += usize::from(!is_wanted);
        is_wanted
    };
    for entry in WalkDir::new(root)
        .min_depth(1)
        .into_iter()
        .filter_entry(wanted)
    {
        if let Err(error) = entry.and_then(|entry| tree.add(&entry)) {
            if error.depth() == 0 {
                return Err(unreadable(io::Error::from(error)));
            }
            let path = error.path().map_or(root, |path| below(root, path));
            let reason = error
                .io_error()
                .map_or_else(|| error.to_string(), io::Error::to_string);
            tree.unlisted.push((path.to_owned(), reason));
        }
    }
    tree.excluded = excluded;
    tree.files.sort_by_cached_key(|file| name(&file.path));
    Ok(tree)
}

impl Tree {
    fn add(&mut self, entry: &DirEntry) -> walkdir::Result<()> {
        let kind = entry.file_type();
        if kind.is_file() {
            self.files.push(Listed {
                path: below(&self.root, entry.path()).to_owned(),
                bytes: entry.metadata()?.len(),
            });
        } else if kind.is_symlink() {
            self.links += 1;
        } else if !kind.is_dir() {
            self.special += 1;
        }
        Ok(())
    }
}

/// The part of a path that was found below `root` which the user did not give.
fn below<'a>(root: &Path, path: &'a Path) -> &'a Path {
    path.strip_prefix(root).unwrap_or(path)
}

/// The name of a file as the digest sees it: its components with `/` between them, on every system.
pub(crate) fn name(path: &Path) -> Vec<u8> {
    let components: Vec<_> = path
        .iter()
        .map(|component| component.as_encoded_bytes())
        .collect();
    components.join(&b'/')
}
