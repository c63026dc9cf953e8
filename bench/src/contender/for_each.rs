//! The capability to go through a slice on all workers.

use anyhow::Result;

#[cfg(target_os = "linux")]
use super::Linux;
use super::rayon::Rayon;
use super::{Contender, Offer, Parkade, Std};
use crate::cell::{Measured, Options};

pub(crate) trait ForEach: Contender {
    /// Calls `body` for each item, called from outside, with parts as large as the contender chooses.
    fn for_each<T: Sync>(&self, items: &[T], body: impl Fn(&T) + Sync + Send);

    /// The same in the way that the contender has for items that differ much: each is a part of its own.
    fn for_each_alone<T: Sync>(&self, items: &[T], body: impl Fn(&T) + Sync + Send);
}

/// A row that is measured with anything that has such loops.
pub(crate) trait ForEachRow {
    fn measure<C: ForEach>(options: &Options) -> Result<Measured>;
}

/// Those who have.
pub(crate) const fn loopers<R: ForEachRow>() -> &'static [Offer] {
    const {
        &[
            #[cfg(target_os = "linux")]
            offer::<R, Parkade<Linux>>(),
            offer::<R, Parkade<Std>>(),
            offer::<R, Rayon>(),
        ]
    }
}

const fn offer<R: ForEachRow, C: ForEach>() -> Offer {
    Offer::of::<C>(R::measure::<C>)
}
