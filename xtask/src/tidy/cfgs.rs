//! Where conditional compilation may stand.
//!
//! Logic that is woven through with cfgs has as many versions as they have combinations, and only one
//! of them was read. So each room has a few files that choose, and the rest is the same everywhere.

use super::Finding;
use super::source::{Source, Token, Tree, after_group, reads};

/// What core's files may ask for, by the beginning of their path.
const CORE: [(&str, &[&str]); 2] = [
    ("core/src/pieces/", &["feature"]),
    ("core/src/sync.rs", &["parkade_loom", "parkade_mutants"]),
];

/// The runtime's files that may ask for features and targets.
const RUNTIME: [&str; 2] = ["runtime/src/backend.rs", "runtime/src/lib.rs"];

/// The kernel's files that pick a machine.
const KERNEL: [&str; 2] = ["kernel/src/machine.rs", "kernel/src/main.rs"];

/// Neither a question of its own nor one about the platform.
const NEUTRAL: [&str; 4] = ["test", "not", "any", "all"];

/// A word that a cfg asks for.
struct Asked<'a> {
    what: &'a str,
    line: usize,
    /// In `cfg_attr`, which chooses attributes and not code.
    attribute: bool,
}

pub(super) fn core(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.room("core/src/") {
        for asked in questions(file) {
            let allowed = NEUTRAL.contains(&asked.what)
                || (asked.attribute && file.path == "core/src/lib.rs")
                || CORE.iter().any(|(place, words)| {
                    file.path.starts_with(place) && words.contains(&asked.what)
                });
            if !allowed {
                findings.push(Finding::new(
                    &file.path,
                    asked.line,
                    format!("core may not ask for cfg `{}` here", asked.what),
                ));
            }
        }
    }
    findings
}

pub(super) fn runtime(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.room("runtime/src/") {
        if RUNTIME.contains(&file.path.as_str()) {
            continue;
        }
        for asked in questions(file) {
            if ["feature", "unix", "windows"].contains(&asked.what)
                || asked.what.starts_with("target_")
            {
                findings.push(Finding::new(
                    &file.path,
                    asked.line,
                    format!(
                        "the runtime asks for cfg `{}` only in backend.rs and lib.rs",
                        asked.what
                    ),
                ));
            }
        }
    }
    findings
}

pub(super) fn kernel(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.room("kernel/src/") {
        if KERNEL.contains(&file.path.as_str()) {
            continue;
        }
        for asked in questions(file) {
            let what = format!(
                "the kernel asks for cfg `{}` only where it picks a machine",
                asked.what
            );
            findings.push(Finding::new(&file.path, asked.line, what));
        }
    }
    findings
}

fn questions(file: &Source) -> Vec<Asked<'_>> {
    let tokens: Vec<&Token> = file.tokens.iter().filter(|token| !token.in_test).collect();
    let mut asked = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let attribute = token.is("cfg_attr");
        let open = if (token.is("cfg") || attribute) && reads(&tokens, at + 1, &["("]) {
            at + 1
        } else if token.is("cfg") && reads(&tokens, at + 1, &["!", "("]) {
            at + 2
        } else {
            continue;
        };
        let mut end = after_group(&tokens, open);
        if attribute {
            // What follows the condition is the attribute, not a question.
            end = end_of_condition(&tokens, open, end);
        }
        for word in &tokens[open..end] {
            if word.is_word() {
                asked.push(Asked {
                    what: &word.text,
                    line: word.line,
                    attribute,
                });
            }
        }
    }
    asked
}

/// The first comma directly inside the bracket at `open`.
fn end_of_condition(tokens: &[&Token], open: usize, end: usize) -> usize {
    let mut at = open + 1;
    while at < end {
        if tokens[at].is(",") {
            return at;
        }
        at = if tokens[at].is("(") {
            after_group(tokens, at)
        } else {
            at + 1
        };
    }
    end
}

#[cfg(test)]
mod tests {
    use super::super::source::sample;
    use super::*;

    fn count(check: fn(&Tree) -> Vec<Finding>, path: &str, text: &str) -> usize {
        check(&sample(&[(path, text)])).len()
    }

    #[test]
    fn core_asks_only_where_it_may() {
        let feature = "#[cfg(feature = \"x\")] fn f() {}";
        assert_eq!(count(core, "core/src/pieces/mod.rs", feature), 0);
        assert_eq!(count(core, "core/src/lot.rs", feature), 1);
        assert_eq!(count(core, "core/src/lib.rs", feature), 1);
        let loom = "#[cfg(not(parkade_loom))] fn f() {}";
        assert_eq!(count(core, "core/src/sync.rs", loom), 0);
        assert_eq!(count(core, "core/src/park.rs", loom), 1);
        assert_eq!(count(core, "core/src/lot.rs", loom), 1);
        assert_eq!(
            count(core, "core/src/lot.rs", "#[cfg(test)] mod tests {}"),
            0
        );
        assert_eq!(
            count(
                core,
                "core/src/lot.rs",
                "#[cfg(all(test, not(parkade_loom)))] mod tests {}"
            ),
            0
        );
        assert_eq!(
            count(core, "core/src/lot.rs", "fn f() { if cfg!(miri) {} }"),
            1
        );
        assert_eq!(
            count(
                core,
                "core/src/lot.rs",
                "#[cfg(any(unix, target_arch = \"x\"))] fn f() {}"
            ),
            2
        );
        let docs = "#![cfg_attr(docsrs, feature(doc_cfg))]";
        assert_eq!(count(core, "core/src/lib.rs", docs), 0);
        assert_eq!(count(core, "core/src/lot.rs", docs), 1);
    }

    #[test]
    fn the_runtime_selects_in_two_files() {
        for text in [
            "#[cfg(feature = \"linux\")] fn f() {}",
            "#[cfg(target_os = \"linux\")] fn f() {}",
            "fn f() { if cfg!(unix) {} }",
        ] {
            assert_eq!(count(runtime, "runtime/src/worker.rs", text), 1, "{text}");
            assert_eq!(count(runtime, "runtime/src/backend.rs", text), 0, "{text}");
        }
        assert_eq!(
            count(
                runtime,
                "runtime/src/job.rs",
                "#[cfg(debug_assertions)] fn f() {}"
            ),
            0
        );
    }

    #[test]
    fn the_kernel_asks_only_where_it_picks_a_machine() {
        let target = "#[cfg(target_arch = \"riscv64\")] mod riscv64;";
        assert_eq!(count(kernel, "kernel/src/machine.rs", target), 0);
        assert!(count(kernel, "kernel/src/park.rs", target) > 0);
    }
}
