//! Which system a runtime runs on: the one file that chooses.
//!
//! Everything else is generic over [`Backend`]. The cargo features `linux` (default) and `std` (default)
//! bring the backends [`Linux`] and [`Std`]; they add up, and `linux` wins on Linux as the default. With
//! neither, the generic [`RuntimeOn`](crate::RuntimeOn) is all there is, for a backend of your own.

use std::error::Error;
use std::fmt;
use std::io;
use std::sync::atomic::AtomicUsize;

use parkade_core::Platform;
use thiserror::Error;

#[cfg(all(feature = "linux", target_os = "linux"))]
pub use parkade_linux::Linux;
#[cfg(feature = "std")]
pub use parkade_std::Std;

/// A platform with threads: what a runtime asks for beyond the core's [`Platform`].
///
/// Implement it to run on a system that has `std` but wants a park of its own; the traits that it builds on are those of
/// the package `parkade-core`.
///
/// The park is where the work is: [`Park`](parkade_core::Park) numbers its obligations, and the example `own_backend` of the
/// repository has one. The rest may be taken from another backend, as here.
///
/// ```
/// use std::io;
/// use std::sync::atomic::AtomicUsize;
///
/// use parkade::backend::{AffinityError, Interrupts, Std};
/// use parkade::{Backend, FenceChoice, RuntimeOn, Tag};
/// use parkade_core::{Platform, SeqCstFences, Slot};
///
/// /// Sleeps as std does, and says for whom.
/// struct Told;
///
/// impl Platform for Told {
///     type Park = <Std as Platform>::Park; // or one of your own
///     type Fences = SeqCstFences;
///     type Lock<T: Send> = <Std as Platform>::Lock<T>;
///     type Queue = <Std as Platform>::Queue;
///     type Ring = <Std as Platform>::Ring;
///     type PerWorker<T: Send + Sync> = <Std as Platform>::PerWorker<T>;
///     type PerTag<T: Send + Sync> = <Std as Platform>::PerTag<T>;
///
///     fn park(&self, slot: Slot) -> Self::Park {
///         println!("a park for {slot}");
///         Std.park(slot)
///     }
///
///     fn fences(&self) -> SeqCstFences {
///         SeqCstFences
///     }
/// }
///
/// impl Backend for Told {
///     fn new(_fences: FenceChoice) -> Self {
///         Self
///     }
///
///     fn allowed_cpus() -> Result<Vec<usize>, AffinityError> {
///         Err(AffinityError::Unsupported)
///     }
///
///     fn pin_current_thread(_cpu: usize) -> Result<(), AffinityError> {
///         Err(AffinityError::Unsupported)
///     }
///
///     fn set_current_thread_cpus(_cpus: &[usize]) -> Result<(), AffinityError> {
///         Err(AffinityError::Unsupported)
///     }
///
///     fn forks() -> io::Result<&'static AtomicUsize> {
///         <Std as Backend>::forks()
///     }
///
///     fn interrupts() -> Option<&'static dyn Interrupts> {
///         <Std as Backend>::interrupts()
///     }
/// }
///
/// let runtime = RuntimeOn::<Told>::builder().tag(Tag::new("own").workers(2)).build()?;
/// assert_eq!(runtime.spawn(|| 6 * 7).join()?, 42);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Backend: Platform + Sized {
    /// Makes the platform, once per runtime and before any of its threads. See [`Backend`] for an example.
    fn new(fences: FenceChoice) -> Self;

    /// The CPUs that this process may use now, ascending. See [`Backend`] for an example.
    ///
    /// # Errors
    ///
    /// [`AffinityError::Unsupported`] if there is no affinity here, else the system's own error.
    fn allowed_cpus() -> Result<Vec<usize>, AffinityError>;

    /// Lets the calling thread run on `cpu` alone. See [`Backend`] for an example.
    ///
    /// # Errors
    ///
    /// As for [`allowed_cpus`](Backend::allowed_cpus).
    fn pin_current_thread(cpu: usize) -> Result<(), AffinityError>;

    /// Lets the calling thread run on all of `cpus`. See [`Backend`] for an example.
    ///
    /// # Errors
    ///
    /// As for [`allowed_cpus`](Backend::allowed_cpus).
    fn set_current_thread_cpus(cpus: &[usize]) -> Result<(), AffinityError>;

    /// A number that every child process of a `fork` finds greater than its parent left it; for reading alone.
    ///
    /// A runtime compares it with what it was when the runtime was built, once per task, so that a child,
    /// which has none of its parent's workers, is refused and does not wait for ever. By default it never
    /// changes: right for a system without `fork`. See [`Backend`] for an example.
    ///
    /// # Errors
    ///
    /// The system's own error, if it cannot see to that; then no runtime is built.
    fn forks() -> io::Result<&'static AtomicUsize> {
        static NONE: AtomicUsize = AtomicUsize::new(0);
        Ok(&NONE)
    }

    /// How the threads of a process are interrupted in system calls that block; by default they cannot be.
    ///
    /// A runtime uses it when it [stops](crate::Interrupt). See [`Backend`] for an example.
    #[must_use]
    fn interrupts() -> Option<&'static dyn Interrupts> {
        None
    }
}

