//! Interrupting: what a stop does about workers that are blocked in system calls.
//!
//! Where a test looks at the disposition of a signal, which is the whole process's, it runs in a process of its own.

use std::io::{ErrorKind, PipeReader, PipeWriter, Read, Write, pipe};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use parkade::{Backend, BuildError, Interrupt, JoinHandle, Policy, RuntimeOn, Tag, TagRef};

use crate::child;
use crate::common::{eventually, hold, runtime};

/// Those that can interrupt: Linux.
mod linux {
    tests_on!(
        parkade::backend::Linux: a_blocked_read_ends,
        dropping_the_runtime_interrupts,
        a_task_that_reads_twice_is_interrupted_twice,
        later_tasks_of_a_drain_are_interrupted,
        nobody_is_interrupted_without_need,
        an_opt_out_leaves_the_read_alone,
        a_users_handler_is_left_alone,
        a_handler_that_comes_later_is_left_alone,
        a_signal_that_cannot_be_used_is_named,
        the_signal_may_be_chosen,
        what_waits_by_std_is_not_disturbed,
        a_dump_tells_of_it,
        a_tags_stop_interrupts_its_own_workers,
    );
}

mod faulty_linux {
    tests_on!(
        crate::each_backend::faulty::Faulty<parkade::backend::Linux>: a_blocked_read_ends,
        later_tasks_of_a_drain_are_interrupted,
    );
}

#[cfg(feature = "std")]
mod portable {
    tests_on!(
        parkade::backend::Std: a_backend_that_cannot_says_so,
        an_opt_out_leaves_the_read_alone,
    );
}

/// What a read came to.
type Outcome = Result<usize, ErrorKind>;

fn builder<B: Backend>(interrupt: Interrupt) -> parkade::RuntimeBuilder<B> {
    let tag = Tag::new("only").workers(1);
    RuntimeOn::builder().tag(tag).interrupt(interrupt)
}

/// A task that reads from an empty pipe; it has begun when this returns.
fn blocked<B: Backend>(runtime: &RuntimeOn<B>) -> (JoinHandle<Outcome>, PipeWriter) {
    blocked_in(runtime.default_tag())
}

fn blocked_in<B: Backend>(tag: TagRef<'_, B>) -> (JoinHandle<Outcome>, PipeWriter) {
    let (begun, begins) = mpsc::channel();
    let (mut reader, writer) = pipe().unwrap();
    let handle = tag.spawn(move || {
        begun.send(()).unwrap();
        read(&mut reader)
    });
    begins.recv().unwrap();
    (handle, writer)
}

fn read(reader: &mut PipeReader) -> Outcome {
    reader.read(&mut [0]).map_err(|error| error.kind())
}

/// S7: under either policy, without a deadline.
fn a_blocked_read_ends<B: Backend>() {
    for policy in [Policy::Drain, Policy::Abandon] {
        let runtime = runtime::<B>(2);
        let (one, _open) = blocked(&runtime);
        let (other, _open_too) = blocked(&runtime);
        let report = runtime.shutdown(policy, None).unwrap();
        assert!(report.is_complete());
        assert!(report.interrupts >= 2, "{report}");
        assert_eq!(report.interrupt_failure, None);
        let said = format!(" with {} interrupts: 2 tasks ran", report.interrupts);
        assert!(report.to_string().contains(&said), "{report}");
        for handle in [one, other] {
            assert_eq!(handle.join().unwrap(), Err(ErrorKind::Interrupted));
        }
    }
}

/// S7: nobody asks for a report.
fn dropping_the_runtime_interrupts<B: Backend>() {
    let runtime = runtime::<B>(1);
    let (handle, _open) = blocked(&runtime);
    drop(runtime);
    assert_eq!(handle.join().unwrap(), Err(ErrorKind::Interrupted));
}

/// S7: one signal is not the end of it.
fn a_task_that_reads_twice_is_interrupted_twice<B: Backend>() {
    let runtime = runtime::<B>(1);
    let (begun, begins) = mpsc::channel();
    let (mut reader, _open) = pipe().unwrap();
    let handle = runtime.spawn(move || {
        begun.send(()).unwrap();
        [(); 4].map(|()| read(&mut reader))
    });
    begins.recv().unwrap();
    let report = runtime.shutdown(Policy::Drain, None).unwrap();
    assert_eq!(handle.join().unwrap(), [Err(ErrorKind::Interrupted); 4]);
    assert!(report.interrupts >= 4, "{report}");
}

/// S7: they are accepted, so they run, and block only then.
fn later_tasks_of_a_drain_are_interrupted<B: Backend>() {
    let runtime = runtime::<B>(1);
    let (first, _open) = blocked(&runtime);
    let (later, _all_open): (Vec<_>, Vec<_>) = (0..8)
        .map(|_| {
            let (mut reader, writer) = pipe().unwrap();
            (runtime.spawn(move || read(&mut reader)), writer)
        })
        .unzip();
    let report = runtime.shutdown(Policy::Drain, None).unwrap();
    assert_eq!((report.ran, report.dropped), (9, 0));
    assert_eq!(first.join().unwrap(), Err(ErrorKind::Interrupted));
    for handle in later {
        assert_eq!(handle.join().unwrap(), Err(ErrorKind::Interrupted));
    }
    assert!(report.interrupts >= 9, "{report}");
}

