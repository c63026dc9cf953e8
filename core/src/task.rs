//! A task: one pointer-sized word that the core moves and never looks inside.

use core::fmt;
use core::sync::atomic::AtomicPtr;

/// One unit of work, as a word whose meaning only its maker knows.
///
/// Use it to hand work to the scheduler: a runtime stores a pointer to a job, a kernel a pointer to a
/// control block, a test a plain number. The word is neither `Copy` nor `Clone`, so that a task that
/// goes in comes out once; dropping a `Task` frees nothing, because the core does not know what it
/// points to.
///
/// ```
/// use parkade_core::Task;
///
/// let task = Task::from_word(7);
/// assert_eq!(task.into_word(), 7);
///
/// let mut job = 7;
/// let pointer = &raw mut job;
/// assert_eq!(Task::from_ptr(pointer.cast()).into_ptr().cast(), pointer);
/// ```
#[must_use = "a task that is dropped never runs, and what it points to leaks"]
pub struct Task {
    // Never shared: an `AtomicPtr` is std's only raw pointer that may cross threads without `unsafe`,
    // and it keeps the pointer's provenance.
    word: AtomicPtr<()>,
}

impl Task {
    /// Wraps a pointer. Any value is allowed, null included. See [`Task`] for an example.
    #[inline]
    pub const fn from_ptr(ptr: *mut ()) -> Self {
        Self {
            word: AtomicPtr::new(ptr),
        }
    }

    /// The pointer that this task was made from, with its provenance. See [`Task`] for an example.
    #[must_use = "the pointer is all that is left of the task"]
    #[inline]
    pub fn into_ptr(self) -> *mut () {
        self.word.into_inner()
    }

    /// Wraps a plain number, for schedulers whose tasks are indices. See [`Task`] for an example.
    pub const fn from_word(word: usize) -> Self {
        Self::from_ptr(core::ptr::without_provenance_mut(word))
    }

    /// The number that this task was made from (for a pointer, its address). See [`Task`] for an example.
    #[must_use = "the word is all that is left of the task"]
    pub fn into_word(self) -> usize {
        self.into_ptr().addr()
    }
}

impl fmt::Debug for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Task").field(&self.word).finish()
    }
}
