//! `cargo xtask bench --micro`: the parts of the core and of both backends by themselves, under criterion.
//!
//! A row says what a user waits for; these say which part of it costs how much. Criterion keeps its own history and
//! says what has changed since the last run.

use anyhow::Result;

use crate::run::Step;

pub(super) fn run() -> Result<()> {
    Step::cargo(
        "bench --locked --manifest-path bench/Cargo.toml --target-dir bench/target --bench micro",
    )
    .run()?;
    Ok(())
}
