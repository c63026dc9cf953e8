//! What the checkers need of a nightly toolchain, and what to say where it is not there.

use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::run::Step;

/// A component of the nightly toolchain that a checker runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Component {
    Miri,
    RustSrc,
}

impl Component {
    fn name(self) -> &'static str {
        match self {
            Self::Miri => "miri",
            Self::RustSrc => "rust-src",
        }
    }

    pub(crate) fn is_installed(self) -> bool {
        match self {
            Self::Miri => Step::cargo("+nightly miri --version").succeeds(),
            Self::RustSrc => Step::new("rustc", ["+nightly", "--print", "sysroot"])
                .capture()
                .is_ok_and(|sysroot| {
                    let source = PathBuf::from(sysroot.trim()).join("lib/rustlib/src/rust");
                    source.join("library/Cargo.lock").exists()
                }),
        }
    }
}

/// What to install before `check` can run; `None` if all `components` are there.
pub(crate) fn missing(check: &str, components: &[Component]) -> Option<String> {
    let missing = components
        .iter()
        .filter(|component| !component.is_installed());
    let names: Vec<_> = missing.map(|component| component.name()).collect();
    (!names.is_empty()).then(|| advice(check, &names))
}

/// An error that says what to install, unless all `components` are there.
pub(crate) fn require(check: &str, components: &[Component]) -> Result<()> {
    match missing(check, components) {
        Some(advice) => bail!("{advice}"),
        None => Ok(()),
    }
}

fn advice(check: &str, missing: &[&str]) -> String {
    format!(
        "{check} needs a nightly toolchain with {} (rustup toolchain install nightly --profile \
         minimal --component {})",
        missing.join(" and "),
        missing.join(",")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_advice_names_what_is_missing_and_how_to_install_it() {
        let advice = advice("Miri", &["miri", "rust-src"]);
        assert!(advice.starts_with("Miri needs a nightly toolchain with miri and rust-src"));
        assert!(advice.ends_with("--component miri,rust-src)"), "{advice}");
    }
}
