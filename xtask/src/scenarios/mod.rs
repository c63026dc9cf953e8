//! `cargo xtask scenarios`: each scenario of `SCENARIOS.md`, where it is held, and how that last went.
//!
//! Nothing is written down twice: the scenarios come from the page, the tests from the doc comments that begin
//! with an id, the results from what the test runner and the bench have left below `target`. A scenario without a
//! test is an error, and so is a test of a scenario that is not on the page.

mod holders;
mod page;
mod results;

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Context, Result, bail};
use clap::Args;
use comfy_table::{Table, presets};

use crate::run::root;
use holders::Holder;
use page::Scenario;
use results::Results;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Show only the scenarios whose id begins with this, such as `W` or `S14`.
    id: Option<String>,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let page = root().join("SCENARIOS.md");
    let text = fs::read_to_string(&page).with_context(|| page.display().to_string())?;
    let scenarios = page::scenarios(&text)?;
    let holders = holders::find(root())?;
    let results = Results::read(&root().join("target"))?;
    let chosen = |scenario: &&Scenario| {
        options
            .id
            .as_ref()
            .is_none_or(|id| scenario.id.starts_with(id.as_str()))
    };
    println!(
        "{}",
        table(scenarios.iter().filter(chosen), &holders, &results)
    );
    let lonely = without_holder(&scenarios, &holders);
    let strange = without_scenario(&scenarios, &holders);
    println!(
        "{} scenarios, {} tests and rows of theirs",
        scenarios.len(),
        holders.len()
    );
    if !lonely.is_empty() {
        bail!("no test and no row holds {}", lonely.join(", "));
    }
    if let Some((holder, id)) = strange.first() {
        bail!(
            "{}, {}: there is no scenario {id}",
            holder.file,
            holder.name
        );
    }
    Ok(())
}

fn without_holder(scenarios: &[Scenario], holders: &[Holder]) -> Vec<String> {
    let held: BTreeSet<_> = holders.iter().flat_map(|holder| &holder.ids).collect();
    let lonely = scenarios
        .iter()
        .filter(|scenario| !held.contains(&scenario.id));
    lonely.map(|scenario| scenario.id.clone()).collect()
}

fn without_scenario<'h>(
    scenarios: &[Scenario],
    holders: &'h [Holder],
) -> Vec<(&'h Holder, &'h String)> {
    let known: BTreeSet<_> = scenarios.iter().map(|scenario| &scenario.id).collect();
    let all = holders
        .iter()
        .flat_map(|holder| holder.ids.iter().map(move |id| (holder, id)));
    all.filter(|(_, id)| !known.contains(id)).collect()
}

fn table<'s>(
    scenarios: impl Iterator<Item = &'s Scenario>,
    holders: &[Holder],
    results: &Results,
) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_header(["id", "tier", "where", "last result"]);
    for scenario in scenarios {
        let mut id = scenario.id.as_str();
        for holder in holders
            .iter()
            .filter(|holder| holder.ids.contains(&scenario.id))
        {
            let place = format!("{} {}", holder.file, holder.name);
            table.add_row([id, holder.tier, &place, &results.of(holder).to_string()]);
            id = "";
        }
        if !id.is_empty() {
            table.add_row([id, "NONE", "", ""]);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario(id: &str) -> Scenario {
        Scenario { id: id.to_owned() }
    }

    fn holder(ids: &[&str]) -> Holder {
        Holder {
            ids: ids.iter().map(|id| (*id).to_owned()).collect(),
            tier: "unit",
            file: "file.rs".to_owned(),
            name: "a_test".to_owned(),
        }
    }

    #[test]
    fn what_nobody_holds_and_what_nobody_knows_is_named() {
        let scenarios = [scenario("W1"), scenario("W2"), scenario("W3")];
        let holders = [holder(&["W1", "W9"]), holder(&["W3"])];
        assert_eq!(without_holder(&scenarios, &holders), ["W2"]);
        let strange = without_scenario(&scenarios, &holders);
        assert_eq!(strange.len(), 1);
        assert_eq!(strange[0].1, "W9");
    }

    #[test]
    fn a_scenario_has_a_line_for_each_that_holds_it() {
        let scenarios = [scenario("W1"), scenario("W2")];
        let holders = [holder(&["W1"]), holder(&["W1"])];
        let text = table(scenarios.iter(), &holders, &Results::default()).to_string();
        assert_eq!(text.lines().count(), 1 + 2 + 1, "{text}");
        assert!(
            text.lines()
                .last()
                .is_some_and(|line| line.contains("NONE"))
        );
    }
}
