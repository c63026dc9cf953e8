//! What holds a scenario: a test whose doc comment begins with its id, or a bench row whose page says so.
//!
//! The comment of a test reads `W4.`, `W4, W15: why`, `S3 and S13: why` or `W4 at the core.` The head of a bench row
//! has a line that begins with `Scenarios:`.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use syn::visit::{self, Visit};

use super::page::is_id;

/// A test or a bench row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Holder {
    pub(super) ids: Vec<String>,
    pub(super) tier: &'static str,
    /// From the root of the repository, with slashes.
    pub(super) file: String,
    /// Of the function, or of the row.
    pub(super) name: String,
}

/// Where tests live, and what they are; the first that fits. Elsewhere in the sources they are unit tests.
const TIERS: [(&str, &str); 12] = [
    ("core/tests/models/", "model"),
    ("runtime/src/models", "model"),
    ("core/tests/properties/", "property"),
    ("core/tests/decisions/", "decision"),
    ("core/tests/", "threads"),
    ("backend-std/tests/contract/", "contract"),
    ("backend-linux/tests/", "backend"),
    ("runtime/tests/stress/", "stress"),
    ("runtime/tests/", "behaviour"),
    ("bench/src/rows/", "bench"),
    ("xtask/", "build"),
    ("", "unit"),
];

/// In these, a comment that begins with I1 to I6 speaks of an invariant.
const OF_INVARIANTS: [&str; 2] = ["model", "property"];

const ROOMS: [&str; 6] = [
    "core",
    "backend-linux",
    "backend-std",
    "runtime",
    "bench",
    "xtask",
];

pub(super) fn find(root: &Path) -> Result<Vec<Holder>> {
    let mut holders = Vec::new();
    for room in ROOMS {
        for folder in ["src", "tests"] {
            walk(root, &format!("{room}/{folder}"), &mut holders)?;
        }
    }
    Ok(holders)
}

fn walk(root: &Path, folder: &str, holders: &mut Vec<Holder>) -> Result<()> {
    let path = root.join(folder);
    if !path.is_dir() {
        return Ok(());
    }
    let mut entries: Vec<_> = fs::read_dir(&path)
        .and_then(Iterator::collect)
        .with_context(|| path.display().to_string())?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let inside = format!("{folder}/{}", entry.file_name().display());
        if entry.path().is_dir() {
            walk(root, &inside, holders)?;
        } else if inside.ends_with(".rs") {
            let text = fs::read_to_string(entry.path()).with_context(|| inside.clone())?;
            holders.extend(in_file(&inside, &text)?);
        }
    }
    Ok(())
}

fn in_file(file: &str, text: &str) -> Result<Vec<Holder>> {
    let tier = TIERS.iter().find(|(front, _)| file.starts_with(front));
    let tier = tier.map_or("unit", |(_, tier)| tier);
    if tier == "bench" {
        return Ok(row(file, text).into_iter().collect());
    }
    let parsed = syn::parse_file(text).with_context(|| file.to_owned())?;
    let mut tests = Tests::default();
    tests.visit_file(&parsed);
    let of_invariants = OF_INVARIANTS.contains(&tier);
    let holders = tests.0.into_iter().map(|(name, comment)| {
        let mut ids = leading_ids(&comment);
        ids.retain(|id| !(of_invariants && id.starts_with('I')));
        let file = file.to_owned();
        Holder {
            ids,
            tier,
            file,
            name,
        }
    });
    Ok(holders.filter(|holder| !holder.ids.is_empty()).collect())
}

/// A bench row, by its file.
fn row(file: &str, text: &str) -> Option<Holder> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("//! Scenarios: "))?;
    let stem = Path::new(file).file_stem()?;
    Some(Holder {
        ids: leading_ids(line),
        tier: "bench",
        file: file.to_owned(),
        name: stem.display().to_string(),
    })
}

/// The ids that a comment begins with.
fn leading_ids(comment: &str) -> Vec<String> {
    let words = comment.split_whitespace().filter(|word| *word != "and");
    let bare = words.map(|word| word.trim_end_matches([',', '.', ':', ';']));
    bare.take_while(|word| is_id(word))
        .map(str::to_owned)
        .collect()
}

/// Functions by name, with the first line of their documentation.
#[derive(Default)]
struct Tests(Vec<(String, String)>);

impl<'f> Visit<'f> for Tests {
    fn visit_item_fn(&mut self, function: &'f syn::ItemFn) {
        let comment = function.attrs.iter().find_map(|attribute| {
            let syn::Meta::NameValue(pair) = &attribute.meta else {
                return None;
            };
            let syn::Expr::Lit(literal) = &pair.value else {
                return None;
            };
            match &literal.lit {
                syn::Lit::Str(text) if pair.path.is_ident("doc") => Some(text.value()),
                _ => None,
            }
        });
        if let Some(comment) = comment {
            self.0.push((function.sig.ident.to_string(), comment));
        }
        visit::visit_item_fn(self, function);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_begins_with_ids_or_speaks_of_none() {
        for (comment, ids) in [
            (" W4.", vec!["W4"]),
            (" W4, W15: the tasks meet.", vec!["W4", "W15"]),
            (" S3 and S13: each stop is complete.", vec!["S3", "S13"]),
            (" Q2 at the core: W1 is no id here.", vec!["Q2"]),
            (" A task of W1.", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(leading_ids(comment), ids, "{comment:?}");
        }
    }

    #[test]
    fn functions_are_found_with_their_tier() -> Result<()> {
        let text = "/// W4.\nfn meets<B>() {}\nmod inside {\n/// I2: an invariant.\nfn sleeps() {}\n}\n/// No id.\nfn other() {}";
        let found = |file| -> Result<Vec<_>> {
            let holders = in_file(file, text)?;
            let brief = holders.into_iter().map(|holder| (holder.tier, holder.name));
            Ok(brief.collect())
        };
        let behaviour = found("runtime/tests/behaviour/batch.rs")?;
        assert_eq!(
            behaviour,
            [
                ("behaviour", "meets".to_owned()),
                ("behaviour", "sleeps".to_owned())
            ]
        );
        assert_eq!(
            found("core/tests/models/x.rs")?,
            [("model", "meets".to_owned())]
        );
        Ok(())
    }

    #[test]
    fn a_bench_row_says_it_in_its_head() -> Result<()> {
        let text = "//! `lone`: one task.\n//!\n//! Scenarios: I1, W14.\nfn measure() {}";
        let holders = in_file("bench/src/rows/lone.rs", text)?;
        assert_eq!(holders.len(), 1);
        assert_eq!(
            (holders[0].name.as_str(), &*holders[0].ids),
            ("lone", &["I1".to_owned(), "W14".to_owned()][..])
        );
        Ok(())
    }
}
