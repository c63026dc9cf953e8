//! One test body, each backend, well-behaved and faulty, and a detector of hangs around it.

use std::env;
use std::panic;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use parkade::{Backend, RuntimeOn, Tag};

// Beside this file, whichever test program includes it.
#[path = "faulty.rs"]
pub(crate) mod faulty;

/// A hang detector for everything that should take seconds at most, on a busy machine.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// The whole number in `PARKADE_STRESS`, by default 1: how many times its usual rounds a stress test does.
pub(crate) fn multiplier() -> u32 {
    let text = env::var("PARKADE_STRESS").unwrap_or_else(|_| "1".to_owned());
    match text.parse() {
        Ok(multiplier @ 1..) => multiplier,
        _ => panic!("PARKADE_STRESS is {text:?}; it must be a whole number of at least 1"),
    }
}

/// [`LIMIT`], for tests that may be told to run longer.
pub(crate) fn limit() -> Duration {
    LIMIT * multiplier()
}

/// Makes a test of each named function for each backend, and one more over the default backend with a park that
/// is as bad as its contract allows. So the bad std park has its turn where std is the only backend.
///
/// What comes after `no_spurious_return:` runs on the backends alone: a test that counts on a sleeper to stay
/// asleep, with its reason beside it.
macro_rules! on_each_backend {
    ($($name:ident),+ $(,)? $(; no_spurious_return: $($exact:ident),+ $(,)?)?) => {
        #[cfg(all(feature = "linux", target_os = "linux"))]
        mod linux {
            tests_on!(parkade::backend::Linux: $($name,)+ $($($exact,)+)?);
        }

        #[cfg(feature = "std")]
        mod portable {
            tests_on!(parkade::backend::Std: $($name,)+ $($($exact,)+)?);
        }

        #[cfg(all(feature = "linux", target_os = "linux"))]
        mod faulty_linux {
            tests_on!(crate::each_backend::faulty::Faulty<parkade::backend::Linux>: $($name,)+);
        }

        // Without the other one: a copy of every test takes its time to build.
        #[cfg(all(feature = "std", not(all(feature = "linux", target_os = "linux"))))]
        mod faulty {
            tests_on!(crate::each_backend::faulty::Faulty<parkade::backend::Std>: $($name,)+);
        }
    };
}

/// A test of each function in the module around this one, on one backend.
macro_rules! tests_on {
    ($backend:ty: $($name:ident,)+) => {
        $(
            #[test]
            fn $name() {
                crate::each_backend::within(
                    concat!(module_path!(), "::", stringify!($name)),
                    crate::each_backend::limit(),
                    super::$name::<$backend>,
                );
            }
        )+
    };
}

/// Runs `body` on a thread of the test's name and fails if it has not ended in time.
pub(crate) fn within(test: &str, limit: Duration, body: impl FnOnce() + Send + 'static) {
    let (ended, wait) = mpsc::channel::<()>();
    let thread = thread::Builder::new().name(test.to_owned());
    let thread = thread.spawn(move || {
        // Dropped at the end, also by a panic.
        let _ended = ended;
        body();
    });
    let thread = thread.unwrap();
    if let Err(RecvTimeoutError::Timeout) = wait.recv_timeout(limit) {
        panic!("hangs: not done within {limit:?}");
    }
    if let Err(payload) = thread.join() {
        panic::resume_unwind(payload);
    }
}

/// A runtime with one tag of so many workers.
pub(crate) fn runtime<B: Backend>(workers: usize) -> RuntimeOn<B> {
    RuntimeOn::builder()
        .tag(Tag::new("only").workers(workers))
        .build()
        .unwrap()
}
