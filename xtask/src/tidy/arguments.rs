//! The argument in prose: each protocol of core teaches in the same order, and what it refers to exists.
//!
//! A protocol's file opens with the sections of [`SECTIONS`], its transitions are numbered from 1
//! without a gap, and whoever writes "Transition 3" in core means a number that is there. A name in
//! backticks that looks like that of an ordering must be the name of one.

use std::collections::BTreeSet;

use super::Finding;
use super::orderings::names;
use super::source::{Source, Tree};

/// The files that argue.
const PROTOCOLS: [&str; 3] = [
    "core/src/idle.rs",
    "core/src/lot.rs",
    "core/src/run_queue.rs",
];

const SECTIONS: [&str; 6] = [
    "Vocabulary",
    "Word layout",
    "Transitions",
    "Danger",
    "Why it cannot happen",
    "Rejected",
];

pub(super) fn sections(tree: &Tree) -> Vec<Finding> {
    PROTOCOLS
        .iter()
        .filter_map(|path| tree.get(path))
        .flat_map(|file| {
            let headings = head(file).filter_map(|(_, line)| line.strip_prefix("# "));
            let headings: Vec<_> = headings.filter(|title| SECTIONS.contains(title)).collect();
            let mut findings = Vec::new();
            if headings != SECTIONS {
                let what = format!("the sections are {headings:?}, not {SECTIONS:?}");
                findings.push(Finding::new(&file.path, 1, what));
            }
            findings.extend(gap(file));
            findings
        })
        .collect()
}

/// References to transitions and to names of orderings, in whatever comment of core.
pub(super) fn references(tree: &Tree) -> Vec<Finding> {
    let ids = names(tree);
    let rooms: BTreeSet<_> = ids
        .iter()
        .filter_map(|id| id.split_once('.'))
        .map(|at| at.0)
        .collect();
    let most = PROTOCOLS
        .iter()
        .filter_map(|path| tree.get(path))
        .map(numbers);
    let most = most.map(|numbers| numbers.len()).max().unwrap_or(0);
    let mut findings = Vec::new();
    for file in tree.room("core/src/") {
        for (at, line) in file.text.lines().enumerate() {
            let Some((_, comment)) = line.split_once("//") else {
                continue;
            };
            let mut find = |what| findings.push(Finding::new(&file.path, at + 1, what));
            for rest in comment.split("ransition ").skip(1) {
                let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
                if digits
                    .parse()
                    .is_ok_and(|number: usize| number == 0 || number > most)
                {
                    find(format!("there is no transition {digits}"));
                }
            }
            for quoted in comment.split('`').skip(1).step_by(2) {
                let is_like_one = quoted.split_once('.').is_some_and(|(room, rest)| {
                    rooms.contains(room)
                        && rest.chars().all(|c| c.is_ascii_lowercase() || c == '.')
                        && !rest.ends_with("rs")
                });
                if is_like_one && !ids.contains(quoted) {
                    find(format!(
                        "there is no ordering, fence or step called `{quoted}`"
                    ));
                }
            }
        }
    }
    findings
}

/// The lines of the file's opening comment, without its marks, each with its number.
fn head(file: &Source) -> impl Iterator<Item = (usize, &str)> {
    let lines = file.text.lines().enumerate();
    let lines = lines.map_while(|(at, line)| Some((at + 1, line.strip_prefix("//!")?)));
    lines.map(|(at, line)| (at, line.strip_prefix(' ').unwrap_or(line)))
}

/// The numbers of the opening comment's list, each with its line.
fn numbers(file: &Source) -> Vec<(usize, usize)> {
    let items = head(file).filter_map(|(at, line)| {
        let (number, _) = line.split_once(". ")?;
        Some((at, number.parse().ok()?))
    });
    items.collect()
}

/// Where the numbers do not count from 1.
fn gap(file: &Source) -> Option<Finding> {
    let numbers = numbers(file);
    let wrong = numbers
        .iter()
        .zip(1..)
        .find(|((_, number), expected)| number != expected);
    let ((at, number), expected) = wrong?;
    let what = format!("transition {number} stands where {expected} is due");
    Some(Finding::new(&file.path, *at, what))
}

#[cfg(test)]
mod tests {
    use super::super::source::sample;
    use super::*;

    const GOOD: &str = "//! X.\n//!\n//! # Vocabulary\n//! # Word layout\n//! # Transitions\n//! 1. a\n\
                        //! 2. b\n//! # Danger\n//! # Why it cannot happen\n//! # Limits\n//! # Rejected\n\
                        fn f() {\n    fence(\"lot.a\");\n}\n";

    fn count(check: fn(&Tree) -> Vec<Finding>, text: &str) -> usize {
        check(&sample(&[("core/src/lot.rs", text)])).len()
    }

    #[test]
    fn a_protocol_teaches_in_order() {
        assert_eq!(count(sections, GOOD), 0);
        assert_eq!(count(sections, &GOOD.replace("//! # Danger\n", "")), 1);
        assert_eq!(count(sections, &GOOD.replace("# Danger", "# Dangers")), 1);
    }

    #[test]
    fn transitions_count_from_one() {
        assert_eq!(count(sections, &GOOD.replace("//! 2. b", "//! 3. b")), 1);
        assert_eq!(count(sections, &GOOD.replace("//! 1. a\n", "")), 1);
    }

    #[test]
    fn references_exist() {
        let with = |comment: &str| format!("{GOOD}// {comment}\n");
        assert_eq!(
            count(references, &with("Transition 2, with `lot.a` of `lot.rs`.")),
            0
        );
        assert_eq!(count(references, &with("Transition 3.")), 1);
        assert_eq!(count(references, &with("with `lot.b`")), 1);
    }
}
