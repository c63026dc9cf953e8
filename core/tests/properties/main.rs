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

mod a_retiring_worker_starts_nothing_else;
mod a_run_queue_is_a_deque;
mod a_stop_leaves_nothing_behind;
mod each_task_runs_once_where_it_may;
mod endless_work_starves_no_inbox;
mod nobody_sleeps_on_work;
mod priorities_age;

use proptest::test_runner::{Config, RngAlgorithm};

/// Cases as the environment says, and no file of past failures: a case that failed once becomes a test
/// with a name. Each choice of a strategy seeds a generator of its own, so a light one halves the time.
fn config() -> Config {
    Config {
        failure_persistence: None,
        rng_algorithm: RngAlgorithm::XorShift,
        ..Config::default()
    }
}
