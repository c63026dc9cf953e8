//! Scripts: what the actors do, in which order, drawn by proptest and shrunk by it.
//!
//! Operations name their tag, worker and origin by small numbers that are taken modulo what there is,
//! so that every script can be played and stays a script when it is shrunk. A failure prints the
//! script, one act a line.

use std::fmt;

use parkade_core::{Priority, StopPolicy, TagConfig};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::Union;

/// Whom an operation is about: a tag and one of its workers, each modulo how many there are.
#[derive(Clone, Copy)]
pub(crate) struct Who {
    pub(crate) tag: usize,
    pub(crate) worker: usize,
}

/// One step of one actor. What cannot happen (a push by a worker that runs nothing) is left out when
/// the script is played.
#[derive(Clone)]
pub(crate) enum Op {
    /// The worker does what is next for it: registers, asks, parks, finishes its task.
    Step(Who),
    /// A worker that runs a task pushes another.
    Push(Who),
    /// An outside thread submits one task.
    Submit { to: Who, priority: Priority },
    /// An outside thread submits a batch.
    Batch {
        to: Who,
        priority: Priority,
        tasks: usize,
    },
    /// An outside thread submits a task for this worker alone.
    SubmitTo(Who),
    /// The worker's park returns for no reason.
    ReturnEarly(Who),
    /// The worker is asked to retire.
    RequestRetire(Who),
    /// The worker's thread gives up its place without being asked.
    Drop(Who),
    /// Every worker of the tag that is there goes on until all sleep.
    Rest(usize),
    /// The stop goes on by one of its five steps.
    Stop(StopPolicy),
    /// A drain that has come to its last step is turned into an abandonment.
    Abandon,
    /// Whoever joins takes one queued task of an abandoned scheduler.
    TakeQueued,
}

/// An operation, and what others do in the middle of it: at the seam of that number, if it has one.
#[derive(Clone)]
pub(crate) struct Act {
    pub(crate) op: Op,
    pub(crate) seam: usize,
    pub(crate) meanwhile: Vec<Op>,
}

/// The tags, the acts, and how the scheduler is stopped if no act does it.
#[derive(Clone)]
pub(crate) struct Script {
    pub(crate) tags: Vec<TagConfig>,
    pub(crate) acts: Vec<Act>,
    pub(crate) last: StopPolicy,
}

/// How often each kind of operation is drawn, relative to the others.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Weights {
    pub(crate) step: u32,
    pub(crate) push: u32,
    pub(crate) submit: u32,
    pub(crate) targeted: u32,
    pub(crate) rest: u32,
    pub(crate) leave: u32,
    pub(crate) stop: u32,
    /// Acts out of a hundred that are interrupted.
    pub(crate) interrupted: u32,
}

impl Default for Weights {
    fn default() -> Self {
        Self {
            step: 40,
            push: 15,
            submit: 12,
            targeted: 5,
            rest: 4,
            leave: 2,
            stop: 1,
            interrupted: 25,
        }
    }
}

/// Shapes of a tag: 1 to 5 workers, queues small enough to be full at times.
fn tag_config() -> impl Strategy<Value = TagConfig> {
    let limit = prop_oneof![3 => 1..=8_usize, 1 => Just(usize::MAX)];
    let queue = prop_oneof![
        Just((2, 1)),
        (1..=2_usize).prop_map(|k| (4, k)),
        (1..=4_usize).prop_map(|k| (8, k))
    ];
    (1..=5_usize, queue, limit, 2..=6_u32, 0..=2_u32).prop_map(
        |(workers, (capacity, batch), limit, ageing, looks)| {
            TagConfig::new(workers)
                .run_queue(capacity)
                .steal_batch(batch)
                .inbox_limit(limit)
                .ageing(ageing)
                .linger(looks)
        },
    )
}

pub(crate) fn script(weights: Weights) -> impl Strategy<Value = Script> {
    let policy = prop_oneof![Just(StopPolicy::Drain), Just(StopPolicy::Abandon)];
    let tags = vec(tag_config(), 1..=3);
    (tags, vec(act(weights), 0..100), policy).prop_map(|(tags, acts, last)| Script {
        tags,
        acts,
        last,
    })
}

