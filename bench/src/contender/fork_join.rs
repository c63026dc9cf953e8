//! The capability to run two closures at once and wait for both.

use anyhow::Result;

#[cfg(target_os = "linux")]
use super::Linux;
use super::chili::Chili;
use super::rayon::Rayon;
use super::{Contender, Offer, Parkade, Std};
use crate::cell::{Measured, Options};

pub(crate) trait ForkJoin: Contender {
    /// What a closure must be given so that it can join, where the thread alone does not tell.
    type Scope<'s>;

    /// Joins from outside: sends both to the workers, and waits.
    fn enter<A, B, RA, RB>(&self, first: A, second: B) -> (RA, RB)
    where
        A: FnOnce(&mut Self::Scope<'_>) -> RA + Send,
        B: FnOnce(&mut Self::Scope<'_>) -> RB + Send,
        RA: Send,
        RB: Send;

    /// Joins inside a join.
    fn join<A, B, RA, RB>(scope: &mut Self::Scope<'_>, first: A, second: B) -> (RA, RB)
    where
        A: FnOnce(&mut Self::Scope<'_>) -> RA + Send,
        B: FnOnce(&mut Self::Scope<'_>) -> RB + Send,
        RA: Send,
        RB: Send;
}

/// A row that is measured with anything that can fork and join.
pub(crate) trait ForkJoinRow {
    fn measure<C: ForkJoin>(options: &Options) -> Result<Measured>;
}

/// Those who can.
pub(crate) const fn fork_joiners<R: ForkJoinRow>() -> &'static [Offer] {
    const {
        &[
            #[cfg(target_os = "linux")]
            offer::<R, Parkade<Linux>>(),
            offer::<R, Parkade<Std>>(),
            offer::<R, Rayon>(),
            offer::<R, Chili>(),
        ]
    }
}

const fn offer<R: ForkJoinRow, C: ForkJoin>() -> Offer {
    Offer::of::<C>(R::measure::<C>)
}
