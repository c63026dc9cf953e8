//! The deciding half of a work-stealing scheduler, without threads, clock, OS or allocator.
#![no_std]
#![forbid(unsafe_code)]

pub mod idle;
pub mod park;
pub mod pieces;
pub mod platform;
pub mod stop;
pub mod sync;

mod config;
mod control;
mod counters;
mod group;
mod inbox;
mod lot;
mod origin;
mod run_queue;
mod tag;
mod task;
mod walk;
mod worker;

pub use config::{ConfigError, TagConfig};
pub use control::{RegisterError, TaskControl};
pub use counters::Counters;
pub use idle::Wake;
pub use inbox::{Inbox, Refused, RefusedReason};
pub use lot::{ParkingLot, Skip, State};
pub use origin::Origin;
pub use park::{Fences, Park, SeqCstFences};
pub use platform::{Array, CapacityError, Lock, Platform, Slot, TagIndex, TaskQueue, WorkerIndex};
pub use run_queue::{Owner, RunQueue, Steal};
pub use stop::StopPolicy;
pub use tag::{Priority, Tag};
pub use task::Task;
pub use worker::{FAIRNESS_PERIOD, Next, TAKE_BATCH, Worker};
