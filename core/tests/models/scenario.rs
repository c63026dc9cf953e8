//! Scenes: workers that are fresh, asleep or searching when the submits begin.
//!
//! A worker leaves the pool for good with the task that ends its quota, as if that task blocked for
//! ever, and the quotas add up to the tasks; so a task that stays queued beside a sleeper is a deadlock,
//! which loom reports. That checks I1 at once, not only eventual progress.

use loom::thread;
use parkade_core::{Next, Origin, Priority, Task, Wake, Worker, WorkerIndex};

use crate::platform::{Modelled, TAG, control_of, slot, tag_config};

pub(crate) type StaticControl = &'static parkade_core::TaskControl<Modelled>;
pub(crate) type StaticWorker = Worker<'static, Modelled>;

/// How a worker is found when the curtain rises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cast {
    /// About to look for its first task, uncounted.
    Fresh,
    /// Announced, and about to park.
    Asleep,
    /// Claimed and counted, and without a task.
    Searching,
    /// Counted, and about to take its last look before it announces itself.
    Lingering,
    /// With a task that never ends: it fills its place in an idle word.
    Busy,
}

/// A control whose workers are found as cast, and the workers but for the busy ones, by index.
///
/// It is leaked, because loom's threads outlive every borrow; a model leaks some kilobytes per
/// interleaving.
pub(crate) fn scene(cast: &[Cast]) -> (StaticControl, Vec<StaticWorker>) {
    // One more worker takes the tasks by which searchers are claimed, and is busy for ever after.
    let takers = usize::from(cast.contains(&Cast::Searching));
    let control: StaticControl = Box::leak(Box::new(stage(cast, takers)));
    let register = |index| control.register(slot(index)).unwrap();
    let mut workers: Vec<_> = (0..cast.len() + takers).map(register).collect();
    let taker = workers.split_off(cast.len());
    // Searchers are claimed for a batch while nobody else is announced.
    let searchers: Vec<_> = played_by(&workers, cast, Cast::Searching).collect();
    searchers.iter().copied().for_each(falls_asleep);
    let mut batch = searchers.iter().map(|_| Task::from_word(0));
    let tag = control.tag(TAG).unwrap();
    let _ = tag.submit_batch(&mut batch, Priority::Normal, &Origin::new(0));
    for _ in &searchers {
        assert!(matches!(taker[0].next(), Next::Run(_)));
    }
    assert_eq!(tag.counters().searching, searchers.len());
    played_by(&workers, cast, Cast::Lingering)
        .for_each(|worker| assert!(matches!(worker.next(), Next::Linger)));
    played_by(&workers, cast, Cast::Asleep).for_each(falls_asleep);
    std::mem::forget(taker);
    let (busy, workers) = workers
        .into_iter()
        .partition(|worker| cast[worker.slot().worker.0] == Cast::Busy);
    let busy: Vec<StaticWorker> = busy;
    busy.into_iter().for_each(std::mem::forget);
    (control, workers)
}

fn stage(cast: &[Cast], takers: usize) -> parkade_core::TaskControl<Modelled> {
    let looks = u32::from(cast.contains(&Cast::Lingering));
    control_of(tag_config(cast.len() + takers).linger(looks))
}

fn played_by<'w>(
    workers: &'w [StaticWorker],
    cast: &[Cast],
    part: Cast,
) -> impl Iterator<Item = &'w StaticWorker> {
    let parts = workers.iter().zip(cast.to_vec());
    parts.filter_map(move |(worker, played)| (played == part).then_some(worker))
}

fn falls_asleep(worker: &StaticWorker) {
    while matches!(worker.next(), Next::Linger) {}
    assert!(matches!(worker.next(), Next::Park(_)));
}

/// Submits one task from outside; with nobody announced it goes to that inbox.
pub(crate) fn submit(control: StaticControl, word: usize, inbox: usize) -> Wake {
    let submitted = control.tag(TAG).unwrap().submit(
        Task::from_word(word),
        Priority::Normal,
        &Origin::new(inbox),
    );
    submitted.expect("an open tag with room takes every task")
}

/// Lets a worker run tasks until its quota is full or it is told to leave; returns what it ran.
pub(crate) fn perform(
    worker: StaticWorker,
    quota: usize,
    run: impl Fn(&StaticWorker, usize),
) -> Vec<usize> {
    let mut ran = Vec::new();
    while ran.len() < quota {
        match worker.next() {
            Next::Run(task) => {
                let word = task.into_word();
                run(&worker, word);
                ran.push(word);
            }
            Next::Park(state) => worker.park(state),
            Next::Linger => {}
            Next::Stop | Next::Retire => return ran,
        }
    }
    // Its last task never ends: it neither passes anything on nor gives up its place.
    std::mem::forget(worker);
    ran
}

/// Starts each worker with that quota; returns their threads.
pub(crate) fn start(
    workers: Vec<StaticWorker>,
    quota: usize,
) -> Vec<thread::JoinHandle<Vec<usize>>> {
    let start = |worker| thread::spawn(move || perform(worker, quota, |_, _| ()));
    workers.into_iter().map(start).collect()
}

/// What all threads ran, sorted.
pub(crate) fn all(threads: Vec<thread::JoinHandle<Vec<usize>>>) -> Vec<usize> {
    let ran = threads.into_iter().map(|thread| thread.join().unwrap());
    let mut ran: Vec<_> = ran.flatten().collect();
    ran.sort_unstable();
    ran
}

/// The whole play: submitter `i` submits the tasks `10 * i + 1 ..` one after the other, to inbox `i`
/// while nobody is announced; the first of them is the main thread. All tasks must run, each once.
pub(crate) fn play(cast: &[Cast], quota: usize, submitters: &[usize]) {
    let (control, workers) = scene(cast);
    let threads = start(workers, quota);
    let submit_all = move |submitter: usize, count: usize| {
        for task in 1..=count {
            submit(control, 10 * submitter + task, submitter);
        }
    };
    let others: Vec<_> = (1..submitters.len())
        .map(|submitter| {
            let count = submitters[submitter];
            thread::spawn(move || submit_all(submitter, count))
        })
        .collect();
    submit_all(0, submitters[0]);
    others.into_iter().for_each(|other| other.join().unwrap());
    let tasks = submitters.iter().enumerate();
    let expected = tasks.flat_map(|(i, n)| (1..=*n).map(move |task| 10 * i + task));
    assert_eq!(all(threads), expected.collect::<Vec<_>>());
}

/// The worker at this index.
pub(crate) const fn worker(index: usize) -> WorkerIndex {
    WorkerIndex(index)
}
