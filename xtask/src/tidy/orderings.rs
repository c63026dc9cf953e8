//! Every memory ordering above Relaxed has a name, a note, and one meaning.
//!
//! In core the name stands in code, `order("lot.signal", Ordering::Release)`, so that a model can
//! weaken it, and in the note above it, `// Ordering[lot.signal]: …`, which says who the partner is and
//! what breaks without it. The other rooms have the note alone.

use std::collections::{BTreeMap, BTreeSet};

use super::Finding;
use super::source::{Kind, Source, Token, Tree, reads};

/// How many lines above its ordering a note may begin.
const NOTE_WITHIN: usize = 12;

/// The rooms whose orderings are looked at.
const ROOMS: [&str; 5] = [
    "core/src/",
    "backend-linux/src/",
    "backend-std/src/",
    "runtime/src/",
    "kernel/src/",
];

/// The files that are beneath the names: the doors themselves.
const BENEATH: [&str; 2] = ["core/src/sync.rs", "runtime/src/sync.rs"];

const STRONG: [&str; 4] = ["Acquire", "Release", "AcqRel", "SeqCst"];

/// The doors that take a name; a step that can be left out is no ordering and needs no note.
const DOORS: [&str; 4] = ["order", "fence", "light", "heavy"];
const STEP: &str = "left_out";

/// An ordering or a fence in code.
struct Site {
    line: usize,
    /// The name it is given in code, in core.
    id: Option<String>,
    needs_note: bool,
}

pub(super) fn named(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in core(tree) {
        let tokens = file.code();
        for at in 0..tokens.len() {
            if let Some(strong) = strong_at(&tokens, at)
                && !is_inside_order(&tokens, at)
            {
                findings.push(Finding::new(
                    &file.path,
                    tokens[at].line,
                    format!("write order(\"id\", Ordering::{strong})"),
                ));
            }
            let imported = ["{", "*"]
                .iter()
                .any(|next| reads(&tokens, at, &["Ordering", "::", next]))
                || reads(&tokens, at, &["Ordering", "as"]);
            if imported {
                findings.push(Finding::new(
                    &file.path,
                    tokens[at].line,
                    "orderings are written as Ordering::X, not imported one by one or renamed",
                ));
            }
            let door = DOORS.iter().find(|door| reads(&tokens, at, &[door, "("]));
            if let Some(door) = door
                && is_call(&tokens, at)
                && id_at(&tokens, at).is_none()
            {
                findings.push(Finding::new(
                    &file.path,
                    tokens[at].line,
                    format!("`{door}` takes the name as a literal"),
                ));
            }
        }
    }
    findings
}

pub(super) fn no_seqcst_access(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in core(tree) {
        let tokens = file.code();
        for at in 0..tokens.len() {
            if strong_at(&tokens, at) == Some("SeqCst") {
                findings.push(Finding::new(
                    &file.path,
                    tokens[at].line,
                    "a SeqCst access hides which fence is meant: use fence(\"id\")",
                ));
            }
        }
    }
    findings
}

pub(super) fn explained(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut owner: BTreeMap<String, (&str, usize)> = BTreeMap::new();
    for room in ROOMS {
        let in_core = room == "core/src/";
        for file in tree
            .room(room)
            .filter(|file| !BENEATH.contains(&file.path.as_str()))
        {
            let sites = if in_core { doors(file) } else { strong(file) };
            let notes = notes(file);
            for site in sites.iter().filter(|site| site.needs_note) {
                let above = site.line.saturating_sub(NOTE_WITHIN)..site.line;
                let explained = notes.iter().any(|(line, id)| {
                    above.contains(line) && site.id.as_ref().is_none_or(|wanted| wanted == id)
                });
                if !explained {
                    let id = site.id.as_deref().unwrap_or("id");
                    findings.push(Finding::new(
                        &file.path,
                        site.line,
                        format!("no `// Ordering[{id}]:` within {NOTE_WITHIN} lines above"),
                    ));
                }
            }
            for (line, id) in &notes {
                let lives = sites.iter().any(|site| match &site.id {
                    Some(named) => named == id,
                    None => site.line > *line && site.line <= line + NOTE_WITHIN,
                });
                if !lives {
                    findings.push(Finding::new(
                        &file.path,
                        *line,
                        format!("the note Ordering[{id}] belongs to no code"),
                    ));
                }
                let (place, first) = *owner.entry(id.clone()).or_insert((&file.path, *line));
                if place != file.path {
                    findings.push(Finding::new(
                        &file.path,
                        *line,
                        format!("Ordering[{id}] already means something at {place}:{first}"),
                    ));
                }
            }
        }
    }
    findings
}

