//! The decisions, one by one, on a clock that stands still.

use super::*;

const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// Tags of so many workers at least and at most, all of the former at work.
fn tally(bounds: &[(usize, usize)], max_blocked: usize, ceiling: usize) -> Tally {
    let bounds = bounds.iter().map(|&(min, max)| Bounds {
        min,
        max,
        max_blocked,
        keep_alive: KEEP_ALIVE,
    });
    let mut tally = Tally::new(bounds.clone(), ceiling);
    assert_eq!(tally.next(Instant::now()), None, "the builder starts those");
    let first = bounds.enumerate();
    let first = first.flat_map(|(tag, of)| (0..of.min).map(move |worker| slot(tag, worker)));
    tally.began(first);
    tally.review();
    // Whoever may grow is looked at once.
    while let Some(step) = tally.next(Instant::now()) {
        assert!(matches!(step, Step::Look(..)), "{step:?}");
    }
    tally
}

fn awake(_: Slot) -> Seen {
    Seen {
        sleeps: false,
        parked: 0,
    }
}

fn asleep(_: Slot) -> Seen {
    Seen {
        sleeps: true,
        parked: 1,
    }
}

fn leave(tally: &mut Tally, slot: Slot) {
    tally.left(slot);
    tally.review();
    assert_eq!(tally.next(Instant::now()), Some(Step::Join(slot)));
    tally.joined(slot);
    tally.review();
}

fn asks_and_is_short(tally: &mut Tally, tag: usize) -> Option<Slot> {
    assert!(tally.ask(TagIndex(tag)));
    tally.review();
    let Some(Step::Look(_, _)) = tally.next(Instant::now()) else {
        panic!("a request is looked at")
    };
    tally.judge(TagIndex(tag), Verdict::Short, Instant::now())
}

#[test]
fn one_at_a_time_and_the_next_when_it_has_looked() {
    let mut tally = tally(&[(1, 3)], 0, usize::MAX);
    let tag = TagIndex(0);
    assert!(tally.is_open(tag));
    let second = asks_and_is_short(&mut tally, 0).unwrap();
    assert_eq!(second, slot(0, 1));
    tally.review();
    assert!(!tally.is_open(tag), "one is being started");
    tally.arrived(second);
    tally.review();
    assert!(!tally.is_open(tag), "it has not looked");
    tally.looked(second);
    assert!(tally.review(), "as good as asked");
    let now = Instant::now();
    let both = vec![WorkerIndex(0), WorkerIndex(1)];
    assert_eq!(tally.next(now), Some(Step::Look(tag, both)));
    let third = tally.judge(tag, Verdict::Short, now).unwrap();
    tally.arrived(third);
    tally.looked(third);
    tally.review();
    assert!(!tally.is_open(tag), "at its maximum");
    assert_eq!(tally.counts(tag).grown, 2);
}

#[test]
fn an_unclear_look_is_repeated_later_and_later_up_to_a_limit() {
    let mut tally = tally(&[(1, 2)], 0, usize::MAX);
    let tag = TagIndex(0);
    let mut now = Instant::now();
    assert!(tally.ask(tag));
    let mut last = Duration::ZERO;
    for _ in 0..20 {
        assert!(matches!(tally.next(now), Some(Step::Look(..))));
        assert_eq!(tally.judge(tag, Verdict::Unclear, now), None);
        assert!(!tally.is_open(tag), "it is asked already");
        assert_eq!(tally.next(now), None);
        let at = tally.next_at().unwrap();
        assert!(at - now >= last && at - now <= LONGEST_PAUSE);
        last = at - now;
        now = at;
    }
    assert_eq!(last, LONGEST_PAUSE);
    assert!(matches!(tally.next(now), Some(Step::Look(..))));
    assert_eq!(tally.judge(tag, Verdict::Enough, now), None);
    assert_eq!(tally.next_at(), None, "nothing ticks");
}

#[test]
fn a_start_that_failed_is_tried_again_when_asked() {
    let mut tally = tally(&[(1, 4)], 0, usize::MAX);
    let tag = TagIndex(0);
    tally.resize(tag, 2);
    assert!(tally.review());
    let Some(Step::Start(second)) = tally.next(Instant::now()) else {
        panic!("it is below its minimum")
    };
    tally.failed(second);
    tally.review();
    let counts = tally.counts(tag);
    assert_eq!((counts.failed_starts, counts.missing), (1, 1));
    assert_eq!(tally.next(Instant::now()), None, "not by itself");
    assert!(tally.is_open(tag));
    assert!(tally.ask(tag));
    assert_eq!(tally.next(Instant::now()), Some(Step::Start(second)));
    tally.arrived(second);
    assert_eq!(tally.counts(tag).missing, 0);
}

