//! `cargo xtask tsan`: the runtime's stress under ThreadSanitizer, on each backend.
//!
//! The sanitizer has to see the standard library too, so that is built from its source. It does not
//! understand fences; the runtime publishes data by Release and Acquire alone, so nothing is suppressed.

use std::time::Duration;

use anyhow::{Context, Result};

use crate::nightly::{Component, require};
use crate::run::Step;

/// What it cannot do without.
pub(crate) const NEEDS: [Component; 1] = [Component::RustSrc];

/// The stress tests, on the backends as they are: over the park that is late on purpose they take several times
/// as long, and its delays are nothing to a sanitizer that sees an access without an order wherever it falls.
const STRESSED: &str = "--test stress -- --skip faulty";

pub(crate) fn run() -> Result<()> {
    require("ThreadSanitizer", &NEEDS)?;
    let about = Step::new("rustc", ["+nightly", "-vV"]).capture()?;
    let host = about
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .context("rustc names no host")?;
    step(host).run()?;
    Ok(())
}

fn step(host: &str) -> Step {
    Step::cargo(&format!(
        "+nightly test -Zbuild-std --target {host} -p parkade {STRESSED}"
    ))
    .env("RUSTFLAGS", "-Zsanitizer=thread")
    .env("CARGO_TARGET_DIR", "target/tsan")
    .env("TSAN_OPTIONS", "halt_on_error=1")
    .limit(Duration::from_secs(20 * 60))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn std_is_built_with_the_sanitizer_and_nothing_is_suppressed() {
        let command = step("x86_64-unknown-linux-gnu").to_string();
        assert!(
            command.contains("RUSTFLAGS=-Zsanitizer=thread"),
            "{command}"
        );
        assert!(command.contains("-Zbuild-std --target x86_64-unknown-linux-gnu"));
        assert!(!command.contains("suppressions"), "{command}");
    }
}
