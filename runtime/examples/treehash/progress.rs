//! A progress bar for those who would otherwise wonder: it appears when the work lasts.

use std::sync::Once;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How long the work goes on before the bar appears.
const PATIENCE: Duration = Duration::from_secs(1);

const STYLE: &str = "{bar:40} {decimal_bytes} of {decimal_total_bytes}, {eta} to go";

/// Counts bytes, from any thread, and shows them on a terminal's standard error; elsewhere it is silent.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
    began: Instant,
    shown: Once,
}

impl Progress {
    /// For so many bytes in all.
    pub(crate) fn new(bytes: u64) -> Self {
        let bar = ProgressBar::with_draw_target(Some(bytes), ProgressDrawTarget::hidden());
        // A style that does not parse is a defect here, and no reason to fail: the default one will do.
        if let Ok(style) = ProgressStyle::with_template(STYLE) {
            bar.set_style(style);
        }
        Self {
            bar,
            began: Instant::now(),
            shown: Once::new(),
        }
    }

    /// Counts bytes that have been hashed.
    pub(crate) fn add(&self, bytes: u64) {
        self.bar.inc(bytes);
        if !self.shown.is_completed() && self.began.elapsed() > PATIENCE {
            self.shown
                .call_once(|| self.bar.set_draw_target(ProgressDrawTarget::stderr()));
        }
    }

    /// Removes the bar.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
