//! Tests in a process of their own: for limits and masks that hold for a whole process, and for counting its
//! threads.
//!
//! The child is this very test program once more, told by an environment variable to run the one test.

use std::env;
use std::process::{Command, Output};

use parkade::Backend;

use crate::common::module_of;

const CHILD: &str = "PARKADE_TEST_IN_CHILD";

/// Runs `body` in a child process: there, the calling test, `test` of the file `file`, gets here once more.
pub(crate) fn run<B: Backend>(file: &str, test: &str, body: impl FnOnce()) {
    run_test(&format!("{file}::{}::{test}", module_of::<B>()), body);
}

/// The same for a test that is no backend's: `test` with the modules it is in.
pub(crate) fn run_test(test: &str, body: impl FnOnce()) {
    let Some(child) = outcome(test, body) else {
        return;
    };
    let output = String::from_utf8_lossy(&child.stdout);
    let errors = String::from_utf8_lossy(&child.stderr);
    assert!(
        child.status.success() && output.contains("1 passed"),
        "{output}{errors}"
    );
}

/// Runs `body` in a child process that is to end badly; returns how it ended, and nothing in the child.
pub(crate) fn end<B: Backend>(file: &str, test: &str, body: impl FnOnce()) -> Option<Output> {
    outcome(&format!("{file}::{}::{test}", module_of::<B>()), body)
}

fn outcome(test: &str, body: impl FnOnce()) -> Option<Output> {
    if is_here() {
        body();
        return None;
    }
    let child = Command::new(env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture"])
        .env(CHILD, "1")
        .output();
    Some(child.unwrap())
}

/// Whether this process is such a child.
pub(crate) fn is_here() -> bool {
    env::var_os(CHILD).is_some()
}
