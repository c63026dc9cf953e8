//! Property tests: random scripts of submits, looks, parks, retirements and stops against a reference
//! scheduler without queues, on one thread that goes through the middle of operations too.
//!
//! Each property draws 256 scripts, or `PROPTEST_CASES`; `PROPTEST_RNG_SEED` draws the same ones again.
//! A failure prints the shortest script that still fails, and what happened in it.
#![cfg(not(parkade_loom))]

mod platform;
mod play;
mod reference;
mod script;

mod each_task_runs_once_where_it_may;

use proptest::test_runner::Config;

/// Cases as the environment says, and no file of past failures: a case that failed once becomes a test
/// with a name.
fn config() -> Config {
    Config {
        failure_persistence: None,
        ..Config::default()
    }
}
