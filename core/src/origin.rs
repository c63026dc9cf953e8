//! Where an outside thread's tasks go while nobody is idle.

use core::cell::Cell;

use crate::walk::{Dice, Walk};

/// A submitting thread's sticky choice of inbox.
///
/// Each thread that submits from outside keeps one and passes it to every submit: its tasks stay in one
/// inbox, in order and in cache, until that inbox is closed or long; then another is drawn. Not shared
/// between threads.
///
/// ```
#[doc = include_str!("../docs/board.md")]
/// use parkade_core::{Origin, Priority, TagConfig, Task, TaskControl, WorkerIndex};
///
/// let control = TaskControl::new(&Board, &[TagConfig::new(4)])?;
/// let (tag, origin) = (&control.tags()[0], Origin::new(42)); // 42 modulo 4: to begin with, inbox 2
/// for word in 1..=3 {
///     let _ = tag.submit(Task::from_word(word), Priority::Normal, &origin)?;
/// }
/// assert_eq!(tag.worker(WorkerIndex(2)).inbox, 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Origin {
    dice: Cell<Dice>,
    group: Cell<usize>,
}

impl Origin {
    /// A choice drawn from `seed`; different threads should bring different seeds. See [`Origin`] for an example.
    #[must_use]
    pub const fn new(seed: usize) -> Self {
        Self {
            dice: Cell::new(Dice::new(seed)),
            group: Cell::new(seed),
        }
    }

    /// The group to use, out of `groups`.
    #[inline]
    pub(crate) fn group(&self, groups: usize) -> usize {
        self.group.get() % groups
    }

    /// Draws another group: one of those that are `open`, if any is.
    pub(crate) fn redraw(&self, groups: usize, open: impl Fn(usize) -> bool) {
        let mut dice = self.dice.get();
        let drawn = dice.roll();
        let found = Walk::new(groups, &mut dice).find(|&group| open(group));
        self.group.set(found.unwrap_or(drawn));
        self.dice.set(dice);
    }

    /// Randomness for walks on behalf of this thread.
    pub(crate) fn dice(&self) -> Dice {
        self.dice.get()
    }
}
