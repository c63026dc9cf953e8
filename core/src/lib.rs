//! The deciding half of a work-stealing scheduler, without threads, clock, OS or allocator.
#![no_std]
#![forbid(unsafe_code)]

pub mod park;
pub mod pieces;
pub mod platform;
pub mod sync;

mod lot;
mod task;

pub use lot::{ParkingLot, Skip, State};
pub use park::{Fences, Park, SeqCstFences};
pub use platform::{Array, CapacityError, Lock, Platform, Slot, TagIndex, TaskQueue, WorkerIndex};
pub use task::Task;
