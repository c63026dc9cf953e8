//! A run queue, its inbox and a second one that steals from it, against `VecDeque`s.
//!
//! Front is the oldest, back the newest. Both rings start at indices near the wrap of `usize` or
//! anywhere else; nothing may depend on it.

use std::collections::VecDeque;
use std::fmt;

use parkade_core::{Inbox, RefusedReason, RunQueue, Steal, Task};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::platform::{SeamFences, Stage};

#[derive(Debug, Clone)]
enum Op {
    Push,
    Pop,
    Steal,
    /// The second queue's owner steals into its ring.
    StealInto,
    /// The second queue's owner pops, so that it has room.
    ThiefPops,
    Spill,
    Refill {
        tasks: usize,
        limit: usize,
    },
    InboxPush,
    InboxPushAll(usize),
    InboxPop,
    /// Takes one from the inbox and moves at most so many to the ring.
    Take(usize),
    /// The owner's side is given back and taken again.
    NewOwner,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        8 => Just(Op::Push),
        4 => Just(Op::Pop),
        2 => Just(Op::Steal),
        3 => Just(Op::StealInto),
        2 => Just(Op::ThiefPops),
        2 => Just(Op::Spill),
        1 => (0..6_usize, 0..6_usize).prop_map(|(tasks, limit)| Op::Refill { tasks, limit }),
        3 => Just(Op::InboxPush),
        1 => (0..4_usize).prop_map(Op::InboxPushAll),
        1 => Just(Op::InboxPop),
        2 => (0..6_usize).prop_map(Op::Take),
        1 => Just(Op::NewOwner),
    ]
}

/// The deques that the real things must agree with.
struct Model {
    ring: VecDeque<usize>,
    thief: VecDeque<usize>,
    inbox: VecDeque<usize>,
    capacity: usize,
    batch: usize,
    limit: usize,
    closed: bool,
    made: usize,
}

impl Model {
    fn make(&mut self) -> usize {
        self.made += 1;
        self.made
    }

    fn room(&self) -> usize {
        self.capacity - self.ring.len()
    }

    /// The newest, unless fewer than K would be left: then the oldest.
    fn pop(ring: &mut VecDeque<usize>, batch: usize) -> Option<usize> {
        if ring.len() > batch {
            ring.pop_back()
        } else {
            ring.pop_front()
        }
    }

    fn steal_into(&mut self) -> Option<(usize, usize)> {
        let room = self.capacity - self.thief.len();
        let half = self.ring.len().div_ceil(2);
        let count = half.min(self.batch).min(1 + room);
        let first = self.ring.pop_front()?;
        self.thief.extend(self.ring.drain(..count - 1));
        Some((first, count - 1))
    }

    fn spill(&mut self) -> usize {
        let room = self.limit.saturating_sub(self.inbox.len());
        let count = (self.capacity / 2).min(self.ring.len()).min(room);
        self.inbox.extend(self.ring.drain(..count));
        count
    }

    /// The oldest of `source` becomes the newest.
    fn refill(&mut self, source: &mut VecDeque<usize>, limit: usize) -> usize {
        let count = source.len().min(limit).min(self.room());
        let moved: Vec<_> = source.drain(..count).collect();
        self.ring.extend(moved.into_iter().rev());
        count
    }

    fn take(&mut self, limit: usize) -> Option<(usize, usize)> {
        let first = self.inbox.pop_front()?;
        let mut inbox = std::mem::take(&mut self.inbox);
        let moved = self.refill(&mut inbox, limit);
        self.inbox = inbox;
        Some((first, moved))
    }

    /// Why the inbox refuses one more.
    fn refuses(&self) -> Option<RefusedReason> {
        if self.closed {
            Some(RefusedReason::Closed)
        } else {
            (self.inbox.len() >= self.limit).then_some(RefusedReason::Full)
        }
    }
}

fn word(task: Option<Task>) -> Option<usize> {
    task.map(Task::into_word)
}

fn stolen(steal: Steal) -> Result<Option<(usize, usize)>, TestCaseError> {
    match steal {
        Steal::Empty => Ok(None),
        Steal::Taken(task, moved) => Ok(Some((task.into_word(), moved))),
        Steal::Lost => Err(TestCaseError::fail("a thief lost a race against nobody")),
    }
}

#[derive(Clone)]
struct Case {
    capacity: usize,
    batch: usize,
    limit: usize,
    starts: (usize, usize),
    ops: Vec<Op>,
    /// Close the inbox before this operation.
    close: usize,
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            capacity,
            batch,
            limit,
            starts,
            ops,
            close,
        } = self;
        write!(
            f,
            "capacity {capacity}, K {batch}, inbox {limit}, indices {starts:?}, \
             inbox closed before operation {close}, operations {ops:?}"
        )
    }
}

fn case() -> impl Strategy<Value = Case> {
    let index = || {
        prop_oneof![
            (0..40_usize).prop_map(|before| usize::MAX - before),
            (0..40_usize).prop_map(|before| isize::MAX as usize - before),
            any::<usize>(),
        ]
    };
    let shape = (1..=3_u32).prop_flat_map(|log| {
        let capacity = 1 << log;
        (Just(capacity), 1..=capacity / 2)
    });
    let limit = prop_oneof![3 => 1..=8_usize, 1 => Just(usize::MAX)];
    let starts = (index(), index());
    (shape, limit, starts, vec(op(), 0..150), 0..300_usize).prop_map(
        |((capacity, batch), limit, starts, ops, close)| Case {
            capacity,
            batch,
            limit,
            starts,
            ops,
            close,
        },
    )
}