/// Nor is a handler installed.
fn nobody_is_interrupted_without_need<B: Backend>() {
    child::run::<B>("interrupt", "nobody_is_interrupted_without_need", || {
        for policy in [Policy::Drain, Policy::Abandon] {
            let runtime = runtime::<B>(2);
            let held = hold(runtime.default_tag(), 1);
            held.release();
            (0..100).for_each(|n| drop(runtime.spawn(move || n)));
            eventually("all have run", || runtime.metrics().total.ran == 101);
            eventually("nobody works", || runtime.metrics().total.busy == 0);
            let report = runtime.shutdown(policy, None).unwrap();
            assert_eq!(report.interrupts, 0);
        }
        assert_eq!(handler_of(libc::SIGURG), libc::SIG_DFL);
        let runtime = runtime::<B>(1);
        let (_handle, _open) = blocked(&runtime);
        drop(runtime);
        assert_ne!(handler_of(libc::SIGURG), libc::SIG_DFL);
    });
}

fn an_opt_out_leaves_the_read_alone<B: Backend>() {
    // A backend that cannot has nothing to opt out of.
    let interrupt = match B::interrupts() {
        Some(_) => Interrupt::Off,
        None => Interrupt::Auto,
    };
    let runtime = builder::<B>(interrupt).build().unwrap();
    let (handle, mut open) = blocked(&runtime);
    let deadline = Duration::from_millis(100);
    let report = runtime.shutdown(Policy::Drain, Some(deadline)).unwrap();
    assert_eq!((report.interrupts, report.still_running.len()), (0, 1));
    assert_eq!(report.interrupt_failure, None);
    assert!(!handle.is_finished());
    open.write_all(b"x").unwrap();
    assert_eq!(handle.join().unwrap(), Ok(1));
}

static CALLED: AtomicUsize = AtomicUsize::new(0);

extern "C" fn the_users(_signal: libc::c_int) {
    CALLED.fetch_add(1, Ordering::Relaxed);
}

/// Installs a handler as a program may have it.
fn install(signal: i32) {
    // SAFETY: zero bytes are an action, with the address of no function.
    let mut action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
    action.sa_sigaction = the_users as extern "C" fn(libc::c_int) as libc::sighandler_t;
    // SAFETY: the handler does one atomic addition; the other action is not asked for.
    let installed = unsafe { libc::sigaction(signal, &action, ptr::null_mut()) };
    assert_eq!(installed, 0);
}

fn handler_of(signal: i32) -> libc::sighandler_t {
    let mut action = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: nothing is installed, and there is room for what is there.
    let got = unsafe { libc::sigaction(signal, ptr::null(), action.as_mut_ptr()) };
    assert_eq!(got, 0);
    // SAFETY: the call has succeeded.
    unsafe { action.assume_init() }.sa_sigaction
}

/// The runtime's stop runs into its deadline, says why, and the program's handler is as it was and not called.
fn is_not_interrupted<B: Backend>(runtime: &RuntimeOn<B>) {
    let (handle, mut open) = blocked(runtime);
    let deadline = Duration::from_millis(100);
    install(libc::SIGURG);
    let report = runtime.shutdown(Policy::Drain, Some(deadline)).unwrap();
    assert_eq!((report.interrupts, report.still_running.len()), (0, 1));
    let why = format!("signal {} has another handler already", libc::SIGURG);
    assert_eq!(report.interrupt_failure, Some(why.clone()));
    assert!(report.to_string().contains(&why), "{report}");
    assert_eq!(CALLED.load(Ordering::Relaxed), 0);
    assert_eq!(
        handler_of(libc::SIGURG),
        the_users as extern "C" fn(libc::c_int) as libc::sighandler_t
    );
    open.write_all(b"x").unwrap();
    assert_eq!(handle.join().unwrap(), Ok(1));
}

fn a_users_handler_is_left_alone<B: Backend>() {
    child::run::<B>("interrupt", "a_users_handler_is_left_alone", || {
        install(libc::SIGURG);
        let refused = builder::<B>(Interrupt::Signal(libc::SIGURG)).build();
        let refused = refused.unwrap_err();
        assert!(
            matches!(refused, BuildError::Interrupt { signal, .. } if signal == libc::SIGURG),
            "{refused:?}"
        );
        is_not_interrupted(&runtime::<B>(1));
    });
}

fn a_handler_that_comes_later_is_left_alone<B: Backend>() {
    child::run::<B>(
        "interrupt",
        "a_handler_that_comes_later_is_left_alone",
        || {
            let first = runtime::<B>(1);
            let second = runtime::<B>(1);
            let (handle, _open) = blocked(&first);
            drop(first);
            assert_eq!(handle.join().unwrap(), Err(ErrorKind::Interrupted));
            is_not_interrupted(&second);
        },
    );
}

