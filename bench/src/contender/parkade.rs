//! Parkade itself, on each of its backends, with one tag for all workers.

use anyhow::Result;
use parkade::{Backend, RuntimeOn, Tag};

use super::{Contender, ForEach, ForkJoin, Name, Spawn};

pub(crate) struct Parkade<B: Backend>(RuntimeOn<B>);

/// A backend that has a name here.
pub(crate) trait Named: Backend {
    const NAME: Name;
}

#[cfg(target_os = "linux")]
impl Named for parkade::backend::Linux {
    const NAME: Name = Name::Linux;
}

impl Named for parkade::backend::Std {
    const NAME: Name = Name::Std;
}

impl<B: Named> Contender for Parkade<B> {
    const NAME: Name = B::NAME;

    fn start(workers: u16) -> Result<Self> {
        let tag = Tag::new("bench").workers(usize::from(workers));
        Ok(Self(RuntimeOn::builder().tag(tag).build()?))
    }
}

impl<B: Named> Spawn for Parkade<B> {
    fn spawn(&self, task: impl FnOnce() + Send + 'static) {
        if let Err(refused) = self.0.spawn_detached(task) {
            // A row that loses a task would wait for it for ever; nothing stops this runtime.
            panic!("a task was refused: {refused}");
        }
    }
}

impl<B: Named> ForkJoin for Parkade<B> {
    type Scope<'s> = ();

    fn enter<A, Z, RA, RZ>(&self, first: A, second: Z) -> (RA, RZ)
    where
        A: FnOnce(&mut ()) -> RA + Send,
        Z: FnOnce(&mut ()) -> RZ + Send,
        RA: Send,
        RZ: Send,
    {
        self.0.join(|| first(&mut ()), || second(&mut ()))
    }

    fn join<A, Z, RA, RZ>((): &mut (), first: A, second: Z) -> (RA, RZ)
    where
        A: FnOnce(&mut ()) -> RA + Send,
        Z: FnOnce(&mut ()) -> RZ + Send,
        RA: Send,
        RZ: Send,
    {
        parkade::join(|| first(&mut ()), || second(&mut ()))
    }
}

impl<B: Named> ForEach for Parkade<B> {
    fn for_each<T: Sync>(&self, items: &[T], body: impl Fn(&T) + Sync + Send) {
        self.0.for_each(items, body);
    }

    fn for_each_alone<T: Sync>(&self, items: &[T], body: impl Fn(&T) + Sync + Send) {
        self.0
            .chunks(items, 1, |part: &[T]| part.iter().for_each(&body));
    }
}
