//! The examples that show one thing each: what they print adds up, and what they claim holds.
//!
//! An example checks its claims itself and fails if one does not hold; here it runs on each backend, with small numbers,
//! and what it has printed is read back. `treehash` and `echo`, which are programs, have test programs of their own.

#![cfg(feature = "std")]

#[macro_use]
#[path = "behaviour/each_backend.rs"]
mod each_backend;

// The examples' own modules, at the same place in the crate as there.
#[path = "../examples/graceful_stop/acts.rs"]
mod acts;
#[path = "../examples/own_backend/own.rs"]
mod own;
#[path = "../examples/server_rhythm/rhythm.rs"]
mod rhythm;
#[path = "../examples/shared_cores/threads.rs"]
mod threads;
#[path = "../examples/shared_cores/turns.rs"]
mod turns;
#[path = "../examples/own_backend/workload.rs"]
mod workload;

use clap::Parser;
use parkade::Backend;

on_each_backend!(
    each_stop_accounts_for_every_task;
    no_spurious_return: // They look at workers that sleep, and count that none wakes.
    bursts_are_answered_and_then_all_rest,
    an_idle_pool_uses_nothing_in_the_others_turn,
);

fn args<A: Parser>(words: &[&str]) -> A {
    A::try_parse_from(["example"].iter().chain(words)).unwrap()
}

/// What an example prints, if it succeeds.
fn printed(run: impl FnOnce(&mut Vec<u8>) -> Result<(), Box<dyn std::error::Error>>) -> String {
    let mut out = Vec::new();
    let outcome = run(&mut out);
    let printed = String::from_utf8(out).unwrap();
    if let Err(error) = outcome {
        panic!("{error}, after\n{printed}");
    }
    printed
}

/// The numbers of the lines that begin with `heading`, punctuation aside.
fn numbers(printed: &str, heading: &str) -> Vec<Vec<f64>> {
    let lines = printed.lines().map(str::trim);
    let lines = lines.filter_map(|line| line.strip_prefix(heading));
    let numbers = lines.map(|line| {
        let words = line
            .split_whitespace()
            .map(|word| word.trim_end_matches([',', ';', ':']));
        words.filter_map(|word| word.parse().ok()).collect()
    });
    numbers.collect()
}

fn bursts_are_answered_and_then_all_rest<B: Backend>() {
    let words = [
        "--bursts",
        "50",
        "--tasks",
        "8",
        "--work",
        "10",
        "--workers",
        "3",
    ];
    let args = args::<rhythm::Args>(&words);
    let printed = printed(|out| rhythm::run::<B>(&args, out));
    let late = numbers(&printed, "bursts")[0].pop();
    assert_eq!(
        numbers(&printed, "bursts")[0],
        [50.0, 8.0, 10.0, 500.0, late.unwrap()]
    );
    assert_eq!(numbers(&printed, "workers"), [[3.0]]);
    assert_eq!(numbers(&printed, "tasks"), [[400.0]]);
    let [calls, a_task, sleeps, _] = numbers(&printed, "wakes")[0][..] else {
        panic!("{printed}");
    };
    assert!((1.0..=400.0).contains(&calls), "{printed}");
    assert!((a_task - calls / 400.0).abs() < 0.001, "{printed}");
    assert!(sleeps >= 1.0, "{printed}");
    let at_rest = &numbers(&printed, "at rest")[0];
    assert!(at_rest.iter().all(|&number| number == 0.0), "{printed}");
    for heading in ["wait", "response", "CPU"] {
        assert_eq!(numbers(&printed, heading).len(), 1, "{printed}");
    }
}

fn an_idle_pool_uses_nothing_in_the_others_turn<B: Backend>() {
    let args = args::<turns::Args>(&["--turns", "3", "--items", "7", "--workers", "2"]);
    let printed = printed(|out| turns::run::<B>(&args, out));
    // A copy for each worker to find its thread, and a task for each block.
    let tasks = f64::from(2 + 3 * 7);
    for pool in ["calc", "write"] {
        assert_eq!(numbers(&printed, pool)[0][..2], [2.0, tasks], "{printed}");
    }
    let bytes = f64::from(3 * 7 * 4096 * 8);
    assert_eq!(numbers(&printed, "written"), [[bytes, 3.0]]);
    // Three columns a pool; where the system tells nothing, one.
    let [in_calc, in_write] =
        ["turns of calc", "turns of write"].map(|row| numbers(&printed, row).remove(0));
    let half = in_calc.len() / 2;
    let ((calc, nothing), (none, write)) = (in_calc.split_at(half), in_write.split_at(half));
    for (worked, idle) in [(calc, nothing), (write, none)] {
        assert!(idle.iter().all(|&number| number == 0.0), "{printed}");
        assert!(worked.iter().all(|&number| number > 0.0), "{printed}");
    }
    assert!(printed.contains("in the other's turn a pool uses nothing"));
}

fn each_stop_accounts_for_every_task<B: Backend>() {
    let args = args::<acts::Args>(&["--tasks", "200", "--deadline", "50"]);
    let printed = printed(|out| acts::run::<B>(&args, out));
    let accepted = numbers(&printed, "accepted");
    assert_eq!(accepted.len(), 3, "{printed}");
    for act in &accepted {
        // Two that run when the stop comes, those in the queue, three timed tasks that are due and five that are not.
        assert_eq!(act[0], 210.0, "{printed}");
        assert_eq!(act[1] + act[2], act[0], "{printed}");
    }
    for spawned in numbers(&printed, "spawned") {
        let [spawned, ran, dropped, fired, cancelled] = spawned[..] else {
            panic!("{printed}");
        };
        assert_eq!(
            (ran + dropped, 202.0 + fired),
            (spawned, spawned),
            "{printed}"
        );
        assert!(cancelled >= 5.0, "{printed}");
    }
    // A drain drops what is not due, and nothing else.
    assert_eq!(accepted[0], [210.0, 205.0, 5.0], "{printed}");
    assert!(printed.contains("workers still run: "), "{printed}");
    assert_eq!(printed.matches("ran here: 42").count(), 3, "{printed}");
}

#[test]
fn a_park_of_ones_own_carries_a_runtime() {
    each_backend::within(
        "examples::a_park_of_ones_own_carries_a_runtime",
        each_backend::limit(),
        || {
            let args = args::<workload::Args>(&["--rounds", "300", "--workers", "3"]);
            let printed = printed(|out| workload::run(&args, out));
            assert_eq!(numbers(&printed, "rounds"), [[300.0, 300.0]]);
            assert_eq!(numbers(&printed, "tree"), [[f64::from(2 << 12)]]);
            assert_eq!(
                numbers(&printed, "at rest")[0][..2],
                [0.0, 100.0],
                "{printed}"
            );

            let runtime = each_backend::runtime::<own::Own>(2);
            let numbers = runtime.map(0..100, |number| number + 1);
            assert_eq!(numbers.iter().sum::<usize>(), 5050);
        },
    );
}
