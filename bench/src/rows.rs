//! What is measured: one file a row, which opens with what the row is like and why the work is like for all, and
//! has the row's [`Page`] in it.
//!
//! To add a row, write its file and add a line to the list below.

use std::fmt;

use clap::ValueEnum;
use serde::Serialize;

use crate::cell::Figure;
use crate::contender::{Measure, Name, Offer};

/// The rows by module and name.
macro_rules! rows {
    ($($(#[$doc:meta])* $module:ident $row:ident)*) => {
        $(mod $module;)*

        #[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
        #[serde(rename_all = "lowercase")]
        #[value(rename_all = "lowercase")]
        pub(crate) enum Row {
            $($(#[$doc])* $row,)*
        }

        impl Row {
            pub(crate) fn page(self) -> &'static Page {
                match self {
                    $(Self::$row => &$module::PAGE,)*
                }
            }
        }
    };
}

rows! {
    /// One task at a time from outside to an idle pool: how soon it starts.
    lone Lone
    /// Many tasks from outside threads.
    outside Outside
    /// Many tasks spawned by a task.
    local Local
    /// Tasks that each spawn two more.
    tree Tree
    /// The same load on ever more workers.
    scale Scale
    /// Two closures at once, over and over.
    join Join
    /// A loop over a slice.
    foreach Foreach
    /// An empty task from outside each ms: what it costs a pool that sleeps in between.
    trickle Trickle
    /// Eight tasks of 20 µs from outside each 500 µs: how soon they are done, and at what cost.
    burst Burst
    /// No task at all: what a parked pool costs, with everything held that its users hold.
    idle Idle
    /// One tag, or pool, while another is flooded: how soon a task starts.
    tags Tags
    /// A pool that idles beside others on the same CPUs: what it takes from them.
    overlap Overlap
    /// Bytes per queued task, and of a pool that is only there.
    memory Memory
    /// Dropping a parked pool: how soon it is gone.
    stop Stop
    /// Locks that all threads want: how long each waits.
    fairness Fairness
    /// One lot without a pool: what skipping needless wakes does to those that come late.
    lot Lot
}

impl Row {
    /// Whether it needs the program that counts allocations.
    pub(crate) fn counts_bytes(self) -> bool {
        self == Self::Memory
    }
}

/// What there is to know about a row.
#[derive(Debug)]
pub(crate) struct Page {
    /// What it is like in real life, in one sentence.
    pub(crate) like: &'static str,
    /// What nobody can do better than.
    pub(crate) floor: Option<Floor>,
    /// The contenders that offer it.
    pub(crate) offers: &'static [Offer],
    /// The cells of a full run.
    pub(crate) shapes: &'static [Shape],
    /// With how many tasks system calls are counted, where they are.
    pub(crate) traced_tasks: Option<u64>,
    pub(crate) figures: &'static [Figure],
}

/// The least that the row's work costs without any scheduler: a contender like the others, made by the row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Floor {
    /// What it does, in one sentence.
    pub(crate) is: &'static str,
    pub(crate) measure: Measure,
}

/// How large a cell is.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Shape {
    workers: u16,
    producers: u16,
}

impl Shape {
    pub(crate) const fn workers(workers: u16) -> Self {
        Self {
            workers,
            producers: 1,
        }
    }

    pub(crate) const fn producers(self, producers: u16) -> Self {
        Self { producers, ..self }
    }
}

impl Page {
    /// Everyone who can be measured, the floor last.
    pub(crate) fn offers(&self) -> impl Iterator<Item = Offer> {
        let floor = self.floor.map(|floor| Offer {
            contender: Name::Floor,
            measure: floor.measure,
        });
        self.offers.iter().copied().chain(floor)
    }
}

/// A row as it is listed.
#[derive(Debug, Serialize)]
pub(crate) struct Listed {
    row: Row,
    like: &'static str,
    floor: Option<&'static str>,
    contenders: Vec<Name>,
    shapes: &'static [Shape],
    traced_tasks: Option<u64>,
    figures: &'static [Figure],
}

/// All rows.
pub(crate) fn listed() -> Vec<Listed> {
    let rows = Row::value_variants().iter();
    rows.map(|&row| {
        let page = row.page();
        Listed {
            row,
            like: page.like,
            floor: page.floor.map(|floor| floor.is),
            contenders: page.offers().map(|offer| offer.contender).collect(),
            shapes: page.shapes,
            traced_tasks: page.traced_tasks,
            figures: page.figures,
        }
    })
    .collect()
}

/// The name as the command line takes it.
impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.to_possible_value() {
            Some(name) => f.write_str(name.get_name()),
            None => write!(f, "{self:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_has_one_main_figure_and_names_nobody_twice() {
        for &row in Row::value_variants() {
            let page = row.page();
            let main = page.figures.iter().filter(|figure| figure.is_main());
            assert_eq!(main.count(), 1, "{row}");
            let mut names: Vec<String> = page
                .offers()
                .map(|offer| offer.contender.to_string())
                .collect();
            let all = names.len();
            names.sort();
            names.dedup();
            assert_eq!(names.len(), all, "{row}");
            assert!(!page.shapes.is_empty(), "{row}");
        }
    }
}
