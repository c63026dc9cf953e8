//! Ready pieces for a [`Platform`](crate::Platform): storage and a lock, each behind an additive feature.
//!
//! The core's logic names none of them; a platform picks what it needs.

#[cfg(feature = "alloc")]
mod boxed;
#[cfg(feature = "heapless")]
mod fixed;
#[cfg(feature = "spin")]
mod ticket;

#[cfg(feature = "heapless")]
pub use fixed::{FixedArray, FixedQueue};
#[cfg(feature = "spin")]
pub use ticket::TicketLock;
