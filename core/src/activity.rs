//! What a worker does, as far as others can tell: for whoever looks, never for a decision.
//!
//! A worker that hangs cannot be asked, so it leaves a note beforehand: when it announces itself, goes to its
//! park, returns from it, is counted as a searcher or no longer, and when it is told to leave. Each of these
//! steps is a read-modify-write of the idle word or a call to the park, next to which a plain store is nothing.
//! The way from one task to the next leaves no note: that a worker runs a task is what remains when it does
//! nothing else.

use core::fmt;

use crate::sync::{Note, Ordering};

/// What a worker does: true at some moment of the recent past.
///
/// ```
/// use parkade_core::Activity;
///
/// assert_eq!(Activity::ALL.map(|activity| activity.to_string())[3], "parked");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Activity {
    /// Runs a task, or is on its way to the next, uncounted.
    Running,
    /// Was woken, or took its announcement back: looks for work, counted.
    Searching,
    /// Is about to sleep and looks once more, or has just returned from its park.
    Announced,
    /// Is inside the park's wait.
    Parked,
    /// Was told to leave, and has not given up its place yet.
    Leaving,
    /// There is no worker at this place: it has not come yet, or has left.
    Gone,
}

impl Activity {
    /// Each of them, in the order of a worker's life. See [`Activity`] for an example.
    pub const ALL: [Self; 6] = [
        Self::Running,
        Self::Searching,
        Self::Announced,
        Self::Parked,
        Self::Leaving,
        Self::Gone,
    ];
}

impl fmt::Display for Activity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Running => "running",
            Self::Searching => "searching",
            Self::Announced => "announced",
            Self::Parked => "parked",
            Self::Leaving => "leaving",
            Self::Gone => "gone",
        })
    }
}

/// The note of one worker. It alone writes it.
pub(crate) struct Doing(Note);

impl Doing {
    pub(crate) fn new() -> Self {
        Self(Note::new(Activity::Running as u8))
    }

    #[inline]
    pub(crate) fn note(&self, activity: Activity) {
        self.0.store(activity as u8, Ordering::Relaxed);
    }

    /// What was noted last: one load, true at some moment of the recent past.
    pub(crate) fn activity(&self) -> Activity {
        use Activity::{Announced, Leaving, Parked, Running, Searching};
        let noted = self.0.load(Ordering::Relaxed);
        [Searching, Announced, Parked, Leaving]
            .into_iter()
            .find(|activity| *activity as u8 == noted)
            .unwrap_or(Running)
    }
}
