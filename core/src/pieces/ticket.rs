//! A ticket lock for kernels, by `spin`: fair, no OS.
//!
//! Use it where each holder keeps its processor (harts in machine mode). Under more runnable threads
//! than cores a ticket lock makes everyone spin out the turn of a descheduled holder: processes take
//! their operating system's lock instead.

use spin::mutex::TicketMutex;

use crate::platform::Lock;

/// A [`Lock`] that serves its callers in the order in which they came, spinning.
///
/// It does not mask interrupts: a kernel that submits from handlers wraps it in a lock that does.
///
/// ```
/// use parkade_core::Lock;
/// use parkade_core::pieces::TicketLock;
///
/// let lock = TicketLock::new(1);
/// lock.with(|value| *value += 1);
/// assert_eq!(lock.with(|value| *value), 2);
/// ```
#[derive(Debug, Default)]
pub struct TicketLock<T>(TicketMutex<T>);

impl<T: Send> Lock<T> for TicketLock<T> {
    fn new(value: T) -> Self {
        Self(TicketMutex::new(value))
    }

    fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        f(&mut self.0.lock())
    }
}
