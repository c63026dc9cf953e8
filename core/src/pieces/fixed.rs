//! Fixed storage for kernels, by `heapless`: no allocator, capacities in the type.

use crate::platform::{Array, CapacityError, TaskQueue};
use crate::task::Task;

/// An [`Array`] of at most `N` items, stored in place.
///
/// ```
/// use parkade_core::pieces::FixedArray;
/// use parkade_core::{Array, CapacityError};
///
/// let squares: FixedArray<usize, 4> = Array::from_fn(3, |index| index * index)?;
/// assert_eq!(*squares, [0, 1, 4]);
/// let error = <FixedArray<usize, 4> as Array<usize>>::from_fn(5, |index| index).unwrap_err();
/// assert_eq!(error, CapacityError { requested: 5, capacity: 4 });
/// # Ok::<(), CapacityError>(())
/// ```
pub type FixedArray<T, const N: usize> = heapless::Vec<T, N>;

/// A [`TaskQueue`] of at most `N` tasks, stored in place; a full one gives the task back.
///
/// ```
/// use parkade_core::pieces::FixedQueue;
/// use parkade_core::{Task, TaskQueue};
///
/// let mut queue: FixedQueue<1> = TaskQueue::new();
/// assert!(queue.push(Task::from_word(1)).is_ok());
/// assert_eq!(queue.push(Task::from_word(2)).map_err(Task::into_word), Err(2));
/// assert_eq!(queue.pop().map(Task::into_word), Some(1));
/// ```
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
