//! Which crates each room names.
//!
//! A crate is named by the first segment of a path, in a `use` or in place. Core is held to a list of
//! what it may name; the other rooms to a list of what they may not.

use std::collections::BTreeSet;

use super::Finding;
use super::source::{Source, Token, Tree, after_group, reads};

/// What core names: itself, the language's core, and one crate.
const CORE_ROOTS: [&str; 5] = ["core", "crate", "self", "super", "crossbeam_utils"];

/// Crates that core names in some places only: where, and why there.
const CORE_EXTRA_ROOTS: [(&str, &[&str], &str); 2] = [
    (
        "core/src/pieces/",
        &["alloc", "heapless", "spin"],
        "ready pieces for platforms",
    ),
    ("core/src/sync.rs", &["loom", "std"], "the door to atomics"),
];

/// Who may name `core::sync::atomic`: the file, the item (`*` is any), and why.
const ATOMICS: [(&str, &str, &str); 2] = [
    ("core/src/sync.rs", "*", "it is the door"),
    (
        "core/src/task.rs",
        "AtomicPtr",
        "a raw pointer that may cross threads; it is never shared",
    ),
];

const PRIMITIVES: [&str; 17] = [
    "bool", "char", "str", "u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64",
    "i128", "isize", "f32", "f64",
];

/// The first segment of a path.
struct Root<'a> {
    name: &'a str,
    line: usize,
    /// In a `use` or `extern crate`, where local names other than modules mean nothing.
    import: bool,
}

pub(super) fn core(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.room("core/src/") {
        let local = local_names(file);
        for root in roots(file) {
            let allowed = CORE_ROOTS.contains(&root.name)
                || CORE_EXTRA_ROOTS.iter().any(|(place, names, _)| {
                    file.path.starts_with(place) && names.contains(&root.name)
                })
                || local.contains(root.name)
                || root.name.starts_with(char::is_uppercase)
                || (!root.import && PRIMITIVES.contains(&root.name));
            if !allowed {
                findings.push(Finding::new(
                    &file.path,
                    root.line,
                    format!("core may not name `{}` here", root.name),
                ));
            }
        }
    }
    findings
}

pub(super) fn one_door(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.room("core/src/") {
        let tokens = file.code();
        let exception = ATOMICS.iter().find(|(place, ..)| file.path == *place);
        for at in 0..tokens.len() {
            if !reads(&tokens, at, &["sync", "::", "atomic"])
                || !reads(&tokens, at.saturating_sub(2), &["core", "::"])
            {
                continue;
            }
            for item in items(&tokens, at + 3) {
                if exception.is_none_or(|(_, only, _)| *only != "*" && *only != item) {
                    findings.push(Finding::new(
                        &file.path,
                        tokens[at].line,
                        format!("`core::sync::atomic::{item}` goes through crate::sync"),
                    ));
                }
            }
        }
    }
    findings
}

pub(super) fn backends(tree: &Tree) -> Vec<Finding> {
    let mut findings = named(
        tree,
        "backend-linux/src/",
        &["parkade_std", "parkade"],
        "the linux backend",
    );
    findings.extend(named(
        tree,
        "backend-std/src/",
        &["parkade_linux", "parkade"],
        "the std backend",
    ));
    findings
}

/// `std` and `alloc` too: a binary without them cannot tell a mistake before it is linked.
pub(super) fn kernel(tree: &Tree) -> Vec<Finding> {
    let refused = ["std", "alloc", "parkade", "parkade_linux", "parkade_std"];
    named(tree, "kernel/src/", &refused, "the kernel")
}

pub(super) fn runtime(tree: &Tree) -> Vec<Finding> {
    named(tree, "runtime/src/", &["rustix", "libc"], "the runtime")
}

pub(super) fn selector(tree: &Tree) -> Vec<Finding> {
    named(
        tree,
        "runtime/src/",
        &["parkade_linux", "parkade_std"],
        "the runtime outside backend.rs",
    )
    .into_iter()
    .filter(|finding| finding.file != "runtime/src/backend.rs")
    .collect()
}

fn named(tree: &Tree, room: &str, refused: &[&str], who: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.room(room) {
        for root in roots(file) {
            if refused.contains(&root.name) {
                findings.push(Finding::new(
                    &file.path,
                    root.line,
                    format!("{who} may not name `{}`", root.name),
                ));
            }
        }
    }
    findings
}

