//! `join`: fork-join in its finest grain, and in a small piece of work that is entered from outside.
//!
//! Fibonacci's 30th number, with a join at every level and no serial cut-off, is 1.3 million joins around next to no
//! work: it is the price of one join that nobody steals. The sum of a tree of 1023 nodes is a few microseconds of
//! work that a caller outside asks for and waits for, over and over: it is the price of going in and out, and of
//! having the others come to help.
//!
//! Everyone runs the same two functions; the floor runs them with a join that calls one closure after the other.

use std::hint::black_box;

use anyhow::{Result, ensure};

use super::{Floor, Page, Shape};
use crate::cell::{Figure, Measured, Options};
use crate::clocks::Clocks;
use crate::contender::{ForkJoin, ForkJoinRow, InPlace, fork_joiners};

pub(super) const PAGE: Page = Page {
    like: "sorting, building a tree or rendering by divide and conquer",
    floor: Some(Floor {
        is: "one thread that calls one closure after the other",
        measure: Join::measure::<InPlace>,
    }),
    offers: fork_joiners::<Join>(),
    shapes: &[Shape::workers(1), Shape::workers(2), Shape::workers(8)],
    traced_tasks: None,
    figures: &[FIB, FIB_PROCESSOR_TIME, SUM, SUM_PROCESSOR_TIME],
};

const FIB: Figure = Figure::lower("fib(30)", "ns/join").main();
const FIB_PROCESSOR_TIME: Figure = Figure::lower("fib(30), processor time", "ns/join");
const SUM: Figure = Figure::lower("sum of 1023 nodes", "ns/sum");
const SUM_PROCESSOR_TIME: Figure = Figure::lower("sum of 1023 nodes, processor time", "ns/sum");

/// Which of Fibonacci's numbers.
const N: u32 = 30;

/// How often it is computed.
const FIBS: u64 = 3;

/// How many levels the tree has.
const LEVELS: u32 = 10;

struct Join;

impl ForkJoinRow for Join {
    fn measure<C: ForkJoin>(options: &Options) -> Result<Measured> {
        let pool = C::start_for_good(options.workers)?;
        black_box(fib(pool, N / 2));
        let clocks = Clocks::start();
        for _ in 0..FIBS {
            let fib = fib(pool, black_box(N));
            ensure!(fib == 832_040, "fib({N}) is not {fib}");
        }
        let of_fib = clocks.per(FIBS * joins(N), FIB, FIB_PROCESSOR_TIME);

        let tree = Node::with_levels(LEVELS);
        let sums = options.tasks.unwrap_or(5000);
        black_box(sum(pool, &tree));
        let clocks = Clocks::start();
        for _ in 0..sums {
            let sum = sum(pool, black_box(&tree));
            ensure!(sum == 1023, "the sum of 1023 ones is not {sum}");
        }
        Ok(Measured::new(of_fib).and(clocks.per(sums, SUM, SUM_PROCESSOR_TIME)))
    }
}

/// Fibonacci's `n`-th number, from outside; `n` is at least 2.
fn fib<C: ForkJoin>(pool: &C, n: u32) -> u64 {
    let (last, before) = pool.enter(
        |scope| fib_inside::<C>(scope, n - 1),
        |scope| fib_inside::<C>(scope, n - 2),
    );
    last + before
}

fn fib_inside<C: ForkJoin>(scope: &mut C::Scope<'_>, n: u32) -> u64 {
    if n < 2 {
        return u64::from(n);
    }
    let (last, before) = C::join(
        scope,
        |scope| fib_inside::<C>(scope, n - 1),
        |scope| fib_inside::<C>(scope, n - 2),
    );
    last + before
}

/// How many joins it takes: one less than Fibonacci's next number.
fn joins(n: u32) -> u64 {
    let (mut this, mut next) = (0, 1);
    for _ in 0..n {
        (this, next) = (next, this + next);
    }
    next - 1
}

/// A node of a binary tree in which each level is full.
struct Node {
    value: u64,
    below: Option<Box<[Node; 2]>>,
}

impl Node {
    fn with_levels(levels: u32) -> Self {
        let below = (levels > 1).then(|| {
            Box::new([
                Self::with_levels(levels - 1),
                Self::with_levels(levels - 1),
            ])
        });
        Self { value: 1, below }
    }
}

/// The sum of the whole tree, from outside.
fn sum<C: ForkJoin>(pool: &C, tree: &Node) -> u64 {
    let Some(below) = &tree.below else {
        return tree.value;
    };
    let (left, right) = pool.enter(
        |scope| sum_inside::<C>(scope, &below[0]),
        |scope| sum_inside::<C>(scope, &below[1]),
    );
    tree.value + left + right
}

fn sum_inside<C: ForkJoin>(scope: &mut C::Scope<'_>, tree: &Node) -> u64 {
    let Some(below) = &tree.below else {
        return tree.value;
    };
    let (left, right) = C::join(
        scope,
        |scope| sum_inside::<C>(scope, &below[0]),
        |scope| sum_inside::<C>(scope, &below[1]),
    );
    tree.value + left + right
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::contender::{Contender, Name, Parkade, Std};

    #[test]
    fn numbers_and_sums_are_right_and_both_sides_are_run() -> Result<()> {
        let pool = Parkade::<Std>::start(2)?;
        assert_eq!(fib(&pool, 15), 610);
        assert_eq!(fib(&InPlace, 15), 610);
        let tree = Node::with_levels(LEVELS);
        assert_eq!(sum(&pool, &tree), 1023);
        assert_eq!(sum(&InPlace, &tree), 1023);
        Ok(())
    }

    /// Joins in place, and counts.
    struct Counting;

    static JOINS: AtomicU64 = AtomicU64::new(0);

    impl Contender for Counting {
        const NAME: Name = Name::Floor;

        fn start(_: u16) -> Result<Self> {
            Ok(Self)
        }
    }

    impl ForkJoin for Counting {
        type Scope<'s> = ();

        fn enter<A, B, RA, RB>(&self, first: A, second: B) -> (RA, RB)
        where
            A: FnOnce(&mut ()) -> RA + Send,
            B: FnOnce(&mut ()) -> RB + Send,
            RA: Send,
            RB: Send,
        {
            Self::join(&mut (), first, second)
        }

        fn join<A, B, RA, RB>(scope: &mut (), first: A, second: B) -> (RA, RB)
        where
            A: FnOnce(&mut ()) -> RA + Send,
            B: FnOnce(&mut ()) -> RB + Send,
            RA: Send,
            RB: Send,
        {
            JOINS.fetch_add(1, Ordering::Relaxed);
            (first(scope), second(scope))
        }
    }

    #[test]
    fn there_are_as_many_joins_as_the_figures_are_divided_by() {
        fib(&Counting, 20);
        assert_eq!(JOINS.load(Ordering::Relaxed), joins(20));
    }
}
