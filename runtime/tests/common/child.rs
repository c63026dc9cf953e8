//! Tests in a process of their own: for limits and masks that hold for a whole process, and for counting its
//! threads.
//!
//! The child is this very test program once more, told by an environment variable to run the one test.

use std::env;
use std::process::Command;

use parkade::Backend;

const CHILD: &str = "PARKADE_TEST_IN_CHILD";

/// Runs `body` in a child process: there, the calling test, which is called `test`, gets here once more.
pub(crate) fn in_child<B: Backend>(test: &str, body: impl FnOnce()) {
    if env::var_os(CHILD).is_some() {
        return body();
    }
    let on_linux = std::any::type_name::<B>().ends_with("Linux");
    let module = if on_linux { "linux" } else { "portable" };
    let child = Command::new(env::current_exe().unwrap())
        .args([&format!("{module}::{test}"), "--exact", "--nocapture"])
        .env(CHILD, "1")
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&child.stdout);
    let errors = String::from_utf8_lossy(&child.stderr);
    assert!(
        child.status.success() && output.contains("1 passed"),
        "{output}{errors}"
    );
}

/// Whether this process is such a child.
pub(crate) fn is_child() -> bool {
    env::var_os(CHILD).is_some()
}
