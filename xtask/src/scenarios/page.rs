//! The page: a table row for each scenario, whose first cell is its id.

use std::collections::BTreeSet;

use anyhow::{Result, bail};

/// One line of the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Scenario {
    /// A letter and a number.
    pub(super) id: String,
}

pub(super) fn scenarios(text: &str) -> Result<Vec<Scenario>> {
    let cells = text
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split(" |").next());
    let scenarios: Vec<_> = cells
        .filter(|cell| is_id(cell))
        .map(|id| Scenario { id: id.to_owned() })
        .collect();
    let mut seen = BTreeSet::new();
    if let Some(twice) = scenarios.iter().find(|scenario| !seen.insert(&scenario.id)) {
        bail!("SCENARIOS.md has {} twice", twice.id);
    }
    if scenarios.is_empty() {
        bail!("SCENARIOS.md has no scenario");
    }
    Ok(scenarios)
}

/// A capital letter, then a number.
pub(super) fn is_id(word: &str) -> bool {
    let mut letters = word.chars();
    letters
        .next()
        .is_some_and(|letter| letter.is_ascii_uppercase())
        && word.len() > 1
        && letters.all(|digit| digit.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_with_an_id_are_scenarios() -> Result<()> {
        let text =
            "# Page\n| id | seen in |\n|---|---|\n| W1 | there | so |\n| T12 | here | so |\n";
        let ids: Vec<_> = scenarios(text)?
            .into_iter()
            .map(|scenario| scenario.id)
            .collect();
        assert_eq!(ids, ["W1", "T12"]);
        Ok(())
    }

    #[test]
    fn an_id_stands_once() {
        assert!(scenarios("| W1 | a |\n| W1 | b |\n").is_err());
        assert!(scenarios("nothing").is_err());
    }
}