fn a_signal_that_cannot_be_used_is_named<B: Backend>() {
    let unusable = [
        -1,
        0,
        libc::SIGKILL,
        libc::SIGSTOP,
        libc::SIGSEGV,
        libc::SIGTERM,
        libc::SIGINT,
        libc::SIGCHLD,
        libc::SIGRTMAX() + 1,
    ];
    for number in unusable {
        let refused = builder::<B>(Interrupt::Signal(number)).build().unwrap_err();
        assert!(
            matches!(refused, BuildError::Interrupt { signal, .. } if signal == number),
            "{refused:?}"
        );
        let named = format!("by signal {number}: signal {number} means something else; use ");
        assert!(refused.to_string().contains(&named), "{refused}");
    }
}

fn the_signal_may_be_chosen<B: Backend>() {
    child::run::<B>("interrupt", "the_signal_may_be_chosen", || {
        for signal in [libc::SIGUSR1, libc::SIGRTMIN() + 1, libc::SIGRTMAX()] {
            let runtime = builder::<B>(Interrupt::Signal(signal)).build().unwrap();
            let (handle, _open) = blocked(&runtime);
            assert_eq!(handler_of(signal), libc::SIG_DFL);
            assert!(runtime.shutdown(Policy::Drain, None).unwrap().interrupts > 0);
            assert_eq!(handle.join().unwrap(), Err(ErrorKind::Interrupted));
            assert_ne!(handler_of(signal), libc::SIG_DFL);
        }
        assert_eq!(handler_of(libc::SIGURG), libc::SIG_DFL);
    });
}

/// Neither sleeps, nor condition variables, nor waits for a handle.
fn what_waits_by_std_is_not_disturbed<B: Backend>() {
    let time = Duration::from_millis(50);
    let runtime = runtime::<B>(4);
    let (begun, begins) = mpsc::channel();
    let sleeps = runtime.spawn({
        let begun = begun.clone();
        move || {
            begun.send(()).unwrap();
            let began = Instant::now();
            thread::sleep(time);
            began.elapsed()
        }
    });
    let waits = runtime.spawn({
        let begun = begun.clone();
        move || {
            begun.send(()).unwrap();
            let (never, told) = (Mutex::new(()), Condvar::new());
            let began = Instant::now();
            let guard = never.lock().unwrap();
            let waited = told.wait_timeout_while(guard, time, |()| true);
            assert!(waited.unwrap().1.timed_out());
            began.elapsed()
        }
    });
    let joins = runtime.spawn(move || {
        begun.send(()).unwrap();
        sleeps.join().unwrap()
    });
    (0..3).for_each(|_| begins.recv().unwrap());
    let report = runtime.shutdown(Policy::Drain, None).unwrap();
    // Each of the three blocks at least until the third look.
    assert!(report.interrupts >= 3, "{report}");
    assert!(waits.join().unwrap() >= time);
    assert!(joins.join().unwrap() >= time);
}

fn a_dump_tells_of_it<B: Backend>() {
    let runtime = runtime::<B>(1);
    let (handle, _open) = blocked(&runtime);
    let none = format!("signal: Some({}), sent: 0,", libc::SIGURG);
    let dump = format!("{runtime:?}");
    assert!(dump.contains(&none), "{dump}");
    let report = runtime.shutdown(Policy::Drain, None).unwrap();
    let some = format!("sent: {}, ..", report.interrupts);
    let dump = format!("{runtime:?}");
    assert!(dump.contains(&some), "{dump}");
    drop(handle);
}

/// S7 of a tag alone.
fn a_tags_stop_interrupts_its_own_workers<B: Backend>() {
    let tags = ["a", "b"].map(|name| Tag::new(name).workers(1));
    let runtime: RuntimeOn<B> = RuntimeOn::builder().tags(tags).build().unwrap();
    let (a, b) = (runtime.tag("a").unwrap(), runtime.tag("b").unwrap());
    let (handle, _open) = blocked_in(a);
    let (other, mut open) = blocked_in(b);
    let report = a.shutdown(Policy::Drain, None).unwrap();
    assert!(report.interrupts > 0);
    assert_eq!(handle.join().unwrap(), Err(ErrorKind::Interrupted));
    open.write_all(b"x").unwrap();
    assert_eq!(other.join().unwrap(), Ok(1));
    let report = runtime.shutdown(Policy::Drain, None).unwrap();
    assert_eq!((report.interrupts, report.ran), (0, 2));
}

#[cfg(feature = "std")]
fn a_backend_that_cannot_says_so<B: Backend>() {
    let refused = builder::<B>(Interrupt::Signal(libc::SIGUSR1)).build();
    assert_eq!(
        refused.unwrap_err().to_string(),
        format!(
            "blocked workers cannot be interrupted by signal {}: this backend cannot interrupt threads",
            libc::SIGUSR1
        )
    );
}
