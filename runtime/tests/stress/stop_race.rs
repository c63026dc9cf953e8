//! Submits of every kind that race the stop: what was accepted ran or was dropped, the rest was refused, and
//! each closure is gone in the end.

use std::ops::AddAssign;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use parkade::{Backend, JoinError, Policy, Priority, RuntimeOn, Tag, TagRef};

use crate::rounds::{self, Run};

on_each_backend!(every_kind_of_submit_races_the_stop);

/// Counts closures: made, run, and dropped without a run.
#[derive(Default)]
struct Closures {
    made: AtomicUsize,
    ran: AtomicUsize,
    dropped: AtomicUsize,
}

impl Closures {
    fn make(self: &Arc<Self>) -> impl FnOnce() + Send + 'static {
        self.made.fetch_add(1, Ordering::Relaxed);
        let fate = Fate {
            closures: Arc::clone(self),
            has_run: false,
        };
        move || fate.run()
    }
}

struct Fate {
    closures: Arc<Closures>,
    has_run: bool,
}

impl Fate {
    fn run(mut self) {
        self.has_run = true;
        self.closures.ran.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Fate {
    fn drop(&mut self) {
        if !self.has_run {
            self.closures.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// What the submitters were told.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Told {
    accepted: usize,
    refused: usize,
}

impl AddAssign for Told {
    fn add_assign(&mut self, other: Self) {
        self.accepted += other.accepted;
        self.refused += other.refused;
    }
}

impl Told {
    fn of(accepted: usize, refused: usize) -> Self {
        Self { accepted, refused }
    }
}

/// One submit; the kinds take turns.
fn submit<B: Backend>(tag: TagRef<'_, B>, turn: usize, closures: &Arc<Closures>) -> Told {
    const BATCH: usize = 7;
    let priority = [Priority::Normal, Priority::High][turn / 4 % 2];
    let tag = tag.with_priority(priority);
    match turn % 4 {
        0 => match tag.try_spawn(closures.make()) {
            Ok(_dropped_handle) => Told::of(1, 0),
            Err(_refused) => Told::of(0, 1),
        },
        1 => match tag.spawn_detached(closures.make()) {
            Ok(()) => Told::of(1, 0),
            Err(_refused) => Told::of(0, 1),
        },
        2 => match tag.spawn(closures.make()).join() {
            Err(JoinError::Refused(_)) => Told::of(0, 1),
            Ok(()) | Err(JoinError::Dropped) => Told::of(1, 0),
            Err(other) => panic!("{other}"),
        },
        _ => {
            let mut batch = tag.batch();
            (0..BATCH).for_each(|_| batch.spawn_detached(closures.make()));
            match batch.submit() {
                Ok(accepted) => Told::of(accepted, BATCH - accepted),
                Err(refused) => Told::of(refused.accepted, refused.rest.len()),
            }
        }
    }
}

/// S1.
fn every_kind_of_submit_races_the_stop<B: Backend>() {
    let mut run = Run::new("S1", 40, 2);
    for round in run.rounds() {
        run.step();
        let policy = [Policy::Drain, Policy::Abandon][(round % 2) as usize];
        let closures = Arc::new(Closures::default());
        let runtime = run.watch(
            RuntimeOn::<B>::builder()
                .tag(Tag::new("outside").workers(2).run_queue(4))
                .tag(Tag::new("inside").workers(1).run_queue(4).inbox_limit(16))
                .build()
                .unwrap(),
        );
        let submits = AtomicUsize::new(0);
        let (report, told) = thread::scope(|scope| {
            // Whoever submits goes on until the runtime has stopped taking tasks for good.
            let outside: Vec<_> = (0..6)
                .map(|first| {
                    let (runtime, submits, closures) = (&runtime, &submits, &closures);
                    scope.spawn(move || {
                        let mut told = Told::default();
                        for turn in first.. {
                            let answer = submit(runtime.default_tag(), turn, closures);
                            submits.fetch_add(1, Ordering::Relaxed);
                            told += answer;
                            if answer.refused > 0 {
                                break;
                            }
                        }
                        told
                    })
                })
                .collect();
            // A task that submits from inside, to its own tag and to the other, until it is refused by the latter.
            let inside = {
                let (here, closures) = (Arc::clone(&runtime), Arc::clone(&closures));
                runtime.tag("inside").unwrap().spawn(move || {
                    let mut told = Told::default();
                    for turn in 0.. {
                        if turn % 4 != 2 {
                            told += submit(here.tag("inside").unwrap(), turn, &closures);
                        }
                        let answer = submit(here.default_tag(), turn, &closures);
                        told += answer;
                        if answer.refused > 0 {
                            break;
                        }
                    }
                    told
                })
            };
            // The stop comes the later, the more rounds there have been, up to a limit, and never quite the same.
            let late = 10 * usize::try_from(round).unwrap().min(40) + run.dice.usize(..10);
            rounds::until(|| submits.load(Ordering::Relaxed) > late);
            let report = runtime.shutdown(policy, None).unwrap();
            let mut told = Told::default();
            outside
                .into_iter()
                .for_each(|thread| told += thread.join().unwrap());
            // The task itself is the first that was accepted, unless the stop has dropped it.
            match inside.join() {
                Ok(answers) => told += answers,
                Err(JoinError::Dropped) => {}
                Err(other) => panic!("{other}"),
            }
            told.accepted += 1;
            (report, told)
        });
        let count = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
        let (ran, dropped) = (count(&closures.ran), count(&closures.dropped));
        assert_eq!(ran + dropped, count(&closures.made), "closures leak");
        assert_eq!(report.ran + report.dropped, told.accepted, "{report}");
        // The submitting task is no counted closure.
        assert_eq!(
            ran + dropped + 1,
            report.ran + report.dropped + told.refused
        );
        assert!(ran <= report.ran && report.ran <= ran + 1);
        if policy == Policy::Drain {
            assert_eq!(report.dropped, 0, "{report}");
        }
        let metrics = runtime.metrics().total;
        assert_eq!(
            (metrics.spawned, metrics.ran, metrics.dropped),
            (told.accepted, report.ran, report.dropped)
        );
        assert_eq!(Arc::strong_count(&closures), 1, "a closure is not gone");
    }
}
