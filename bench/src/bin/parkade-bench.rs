//! The bench program with the system's allocator: see the library.

fn main() -> anyhow::Result<std::process::ExitCode> {
    parkade_bench::main()
}
