//! Growing storage for processes: boxed slices as arrays, `VecDeque` as the queue of an inbox.

extern crate alloc;

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use crate::platform::{Array, CapacityError, TaskQueue};
use crate::task::Task;

impl<T> Array<T> for Box<[T]> {
    fn try_from_fn<E: From<CapacityError>>(
        len: usize,
        make: impl FnMut(usize) -> Result<T, E>,
    ) -> Result<Self, E> {
        (0..len).map(make).collect()
    }
}

impl TaskQueue for VecDeque<Task> {
    fn new() -> Self {
        VecDeque::new()
    }

    fn push(&mut self, task: Task) -> Result<(), Task> {
        self.push_back(task);
        Ok(())
    }

    fn room(&self) -> usize {
        usize::MAX
    }

    fn pop(&mut self) -> Option<Task> {
        let task = self.pop_front();
        // A burst must not hold its memory for ever: give most of it back once it has drained.
        if self.is_empty() && self.capacity() > SHRINK_ABOVE {
            self.shrink_to(SHRINK_ABOVE);
        }
        task
    }

    fn len(&self) -> usize {
        VecDeque::len(self)
    }
}

/// The capacity, in tasks, that an empty queue may keep: 8 KiB on 64-bit machines.
const SHRINK_ABOVE: usize = 1024;
