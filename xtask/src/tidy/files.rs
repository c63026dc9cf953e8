//! Rules about files as such: how they open, how long they are, what they must not say.

use super::Finding;
use super::source::{Token, Tree, after_group, reads};

/// The length, in lines, above which a file of Rust code holds more than one idea.
const LONGEST: usize = 500;

/// Macros that stand for code that is not there yet, or was there to look at once.
const PLACEHOLDERS: [&str; 3] = ["todo", "unimplemented", "dbg"];

/// Written in pieces, so that this file does not say it.
const REMINDER: &str = concat!("FIX", "ME");
const MACHINE_PATHS: [&str; 2] = [concat!("/wo", "rk/"), concat!("/ro", "ot/")];

pub(super) fn heads(tree: &Tree) -> Vec<Finding> {
    tree.rust()
        .filter(|file| !file.text.starts_with("//! "))
        .map(|file| Finding::new(&file.path, 1, "the file does not open with `//! `"))
        .collect()
}

pub(super) fn length(tree: &Tree) -> Vec<Finding> {
    tree.rust()
        .filter(|file| file.text.lines().count() > LONGEST)
        .map(|file| {
            let lines = file.text.lines().count();
            Finding::new(
                &file.path,
                LONGEST,
                format!("{lines} lines, more than {LONGEST}"),
            )
        })
        .collect()
}

pub(super) fn unfinished(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust() {
        let tokens: Vec<&Token> = file.tokens.iter().collect();
        for at in 0..tokens.len() {
            let what = if reads(&tokens, at, &["#", "[", "ignore"]) {
                "an ignored test is no test".to_owned()
            } else if let Some(name) = PLACEHOLDERS
                .iter()
                .find(|name| reads(&tokens, at, &[name, "!"]))
            {
                format!("`{name}!` is left over")
            } else if silences_dead_code(&tokens, at) {
                "dead code is deleted, not silenced".to_owned()
            } else {
                continue;
            };
            findings.push(Finding::new(&file.path, tokens[at].line, what));
        }
        for (line, comment) in &file.comments {
            if comment.contains(REMINDER) {
                findings.push(Finding::new(
                    &file.path,
                    *line,
                    format!("{REMINDER} is left over"),
                ));
            }
        }
    }
    findings
}

fn silences_dead_code(tokens: &[&Token], at: usize) -> bool {
    ["allow", "expect"]
        .iter()
        .any(|lint| reads(tokens, at, &[lint, "("]))
        && tokens[at..after_group(tokens, at + 1)]
            .iter()
            .any(|token| token.is("dead_code"))
}

pub(super) fn house_words(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.all() {
        for (index, line) in file.text.lines().enumerate() {
            if let Some(path) = MACHINE_PATHS.iter().find(|path| line.contains(**path)) {
                findings.push(Finding::new(
                    &file.path,
                    index + 1,
                    format!("`{path}` is a path of somebody's machine"),
                ));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::source::sample;
    use super::*;

    #[test]
    fn a_file_opens_by_teaching() {
        let of = |text| heads(&sample(&[("core/src/a.rs", text)])).len();
        assert_eq!(of("//! What it is.\n"), 0);
        assert_eq!(of("\n//! Too late.\n"), 1);
        assert_eq!(of("// Not a doc comment.\n"), 1);
        assert_eq!(of("//!\n"), 1);
        assert_eq!(heads(&sample(&[("README.md", "text")])).len(), 0);
    }

    #[test]
    fn a_file_is_not_too_long() {
        let of = |lines| length(&sample(&[("core/src/a.rs", &"//! x\n".repeat(lines))])).len();
        assert_eq!(of(LONGEST), 0);
        assert_eq!(of(LONGEST + 1), 1);
    }

    #[test]
    fn nothing_is_left_unfinished() {
        let of = |text: &str| unfinished(&sample(&[("core/tests/a.rs", text)])).len();
        assert_eq!(of("#[ignore] fn f() {}"), 1);
        assert_eq!(of("#[ignore = \"slow\"] fn f() {}"), 1);
        for name in PLACEHOLDERS {
            assert_eq!(of(&format!("fn f() {{ {name}!() }}")), 1, "{name}");
        }
        assert_eq!(of("#[allow(unused, dead_code)] fn f() {}"), 1);
        assert_eq!(of("#![expect(dead_code)]"), 1);
        assert_eq!(of(&format!("fn f() {{}} // {REMINDER}: later")), 1);
        assert_eq!(
            of("#[allow(clippy::x)] fn todo() { ignore(); \"dead_code\"; }"),
            0
        );
    }

    #[test]
    fn paths_of_a_machine_stay_on_it() {
        for path in MACHINE_PATHS {
            let text = format!("first\nsee {path}x\n");
            let found = house_words(&sample(&[("README.md", &text)]));
            assert_eq!(found.iter().map(|f| f.line).collect::<Vec<_>>(), [2]);
        }
        assert_eq!(
            house_words(&sample(&[("README.md", "network/io, root")])),
            []
        );
    }
}
