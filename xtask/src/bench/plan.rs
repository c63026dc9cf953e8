//! Which cells a run measures: what was asked for, out of what is offered.
//!
//! A *mode* says what is measured when nothing is named, how often, and with how much work a cell. A pair that
//! no row offers is left out, because a peer is not emulated; a name that nobody offers is an error that says
//! what there is.

use std::collections::BTreeSet;

use anyhow::{Result, bail};

use super::offer::{Offer, Shape};

/// How much is measured.
#[derive(Debug)]
pub(super) struct Mode {
    pub(super) name: &'static str,
    /// The rows when none is named; all of them when this is empty.
    rows: &'static [&'static str],
    /// The contenders when none is named; all of them when this is empty.
    contenders: &'static [&'static str],
    pub(super) rounds: u32,
    /// The only number of workers that rows are measured with when none is named, where they have it.
    workers: Option<u16>,
    /// Whether system calls are counted in every round or only in the first. Counts hardly differ between rounds.
    pub(super) trace_each_round: bool,
    /// Rows that get a size of their own, so that the run is as short as it promises.
    sizes: &'static [(&'static str, Size)],
}

/// How much work a cell does, where that is not left to the bench program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) tasks: Option<u64>,
    pub(super) seconds: Option<u64>,
}

/// A first look in less than two minutes.
pub(super) const QUICK: Mode = Mode {
    name: "quick",
    rows: &["lone", "outside", "local", "join", "burst", "idle"],
    contenders: &["linux", "std", "rayon", "tokio", "channel", "floor"],
    rounds: 3,
    workers: Some(2),
    trace_each_round: false,
    sizes: &[
        (
            "lone",
            Size {
                tasks: Some(100),
                seconds: None,
            },
        ),
        (
            "idle",
            Size {
                tasks: None,
                seconds: Some(1),
            },
        ),
    ],
};

/// Everything, to be quoted.
pub(super) const FULL: Mode = Mode {
    name: "full",
    rows: &[],
    contenders: &[],
    rounds: 5,
    workers: None,
    trace_each_round: true,
    sizes: &[(
        "idle",
        Size {
            tasks: None,
            seconds: Some(10),
        },
    )],
};

/// One row in one shape, and who is measured there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Planned {
    pub(super) row: String,
    pub(super) shape: Shape,
    pub(super) contenders: Vec<String>,
    pub(super) size: Size,
    pub(super) traced_tasks: Option<u64>,
}

/// The cells of one round, in order.
pub(super) fn plan(
    offers: &[Offer],
    mode: &Mode,
    rows: &[String],
    contenders: &[String],
) -> Result<Vec<Planned>> {
    let has_row = |name: &str| offers.iter().any(|offer| offer.row == name);
    if let Some(unknown) = rows.iter().find(|name| !has_row(name)) {
        let there: Vec<_> = offers.iter().map(|offer| offer.row.as_str()).collect();
        bail!("there is no row `{unknown}`, but: {}", there.join(", "));
    }
    let everybody = everybody(offers);
    if let Some(unknown) = contenders
        .iter()
        .find(|name| !everybody.contains(&name.as_str()))
    {
        bail!(
            "there is no contender `{unknown}` on this system, but: {}",
            everybody.join(", ")
        );
    }
    let chosen = offers
        .iter()
        .filter(|offer| wanted(&offer.row, rows, mode.rows));
    let mut planned = Vec::new();
    for offer in chosen {
        let measured: Vec<String> = offer
            .contenders
            .iter()
            .filter(|name| wanted(name, contenders, mode.contenders))
            .cloned()
            .collect();
        if measured.is_empty() {
            continue;
        }
        let some = |shape: &&Shape| mode.workers.is_none_or(|workers| shape.workers == workers);
        let all_shapes = !rows.is_empty() || !offer.shapes.iter().any(|shape| some(&shape));
        let shapes = offer
            .shapes
            .iter()
            .filter(|shape| all_shapes || some(shape));
        let size = mode.sizes.iter().find(|(row, _)| *row == offer.row);
        planned.extend(shapes.map(|shape| Planned {
            row: offer.row.clone(),
            shape: *shape,
            contenders: measured.clone(),
            size: size.map(|(_, size)| *size).unwrap_or_default(),
            traced_tasks: offer.traced_tasks,
        }));
    }
    if planned.is_empty() {
        bail!("none of these contenders offers any of these rows");
    }
    Ok(planned)
}

/// Whether something is named, or among the defaults when nothing is named.
fn wanted(name: &str, named: &[String], defaults: &[&str]) -> bool {
    if named.is_empty() {
        defaults.is_empty() || defaults.contains(&name)
    } else {
        named.iter().any(|one| one == name)
    }
}

/// Every contender of any row, each once, in the order of the rows.
fn everybody(offers: &[Offer]) -> Vec<&str> {
    let mut seen = BTreeSet::new();
    let all = offers.iter().flat_map(|offer| &offer.contenders);
    all.map(String::as_str)
        .filter(|name| seen.insert(*name))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::offer::fixture::offers;
    use super::*;

    fn named(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn the_quick_mode_leaves_out_what_is_slow() -> Result<()> {
        let planned = plan(&offers(), &QUICK, &[], &[])?;
        let shapes: Vec<_> = planned
            .iter()
            .map(|cell| (cell.row.as_str(), cell.shape.workers))
            .collect();
        assert_eq!(shapes, [("lone", 2)]);
        assert_eq!(
            planned[0].contenders,
            ["linux", "std", "rayon", "tokio", "floor"]
        );
        assert_eq!(planned[0].size.tasks, Some(100));
        assert_eq!(planned[0].traced_tasks, Some(200));
        Ok(())
    }

    #[test]
    fn a_row_that_is_named_has_every_shape() -> Result<()> {
        assert_eq!(plan(&offers(), &QUICK, &named(&["lone"]), &[])?.len(), 2);
        Ok(())
    }

    #[test]
    fn the_full_mode_has_every_row_in_every_shape() -> Result<()> {
        assert_eq!(plan(&offers(), &FULL, &[], &[])?.len(), 7);
        Ok(())
    }

    #[test]
    fn a_pair_that_is_not_offered_is_left_out() -> Result<()> {
        let planned = plan(
            &offers(),
            &QUICK,
            &named(&["memory", "scale"]),
            &named(&["rayon"]),
        )?;
        assert!(
            planned
                .iter()
                .all(|cell| cell.row == "scale" && cell.contenders == ["rayon"])
        );
        let none = plan(&offers(), &QUICK, &named(&["memory"]), &named(&["rayon"]));
        assert!(none.is_err());
        Ok(())
    }

    #[test]
    fn an_unknown_name_is_answered_with_those_that_there_are() {
        let error = |rows: &[&str], contenders: &[&str]| {
            plan(&offers(), &QUICK, &named(rows), &named(contenders))
                .err()
                .map(|error| error.to_string())
        };
        assert_eq!(
            error(&["lune"], &[]).as_deref(),
            Some("there is no row `lune`, but: lone, scale, memory")
        );
        assert_eq!(
            error(&[], &["ray"]).as_deref(),
            Some(
                "there is no contender `ray` on this system, but: linux, std, rayon, tokio, floor"
            )
        );
    }
}