proptest! {
    #![proptest_config(crate::config())]

    #[test]
    fn a_run_queue_is_a_deque(case in case()) {
        agree(&case)?;
    }
}

fn agree(case: &Case) -> Result<(), TestCaseError> {
    let ring = |start| {
        RunQueue::<Stage>::starting_at(SeamFences, case.capacity, case.batch, start)
            .expect("a boxed ring has every size")
    };
    let (queue, other) = (ring(case.starts.0), ring(case.starts.1));
    let inbox = Inbox::<Stage>::new(case.limit);
    let thief = other.owner().expect("the only owner");
    let mut owner = queue.owner().expect("the only owner");
    let mut model = Model {
        ring: VecDeque::new(),
        thief: VecDeque::new(),
        inbox: VecDeque::new(),
        capacity: case.capacity,
        batch: case.batch,
        limit: case.limit,
        closed: false,
        made: 0,
    };
    for (at, op) in case.ops.iter().enumerate() {
        if at == case.close {
            inbox.close();
            model.closed = true;
        }
        match *op {
            Op::Push => {
                let task = model.make();
                let refused = owner.push(Task::from_word(task)).err();
                let expected = (model.room() == 0).then_some(task);
                prop_assert_eq!(word(refused), expected, "push {}", at);
                if expected.is_none() {
                    model.ring.push_back(task);
                }
            }
            Op::Pop => {
                let expected = Model::pop(&mut model.ring, model.batch);
                prop_assert_eq!(word(owner.pop()), expected, "pop {}", at);
            }
            Op::Steal => {
                let expected = model.ring.pop_front().map(|task| (task, 0));
                prop_assert_eq!(stolen(queue.steal())?, expected, "steal {}", at);
            }
            Op::StealInto => {
                let expected = model.steal_into();
                prop_assert_eq!(stolen(queue.steal_into(&thief))?, expected, "steal {}", at);
            }
            Op::ThiefPops => {
                let expected = Model::pop(&mut model.thief, model.batch);
                prop_assert_eq!(word(thief.pop()), expected, "thief's pop {}", at);
            }
            Op::Spill => prop_assert_eq!(owner.spill(&inbox), model.spill(), "spill {}", at),
            Op::Refill { tasks, limit } => {
                let mut source: VecDeque<_> = (0..tasks).map(|_| model.make()).collect();
                let mut tasks: VecDeque<_> = source.iter().copied().map(Task::from_word).collect();
                let moved = owner.refill(&mut tasks, limit);
                prop_assert_eq!(moved, model.refill(&mut source, limit), "refill {}", at);
                let left: VecDeque<_> = tasks.into_iter().map(Task::into_word).collect();
                prop_assert_eq!(left, source, "refill {}", at);
            }
            Op::InboxPush => {
                let task = model.make();
                let refused = inbox.push(Task::from_word(task)).err();
                let refused = refused.map(|refused| (refused.task.into_word(), refused.reason));
                let expected = model.refuses().map(|reason| (task, reason));
                prop_assert_eq!(refused, expected, "inbox push {}", at);
                if expected.is_none() {
                    model.inbox.push_back(task);
                }
            }
            Op::InboxPushAll(tasks) => {
                let batch: Vec<_> = (0..tasks).map(|_| model.make()).collect();
                let mut words = batch.iter().copied().map(Task::from_word);
                let (accepted, refused) = inbox.push_all(&mut words);
                let room = model.limit.saturating_sub(model.inbox.len());
                let fits = if model.closed { 0 } else { room.min(tasks) };
                model.inbox.extend(&batch[..fits]);
                prop_assert_eq!(accepted, fits, "batch {}", at);
                let refused = refused.map(|refused| refused.task.into_word());
                prop_assert_eq!(refused, batch.get(fits).copied(), "batch {}", at);
                prop_assert_eq!(words.len(), tasks.saturating_sub(fits + 1), "batch {}", at);
            }
            Op::InboxPop => {
                prop_assert_eq!(
                    word(inbox.pop()),
                    model.inbox.pop_front(),
                    "inbox pop {}",
                    at
                );
            }
            Op::Take(limit) => {
                let taken = inbox.take(&owner, limit);
                let taken = taken.map(|(task, moved)| (task.into_word(), moved));
                // From a closed inbox nothing is moved beyond the one that is taken.
                let limit = if inbox.is_closed() { 0 } else { limit };
                prop_assert_eq!(taken, model.take(limit), "take {}", at);
            }
            Op::NewOwner => {
                prop_assert!(queue.owner().is_none());
                drop(owner);
                owner = queue.owner().expect("the last owner is gone");
            }
        }
        prop_assert_eq!(owner.room(), model.room(), "room after {}", at);
        prop_assert_eq!(queue.len(), model.ring.len(), "length after {}", at);
        prop_assert_eq!(
            other.len(),
            model.thief.len(),
            "thief's length after {}",
            at
        );
        prop_assert_eq!(inbox.len(), model.inbox.len(), "inbox after {}", at);
    }
    Ok(())
}
