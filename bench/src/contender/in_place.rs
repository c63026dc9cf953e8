//! No scheduler at all: everything is done on the calling thread, one after the other.
//!
//! It is the floor of the rows that divide work which one thread could do alone: they measure it with the very
//! functions that they measure the others with.

use anyhow::Result;

use super::{Contender, ForEach, ForkJoin, Name};

pub(crate) struct InPlace;

impl Contender for InPlace {
    const NAME: Name = Name::Floor;

    fn start(_: u16) -> Result<Self> {
        Ok(Self)
    }
}

impl ForkJoin for InPlace {
    type Scope<'s> = ();

    fn enter<A, B, RA, RB>(&self, first: A, second: B) -> (RA, RB)
    where
        A: FnOnce(&mut ()) -> RA + Send,
        B: FnOnce(&mut ()) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        (first(&mut ()), second(&mut ()))
    }

    fn join<A, B, RA, RB>(scope: &mut (), first: A, second: B) -> (RA, RB)
    where
        A: FnOnce(&mut ()) -> RA + Send,
        B: FnOnce(&mut ()) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        (first(scope), second(scope))
    }
}

impl ForEach for InPlace {
    fn for_each<T: Sync>(&self, items: &[T], body: impl Fn(&T) + Sync + Send) {
        items.iter().for_each(body);
    }

    fn for_each_alone<T: Sync>(&self, items: &[T], body: impl Fn(&T) + Sync + Send) {
        items.iter().for_each(body);
    }
}
