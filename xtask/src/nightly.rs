//! What the checkers need of a nightly toolchain, and what to do where it is not there.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;

use crate::run::Step;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Args)]
pub(crate) struct Missing {
    /// Where the nightly toolchain or a component of it is not installed, skip the check and succeed.
    #[arg(long)]
    allow_missing: bool,
}

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

impl Missing {
    /// Whether all `components` are there. If not: `false` where that is allowed, else an error; both say
    /// what to install.
    pub(crate) fn are_there(self, check: &str, components: &[Component]) -> Result<bool> {
        let missing: Vec<_> = components
            .iter()
            .filter(|component| !component.is_installed())
            .map(|component| component.name())
            .collect();
        self.judge(check, &missing)
    }

    fn judge(self, check: &str, missing: &[&str]) -> Result<bool> {
        if missing.is_empty() {
            return Ok(true);
        }
        let message = format!(
            "{check} is SKIPPED: no nightly toolchain with {} (rustup toolchain install nightly \
             --profile minimal --component {})",
            missing.join(" and "),
            missing.join(",")
        );
        if !self.allow_missing {
            bail!("{message}");
        }
        println!("{message}");
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_an_error_unless_that_is_allowed() {
        let missing = |allow_missing| Missing { allow_missing };
        assert!(missing(false).judge("miri", &[]).unwrap());
        assert!(!missing(true).judge("miri", &["miri"]).unwrap());
        let error = missing(false).judge("tsan", &["rust-src"]).unwrap_err();
        assert!(error.to_string().starts_with("tsan is SKIPPED"), "{error}");
        assert!(
            error.to_string().ends_with("--component rust-src)"),
            "{error}"
        );
    }
}
