//! The deciding half of a work-stealing scheduler, without threads, clock, OS or allocator.
//!
//! Everything that a scheduler *decides* is here: where a task waits, who takes it, who is woken for it
//! and who is not, when a worker may sleep, and how all of it stops. What it *needs* comes in through one
//! type parameter, a [`Platform`]: how to sleep ([`Park`]), which fences pair ([`Fences`]), what guards
//! an inbox ([`Lock`]) and where arrays live ([`Array`]). Use it to bring a scheduler to a kernel, an
//! RTOS or a test bench ([`porting`] goes through it line by line); a program on an operating system takes the crate `parkade` on top of it.
//!
//! # Words
//!
//! A [`Task`] is a pointer-sized word that is moved and never looked into. A [`Worker`] runs tasks; it
//! belongs to one [`Tag`], an isolated set of workers with queues of their own. Each worker has a run
//! queue ([`RunQueue`]), an [`Inbox`] for tasks from outside, a mailbox for tasks that only it may run,
//! and a [`ParkingLot`] to sleep on. The [`TaskControl`] holds the tags.
//!
//! # How it is driven
//!
//! ```
//! use parkade_core::{Next, Origin, Priority, Slot, TagConfig, TagIndex, Task, TaskControl, WorkerIndex};
#![doc = include_str!("../docs/board.md")]
//! let control = TaskControl::new(&Board, &[TagConfig::new(4).run_queue(16)])?;
//! let _ = control.tags()[0].submit(Task::from_word(42), Priority::Normal, &Origin::new(0))?;
//!
//! // What each worker's thread, or hart, does:
//! let worker = control.register(Slot { tag: TagIndex(0), worker: WorkerIndex(3) })?;
//! loop {
//!     match worker.next() {
//!         Next::Run(task) => {
//!             assert_eq!(task.into_word(), 42);
//!             break; // a real worker runs it and asks again
//!         }
//!         Next::Park(state) => worker.park(state),
//!         Next::Linger => core::hint::spin_loop(), // only if the tag is told to
//!         Next::Stop | Next::Retire => break,
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Invariants
//!
//! * **I1** A queued task and an announced sleeper of its tag imply that a wake is claimed, a searcher
//!   exists, or somebody stands between a push or a count − 1 and its check ([`idle`]).
//! * **I2** A claimed wake is used exactly once or passed on ([`Worker`]'s drop passes it on).
//! * **I3** Calls to [`Park::wake`] are at most the claimed bits plus one per stopped lot and per
//!   request to retire; there are none
//!   while every worker is busy and none while the scheduler is idle, and no worker waits with a timeout.
//! * **I4** A stop reaches every worker within one park ([`stop`]).
//! * **I5** A worker that was asked to retire starts no other task, but for what its mailbox holds
//!   ([`Tag::request_retire`]); so after a tag was told to shrink to n, at most n go on.
//! * **I6** A waker never touches memory that the finished waiter may have freed. A lot lives as long as
//!   its control, and a latch of the runtime is signalled through what outlives it.
//!
//! # Features
//!
//! None is needed. `alloc` brings boxed slices and `VecDeque` for processes, `heapless` fixed arrays and
//! `spin` a ticket lock for kernels; all are additive ([`pieces`]).
#![no_std]
#![forbid(unsafe_code)]

pub mod idle;
pub mod park;
pub mod pieces;
pub mod platform;
pub mod porting;
pub mod stop;
pub mod sync;

mod activity;
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

pub use activity::Activity;
pub use config::{ConfigError, TagConfig};
pub use control::{RegisterError, TaskControl};
pub use counters::Counters;
pub use group::WorkerSnapshot;
pub use idle::Wake;
pub use inbox::{Inbox, Refused, RefusedReason};
pub use lot::{ParkingLot, Skip, State};
pub use origin::Origin;
pub use park::{Fences, Park, SeqCstFences};
pub use platform::{Array, CapacityError, Lock, Platform, Slot, TagIndex, TaskQueue, WorkerIndex};
pub use run_queue::{Owner, Place, RunQueue, Steal};
pub use stop::StopPolicy;
pub use tag::{Priority, Tag};
pub use task::Task;
pub use worker::{FAIRNESS_PERIOD, Fork, Next, TAKE_BATCH, Worker};
