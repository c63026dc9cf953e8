//! Where an outside thread's tasks go while nobody is idle.

use core::cell::Cell;

use crate::walk::Dice;

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

    /// Draws another group.
    pub(crate) fn redraw(&self) {
        let mut dice = self.dice.get();
        self.group.set(dice.roll());
        self.dice.set(dice);
    }

    /// Randomness for walks on behalf of this thread.
    pub(crate) fn dice(&self) -> Dice {
        self.dice.get()
    }
}