fn roots(file: &Source) -> Vec<Root<'_>> {
    let tokens: Vec<&Token> = file.tokens.iter().filter(|token| !token.in_test).collect();
    let mut roots = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let token = tokens[at];
        if token.is("use") || reads(&tokens, at, &["extern", "crate"]) {
            let mut first = at + if token.is("use") { 1 } else { 2 };
            // `use` of a closure's captures in a bound, `use<'a>`, is no import.
            if tokens.get(first).is_some_and(|token| token.is("<")) {
                at = first;
                continue;
            }
            while tokens
                .get(first)
                .is_some_and(|token| token.is("::") || token.is("{"))
            {
                first += 1;
            }
            if let Some(name) = tokens.get(first) {
                roots.push(Root {
                    name: &name.text,
                    line: name.line,
                    import: true,
                });
            }
            at = end_of_statement(&tokens, at);
        } else {
            let is_root = token.is_word()
                && reads(&tokens, at + 1, &["::"])
                && !reads(&tokens, at + 2, &["<"])
                && !(at > 0 && tokens[at - 1].is("::") && at > 1 && is_segment(tokens[at - 2]))
                && !(at > 0 && tokens[at - 1].is("$"));
            if is_root {
                roots.push(Root {
                    name: &token.text,
                    line: token.line,
                    import: false,
                });
            }
            at += 1;
        }
    }
    roots
}

/// Whether a `::` after this token continues a path.
fn is_segment(token: &Token) -> bool {
    token.is_word() || token.is(">")
}

/// The names that a file brings into scope: its modules and the leaves of its imports.
fn local_names(file: &Source) -> BTreeSet<&str> {
    let tokens: Vec<&Token> = file.tokens.iter().collect();
    let mut names = BTreeSet::new();
    for (at, token) in tokens.iter().enumerate() {
        if token.is("mod")
            && let Some(name) = tokens.get(at + 1)
        {
            names.insert(name.text.as_str());
        } else if token.is("use") {
            let end = end_of_statement(&tokens, at);
            for leaf in at + 1..end {
                let ends = [",", "}", ";"]
                    .iter()
                    .any(|mark| reads(&tokens, leaf + 1, &[mark]));
                // A leaf that is the whole path, `use spin;`, brings in nothing new.
                if tokens[leaf].is_word() && ends && leaf > at + 1 {
                    let name = if tokens[leaf].is("self") && leaf >= at + 4 {
                        tokens[leaf - 3]
                    } else {
                        tokens[leaf]
                    };
                    names.insert(name.text.as_str());
                }
            }
        }
    }
    names
}

fn end_of_statement(tokens: &[&Token], from: usize) -> usize {
    (from..tokens.len())
        .find(|at| tokens[*at].is(";"))
        .unwrap_or(tokens.len())
}

