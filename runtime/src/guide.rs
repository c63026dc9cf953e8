//! A page for each topic: what holds, how to use it, what to look out for.
//!
//! The items' own documentation says what each of them does; these pages say how they go together. Every example is
//! run as a test.
//!
//! | page | answers |
//! |---|---|
//! | [`tags`] | where does a task wait, who may take it, and what if there is no room? |
//! | [`pinning`] | on which CPUs do workers run? |
//! | [`scaling`] | how many workers are there, and what if they block? |
//! | [`waiting`] | what does a worker run while it waits, and what can still deadlock? |
//! | [`futures`] | how do async tasks share the workers? |
//! | [`panics`] | what panics, and what comes of it? |
//! | [`stopping`] | what becomes of everything when the runtime stops? |
//! | [`observability`] | what does it do, and where is it stuck? |

#[doc = include_str!("../docs/futures.md")]
pub mod futures {}

#[doc = include_str!("../docs/observability.md")]
pub mod observability {}

#[doc = include_str!("../docs/panics.md")]
#[doc = include_str!("../docs/panic_outcomes.md")]
#[doc = include_str!("../docs/panics_and_waiters.md")]
pub mod panics {}

#[doc = include_str!("../docs/pinning.md")]
pub mod pinning {}

#[doc = include_str!("../docs/scaling.md")]
pub mod scaling {}

#[doc = include_str!("../docs/stopping.md")]
pub mod stopping {}

#[doc = include_str!("../docs/tags.md")]
pub mod tags {}

#[doc = include_str!("../docs/waiting.md")]
pub mod waiting {}
