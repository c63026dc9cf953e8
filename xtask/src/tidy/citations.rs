//! What the page for kernels cites stands where it says.
//!
//! A row of its tables begins with a place, `file:line`, and the code that stands there. Code moves; a citation
//! that stays behind teaches the wrong line.

use super::Finding;
use super::source::Tree;

const PAGE: &str = "core/docs/kernel.md";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let Some(page) = tree.get(PAGE) else {
        return vec![Finding::new(PAGE, 1, "the file is missing")];
    };
    let rows = page.text.lines().enumerate();
    let wrong = rows.filter_map(|(index, row)| {
        let what = fault(tree, row)?;
        Some(Finding::new(PAGE, index + 1, what))
    });
    wrong.collect()
}

/// What is wrong with the citation in a row, if there is one.
fn fault(tree: &Tree, row: &str) -> Option<String> {
    let mut quoted = row.strip_prefix("| `")?.split('`');
    let (place, code) = (quoted.next()?, quoted.nth(1)?);
    let Some((path, line)) = place.rsplit_once(':') else {
        return Some(format!("`{place}` is no file and line"));
    };
    let (Some(file), Ok(line)) = (tree.get(path), line.parse::<usize>()) else {
        return Some(format!("there is no `{place}`"));
    };
    let stands = |at: usize| {
        let text = at.checked_sub(1).and_then(|at| file.text.lines().nth(at));
        text.is_some_and(|text| text.contains(code))
    };
    if stands(line) {
        return None;
    }
    let lines = file.text.lines().count();
    let near = (1..=lines)
        .filter(|&at| stands(at))
        .min_by_key(|at| at.abs_diff(line));
    Some(match near {
        Some(at) => format!("`{code}` stands at {path}:{at}, not {line}"),
        None => format!("`{code}` is not in {path}"),
    })
}

#[cfg(test)]
mod tests {
    use super::super::source::sample;
    use super::*;

    #[test]
    fn a_citation_names_the_line_that_it_cites() {
        let whats = |row: &str| -> Vec<String> {
            let tree = sample(&[
                (PAGE, row),
                ("kernel/src/a.rs", "//! x\nfn a() {}\nfn b() {}\n"),
            ]);
            check(&tree)
                .into_iter()
                .map(|finding| finding.what)
                .collect()
        };
        assert_eq!(whats("| `kernel/src/a.rs:2` | `fn a()` | why |"), [""; 0]);
        assert_eq!(
            whats("| `kernel/src/a.rs:2` | `fn b()` | why |"),
            ["`fn b()` stands at kernel/src/a.rs:3, not 2"]
        );
        assert_eq!(
            whats("| `kernel/src/a.rs:2` | `fn c()` | why |"),
            ["`fn c()` is not in kernel/src/a.rs"]
        );
        assert_eq!(
            whats("| `kernel/src/b.rs:2` | `fn c()` | why |"),
            ["there is no `kernel/src/b.rs:2`"]
        );
        assert_eq!(whats("| line | code | why |"), [""; 0]);
        assert_eq!(check(&sample(&[])).len(), 1);
    }
}
