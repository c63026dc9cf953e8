//! `cargo xtask deps`: core's whole dependency tree, on every target that `ci` builds and with every
//! feature, may hold only crates that are known to need no std.
//!
//! Building core for a bare-metal target proves the same for that target; this names the crate that
//! is to blame, and it also sees dependencies that only another target would pull in.

use std::collections::BTreeSet;

use anyhow::{Result, bail};

use crate::ci::{BARE_METAL, FOREIGN};
use crate::run::Step;

/// The crates that core may depend on, directly or not, each with what it is there for.
const ALLOWED: [(&str, &str); 7] = [
    ("parkade-core", "core itself"),
    ("crossbeam-utils", "CachePadded"),
    ("spin", "the ticket lock piece for kernels"),
    ("heapless", "the fixed storage piece for kernels"),
    ("hash32", "of heapless"),
    ("byteorder", "of hash32"),
    ("stable_deref_trait", "of heapless"),
];

pub(crate) fn run() -> Result<()> {
    // Not `--target all`: that would count loom, which only the models' cfg pulls in.
    let targets = BARE_METAL.iter().chain(&FOREIGN);
    let step = Step::cargo(
        "tree -p parkade-core --edges normal,build --all-features --prefix none --format {p}",
    )
    .args(targets.flat_map(|target| ["--target", target]));
    eprintln!("$ {step}");
    let found = crates(&step.capture()?);
    let strangers: Vec<&str> = found
        .iter()
        .map(String::as_str)
        .filter(|name| !ALLOWED.iter().any(|(allowed, _)| allowed == name))
        .collect();
    if !strangers.is_empty() {
        bail!(
            "core depends on crates that are not known to need no std: {}",
            strangers.join(", ")
        );
    }
    println!(
        "core's dependency tree: {}",
        found.into_iter().collect::<Vec<_>>().join(", ")
    );
    Ok(())
}

/// The names in the output of `cargo tree --prefix none`, one crate a line.
fn crates(tree: &str) -> BTreeSet<String> {
    tree.lines()
        .filter_map(|line| line.split_whitespace().next())
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_without_version_and_once() {
        let tree = "parkade-core v0.1.0 (/somewhere)\nspin v0.12.3\nspin v0.12.3 (*)\n\n";
        let names: Vec<_> = crates(tree).into_iter().collect();
        assert_eq!(names, ["parkade-core", "spin"]);
    }
}