/// Core's files above the door.
fn core(tree: &Tree) -> impl Iterator<Item = &Source> {
    tree.room("core/src/")
        .filter(|file| !BENEATH.contains(&file.path.as_str()))
}

/// The named orderings and fences of a file of core.
fn doors(file: &Source) -> Vec<Site> {
    let tokens = file.code();
    let mut sites = Vec::new();
    for at in 0..tokens.len() {
        let is_door = DOORS.iter().any(|door| tokens[at].is(door));
        if (is_door || tokens[at].is(STEP))
            && is_call(&tokens, at)
            && let Some(id) = id_at(&tokens, at)
        {
            sites.push(Site {
                line: tokens[at].line,
                id: Some(id.to_owned()),
                needs_note: is_door,
            });
        }
    }
    sites
}

/// Every name that core's code gives to an ordering, a fence or a step.
pub(super) fn names(tree: &Tree) -> BTreeSet<String> {
    let sites = core(tree).flat_map(doors);
    sites.filter_map(|site| site.id).collect()
}

/// The orderings above Relaxed of a file outside core.
fn strong(file: &Source) -> Vec<Site> {
    let tokens = file.code();
    (0..tokens.len())
        .filter(|at| strong_at(&tokens, *at).is_some())
        .map(|at| Site {
            line: tokens[at].line,
            id: None,
            needs_note: true,
        })
        .collect()
}

/// The `Ordering[id]` notes of a file, by line.
fn notes(file: &Source) -> Vec<(usize, String)> {
    let mut notes = Vec::new();
    for (line, comment) in &file.comments {
        let mut rest = comment.as_str();
        while let Some((_, after)) = rest.split_once("Ordering[") {
            let Some((id, after)) = after.split_once("]:") else {
                break;
            };
            notes.push((*line, id.to_owned()));
            rest = after;
        }
    }
    notes
}

fn strong_at<'a>(tokens: &[&'a Token], at: usize) -> Option<&'a str> {
    let name = tokens.get(at + 2)?;
    (reads(tokens, at, &["Ordering", "::"]) && STRONG.contains(&name.text.as_str()))
        .then_some(name.text.as_str())
}

/// Whether the tokens before `at` are `order("id",`.
fn is_inside_order(tokens: &[&Token], at: usize) -> bool {
    // A path such as `sync::Ordering::X` begins earlier; the house imports `Ordering`.
    at >= 4
        && tokens[at - 1].is(",")
        && tokens[at - 2].kind == Kind::Literal
        && reads(tokens, at - 4, &["order", "("])
}

/// Whether the word at `at` is called as a free function: not defined, not a method, not imported.
fn is_call(tokens: &[&Token], at: usize) -> bool {
    reads(tokens, at + 1, &["("])
        && (at == 0 || !(tokens[at - 1].is("fn") || tokens[at - 1].is(".")))
}

/// The literal that the call at `at` begins with.
fn id_at<'a>(tokens: &[&'a Token], at: usize) -> Option<&'a str> {
    let first = tokens.get(at + 2)?;
    (first.kind == Kind::Literal).then(|| first.text.trim_matches('"'))
}

#[cfg(test)]
mod tests {
    use super::super::source::sample;
    use super::*;

