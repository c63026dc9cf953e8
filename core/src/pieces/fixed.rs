//! Fixed storage for kernels, by `heapless`: no allocator, capacities in the type.

use crate::platform::{Array, CapacityError, TaskQueue};
use crate::task::Task;

/// An [`Array`] of at most `N` items, stored in place.
pub type FixedArray<T, const N: usize> = heapless::Vec<T, N>;

/// A [`TaskQueue`] of at most `N` tasks, stored in place; a full one gives the task back.
pub type FixedQueue<const N: usize> = heapless::Deque<Task, N>;

impl<T, const N: usize> Array<T> for FixedArray<T, N> {
    fn try_from_fn<E: From<CapacityError>>(
        len: usize,
        make: impl FnMut(usize) -> Result<T, E>,
    ) -> Result<Self, E> {
        if len > N {
            return Err(E::from(CapacityError {
                requested: len,
                capacity: N,
            }));
        }
        (0..len).map(make).collect()
    }
}

impl<const N: usize> TaskQueue for FixedQueue<N> {
    fn new() -> Self {
        heapless::Deque::new()
    }

    fn push(&mut self, task: Task) -> Result<(), Task> {
        self.push_back(task)
    }

    fn room(&self) -> usize {
        N - heapless::Deque::len(self)
    }

    fn pop(&mut self) -> Option<Task> {
        self.pop_front()
    }

    fn len(&self) -> usize {
        heapless::Deque::len(self)
    }
}
