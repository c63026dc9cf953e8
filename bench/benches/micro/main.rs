//! The parts of the core and of both backends by themselves, under criterion.
//!
//! A row of the bench program says what a user waits for; these say which part of it costs how much. Each file is a
//! part, and each measurement is generic over the backend, so that both are measured by the same code:
//! `lot/signal, nobody waits/linux`.

mod fences;
mod inbox;
mod lot;
mod park;
mod queue;

use std::time::Duration;

use criterion::Criterion;
use parkade::Backend;
#[cfg(target_os = "linux")]
use parkade::backend::Linux;
use parkade::backend::Std;

fn main() {
    let mut criterion = Criterion::default()
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2))
        .configure_from_args();
    #[cfg(target_os = "linux")]
    measure::<Linux>(&mut criterion, "linux");
    measure::<Std>(&mut criterion, "std");
    criterion.final_summary();
}

fn measure<B: Backend>(criterion: &mut Criterion, backend: &str) {
    fences::measure::<B>(criterion, backend);
    queue::measure::<B>(criterion, backend);
    inbox::measure::<B>(criterion, backend);
    lot::measure::<B>(criterion, backend);
    park::measure::<B>(criterion, backend);
}
