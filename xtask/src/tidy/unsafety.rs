//! Where unsafe code may stand.

use super::Finding;
use super::source::{Tree, reads};

/// The files whose purpose is unsafe code, and what for.
const ALLOWED: [(&str, &str); 16] = [
    ("runtime/src/job.rs", "a closure behind one thin pointer"),
    (
        "runtime/src/control.rs",
        "the promise that each word in the core is a job",
    ),
    (
        "runtime/src/handled.rs",
        "a closure and its outcome in one allocation, shared by two owners",
    ),
    (
        "runtime/src/latch.rs",
        "a waiter's frame that its finisher signals",
    ),
    ("runtime/src/job/tests.rs", "tests of the promise of job.rs"),
    ("runtime/src/slab.rs", "the memory of many jobs"),
    ("runtime/src/current.rs", "the worker that a thread is"),
    (
        "runtime/src/direct.rs",
        "the worker that a thread is, by its type",
    ),
    (
        "runtime/src/scope.rs",
        "tasks that borrow, for which their scope waits",
    ),
    (
        "runtime/src/stack_job.rs",
        "a closure and its outcome in the frame of its waiter",
    ),
    (
        "backend-linux/src/futex_miri.rs",
        "the futex call in the form that Miri runs",
    ),
    (
        "kernel/src/aarch64.rs",
        "a processor's instructions and device registers",
    ),
    (
        "kernel/src/riscv64.rs",
        "a processor's instructions and device registers",
    ),
    (
        "backend-linux/src/interrupt.rs",
        "a signal's handler, and the signal",
    ),
    ("backend-linux/src/fork.rs", "what forks tell the child"),
    ("backend-std/src/fork.rs", "what forks tell the child"),
];

/// What core's root must say.
const CORE_SAYS: [(&str, &[&str]); 2] = [
    ("#![no_std]", &["#", "!", "[", "no_std", "]"]),
    (
        "#![forbid(unsafe_code)]",
        &["#", "!", "[", "forbid", "(", "unsafe_code", ")", "]"],
    ),
];

pub(super) fn core(tree: &Tree) -> Vec<Finding> {
    let Some(root) = tree.get("core/src/lib.rs") else {
        return vec![Finding::new("core/src/lib.rs", 1, "the file is missing")];
    };
    let tokens = root.code();
    CORE_SAYS
        .iter()
        .filter(|(_, texts)| !(0..tokens.len()).any(|at| reads(&tokens, at, texts)))
        .map(|(says, _)| Finding::new(&root.path, 1, format!("`{says}` is missing")))
        .collect()
}

/// Tests count too: what they need unsafe for belongs behind a safe function.
pub(super) fn elsewhere(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust() {
        if ALLOWED.iter().any(|(allowed, _)| file.path == *allowed) || !file.path.contains("src/") {
            continue;
        }
        let lines: Vec<usize> = file
            .tokens
            .iter()
            .filter(|token| token.is("unsafe"))
            .map(|token| token.line)
            .collect();
        if let Some(first) = lines.first() {
            findings.push(Finding::new(
                &file.path,
                *first,
                format!(
                    "unsafe code ({} places in this file) outside the files whose purpose it is",
                    lines.len()
                ),
            ));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::source::sample;
    use super::*;

    #[test]
    fn core_says_that_it_is_bare_and_safe() {
        let says = |text| core(&sample(&[("core/src/lib.rs", text)])).len();
        assert_eq!(says("#![no_std]\n#![forbid(unsafe_code)]\n"), 0);
        assert_eq!(says("#![no_std]\n#![deny(unsafe_code)]\n"), 1);
        assert_eq!(says("//! #![no_std]\n"), 2);
        assert_eq!(core(&sample(&[])).len(), 1);
    }

    #[test]
    fn unsafe_code_stays_in_its_files() {
        let of = |path, text| elsewhere(&sample(&[(path, text)])).len();
        let text = "fn f() { unsafe { g() } }\nunsafe impl Send for X {}";
        assert_eq!(of("runtime/src/job.rs", text), 0);
        assert_eq!(of("runtime/src/worker.rs", text), 1);
        assert_eq!(of("backend-std/src/lib.rs", text), 1);
        assert_eq!(of("bench/src/main.rs", text), 1);
        assert_eq!(of("kernel/src/riscv64.rs", text), 0);
        assert_eq!(of("kernel/src/park.rs", text), 1);
        assert_eq!(
            of("runtime/src/worker.rs", "#![forbid(unsafe_code)] // unsafe"),
            0
        );
    }
}