/// A way to end a system call that another thread of this process is blocked in, by a signal that does nothing else.
///
/// ```
/// use parkade::backend::{InterruptError, Interrupts, ThreadNumber};
///
/// /// Of a system on which signal 23 does nothing else.
/// #[derive(Debug)]
/// struct Signals;
///
/// impl Interrupts for Signals {
///     fn default_signal(&self) -> i32 {
///         23
///     }
///
///     fn check(&self, signal: i32) -> Result<(), InterruptError> {
///         if signal == self.default_signal() {
///             return Ok(());
///         }
///         Err(InterruptError::Signal(format!("signal {signal} ends programs").into()))
///     }
///
///     fn current_thread(&self) -> ThreadNumber {
///         ThreadNumber(1) // by which the system knows it
///     }
///
///     fn interrupt(&self, ThreadNumber(thread): ThreadNumber, signal: i32) -> Result<(), InterruptError> {
///         self.check(signal)?;
///         println!("here the system sends {signal} to {thread}");
///         Ok(())
///     }
/// }
///
/// assert!(Signals.interrupt(Signals.current_thread(), Signals.default_signal()).is_ok());
/// assert_eq!(Signals.check(9).unwrap_err().to_string(), "signal 9 ends programs");
/// ```
pub trait Interrupts: fmt::Debug + Sync {
    /// The signal to be used unless one is chosen. See [`Interrupts`] for an example.
    fn default_signal(&self) -> i32;

    /// Whether a signal can be used. Changes nothing. See [`Interrupts`] for an example.
    ///
    /// # Errors
    ///
    /// [`InterruptError`], if it means something else or has a handler of the program's.
    fn check(&self, signal: i32) -> Result<(), InterruptError>;

    /// The calling thread. See [`Interrupts`] for an example.
    fn current_thread(&self) -> ThreadNumber;

    /// Interrupts a thread that has not ended. A handler that this takes is put in place here, never instead of one
    /// of the program's, and stays. See [`Interrupts`] for an example.
    ///
    /// # Errors
    ///
    /// As for [`check`](Interrupts::check), and the system's own; then nothing was sent.
    fn interrupt(&self, thread: ThreadNumber, signal: i32) -> Result<(), InterruptError>;
}

/// A thread, by a number that the backend knows it by.
///
/// See [`Interrupts`] for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadNumber(pub i32);

/// Why blocked workers cannot be interrupted by a signal.
///
/// See [`Interrupts`] for an example.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum InterruptError {
    /// This backend cannot interrupt threads.
    #[error("this backend cannot interrupt threads")]
    Unsupported,
    /// The signal means something else, has a handler of the program's, or was refused by the system.
    #[error("{0}")]
    Signal(#[source] Box<dyn Error + Send + Sync>),
}

/// Which memory fences the queues use.
///
/// ```
/// use parkade::{FenceChoice, Runtime};
///
/// let runtime = Runtime::builder().fences(FenceChoice::SeqCst).build()?;
/// assert_eq!(runtime.spawn(|| 6 * 7).join()?, 42);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum FenceChoice {
    /// The cheapest that the system grants: on Linux `membarrier`, if a trial call succeeds.
    #[default]
    Auto,
    /// Sequentially consistent fences on both sides: some 6 ns per spawn more on x86-64, and no system
    /// call that a sandbox might refuse later.
    SeqCst,
}

/// Why a thread cannot be bound to CPUs.
///
/// See [`Backend`] for an example.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AffinityError {
    /// This backend has no affinity.
    #[error("this backend cannot bind threads to CPUs")]
    Unsupported,
    /// The system said no.
    #[error("the system did not bind the thread")]
    System(#[source] Box<dyn Error + Send + Sync>),
}

