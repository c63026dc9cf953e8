//! The run queue: each task is taken by exactly one of its owner and its thieves, and whoever takes it
//! sees what it points to.

use std::collections::VecDeque;

use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use loom::thread;
use parkade_core::{Inbox, Owner, RunQueue, SeqCstFences, Steal, Task};

use crate::platform::{Modelled, explore, explore_to};

const FIRST: usize = 10;

/// A queue and the words that its tasks stand for: `written[task - FIRST]` is 1 before it is pushed.
struct Setting {
    queue: RunQueue<Modelled>,
    written: Vec<AtomicUsize>,
}

impl Setting {
    fn new(capacity: usize, batch: usize, index: usize) -> Arc<Self> {
        Arc::new(Self {
            queue: RunQueue::starting_at(SeqCstFences, capacity, batch, index).unwrap(),
            written: (0..6).map(|_| AtomicUsize::new(0)).collect(),
        })
    }

    fn push(&self, owner: &Owner<'_, Modelled>, word: usize) {
        self.written[word - FIRST].store(1, Relaxed);
        owner.push(Task::from_word(word)).expect("there is room");
    }

    /// The number of a task, once it is seen that its data is visible.
    fn open(&self, task: Task) -> usize {
        let word = task.into_word();
        assert!(word >= FIRST, "an empty slot was taken");
        assert_eq!(self.written[word - FIRST].load(Relaxed), 1, "data unseen");
        word
    }

    fn pop(&self, owner: &Owner<'_, Modelled>) -> Option<usize> {
        owner.pop().map(|task| self.open(task))
    }

    fn steal(&self) -> Option<usize> {
        match self.queue.steal() {
            Steal::Taken(task, _) => Some(self.open(task)),
            Steal::Empty | Steal::Lost => None,
        }
    }
}

fn thief(setting: &Arc<Setting>) -> thread::JoinHandle<Vec<usize>> {
    let setting = setting.clone();
    thread::spawn(move || setting.steal().into_iter().collect())
}

/// A thief that brings a queue of its own and takes up to K at once.
fn batch_thief(setting: &Arc<Setting>) -> thread::JoinHandle<Vec<usize>> {
    let setting = setting.clone();
    thread::spawn(move || {
        let own = RunQueue::<Modelled>::new(SeqCstFences, 4, 2).unwrap();
        let owner = own.owner().unwrap();
        let Steal::Taken(task, moved) = setting.queue.steal_into(&owner) else {
            return Vec::new();
        };
        let mut taken = vec![setting.open(task)];
        taken.extend(drain(&setting, &owner));
        assert_eq!(taken.len(), 1 + moved);
        taken
    })
}

fn assert_each_once(mut taken: Vec<usize>, count: usize) {
    taken.sort_unstable();
    assert_eq!(taken, (FIRST..FIRST + count).collect::<Vec<_>>());
}

fn drain(setting: &Setting, owner: &Owner<'_, Modelled>) -> Vec<usize> {
    std::iter::from_fn(|| setting.pop(owner)).collect()
}

fn owner_against_one_thief(tasks: usize, index: usize) {
    let setting = Setting::new(2, 1, index);
    let thief = thief(&setting);
    let owner = setting.queue.owner().unwrap();
    (0..tasks).for_each(|task| setting.push(&owner, FIRST + task));
    let mut taken = drain(&setting, &owner);
    taken.extend(thief.join().unwrap());
    assert_each_once(taken, tasks);
}

#[test]
fn when_there_is_one() {
    explore(20, || owner_against_one_thief(1, 0));
}

#[test]
fn when_there_are_two() {
    explore(50, || owner_against_one_thief(2, 0));
}

#[test]
fn when_the_indices_wrap() {
    explore(50, || owner_against_one_thief(2, usize::MAX));
}

#[test]
fn when_the_owner_takes_the_newest_back() {
    explore(50, || {
        let setting = Setting::new(2, 1, 0);
        let thief = thief(&setting);
        let owner = setting.queue.owner().unwrap();
        setting.push(&owner, FIRST);
        setting.push(&owner, FIRST + 1);
        let newest = owner.pop_newest().map(|task| setting.open(task));
        assert!(newest.is_none_or(|newest| newest == FIRST + 1));
        let mut taken: Vec<_> = newest.into_iter().collect();
        taken.extend(drain(&setting, &owner));
        taken.extend(thief.join().unwrap());
        assert_each_once(taken, 2);
    });
}

#[test]
fn with_two_thieves() {
    explore(500, || {
        let setting = Setting::new(2, 1, 0);
        let thieves = [thief(&setting), thief(&setting)];
        let owner = setting.queue.owner().unwrap();
        setting.push(&owner, FIRST);
        setting.push(&owner, FIRST + 1);
        let mut taken = drain(&setting, &owner);
        for thief in thieves {
            taken.extend(thief.join().unwrap());
        }
        assert_each_once(taken, 2);
    });
}

#[test]
fn when_a_slot_is_used_again() {
    explore(50, || {
        let setting = Setting::new(2, 1, 0);
        let owner = setting.queue.owner().unwrap();
        setting.push(&owner, FIRST);
        setting.push(&owner, FIRST + 1);
        let thief = thief(&setting);
        let mut taken = Vec::new();
        for task in 2..4 {
            if owner.room() == 0 {
                taken.extend(setting.pop(&owner));
            }
            setting.push(&owner, FIRST + task);
        }
        taken.extend(drain(&setting, &owner));
        taken.extend(thief.join().unwrap());
        assert_each_once(taken, 4);
    });
}

#[test]
fn when_two_are_stolen_at_once() {
    // The fatal interleaving takes three preemptions.
    explore_to(3, 50, || {
        let setting = Setting::new(4, 2, 0);
        let thief = batch_thief(&setting);
        let owner = setting.queue.owner().unwrap();
        (0..3).for_each(|task| setting.push(&owner, FIRST + task));
        let mut taken = drain(&setting, &owner);
        taken.extend(thief.join().unwrap());
        assert_each_once(taken, 3);
    });
}

#[test]
fn when_half_is_spilled() {
    explore(50, || {
        let setting = Setting::new(2, 1, 0);
        let inbox = Inbox::<Modelled>::new(usize::MAX);
        let thief = thief(&setting);
        let owner = setting.queue.owner().unwrap();
        setting.push(&owner, FIRST);
        setting.push(&owner, FIRST + 1);
        owner.spill(&inbox);
        setting.push(&owner, FIRST + 2);
        let mut taken: VecDeque<_> = drain(&setting, &owner).into();
        taken.extend(std::iter::from_fn(|| inbox.pop()).map(|task| setting.open(task)));
        taken.extend(thief.join().unwrap());
        assert_each_once(taken.into(), 3);
    });
}
