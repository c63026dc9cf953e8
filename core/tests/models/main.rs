//! Models of the core under loom: one file a property, named as the property.
//!
//! An idle word has room for two workers here, so the third one has a word of its own.
//!
//! Two preemptions are the rule; a scene too large for that takes one, a mutant that needs three gets three.
//!
//! `cargo xtask loom` runs them; in a normal build this binary is empty. Each model says how many
//! interleavings it explores at least, because a dead model explores one.
#![cfg(parkade_loom)]
#![allow(missing_docs)]

mod platform;
mod scenario;

mod a_batch_is_one_submit;
mod a_closed_inbox_takes_nothing;
mod a_lone_task_wakes_one_worker;
mod a_priority_task_is_seen;
mod a_queue_is_handed_over_whole;
mod a_queued_task_is_taken_once;
mod a_queued_task_wakes_an_idle_worker;
mod a_request_to_grow_is_kept;
mod a_retiring_worker_loses_nothing;
mod a_searcher_is_trusted_only_behind_a_real_fence;
mod a_signal_is_never_lost;
mod a_stop_reaches_every_worker;
mod a_targeted_task_reaches_its_worker;
mod work_from_a_worker_wakes_another;
