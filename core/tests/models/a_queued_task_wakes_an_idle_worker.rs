//! I1 for tasks from outside: no task stays queued beside a sleeping worker.

use crate::platform::explore_to;
use crate::scenario::Cast::{Asleep, Busy, Fresh, Lingering, Searching};
use crate::scenario::{Cast, play};

macro_rules! plays {
    ($($name:ident: $preemptions:literal preemptions, $cast:expr, quota $quota:expr, submitters $submitters:expr, at least $least:expr;)+) => {
        $(
            #[test]
            fn $name() {
                const CAST: &[Cast] = &$cast;
                explore_to($preemptions, $least, || play(CAST, $quota, &$submitters));
            }
        )+
    };
}

plays! {
    fresh_one_task: 2 preemptions, [Fresh], quota 1, submitters [1], at least 50;
    asleep_one_task: 2 preemptions, [Asleep], quota 1, submitters [1], at least 20;
    fresh_two_submitters: 2 preemptions, [Fresh], quota 2, submitters [1, 1], at least 500;
    asleep_two_submitters: 2 preemptions, [Asleep], quota 2, submitters [1, 1], at least 500;
    fresh_three_tasks: 1 preemptions, [Fresh], quota 3, submitters [2, 1], at least 500;
    two_fresh_two_tasks: 1 preemptions, [Fresh, Fresh], quota 1, submitters [2], at least 500;
    two_asleep_two_tasks: 2 preemptions, [Asleep, Asleep], quota 1, submitters [2], at least 500;
    fresh_and_asleep_two_submitters: 1 preemptions, [Fresh, Asleep], quota 1, submitters [1, 1], at least 500;
    searching_and_asleep_two_tasks: 1 preemptions, [Searching, Asleep], quota 1, submitters [2], at least 500;
    searching_and_asleep_two_submitters: 1 preemptions, [Searching, Asleep], quota 1, submitters [1, 1], at least 500;
    searching_and_fresh_two_tasks: 1 preemptions, [Searching, Fresh], quota 1, submitters [2], at least 500;
    two_searching_two_tasks: 2 preemptions, [Searching, Searching], quota 1, submitters [2], at least 500;
    lingering_one_task: 2 preemptions, [Lingering], quota 1, submitters [1], at least 50;
    lingering_two_submitters: 2 preemptions, [Lingering], quota 2, submitters [1, 1], at least 500;
    lingering_and_asleep_two_tasks: 1 preemptions, [Lingering, Asleep], quota 1, submitters [2], at least 500;
    lingering_and_asleep_two_submitters: 1 preemptions, [Lingering, Asleep], quota 1, submitters [1, 1], at least 500;
    lingering_and_fresh_two_tasks: 1 preemptions, [Lingering, Fresh], quota 1, submitters [2], at least 500;
    two_words_lingering_and_asleep: 1 preemptions, [Lingering, Busy, Asleep], quota 1, submitters [2], at least 500;
    two_words_fresh_in_the_second: 2 preemptions, [Busy, Busy, Fresh], quota 1, submitters [1], at least 50;
    two_words_asleep_in_each: 1 preemptions, [Asleep, Busy, Asleep], quota 1, submitters [2], at least 500;
    two_words_asleep_and_fresh: 1 preemptions, [Asleep, Busy, Fresh], quota 1, submitters [1, 1], at least 500;
    two_words_fresh_and_asleep: 1 preemptions, [Fresh, Busy, Asleep], quota 1, submitters [1, 1], at least 500;
    two_words_searching_and_asleep: 1 preemptions, [Searching, Busy, Asleep], quota 1, submitters [2], at least 500;
}
