//! A park that spins before it sleeps: nothing depends on how long a worker takes to fall asleep.
//!
//! The runtime does not spin. A backend of the user's may, on the worker's own word, and this is how.

use std::marker::PhantomData;

use parkade::backend::AffinityError;
use parkade::{Backend, FenceChoice, RuntimeOn, Tag};
use parkade_core::sync::{AtomicU32, Ordering};
use parkade_core::{Park, Platform, Slot};

on_each_backend!(spinning_or_not_the_results_are_the_same);

/// How often to look before sleeping.
trait Budget: Send + Sync + 'static {
    const LOOKS: u32;
}

struct None;
struct One;
struct Many;

impl Budget for None {
    const LOOKS: u32 = 0;
}
impl Budget for One {
    const LOOKS: u32 = 1;
}
impl Budget for Many {
    const LOOKS: u32 = if cfg!(miri) { 100 } else { 100_000 };
}

struct Spinning<B, L>(B, PhantomData<L>);

struct SpinningPark<K, L>(K, PhantomData<L>);

impl<K: Park, L: Budget> Park for SpinningPark<K, L> {
    fn wait(&self, word: &AtomicU32, expected: u32) {
        for _ in 0..L::LOOKS {
            if word.load(Ordering::Relaxed) != expected {
                return;
            }
            std::hint::spin_loop();
        }
        self.0.wait(word, expected);
    }

    fn wake(&self, word: &AtomicU32, n: u32) -> u32 {
        self.0.wake(word, n)
    }
}

impl<B: Backend, L: Budget> Platform for Spinning<B, L> {
    type Park = SpinningPark<B::Park, L>;
    type Fences = B::Fences;
    type Lock<T: Send> = B::Lock<T>;
    type Queue = B::Queue;
    type Ring = B::Ring;
    type PerWorker<T: Send + Sync> = B::PerWorker<T>;
    type PerTag<T: Send + Sync> = B::PerTag<T>;

    fn park(&self, slot: Slot) -> Self::Park {
        SpinningPark(self.0.park(slot), PhantomData)
    }

    fn fences(&self) -> B::Fences {
        self.0.fences()
    }
}

impl<B: Backend, L: Budget> Backend for Spinning<B, L> {
    fn new(fences: FenceChoice) -> Self {
        Self(B::new(fences), PhantomData)
    }

    fn allowed_cpus() -> Result<Vec<usize>, AffinityError> {
        B::allowed_cpus()
    }

    fn pin_current_thread(cpu: usize) -> Result<(), AffinityError> {
        B::pin_current_thread(cpu)
    }

    fn set_current_thread_cpus(cpus: &[usize]) -> Result<(), AffinityError> {
        B::set_current_thread_cpus(cpus)
    }
}

/// W11.
fn spinning_or_not_the_results_are_the_same<B: Backend>() {
    for workers in 1..=4 {
        let sums = [
            sum_on::<Spinning<B, None>>(workers),
            sum_on::<Spinning<B, One>>(workers),
            sum_on::<Spinning<B, Many>>(workers),
        ];
        assert_eq!(sums, [1225 * 20; 3], "{workers} workers");
    }
}

/// Lone tasks and bursts in turn, so that workers are met in every phase of falling asleep.
fn sum_on<B: Backend>(workers: usize) -> usize {
    let tag = Tag::new("only").workers(workers);
    let runtime: RuntimeOn<B> = RuntimeOn::builder().tag(tag).build().unwrap();
    let mut sum = 0;
    for _ in 0..10 {
        for task in 0..50 {
            sum += runtime.spawn(move || task).join().unwrap();
        }
        let burst: Vec<_> = (0..50).map(|task| runtime.spawn(move || task)).collect();
        sum += burst
            .into_iter()
            .map(|task| task.join().unwrap())
            .sum::<usize>();
    }
    sum
}