/// The items that a path goes on to after the tokens before `at`: `::X`, `::{X, Y}`, or `` itself.
fn items<'a>(tokens: &[&'a Token], at: usize) -> Vec<&'a str> {
    if !reads(tokens, at, &["::"]) {
        return vec!["self"];
    }
    match tokens.get(at + 1) {
        Some(open) if open.is("{") => tokens[at + 1..after_group(tokens, at + 1)]
            .iter()
            .filter(|token| token.is_word() || token.is("*"))
            .map(|token| token.text.as_str())
            .collect(),
        Some(item) => vec![item.text.as_str()],
        None => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::source::sample;
    use super::*;

    fn lines(findings: &[Finding]) -> Vec<usize> {
        findings.iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn core_names_what_it_may() {
        let text = "//! x\nuse core::{fmt::{self, Debug}, mem};\nuse crate::sync::order;\nuse crossbeam_utils::CachePadded;\nmod lot;\npub use lot::State;\nfn f() -> fmt::Result { let _ = usize::MAX; size_of::<u8>(); mem::take(); Self::g(); $crate::h(); <T as U>::v() }\n#[cfg(test)] mod tests { use std::vec; }\n";
        assert_eq!(core(&sample(&[("core/src/a.rs", text)])), []);
        let piece = "extern crate alloc;\nuse alloc::boxed::Box;\nuse spin::mutex::X;\n";
        assert_eq!(core(&sample(&[("core/src/pieces/a.rs", piece)])), []);
    }

    #[test]
    fn core_names_no_other_crate() {
        for (text, line) in [
            ("use std::vec::Vec;", 1),
            ("\nfn f() { std::process::abort() }", 2),
            ("\nfn f() { ::std::process::abort() }", 2),
            ("extern crate alloc;", 1),
            ("use spin::Mutex;", 1),
            ("use spin;\nfn f() { spin::x() }", 1),
            ("use loom::sync::Arc;", 1),
            ("use {std::vec};", 1),
            ("macro_rules! m { () => { libc::x() } }", 1),
        ] {
            let findings = core(&sample(&[("core/src/lot.rs", text)]));
            assert_eq!(findings.first().map(|f| f.line), Some(line), "{text}");
        }
    }

    #[test]
    fn atomics_have_one_door_and_named_exceptions() {
        let of = |path, text| lines(&one_door(&sample(&[(path, text)])));
        assert_eq!(
            of("core/src/lot.rs", "use core::sync::atomic::AtomicU32;"),
            [1]
        );
        assert_eq!(of("core/src/lot.rs", "use core::sync::atomic;"), [1]);
        assert_eq!(
            of(
                "core/src/sync.rs",
                "use core::sync::atomic::{AtomicU32, fence};"
            ),
            [0; 0]
        );
        assert_eq!(
            of("core/src/task.rs", "use core::sync::atomic::AtomicPtr;"),
            [0; 0]
        );
        assert_eq!(
            of(
                "core/src/task.rs",
                "use core::sync::atomic::{AtomicPtr, AtomicU32};"
            ),
            [1]
        );
        assert_eq!(
            of(
                "core/src/park.rs",
                "fn f() { core::sync::atomic::fence(x) }"
            ),
            [1]
        );
        assert_eq!(
            of("core/src/park.rs", "\nuse core::sync::atomic::AtomicBool;"),
            [2]
        );
    }

    #[test]
    fn backends_do_not_name_each_other() {
        let of = |path, text| lines(&backends(&sample(&[(path, text)])));
        assert_eq!(of("backend-linux/src/a.rs", "use parkade_std::Std;"), [1]);
        assert_eq!(
            of("backend-std/src/a.rs", "\nfn f() { parkade_linux::x() }"),
            [2]
        );
        assert_eq!(of("backend-std/src/a.rs", "use parkade::Runtime;"), [1]);
        assert_eq!(
            of("backend-std/src/a.rs", "use parkade_core::Park;"),
            [0; 0]
        );
        assert_eq!(
            of(
                "backend-std/src/a.rs",
                "#[cfg(test)] mod t { use parkade_linux::Linux; }"
            ),
            [0; 0]
        );
        assert_eq!(
            of("backend-std/tests/a.rs", "use parkade_linux::Linux;"),
            [0; 0]
        );
    }

    #[test]
    fn the_runtime_calls_no_system_and_selects_in_one_file() {
        let of =
            |check: fn(&Tree) -> Vec<Finding>, path, text| lines(&check(&sample(&[(path, text)])));
        assert_eq!(of(runtime, "runtime/src/a.rs", "use rustix::thread;"), [1]);
        assert_eq!(of(runtime, "runtime/src/a.rs", "fn f() { libc::x() }"), [1]);
        assert_eq!(of(runtime, "runtime/src/a.rs", "use std::thread;"), [0; 0]);
        assert_eq!(
            of(selector, "runtime/src/a.rs", "use parkade_std::Std;"),
            [1]
        );
        assert_eq!(
            of(selector, "runtime/src/a.rs", "pub use parkade_linux as l;"),
            [1]
        );
        assert_eq!(
            of(selector, "runtime/src/backend.rs", "use parkade_std::Std;"),
            [0; 0]
        );
    }

    #[test]
    fn the_kernel_names_nothing_that_needs_a_system() {
        let of = |text| kernel(&sample(&[("kernel/src/park.rs", text)])).len();
        assert_eq!(
            of("use parkade_core::Park; use core::fmt; use crate::x;"),
            0
        );
        assert_eq!(of("use std::thread;"), 1);
        assert_eq!(of("extern crate alloc;"), 1);
        assert_eq!(of("use parkade::Runtime;"), 1);
    }
}
