//! Parkade itself, on each of its backends, with one tag for all workers.

use std::future;
use std::thread;
use std::time::Duration;

use anyhow::Result;
use parkade::{Backend, Refused, RuntimeOn, Tag, TagRef};

use super::hold::{Held, never_ends};
use super::{Contender, ForEach, ForkJoin, Hold, Name, Spawn, TwoPools};

pub(crate) struct Parkade<B: Backend>(RuntimeOn<B>);

/// A backend that has a name here.
pub(crate) trait Named: Backend {
    const NAME: Name;
    /// Whether it binds threads to CPUs.
    const PINS: bool;
}

#[cfg(target_os = "linux")]
impl Named for parkade::backend::Linux {
    const NAME: Name = Name::Linux;
    const PINS: bool = true;
}

impl Named for parkade::backend::Std {
    const NAME: Name = Name::Std;
    const PINS: bool = false;
}

impl<B: Named> Contender for Parkade<B> {
    const NAME: Name = B::NAME;

    fn start(workers: u16) -> Result<Self> {
        let tag = Tag::new("bench").workers(usize::from(workers));
        Ok(Self(RuntimeOn::builder().tag(tag).build()?))
    }

    fn start_on(workers: u16, cpus: &[usize]) -> Result<Self> {
        if !B::PINS {
            return Self::start(workers);
        }
        let cpus: Vec<_> = cpus.iter().map(ToString::to_string).collect();
        let tag = Tag::new("bench")
            .workers(usize::from(workers))
            .cpus(cpus.join(","));
        Ok(Self(RuntimeOn::builder().tag(tag).build()?))
    }
}

impl<B: Named> Spawn for Parkade<B> {
    fn spawn(&self, task: impl FnOnce() + Send + 'static) {
        accepted(self.0.spawn_detached(task));
    }
}

fn accepted<F>(spawned: std::result::Result<(), Refused<F>>) {
    if let Err(refused) = spawned {
        // A row that loses a task would wait for it for ever; nothing stops this runtime.
        panic!("a task was refused: {refused}");
    }
}

impl<B: Named> Hold for Parkade<B> {
    fn hold(&'static self) -> Result<Held> {
        /// When what is timed is due: not while this is measured.
        const FAR: Duration = Duration::from_secs(3600);
        let runtime = &self.0;
        let mut batch = runtime.batch();
        let pending = batch.spawn(|| ());
        let joined = batch.spawn(|| ());
        thread::spawn(|| joined.join());
        thread::spawn(|| runtime.scope(|_| never_ends()));
        // A worker runs the task, and the thread waits for it at the end of the scope; or the other way round.
        thread::spawn(|| runtime.scope(|scope| scope.spawn(never_ends)));
        thread::spawn(|| parkade::block_on(runtime.spawn_async(future::pending::<()>())));
        Ok(vec![
            Box::new(pending),
            Box::new(batch),
            Box::new(runtime.spawn_async(future::pending::<()>())),
            Box::new(runtime.after(FAR, || ())?),
            Box::new(runtime.alarm(FAR, || ())?),
            Box::new(runtime.every(FAR, || ())?),
        ])
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

/// Two tags of one runtime, which lives as long as the process.
pub(crate) struct TwoTags<B: Backend> {
    first: TagRef<'static, B>,
    second: TagRef<'static, B>,
}

impl<B: Named> TwoPools for TwoTags<B> {
    const NAME: Name = B::NAME;

    fn start_two(workers: u16) -> Result<Self> {
        let tags = ["first", "second"].map(|name| Tag::new(name).workers(usize::from(workers)));
        let runtime: &'static RuntimeOn<B> =
            Box::leak(Box::new(RuntimeOn::builder().tags(tags).build()?));
        Ok(Self {
            first: runtime.tag("first")?,
            second: runtime.tag("second")?,
        })
    }

    fn spawn_in_first(&self, task: impl FnOnce() + Send + 'static) {
        accepted(self.first.spawn_detached(task));
    }

    fn spawn_in_second(&self, task: impl FnOnce() + Send + 'static) {
        accepted(self.second.spawn_detached(task));
    }
}