#[cfg(all(feature = "linux", target_os = "linux"))]
impl Backend for Linux {
    fn new(fences: FenceChoice) -> Self {
        match fences {
            FenceChoice::Auto => Self::new(),
            FenceChoice::SeqCst => Self::with_fences(parkade_linux::MembarrierFences::seq_cst()),
        }
    }

    fn allowed_cpus() -> Result<Vec<usize>, AffinityError> {
        parkade_linux::affinity::allowed_cpus().map_err(system)
    }

    fn pin_current_thread(cpu: usize) -> Result<(), AffinityError> {
        parkade_linux::affinity::pin_current_thread(cpu).map_err(system)
    }

    fn set_current_thread_cpus(cpus: &[usize]) -> Result<(), AffinityError> {
        parkade_linux::CpuSet::from_cpus(cpus.iter().copied())
            .and_then(|cpus| parkade_linux::affinity::set_current_thread(&cpus))
            .map_err(system)
    }

    fn forks() -> io::Result<&'static AtomicUsize> {
        parkade_linux::forks()
    }

    fn interrupts() -> Option<&'static dyn Interrupts> {
        // Miri has no signals.
        (!cfg!(miri)).then_some(&LinuxSignals)
    }
}

#[cfg(all(feature = "linux", target_os = "linux"))]
#[derive(Debug)]
struct LinuxSignals;

#[cfg(all(feature = "linux", target_os = "linux"))]
impl Interrupts for LinuxSignals {
    fn default_signal(&self) -> i32 {
        parkade_linux::interrupt::DEFAULT_SIGNAL
    }

    fn check(&self, signal: i32) -> Result<(), InterruptError> {
        parkade_linux::interrupt::check(signal).map_err(no_interrupt)
    }

    fn current_thread(&self) -> ThreadNumber {
        ThreadNumber(parkade_linux::interrupt::ThreadId::current().number())
    }

    fn interrupt(&self, thread: ThreadNumber, signal: i32) -> Result<(), InterruptError> {
        let thread = parkade_linux::interrupt::ThreadId::from_number(thread.0);
        parkade_linux::interrupt::interrupt(thread, signal).map_err(no_interrupt)
    }
}

#[cfg(all(feature = "linux", target_os = "linux"))]
fn no_interrupt(error: parkade_linux::interrupt::InterruptError) -> InterruptError {
    InterruptError::Signal(Box::new(error))
}

#[cfg(all(feature = "linux", target_os = "linux"))]
fn system(error: parkade_linux::AffinityError) -> AffinityError {
    AffinityError::System(Box::new(error))
}

#[cfg(feature = "std")]
impl Backend for Std {
    /// Its fences are sequentially consistent whatever is asked for.
    fn new(_fences: FenceChoice) -> Self {
        Self
    }

    fn allowed_cpus() -> Result<Vec<usize>, AffinityError> {
        Err(AffinityError::Unsupported)
    }

    fn pin_current_thread(cpu: usize) -> Result<(), AffinityError> {
        parkade_std::pin_current_thread(cpu).map_err(|_unsupported| AffinityError::Unsupported)
    }

    fn set_current_thread_cpus(_cpus: &[usize]) -> Result<(), AffinityError> {
        Err(AffinityError::Unsupported)
    }

    fn forks() -> io::Result<&'static AtomicUsize> {
        parkade_std::forks()
    }
}

/// What the crate root has of this file: the contract, and what the features select.
pub(crate) mod selected {
    pub use super::{Backend, FenceChoice};

    /// The backend of [`Runtime`]: the best that the chosen features have for this system.
    ///
    /// See [`Runtime`] for an example.
    #[cfg(all(feature = "linux", target_os = "linux"))]
    pub type DefaultBackend = super::Linux;

    /// The backend of [`Runtime`]: the best that the chosen features have for this system.
    ///
    /// See [`Runtime`] for an example.
    #[cfg(all(feature = "std", not(all(feature = "linux", target_os = "linux"))))]
    pub type DefaultBackend = super::Std;

    /// The runtime on this system's [`DefaultBackend`].
    ///
    /// ```
    /// use parkade::{DefaultBackend, Runtime, RuntimeOn};
    ///
    /// /// A library that is generic takes any; a program has the one that it was built for.
    /// struct Server {
    ///     runtime: RuntimeOn<DefaultBackend>,
    /// }
    ///
    /// let server = Server { runtime: Runtime::builder().build()? };
    /// assert_eq!(server.runtime.spawn(|| 6 * 7).join()?, 42);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(any(feature = "std", all(feature = "linux", target_os = "linux")))]
    pub type Runtime = crate::RuntimeOn<DefaultBackend>;
}