    const GOOD: &str = "
        // Ordering[a.b]: Release, with `c`.
        x.store(1, order(\"a.b\", Ordering::Release));
        // Ordering[a.f]: with `d`.
        fence(\"a.f\");
        // Ordering[a.l]: with `d`.
        light(\"a.l\", self.fences);
        y.load(Ordering::Relaxed);
        if left_out(\"a.step\") {}
        self.fences.light();
    ";

    fn lines(check: fn(&Tree) -> Vec<Finding>, path: &str, text: &str) -> Vec<usize> {
        let text = format!("fn f() {{{text}}}");
        check(&sample(&[(path, &text)]))
            .into_iter()
            .map(|finding| finding.line)
            .collect()
    }

    #[test]
    fn named_and_explained_orderings_pass() {
        for check in [named, explained, no_seqcst_access] {
            assert_eq!(lines(check, "core/src/lot.rs", GOOD), [0; 0]);
        }
    }

    #[test]
    fn core_orderings_need_a_name() {
        let of = |text| lines(named, "core/src/lot.rs", text);
        assert_eq!(of("\nx.load(Ordering::Acquire);"), [2]);
        assert_eq!(of("x.load(order(ID, Ordering::Acquire));"), [1, 1]);
        assert_eq!(of("fence(NAME);"), [1]);
        assert_eq!(of("use crate::sync::Ordering::{Acquire};"), [1]);
        assert_eq!(of("use crate::sync::Ordering as O;"), [1]);
        assert_eq!(
            lines(named, "core/src/sync.rs", "fence(Ordering::SeqCst)"),
            [0; 0]
        );
    }

    #[test]
    fn core_has_no_sequentially_consistent_access() {
        let text = "x.load(order(\"a\", Ordering::SeqCst));";
        assert_eq!(lines(no_seqcst_access, "core/src/lot.rs", text), [1]);
        assert_eq!(lines(no_seqcst_access, "core/src/sync.rs", text), [0; 0]);
    }

    #[test]
    fn each_named_ordering_needs_its_own_note_nearby() {
        let of = |text: &str| lines(explained, "core/src/lot.rs", text);
        assert_eq!(of("fence(\"a\");"), [1]);
        assert_eq!(of("heavy(\"a\", f);"), [1]);
        assert_eq!(of("\n// Ordering[b]: x\nfence(\"a\"); fence(\"b\");"), [3]);
        let far = format!("\n// Ordering[a]: x\n{}fence(\"a\");", "\n".repeat(12));
        assert_eq!(of(&far), [15]);
        let near = format!("\n// Ordering[a]: x\n{}fence(\"a\");", "\n".repeat(11));
        assert_eq!(of(&near), [0; 0]);
    }

    #[test]
    fn a_note_needs_its_code() {
        assert_eq!(
            lines(explained, "core/src/lot.rs", "\n// Ordering[a]: x\n"),
            [2]
        );
        assert_eq!(
            lines(explained, "runtime/src/job.rs", "\n// Ordering[a]: x\n"),
            [2]
        );
    }

    #[test]
    fn an_id_has_one_meaning() {
        let text = "fn f() {\n// Ordering[a]: x\nfence(\"a\");\n// Ordering[a]: y\nfence(\"a\"); }";
        let twice = sample(&[("core/src/lot.rs", text), ("core/src/idle.rs", text)]);
        let files: Vec<_> = explained(&twice).into_iter().map(|f| f.file).collect();
        assert_eq!(files, ["core/src/idle.rs", "core/src/idle.rs"]);
        assert_eq!(explained(&sample(&[("core/src/lot.rs", text)])), []);
    }

    #[test]
    fn the_other_rooms_explain_theirs_too() {
        let of = |text| lines(explained, "runtime/src/job.rs", text);
        assert_eq!(of("x.load(Ordering::Acquire);"), [1]);
        assert_eq!(
            of("\n// Ordering[job.done]: x\nx.load(Ordering::Acquire);"),
            [0; 0]
        );
        assert_eq!(
            of("x.load(Ordering::Relaxed); a.cmp(b) == Ordering::Less;"),
            [0; 0]
        );
        assert_eq!(
            lines(
                explained,
                "backend-std/src/a.rs",
                "fence(Ordering::SeqCst);"
            ),
            [1]
        );
    }
}
