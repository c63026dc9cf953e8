//! The fence pair: the light half, which the owner of a run queue pays at each pop, and the heavy one, which a thief
//! pays at each steal.

use criterion::Criterion;
use parkade::{Backend, FenceChoice};
use parkade_core::Fences;

pub(crate) fn measure<B: Backend>(criterion: &mut Criterion, backend: &str) {
    let fences = B::new(FenceChoice::Auto).fences();
    let mut group = criterion.benchmark_group("fences");
    group.bench_function(format!("light/{backend}"), |bencher| {
        bencher.iter(|| fences.light());
    });
    group.bench_function(format!("heavy/{backend}"), |bencher| {
        bencher.iter(|| fences.heavy());
    });
    group.finish();
}
