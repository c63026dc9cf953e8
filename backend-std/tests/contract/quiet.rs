//! Obligation 5, *never panics, never allocates* after construction; `wake` may be called from any thread,
//! also from one that is about to exit.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use parkade_core::Park;

use crate::bed::{Bed, Verdict, Violation, within};

/// Counts the allocations of the sleeping thread and of the waking one, first use included.
pub(crate) fn no_allocation<K: Park + 'static>(
    make: impl Fn() -> K,
    patience: Duration,
) -> Verdict {
    let bed = Bed::new(make());
    within(patience, move |deadline| {
        let sleeper = thread::spawn({
            let bed = Arc::clone(&bed);
            move || allocation_counter::measure(|| bed.park.wait(&bed.word, 0)).count_total
        });
        let mut times = 0;
        deadline.until(|| {
            let mut woken = 0;
            times += allocation_counter::measure(|| woken = bed.wake(1)).count_total;
            woken == 1 || sleeper.is_finished()
        })?;
        times += deadline.join(sleeper)?;
        match times {
            0 => Ok(()),
            times => Err(Violation::Allocated { times }),
        }
    })
}

/// Wakes when it is dropped.
struct Farewell(Box<dyn Fn()>);

impl Drop for Farewell {
    fn drop(&mut self) {
        (self.0)();
    }
}

thread_local! {
    static FAREWELL: RefCell<Option<Farewell>> = const { RefCell::new(None) };
}

/// The wakes come from the destructor of a thread-local, after the thread has used the park in life; they
/// must find the sleeper.
pub(crate) fn a_dying_thread_wakes<K: Park + 'static>(
    make: impl Fn() -> K,
    patience: Duration,
) -> Verdict {
    let bed = Bed::new(make());
    within(patience, move |deadline| {
        let sleeper = bed.sleeper();
        let (found, find) = channel();
        let dying = thread::spawn({
            let bed = Arc::clone(&bed);
            move || {
                let farewell = Arc::clone(&bed);
                FAREWELL.set(Some(Farewell(Box::new(move || {
                    let verdict = deadline.until(|| farewell.wake(1) == 1);
                    // The check may have been given up by now.
                    let _ = found.send(verdict);
                }))));
                bed.wake(0);
            }
        });
        deadline.join(dying)?;
        find.recv().map_err(|_| Violation::Panicked)??;
        bed.get_up();
        deadline.join(sleeper)?;
        Ok(())
    })
}

/// Numbers at the edges, with nobody and with somebody asleep, panic nowhere.
pub(crate) fn odd_numbers<K: Park + 'static>(make: impl Fn() -> K, patience: Duration) -> Verdict {
    let bed = Bed::new(make());
    within(patience, move |deadline| {
        let edges = [0, 1, i32::MAX as u32, i32::MAX as u32 + 1, u32::MAX];
        for n in edges {
            bed.wake(n);
        }
        let sleeper = bed.sleeper();
        for n in edges.into_iter().filter(|&n| n != 0) {
            deadline.until(|| bed.wake(n) == 1)?;
        }
        bed.wake(0);
        bed.get_up();
        deadline.join(sleeper)?;
        Ok(())
    })
}
