//! Rayon: a deque for each worker, made for fork-join and parallel iterators.
//!
//! A pool of its own rather than the global one, so that the number of workers is ours; everything else is its
//! default. A spawn inside a task goes to the deque of its worker.

use std::thread;

use anyhow::Result;
use rayon::iter::{IndexedParallelIterator, IntoParallelRefIterator, ParallelIterator};
use rayon::{ThreadPool, ThreadPoolBuilder};

use super::hold::{Held, never_ends};
use super::{Contender, ForEach, ForkJoin, Hold, Name, Spawn};

pub(crate) struct Rayon(ThreadPool);

impl Contender for Rayon {
    const NAME: Name = Name::Rayon;

    fn start(workers: u16) -> Result<Self> {
        let builder = ThreadPoolBuilder::new().num_threads(usize::from(workers));
        Ok(Self(builder.build()?))
    }
}

impl Spawn for Rayon {
    fn spawn(&self, task: impl FnOnce() + Send + 'static) {
        self.0.spawn(task);
    }
}

impl ForkJoin for Rayon {
    type Scope<'s> = ();

    fn enter<A, B, RA, RB>(&self, first: A, second: B) -> (RA, RB)
    where
        A: FnOnce(&mut ()) -> RA + Send,
        B: FnOnce(&mut ()) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        self.0.join(|| first(&mut ()), || second(&mut ()))
    }

    fn join<A, B, RA, RB>((): &mut (), first: A, second: B) -> (RA, RB)
    where
        A: FnOnce(&mut ()) -> RA + Send,
        B: FnOnce(&mut ()) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        rayon::join(|| first(&mut ()), || second(&mut ()))
    }
}

impl ForEach for Rayon {
    fn for_each<T: Sync>(&self, items: &[T], body: impl Fn(&T) + Sync + Send) {
        self.0.install(|| items.par_iter().for_each(body));
    }

    fn for_each_alone<T: Sync>(&self, items: &[T], body: impl Fn(&T) + Sync + Send) {
        self.0
            .install(|| items.par_iter().with_max_len(1).for_each(body));
    }
}

impl Hold for Rayon {
    fn hold(&'static self) -> Result<Held> {
        thread::spawn(|| self.0.in_place_scope(|_| never_ends()));
        // A worker runs the task, and the thread waits for it at the end of the scope.
        thread::spawn(|| self.0.in_place_scope(|scope| scope.spawn(|_| never_ends())));
        Ok(Held::new())
    }
}
