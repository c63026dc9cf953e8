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
/// let origin = parkade_core::Origin::new(42);
/// # let _ = origin;
/// ```
#[derive(Debug)]
pub struct Origin {
    dice: Cell<Dice>,
    group: Cell<usize>,
}

impl Origin {
    /// A choice drawn from `seed`; different threads should bring different seeds.
    #[must_use]
    pub const fn new(seed: usize) -> Self {
        Self {
            dice: Cell::new(Dice::new(seed)),
            group: Cell::new(seed),
        }
    }

    /// The group to use, out of `groups`.
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
