//! Quiet, where panics are what a test is about.

use std::panic;
use std::thread;

/// Silences the panic messages of workers whose tasks panic on purpose.
pub(crate) fn expect_panics() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let default = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let on_worker = thread::current()
                .name()
                .is_some_and(|name| name.starts_with("pk-"));
            if !on_worker {
                default(info);
            }
        }));
    });
}
