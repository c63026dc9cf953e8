//! The bench program with an allocator that counts, for the row that is about bytes: see the library.

use std::alloc::System;

use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn main() -> anyhow::Result<std::process::ExitCode> {
    parkade_bench::main()
}