#[test]
fn sleepers_leave_first_and_the_last_one_stays_whatever_starts() {
    let mut tally = tally(&[(4, 4)], 0, usize::MAX);
    let tag = TagIndex(0);
    tally.resize(tag, 2);
    let sleeper = slot(0, 1);
    let leavers = tally.leavers(|slot| slot == sleeper);
    assert_eq!(leavers, [sleeper, slot(0, 3)]);
    assert_eq!(tally.leavers(|_| true), [], "asked once");
    tally.resize(tag, 4);
    tally.review();
    assert_eq!(tally.next(Instant::now()), None, "no place is free yet");
    leave(&mut tally, sleeper);
    let Some(Step::Start(fourth)) = tally.next(Instant::now()) else {
        panic!("a place is free")
    };
    assert_eq!(fourth, sleeper);
    // It has not come, so the two that stay are one too many, and neither is the last.
    tally.resize(tag, 1);
    assert_eq!(tally.leavers(|_| false), [slot(0, 2)]);
    tally.arrived(fourth);
    assert_eq!(tally.leavers(|_| false), [fourth]);
    assert_eq!(tally.leavers(|_| true), []);
}

#[test]
fn the_ceiling_counts_every_minimum() {
    let mut tally = tally(&[(1, 8), (2, 8)], 0, 4);
    let second = asks_and_is_short(&mut tally, 0).unwrap();
    tally.arrived(second);
    tally.looked(second);
    tally.review();
    assert!(!tally.is_open(TagIndex(0)) && !tally.is_open(TagIndex(1)));
    assert_eq!(tally.beyond_ceiling(TagIndex(1), 3), None);
    assert_eq!(tally.beyond_ceiling(TagIndex(1), 4), Some(5));
    tally.resize(TagIndex(1), 3);
    assert_eq!(tally.leavers(|_| false), [second], "given back");
}

#[test]
fn a_blocked_worker_is_replaced_as_long_as_it_blocks() {
    let mut tally = tally(&[(1, 1)], 1, usize::MAX);
    let tag = TagIndex(0);
    assert!(!tally.is_open(tag));
    tally.block(tag);
    assert!(tally.review());
    let Some(Step::Look(..)) = tally.next(Instant::now()) else {
        panic!("it can grow now")
    };
    let other = tally.judge(tag, Verdict::Short, Instant::now()).unwrap();
    tally.arrived(other);
    tally.looked(other);
    tally.unblock(tag);
    assert_eq!(tally.leavers(|_| false), [other]);
    leave(&mut tally, other);
    assert_eq!(tally.counts(tag).retired, 1);
}

#[test]
fn who_sleeps_through_a_keep_alive_time_leaves() {
    let mut tally = tally(&[(1, 3)], 0, usize::MAX);
    let begun = Instant::now();
    assert_eq!(tally.expired(begun, asleep), []);
    assert_eq!(tally.next_at(), None, "at its minimum");
    for worker in [1, 2] {
        let late = asks_and_is_short(&mut tally, 0).unwrap();
        assert_eq!(late, slot(0, worker));
        tally.arrived(late);
        tally.looked(late);
        tally.review();
        assert!(matches!(tally.next(begun), Some(Step::Look(..))) == (worker == 1));
    }
    assert_eq!(tally.expired(begun, asleep), [], "the time begins");
    let over = begun + KEEP_ALIVE;
    assert_eq!(tally.next_at(), Some(over));
    assert_eq!(tally.expired(over, awake), [], "they work");
    let over = over + KEEP_ALIVE;
    assert_eq!(tally.expired(over, asleep), [], "they have worked");
    let over = over + KEEP_ALIVE;
    assert_eq!(tally.expired(over, asleep), [slot(0, 2), slot(0, 1)]);
    assert_eq!(tally.next_at(), None);
}

#[test]
fn a_task_for_each_worker_between_two_tasks_is_not_too_many() {
    let inside = (Some(1), Some(1));
    // One that looks, one that came back from one, one that went to another.
    for between in [(None, None), (Some(3), None), (Some(1), Some(3))] {
        let verdict = |waiting, seen: &[_]| Verdict::of(waiting, seen.iter().copied());
        assert_eq!(verdict(1, &[between, inside]), Verdict::Unclear);
        assert_eq!(verdict(2, &[between, inside]), Verdict::Short);
        assert_eq!(verdict(2, &[between, between]), Verdict::Unclear);
        assert_eq!(verdict(1, &[inside, inside]), Verdict::Short);
        assert_eq!(verdict(0, &[between, inside]), Verdict::Enough);
        assert_eq!(verdict(1, &[]), Verdict::Short);
    }
}

#[test]
fn a_closed_tag_wants_nobody_and_leaves_its_share_to_the_others() {
    let now = Instant::now();
    let mut tally = tally(&[(2, 4), (1, 3)], 0, 3);
    tally.close(TagIndex(0));
    tally.review();
    assert!(!tally.ask(TagIndex(0)), "no look comes of it");
    assert!(tally.leavers(|_| true).is_empty(), "they leave unasked");
    assert!(tally.expired(now + 3 * KEEP_ALIVE, asleep).is_empty());
    assert_eq!((tally.next(now), tally.next_at()), (None, None));
    for worker in 0..2 {
        tally.left(slot(0, worker));
    }
    assert!(tally.review());
    let look = Step::Look(TagIndex(1), vec![WorkerIndex(0)]);
    assert_eq!(tally.next(now), Some(look), "nobody is to be joined");
    let place = tally.judge(TagIndex(1), Verdict::Short, now);
    assert_eq!(place, Some(slot(1, 1)));
    let counts = tally.counts(TagIndex(0));
    assert_eq!((counts.wanted, counts.missing, counts.retired), (0, 0, 0));
}
