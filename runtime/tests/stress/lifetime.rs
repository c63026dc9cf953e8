//! Runtimes that live for a moment: the stop meets workers in every phase of beginning, running and falling
//! asleep.

use std::time::Duration;

use crate::each_backend::runtime;
use crate::rounds::PATIENCE;
use crate::rounds::{self, Run};
use parkade::{Backend, JoinError, Policy};

on_each_backend!(start_and_stop, one_task_joined_and_the_runtime_dropped,);

/// No stop waits for this.
const FAR: Duration = Duration::from_secs(24 * 3600);

/// S3 and S13: whatever its workers and its timer thread are at, each stop is complete, and soon, though a timer
/// is pending. Every other round it is about to fire.
fn start_and_stop<B: Backend>() {
    let mut run = Run::new("S3", 500, 3);
    for _ in run.rounds() {
        run.step();
        let workers = run.dice.usize(1..=3);
        let runtime = run.watch(runtime::<B>(workers));
        let far = runtime.after(FAR, || ()).unwrap();
        let soon = Duration::from_micros(run.dice.u64(0..200));
        let soon = run.dice.bool().then(|| runtime.alarm(soon, || ()).unwrap());
        rounds::pause(run.dice.pause());
        let policy = [Policy::Drain, Policy::Abandon][run.dice.usize(..2)];
        let report = runtime.shutdown(policy, None).unwrap();
        assert!(report.is_complete(), "{report}");
        assert_eq!((report.ran, report.dropped), (0, 0), "{report}");
        assert!(report.elapsed < PATIENCE, "{report}");
        assert!(matches!(far.join(), Err(JoinError::Dropped)));
        assert!(soon.is_none_or(|alarm| alarm.is_finished()));
    }
}

/// S15: the drop comes while the worker that has run the task is on its way to sleep. Every other round it is a
/// stop first, which can be looked into if it hangs.
fn one_task_joined_and_the_runtime_dropped<B: Backend>() {
    let mut run = Run::new("S15", 500, 3);
    for round in run.rounds() {
        run.step();
        let workers = run.dice.usize(1..=2);
        let runtime = run.watch(runtime::<B>(workers));
        let cargo = Box::new(round);
        assert_eq!(*runtime.spawn(move || cargo).join().unwrap(), round);
        rounds::pause(run.dice.linger());
        if run.dice.bool() {
            let report = runtime.shutdown(Policy::Drain, None).unwrap();
            assert_eq!((report.ran, report.dropped), (1, 0), "{report}");
        }
    }
}
