//! However much work one worker has, a task in any inbox of its tag runs within a stated number of its
//! picks.
//!
//! The worst case: all other workers are blocked for ever, and the one that is left never runs out of
//! tasks of its own, in its run queue, in its inbox, or of high priority. What is promised:
//!
//! * every [`FAIRNESS_PERIOD`]th pick looks at inboxes before run queues, in rotation, so each of g
//!   inboxes gives its oldest task once in g periods: a task with a others before it in its inbox waits
//!   for at most `FAIRNESS_PERIOD` × g × (a + 1) picks;
//! * while high-priority tasks are endless too, only picks that are a multiple of
//!   [`ageing`](TagConfig::ageing) get past them, so those count that are a multiple of both numbers: at
//!   most `ageing` times as many picks.

use parkade_core::{
    FAIRNESS_PERIOD, Next, Origin, Priority, Slot, TagConfig, TagIndex, Task, TaskControl,
    WorkerIndex,
};
use proptest::prelude::*;

use crate::platform::Stage;

/// What never ends.
#[derive(Debug, Clone, Copy)]
struct Endless {
    /// Each task pushes its successor.
    own: bool,
    /// An outside thread keeps the worker's own inbox filled.
    inbox: bool,
    /// There is always a high-priority task.
    high: bool,
}

const ENDLESS: usize = 0;

fn submit(control: &TaskControl<Stage>, word: usize, priority: Priority, origin: &Origin) {
    let submitted = control.tags()[0].submit(Task::from_word(word), priority, origin);
    let _ = submitted.expect("an inbox without a limit takes every task");
}

/// How many picks the busy worker needs until it is given the last of `ahead` + 1 tasks in the inbox of
/// `group`; `None` if that is more than `limit`.
fn picks_until_found(
    config: TagConfig,
    group: usize,
    ahead: usize,
    endless: Endless,
    limit: usize,
) -> Option<usize> {
    let control = TaskControl::new(&Stage, &[config]).expect("the shape can be built");
    let (tag, worker) = (TagIndex(0), WorkerIndex(0));
    let busy = control
        .register(Slot { tag, worker })
        .expect("nobody else registers");
    // While nobody is idle, an origin's seed is the group that it uses.
    let (own, others) = (Origin::new(0), Origin::new(group));
    for word in 1..=ahead + 1 {
        submit(&control, word, Priority::Normal, &others);
    }
    for picks in 1..=limit {
        if endless.inbox {
            submit(&control, ENDLESS, Priority::Normal, &own);
        }
        if endless.high {
            submit(&control, ENDLESS, Priority::High, &own);
        }
        if endless.own && busy.push(Task::from_word(ENDLESS)).is_err() {
            unreachable!("a run queue that may spill takes every task");
        }
        match busy.next() {
            Next::Run(task) => {
                if task.into_word() == ahead + 1 {
                    return Some(picks);
                }
            }
            other => unreachable!("{other:?} while there is work"),
        }
    }
    None
}

proptest! {
    #![proptest_config(crate::config())]

    #[test]
    fn endless_work_starves_no_inbox(
        workers in 2..=5_usize,
        group in 1..5_usize,
        ahead in 0..=2_usize,
        ageing in 2..=5_u32,
        (own, inbox, high) in any::<(bool, bool, bool)>(),
    ) {
        let group = 1 + (group - 1) % (workers - 1);
        let config = TagConfig::new(workers).run_queue(8).ageing(ageing);
        let rounds = if high { ageing } else { 1 };
        let bound = (FAIRNESS_PERIOD * rounds) as usize * workers * (ahead + 1);
        let endless = Endless { own, inbox, high };
        let picks = picks_until_found(config, group, ahead, endless, bound);
        prop_assert!(picks.is_some(), "not within {bound} picks");
    }
}
