//! ARCHITECTURE.md and the rules here name the same things.
//!
//! A line of ARCHITECTURE.md that begins `Invariant[name]:` states a rule; the name must be one of the
//! rules here, and each rule here must be stated there.

use super::source::Tree;
use super::{Finding, RULES};

const FILE: &str = "ARCHITECTURE.md";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let known: Vec<&str> = RULES.iter().map(|rule| rule.name).collect();
    compare(tree, &known)
}

fn compare(tree: &Tree, known: &[&str]) -> Vec<Finding> {
    let Some(page) = tree.get(FILE) else {
        return Vec::new();
    };
    let mut stated = Vec::new();
    let mut findings = Vec::new();
    for (index, line) in page.text.lines().enumerate() {
        let plain = line.trim_start_matches(['-', '*', ' ', '`']);
        let Some((name, _)) = plain
            .strip_prefix("Invariant[")
            .and_then(|rest| rest.split_once(']'))
        else {
            continue;
        };
        if !known.contains(&name) {
            findings.push(Finding::new(
                FILE,
                index + 1,
                format!("nothing enforces Invariant[{name}]"),
            ));
        } else if stated.contains(&name) {
            findings.push(Finding::new(
                FILE,
                index + 1,
                format!("Invariant[{name}] is stated twice"),
            ));
        }
        stated.push(name);
    }
    for name in known.iter().filter(|name| !stated.contains(name)) {
        findings.push(Finding::new(
            FILE,
            1,
            format!("the rule `{name}` is not stated as Invariant[{name}]"),
        ));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::source::sample;
    use super::*;

    fn whats(page: &str) -> Vec<String> {
        compare(&sample(&[(FILE, page)]), &["a", "b"])
            .into_iter()
            .map(|finding| finding.what)
            .collect()
    }

    #[test]
    fn both_lists_agree() {
        assert!(whats("# x\nInvariant[a]: y\n* Invariant[b]: z\n").is_empty());
        assert_eq!(compare(&sample(&[]), &["a"]), []);
    }

    #[test]
    fn a_promise_needs_a_check() {
        assert_eq!(
            whats("Invariant[a]: y\nInvariant[b]: z\nInvariant[c]: z\n"),
            ["nothing enforces Invariant[c]"]
        );
        assert_eq!(
            whats("Invariant[a]: y\nInvariant[b]: z\nInvariant[b]: z\n"),
            ["Invariant[b] is stated twice"]
        );
    }

    #[test]
    fn a_check_needs_a_promise() {
        assert_eq!(
            whats("Invariant[a]: see Invariant[b]: z\n"),
            ["the rule `b` is not stated as Invariant[b]"]
        );
    }
}
