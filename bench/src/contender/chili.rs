//! Chili: fork-join by heartbeat, which offers a fork to others only every so often and else runs it in place.
//!
//! Its number of threads counts the caller, who takes part, as one; so it is the number of workers. A thread that
//! beats the heart, every 100 µs while there is a scope, comes on top of them and is its own affair.

use std::num::NonZero;

use anyhow::{Context, Result};
use chili::{Config, Scope, ThreadPool};

use super::{Contender, ForkJoin, Name};

pub(crate) struct Chili(ThreadPool);

impl Contender for Chili {
    const NAME: Name = Name::Chili;

    fn start(workers: u16) -> Result<Self> {
        let workers = NonZero::new(usize::from(workers)).context("chili needs a worker")?;
        Ok(Self(ThreadPool::with_config(Config {
            thread_count: Some(workers),
            ..Config::default()
        })))
    }
}

impl ForkJoin for Chili {
    type Scope<'s> = Scope<'s>;

    fn enter<A, B, RA, RB>(&self, first: A, second: B) -> (RA, RB)
    where
        A: FnOnce(&mut Scope<'_>) -> RA + Send,
        B: FnOnce(&mut Scope<'_>) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        self.0.scope().join(first, second)
    }

    fn join<A, B, RA, RB>(scope: &mut Scope<'_>, first: A, second: B) -> (RA, RB)
    where
        A: FnOnce(&mut Scope<'_>) -> RA + Send,
        B: FnOnce(&mut Scope<'_>) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        scope.join(first, second)
    }
}