fn act(weights: Weights) -> impl Strategy<Value = Act> {
    let interrupted = weights.interrupted;
    // A stop takes several steps, and what races all of them is what is of interest.
    let others = Weights {
        stop: 3 * weights.stop,
        ..weights
    };
    let meanwhile = prop_oneof![
        100 - interrupted => Just(Vec::new()),
        interrupted => vec(op(others), 1..=4),
    ];
    let seam = prop_oneof![0..6_usize, 0..30_usize];
    (op(weights), seam, meanwhile).prop_map(|(op, seam, meanwhile)| Act {
        op,
        seam,
        meanwhile,
    })
}

fn op(weights: Weights) -> impl Strategy<Value = Op> {
    let who = (0..3_usize, 0..5_usize).prop_map(|(tag, worker)| Who { tag, worker });
    let priority = prop_oneof![2 => Just(Priority::Normal), 1 => Just(Priority::High)];
    let submit =
        (who.clone(), priority.clone()).prop_map(|(to, priority)| Op::Submit { to, priority });
    let batch = (who.clone(), priority, 0..=6_usize).prop_map(|(to, priority, tasks)| Op::Batch {
        to,
        priority,
        tasks,
    });
    let policy = prop_oneof![Just(StopPolicy::Drain), Just(StopPolicy::Abandon)];
    Union::new_weighted(
        [
            (weights.step, who.clone().prop_map(Op::Step).boxed()),
            (weights.push, who.clone().prop_map(Op::Push).boxed()),
            (weights.submit, submit.boxed()),
            (weights.submit.div_ceil(2), batch.boxed()),
            (weights.targeted, who.clone().prop_map(Op::SubmitTo).boxed()),
            (weights.rest, (0..3_usize).prop_map(Op::Rest).boxed()),
            (2, who.clone().prop_map(Op::ReturnEarly).boxed()),
            (
                weights.leave,
                who.clone().prop_map(Op::RequestRetire).boxed(),
            ),
            (weights.leave, who.prop_map(Op::Drop).boxed()),
            (weights.stop, policy.prop_map(Op::Stop).boxed()),
            (weights.stop, Just(Op::Abandon).boxed()),
            (weights.stop, Just(Op::TakeQueued).boxed()),
        ]
        .into_iter()
        .filter(|(weight, _)| *weight > 0)
        .collect(),
    )
}

impl fmt::Debug for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.tag, self.worker)
    }
}

impl fmt::Debug for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Step(who) => write!(f, "{who:?} goes on"),
            Self::Push(who) => write!(f, "{who:?} pushes"),
            Self::Submit { to, priority } => {
                write!(
                    f,
                    "origin {} submits {priority:?} to tag {}",
                    to.worker, to.tag
                )
            }
            Self::Batch {
                to,
                priority,
                tasks,
            } => write!(
                f,
                "origin {} submits {tasks} {priority:?} to tag {}",
                to.worker, to.tag
            ),
            Self::SubmitTo(who) => write!(f, "a task for {who:?} alone"),
            Self::ReturnEarly(who) => write!(f, "{who:?} returns early"),
            Self::RequestRetire(who) => write!(f, "{who:?} is asked to retire"),
            Self::Drop(who) => write!(f, "{who:?} gives up its place"),
            Self::Rest(tag) => write!(f, "tag {tag} comes to rest"),
            Self::Stop(policy) => write!(f, "stop, {policy:?}: next step"),
            Self::Abandon => f.write_str("abandon"),
            Self::TakeQueued => f.write_str("take a queued task"),
        }
    }
}

impl fmt::Debug for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.op)?;
        if !self.meanwhile.is_empty() {
            write!(f, "; at its seam {} {:?}", self.seam, self.meanwhile)?;
        }
        Ok(())
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "(numbers of tags, workers and origins are modulo what there is)"
        )?;
        for (index, tag) in self.tags.iter().enumerate() {
            writeln!(
                f,
                "  tag {index}: {} workers, run queue {}, K {}, inbox {}, ageing {}",
                tag.workers, tag.run_queue, tag.steal_batch, tag.inbox_limit, tag.ageing
            )?;
        }
        for act in &self.acts {
            writeln!(f, "  {act:?}")?;
        }
        write!(f, "  at last: {:?}", self.last)
    }
}
