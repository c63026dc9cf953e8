//! What happens when the kernel refuses: fences fall back when it refuses in time, and the process ends
//! with a message when it refuses too late. The refusals come from a seccomp filter, which binds only the
//! thread that installs it; what must end the process runs in a child process.
#![cfg(all(target_os = "linux", feature = "std", not(miri)))]

use std::collections::BTreeMap;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use parkade_core::sync::AtomicU32;
use parkade_core::{Fences, Park};
use parkade_linux::{FenceKind, FutexPark, MembarrierFences, affinity};
use rustix::thread::{MembarrierCommand, membarrier_query};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};

const EPERM: u32 = 1;
const SIGABRT: i32 = 6;
/// How long a child may take; a hang detector, it needs some 50 ms.
const PATIENCE: Duration = Duration::from_secs(20);
/// Set in a child process: the test that it is to die in.
const CHILD: &str = "PARKADE_TEST_CHILD";

/// Makes the kernel refuse one system call to the calling thread from now on.
fn refuse(call: &str) {
    let number = match (call, std::env::consts::ARCH) {
        ("membarrier", "x86_64") => 324,
        ("membarrier", _) => 283,
        ("futex", "x86_64") => 202,
        ("futex", _) => 98,
        ("sched_getaffinity", "x86_64") => 204,
        ("sched_getaffinity", _) => 123,
        _ => panic!("no number for {call}"),
    };
    let filter = SeccompFilter::new(
        BTreeMap::from([(number, Vec::new())]),
        SeccompAction::Allow,
        SeccompAction::Errno(EPERM),
        std::env::consts::ARCH.try_into().expect("a known machine"),
    )
    .expect("a valid filter");
    let program: BpfProgram = filter.try_into().expect("a valid program");
    apply_filter(&program).expect("the kernel takes the filter");
}

/// Runs one test of this program again as a child and returns what it printed before it aborted.
fn dies_as_child(test: &str) -> String {
    let mut child = Command::new(std::env::current_exe().expect("this program has a path"))
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(CHILD, test)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the child starts");
    let deadline = Instant::now() + PATIENCE;
    let status = loop {
        if let Some(status) = child.try_wait().expect("our own child") {
            break status;
        }
        if Instant::now() > deadline {
            child.kill().expect("our own child");
            panic!("the child neither aborted nor ended within {PATIENCE:?}");
        }
        thread::sleep(Duration::from_millis(5));
    };
    let mut said = String::new();
    child
        .stderr
        .take()
        .expect("piped")
        .read_to_string(&mut said)
        .expect("a readable message");
    assert_eq!(status.signal(), Some(SIGABRT), "{said}");
    said
}

fn is_child(test: &str) -> bool {
    std::env::var(CHILD).is_ok_and(|child| child == test)
}

#[test]
fn fences_fall_back_where_membarrier_is_refused() {
    let fences = thread::spawn(|| {
        refuse("membarrier");
        let fences = MembarrierFences::detect();
        fences.light();
        fences.heavy(); // asks the kernel for nothing, or this would be the end
        fences
    })
    .join()
    .expect("the fences work without membarrier");
    assert_eq!(fences.kind(), FenceKind::SeqCst);
    assert_eq!(fences.to_string(), "SeqCst fences");
}

/// Where the kernel offers `membarrier`, as those since 4.14 do, detection must not shy away from it.
#[test]
fn fences_use_membarrier_where_it_is_offered() {
    let offered = membarrier_query().contains_command(MembarrierCommand::PrivateExpedited);
    let (kind, name) = if offered {
        (FenceKind::Membarrier, "membarrier")
    } else {
        (FenceKind::SeqCst, "SeqCst fences")
    };
    for _ in 0..2 {
        let fences = MembarrierFences::detect();
        assert_eq!(fences.kind(), kind);
        assert_eq!(fences.to_string(), name);
    }
    assert_eq!(MembarrierFences::seq_cst().kind(), FenceKind::SeqCst);
}

#[test]
fn a_late_refusal_of_membarrier_ends_the_process() {
    const SELF: &str = "a_late_refusal_of_membarrier_ends_the_process";
    if is_child(SELF) {
        let fences = MembarrierFences::detect();
        refuse("membarrier");
        fences.heavy();
        return;
    }
    let said = dies_as_child(SELF);
    assert!(said.contains("membarrier failed with errno 1"), "{said}");
}

#[test]
fn a_refused_futex_wait_ends_the_process() {
    const SELF: &str = "a_refused_futex_wait_ends_the_process";
    if is_child(SELF) {
        refuse("futex");
        FutexPark.wait(&AtomicU32::new(0), 1);
        return;
    }
    let said = dies_as_child(SELF);
    assert!(said.contains("futex wait failed with errno 1"), "{said}");
}

#[test]
fn a_refused_futex_wake_ends_the_process() {
    const SELF: &str = "a_refused_futex_wake_ends_the_process";
    if is_child(SELF) {
        refuse("futex");
        FutexPark.wake(&AtomicU32::new(0), 1);
        return;
    }
    let said = dies_as_child(SELF);
    assert!(said.contains("futex wake failed with errno 1"), "{said}");
}

#[test]
fn a_refused_affinity_call_is_a_typed_error() {
    let answer = thread::spawn(|| {
        refuse("sched_getaffinity");
        affinity::current_thread()
    })
    .join()
    .expect("a refusal is no panic");
    assert_eq!(
        answer,
        Err(affinity::AffinityError::ReadRefused { errno: 1 })
    );
}
