//! The tables of mutants: what each room says it can be weakened by, held against its code.
//!
//! A table names a mutant a row, with the check that must fail under it. It and the code must name the same
//! ones, so that no ordering, fence or second look is without its check, and no row outlives its code.

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Context, Result, bail};

use crate::run::{Step, root};

/// A package with mutants of its own: where its table and its code are, and how its models are built.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Room {
    pub(super) table: &'static str,
    /// Where the doors of `sync` are called.
    code: &'static [&'static str],
    /// The arguments of cargo that build the models.
    pub(super) models: &'static str,
    /// What cargo calls the program with the models.
    pub(super) target: &'static str,
}

pub(super) const ROOMS: [Room; 2] = [
    Room {
        table: "core/tests/MUTANTS.md",
        code: &["core/src", "core/tests/models"],
        models: "test -p parkade-core --all-features --release --test models",
        target: "models",
    },
    Room {
        table: "runtime/src/MUTANTS.md",
        code: &["runtime/src"],
        models: "test -p parkade --no-default-features --release --lib",
        target: "parkade",
    },
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tool {
    Loom,
    Miri,
    Argued,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mutant {
    pub(super) room: &'static Room,
    pub(super) id: String,
    pub(super) change: String,
    pub(super) tool: Tool,
    pub(super) check: String,
}

/// Every mutant there is, once the tables agree with the code and with the prose.
pub(super) fn all() -> Result<Vec<Mutant>> {
    let mut all = Vec::new();
    for room in &ROOMS {
        let mutants = room.mutants()?;
        room.compare(&mutants, &room.named_in_code()?)?;
        all.extend(mutants);
    }
    argued_in_prose(&all)?;
    Ok(all)
}

impl Room {
    /// The rows of the table.
    fn mutants(&'static self) -> Result<Vec<Mutant>> {
        let text = fs::read_to_string(root().join(self.table));
        self.parse(&text.with_context(|| self.table.to_owned())?)
    }

    fn parse(&'static self, text: &str) -> Result<Vec<Mutant>> {
        let table = self.table;
        let rows = text.lines().filter(|line| line.starts_with("| "));
        let cells = rows.map(|row| {
            let inner = row.trim().trim_start_matches('|').trim_end_matches('|');
            inner.split('|').map(str::trim).collect::<Vec<_>>()
        });
        cells
            .skip(1)
            .map(|cells| {
                let [id, change, tool, check] = cells[..] else {
                    bail!("a row of {table} has not four cells: {cells:?}");
                };
                let tool = match tool {
                    "loom" => Tool::Loom,
                    "miri" => Tool::Miri,
                    "argued" => Tool::Argued,
                    other => bail!("{table}: {id}: there is no tool `{other}`"),
                };
                if check.is_empty() != (tool == Tool::Argued) {
                    bail!("{table}: {id}: a check is named exactly if a tool runs it");
                }
                Ok(Mutant {
                    room: self,
                    id: id.to_owned(),
                    change: change.to_owned(),
                    tool,
                    check: check.to_owned(),
                })
            })
            .collect()
    }

    /// The names that the code can be mutated by.
    fn named_in_code(&self) -> Result<BTreeSet<String>> {
        let listed = Step::new("git", ["ls-files"]).args(self.code.iter().copied());
        let mut names = BTreeSet::new();
        for file in listed.capture()?.lines() {
            if file.ends_with(".rs") {
                let text = fs::read_to_string(root().join(file));
                names.extend(named_in(&text.with_context(|| file.to_owned())?));
            }
        }
        Ok(names)
    }

    /// The table and the code name the same mutants, once each.
    fn compare(&self, mutants: &[Mutant], named: &BTreeSet<String>) -> Result<()> {
        let mut listed = BTreeSet::new();
        let mut wrong = Vec::new();
        for mutant in mutants {
            if !listed.insert(mutant.id.clone()) {
                wrong.push(format!("{} is listed twice", mutant.id));
            }
        }
        let stale = listed.difference(named);
        wrong.extend(stale.map(|id| format!("{id} is not in the code")));
        let missing = named.difference(&listed);
        wrong.extend(missing.map(|id| format!("{id} is not in {}", self.table)));
        if !wrong.is_empty() {
            bail!("{}", wrong.join("; "));
        }
        Ok(())
    }
}

/// The names that a file can be mutated by: string literals in calls of the doors of `sync`, with both halves
/// of an AcqRel ordering, and those that models or the doors themselves ask for.
fn named_in(text: &str) -> BTreeSet<String> {
    const DOORS: [&str; 6] = [
        "order(\"",
        "fence(\"",
        "light(\"",
        "heavy(\"",
        "left_out(\"",
        "const PAIR: &str = \"",
    ];
    let mut names = BTreeSet::new();
    let lines = text.lines().map(str::trim_start);
    for line in lines.filter(|line| !line.starts_with("//")) {
        for call in DOORS.iter().flat_map(|door| line.split(door).skip(1)) {
            let Some((name, rest)) = call.split_once('"') else {
                continue;
            };
            names.insert(name.to_owned());
            if rest.starts_with(", Ordering::AcqRel") {
                names.extend(["acquire", "release"].map(|half| format!("{name}-{half}")));
            }
        }
        for asked in line.split("== \"model.").skip(1) {
            if let Some((name, _)) = asked.split_once('"') {
                names.insert(format!("model.{name}"));
            }
        }
    }
    names
}

/// Whoever survives by argument has it in ARCHITECTURE.md.
fn argued_in_prose(mutants: &[Mutant]) -> Result<()> {
    let prose = fs::read_to_string(root().join("ARCHITECTURE.md")).context("ARCHITECTURE.md")?;
    let argued = mutants.iter().filter(|mutant| mutant.tool == Tool::Argued);
    for mutant in argued {
        if !prose.contains(&format!("`{}`", mutant.id)) {
            bail!(
                "{} is said to be argued, but ARCHITECTURE.md does not",
                mutant.id
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "# x\n\n| mutant | what | tool | check |\n|---|---|---|---|\n\
                        | a.b | left out | loom | m::t |\n| c | Release | argued | |\n";

    fn parse(text: &str) -> Result<Vec<Mutant>> {
        ROOMS[0].parse(text)
    }

    fn names<const N: usize>(names: [&str; N]) -> BTreeSet<String> {
        names.map(str::to_owned).into()
    }

    #[test]
    fn rows_are_read() {
        let mutants = parse(GOOD).unwrap();
        assert_eq!(mutants.len(), 2);
        assert_eq!(
            (mutants[0].id.as_str(), mutants[0].tool),
            ("a.b", Tool::Loom)
        );
        assert_eq!(mutants[1].tool, Tool::Argued);
    }

    #[test]
    fn a_row_without_a_check_or_with_one_too_many_is_refused() {
        assert!(parse(&GOOD.replace("| m::t |", "| |")).is_err());
        assert!(parse(&GOOD.replace("argued | |", "argued | m::t |")).is_err());
        assert!(parse(&GOOD.replace("loom", "lom")).is_err());
    }

    #[test]
    fn names_are_read_from_code_and_not_from_comments() {
        let code = "a(order(\"x\", Ordering::AcqRel), order(\"y\", Ordering::Acquire));\n\
                    // order(\"z\", …)\nif mutant == \"model.late\" && !left_out(\"w\") {";
        let expected = names(["model.late", "w", "x", "x-acquire", "x-release", "y"]);
        assert_eq!(named_in(code), expected);
    }

    #[test]
    fn the_table_and_the_code_must_agree() {
        let mutants = parse(GOOD).unwrap();
        let compare = |named| ROOMS[0].compare(&mutants, &named);
        assert!(compare(names(["a.b", "c"])).is_ok());
        let missing = compare(names(["a.b", "c", "d"])).unwrap_err();
        assert!(missing.to_string().starts_with("d is not in"), "{missing}");
        let stale = compare(names(["a.b"])).unwrap_err();
        assert_eq!(stale.to_string(), "c is not in the code");
    }

    #[test]
    fn this_tree_agrees_with_its_tables() {
        all().unwrap();
    }
}
