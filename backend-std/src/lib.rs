//! The portable half of Parkade: sleeping by a mutex and a condition variable, on any system that has `std`.
//!
//! * [`CondvarPark`] – a [`Park`](parkade_core::Park) with an exact count of the sleepers that it released.
//! * [`Std`] – the [`Platform`](parkade_core::Platform) around it, with SeqCst fences.
//! * [`forks`] – how a process notices that it is the child of a fork.
//! * [`pin_current_thread`] – says, by its type, that there is no affinity here.
//!
//! Use it where there is no backend of the system's own; on Linux, `parkade-linux` wakes with one system
//! call where this takes a mutex besides, and its fences are cheaper.
//!
//! # Example
//!
//! ```
//! use parkade_core::{ParkingLot, Skip};
//! use parkade_std::CondvarPark;
//!
//! let lot = ParkingLot::new(CondvarPark::new(), Skip::WhenNobodyWaits);
//! std::thread::scope(|threads| {
//!     threads.spawn(|| {
//!         while !lot.is_stopped() {
//!             let state = lot.state();
//!             // … look for work here, then:
//!             lot.wait(state);
//!         }
//!     });
//!     lot.stop();
//! });
//! ```
#![deny(unsafe_code)]

mod affinity;
mod condvar;
mod fork;
mod platform;

pub use affinity::{AffinityUnsupported, pin_current_thread};
pub use condvar::CondvarPark;
pub use fork::forks;
pub use platform::{OsLock, Std};
