//! What the bench program offers: its rows, and for each who can be measured, in which shapes, by which figures.
//!
//! Nothing of this is known here. The program is asked, so a row that is added there appears in every table,
//! plot and comparison without a change to this side.

use std::fmt;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::PROGRAM;
use crate::run::Step;

/// The contender that is no scheduler but the least that the row can cost at all.
pub(super) const FLOOR: &str = "floor";

/// Parkade itself, on each of its backends. Everybody else but the floor is a *peer*.
const OURS: [&str; 2] = ["linux", "std"];

/// Whether a contender is neither Parkade nor the floor.
pub(super) fn is_peer(contender: &str) -> bool {
    contender != FLOOR && !OURS.contains(&contender)
}

/// A row of the bench program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Offer {
    pub(super) row: String,
    /// What it is like in real life, in a sentence.
    pub(super) like: String,
    /// What its floor is, if it has one.
    #[serde(default)]
    pub(super) floor: Option<String>,
    pub(super) contenders: Vec<String>,
    pub(super) shapes: Vec<Shape>,
    /// With how many tasks system calls are counted, if they are: so many that a stray call shows as little.
    #[serde(default)]
    pub(super) traced_tasks: Option<u64>,
    pub(super) figures: Vec<Figure>,
}

/// How large a cell is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Shape {
    pub(super) workers: u16,
    /// Threads that submit; 1 where it means nothing.
    #[serde(default = "one")]
    pub(super) producers: u16,
}

const fn one() -> u16 {
    1
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = if self.workers == 1 { "" } else { "s" };
        write!(f, "{} worker{s}", self.workers)?;
        if self.producers > 1 {
            write!(f, ", {} producers", self.producers)?;
        }
        Ok(())
    }
}

/// A figure that a row prints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Figure {
    pub(super) name: String,
    #[serde(default)]
    pub(super) unit: String,
    pub(super) better: Better,
    /// Whether it is what the row is about: in the short table, and plotted first.
    #[serde(default)]
    pub(super) main: bool,
    /// A difference of at most so much means nothing, in the figure's unit: what a clock or a timer tick may add.
    #[serde(default)]
    pub(super) resolution: f64,
}

impl Figure {
    /// Whether a neighbour on the machine changes it: a time, a ratio of times, a number of switches. Sizes and calls
    /// per task are what they are.
    pub(super) fn depends_on_neighbours(&self) -> bool {
        !self.unit.starts_with('/') && !self.unit.starts_with("byte") && !self.unit.ends_with("iB")
    }
}

/// "start p50, ns", or the name alone.
impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if !self.unit.is_empty() {
            write!(f, ", {}", self.unit)?;
        }
        Ok(())
    }
}

/// Which way a figure improves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Better {
    Lower,
    Higher,
}

impl Better {
    /// Whether `this` is better than `that`.
    pub(super) fn prefers(self, this: f64, that: f64) -> bool {
        match self {
            Self::Lower => this < that,
            Self::Higher => this > that,
        }
    }
}

impl fmt::Display for Better {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lower => "lower is better",
            Self::Higher => "higher is better",
        })
    }
}

/// Asks the bench program.
pub(super) fn ask() -> Result<Vec<Offer>> {
    let step = Step::new(PROGRAM, ["rows"]);
    let text = step.capture()?;
    read(&text).with_context(|| format!("reading what `{step}` printed"))
}

fn read(text: &str) -> Result<Vec<Offer>> {
    Ok(serde_json::from_str(text)?)
}

#[cfg(test)]
pub(super) mod fixture {
    use super::*;

    /// Three rows as the bench program prints them.
    pub(in super::super) fn offers() -> Vec<Offer> {
        let text = r#"[
            {"row":"lone","like":"a request in the night","floor":"a raw futex hand-over",
             "contenders":["linux","std","rayon","tokio","floor"],
             "shapes":[{"workers":2,"producers":1},{"workers":8,"producers":1}],"traced_tasks":200,
             "figures":[{"name":"start p50","unit":"ns","better":"lower","main":true},
                        {"name":"start p99","unit":"ns","better":"lower","main":false}]},
            {"row":"scale","like":"a bigger machine","floor":null,
             "contenders":["linux","std","rayon"],
             "shapes":[{"workers":1},{"workers":2},{"workers":2,"producers":4},{"workers":64}],"traced_tasks":null,
             "figures":[{"name":"throughput","unit":"tasks/µs","better":"higher","main":true}]},
            {"row":"memory","like":"a flood","floor":null,"contenders":["linux"],
             "shapes":[{"workers":2,"producers":1}],
             "figures":[{"name":"a queued task","unit":"bytes","better":"lower","main":true}]}
        ]"#;
        read(text).expect("the fixture is what the bench program prints")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_left_out_has_a_meaning() {
        let offers = fixture::offers();
        assert_eq!(offers[0].floor.as_deref(), Some("a raw futex hand-over"));
        assert_eq!(offers[1].shapes[3].producers, 1);
        assert_eq!(offers[2].traced_tasks, None);
    }

    #[test]
    fn a_shape_reads_like_english() {
        let shown =
            [(1, 1), (2, 4)].map(|(workers, producers)| Shape { workers, producers }.to_string());
        assert_eq!(shown, ["1 worker", "2 workers, 4 producers"]);
    }

    #[test]
    fn a_neighbour_lengthens_times_and_no_sizes() {
        let depends = ["ns/task", "", "tasks/µs", "/task", "bytes", "MiB"].map(|unit| {
            let figure = Figure {
                name: String::new(),
                unit: unit.to_owned(),
                better: Better::Lower,
                main: true,
                resolution: 0.0,
            };
            figure.depends_on_neighbours()
        });
        assert_eq!(depends, [true, true, true, false, false, false]);
    }

    #[test]
    fn neither_a_backend_nor_the_floor_is_a_peer() {
        let peers: Vec<_> = ["linux", "std", "rayon", "floor"]
            .into_iter()
            .filter(|name| is_peer(name))
            .collect();
        assert_eq!(peers, ["rayon"]);
    }
}
