//! The Linux half of Parkade: how a worker sleeps, fences, stays on its CPU and is interrupted.
//!
//! * [`FutexPark`] – the [`Park`](parkade_core::Park) of a process: one futex, no state.
//! * [`MembarrierFences`] – the [`Fences`](parkade_core::Fences) whose rare side pays for the frequent one.
//! * `forks` – how a process notices that it is the child of a fork, with the feature `std`.
//! * `interrupt` – how a thread's blocking system call is ended by another thread, with the feature `std`.
//! * [`affinity`] – which CPUs the calling thread and the process may use, with typed errors.
//! * `Linux` – all of it as a [`Platform`](parkade_core::Platform), with the feature `std` (default).
//!
//! Without `std` the crate needs neither the standard library nor an allocator. On other systems than
//! Linux it is empty, so that a dependency on it need not be conditional.
//!
//! # Example
//!
//! ```
//! # #[cfg(target_os = "linux")] {
//! use parkade_core::{ParkingLot, Skip};
//! use parkade_linux::FutexPark;
//!
//! let lot = ParkingLot::new(FutexPark, Skip::WhenNobodyWaits);
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
//! # }
//! ```
#![cfg(target_os = "linux")]
#![cfg_attr(not(feature = "std"), no_std)]

pub mod affinity;
mod fatal;
#[cfg(feature = "std")]
mod fork;
mod futex;
#[cfg(miri)]
mod futex_miri;
#[cfg(feature = "std")]
pub mod interrupt;
mod membarrier;
#[cfg(feature = "std")]
mod platform;

pub use affinity::{AffinityError, CpuSet};
#[cfg(feature = "std")]
pub use fork::forks;
pub use futex::FutexPark;
pub use membarrier::{FenceKind, MembarrierFences};
#[cfg(feature = "std")]
pub use platform::{Linux, OsLock};
