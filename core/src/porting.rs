//! Bringing the core to your kernel: what you supply, in two steps, and what you promise.
#![doc = include_str!("../docs/kernel.md")]
