//! Affinity: what is granted is read back, what is not is named. Each test pins a thread of its own.
#![cfg(all(target_os = "linux", not(miri)))]

use std::thread;

use parkade_linux::affinity::{self, AffinityError, CpuSet};

/// Runs `test` on a fresh thread, whose pin dies with it.
fn on_a_thread<R: Send>(test: impl FnOnce() -> R + Send) -> R {
    thread::scope(|scope| scope.spawn(test).join().expect("the test's thread passes"))
}

/// A CPU that can be named and is not there.
fn absent_cpu() -> usize {
    let here = affinity::process().expect("readable");
    let absent = CpuSet::MAX_CPUS - 1;
    assert!(!here.contains(absent), "this machine has every CPU");
    absent
}

#[test]
fn each_allowed_cpu_can_be_pinned_to_and_is_read_back() {
    for cpu in affinity::allowed_cpus().expect("readable") {
        on_a_thread(|| {
            affinity::pin_current_thread(cpu).expect("an allowed CPU");
            let now = affinity::current_thread().expect("readable");
            assert!(now.iter().eq([cpu]), "asked for {cpu}, got {now}");
            assert_eq!(rustix::thread::sched_getcpu(), cpu);
        });
    }
}

#[test]
fn a_whole_set_is_read_back() {
    on_a_thread(|| {
        let all = affinity::process().expect("readable");
        let one = all.iter().next().expect("a process has a CPU");
        affinity::pin_current_thread(one).expect("an allowed CPU");
        affinity::set_current_thread(&all).expect("the process's own set");
        assert_eq!(affinity::current_thread(), Ok(all));
    });
}

#[test]
fn a_pin_leaves_the_process_and_its_list_alone() {
    let before = affinity::allowed_cpus().expect("readable");
    on_a_thread(|| {
        affinity::pin_current_thread(before[0]).expect("an allowed CPU");
        assert_eq!(affinity::allowed_cpus().as_ref(), Ok(&before));
    });
    assert!(before.is_sorted());
    assert_eq!(before.len(), affinity::process().expect("readable").len());
}

/// A2: an error naming the CPU.
#[test]
fn an_absent_cpu_is_named_and_changes_nothing() {
    let cpu = absent_cpu();
    on_a_thread(|| {
        let before = affinity::current_thread().expect("readable");
        let error = affinity::pin_current_thread(cpu).expect_err("it is not there");
        assert_eq!(error, AffinityError::Unavailable { cpu, errno: 22 });
        assert!(error.to_string().contains("CPU 1023 "), "{error}");
        assert_eq!(affinity::current_thread(), Ok(before));
    });
}

/// The kernel alone would grant the CPUs that exist and say nothing of the other.
#[test]
fn a_set_with_one_absent_cpu_is_refused_whole() {
    let cpu = absent_cpu();
    on_a_thread(|| {
        let before = affinity::current_thread().expect("readable");
        let there = before.iter().next().expect("a thread has a CPU");
        let wanted = CpuSet::from_cpus([there, cpu]).expect("both can be named");
        assert_eq!(
            affinity::set_current_thread(&wanted),
            Err(AffinityError::Unavailable { cpu, errno: 22 })
        );
        assert_eq!(affinity::current_thread(), Ok(before));
    });
}

/// F3: numbers beyond the mask do not overflow.
#[test]
fn a_cpu_out_of_range_is_named() {
    for cpu in [CpuSet::MAX_CPUS, CpuSet::MAX_CPUS + 1, usize::MAX] {
        let error = AffinityError::OutOfRange { cpu };
        assert_eq!(affinity::pin_current_thread(cpu), Err(error));
        assert_eq!(CpuSet::from_cpus([0, cpu, 1]), Err(error));
        assert!(error.to_string().contains(&cpu.to_string()), "{error}");
        assert!(!CpuSet::new().contains(cpu));
    }
}

#[test]
fn the_empty_set_is_refused() {
    assert_eq!(
        affinity::set_current_thread(&CpuSet::new()),
        Err(AffinityError::Empty)
    );
}

#[test]
fn the_highest_cpu_can_be_named_and_a_set_is_sorted_and_counts_once() {
    let set = CpuSet::from_cpus([CpuSet::MAX_CPUS - 1, 7, 0, 7]).expect("all can be named");
    assert_eq!(set.len(), 3);
    assert_eq!(set.to_string(), "0,7,1023");
    assert_eq!(format!("{set:?}"), "{0, 7, 1023}");
}
