//! The places of one tag: what is at each, and how many workers that makes.

use std::iter;
use std::time::Instant;

use super::{Bounds, TagCounts};

/// What is at one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Empty,
    /// Its thread is being started.
    Starting,
    /// Its worker has not looked for its first task yet.
    Fresh,
    Working,
    /// Its worker was asked to leave.
    Leaving,
    /// Its worker is gone, and its thread, which is about to end, is to be joined.
    Left {
        asked: bool,
    },
}

impl Place {
    pub(super) fn has_left(&self) -> bool {
        matches!(self, Self::Left { .. })
    }
}

#[derive(Debug)]
pub(super) struct TagTally {
    pub(super) bounds: Bounds,
    pub(super) places: Vec<Place>,
    pub(super) counts: TagCounts,
    /// A request has come and nobody has looked yet.
    pub(super) asked: bool,
    /// A worker may be started above the minimum.
    pub(super) may_grow: bool,
    /// The last start failed, and nobody has asked since.
    pub(super) failed: bool,
    /// When to look again, and how often it was unclear.
    pub(super) look_at: Option<Instant>,
    pub(super) unclear: u32,
    pub(super) keeping: Option<Keeping>,
    /// It was stopped: nobody is started here, asked to leave or joined any more.
    pub(super) closed: bool,
}

/// A tag above its minimum, until its keep-alive time is over.
#[derive(Debug)]
pub(super) struct Keeping {
    pub(super) until: Option<Instant>,
    /// How often each of its workers had gone to sleep when it began.
    pub(super) parked: Vec<usize>,
}

impl TagTally {
    pub(super) fn new(bounds: Bounds) -> Self {
        // The first ones are started with the runtime, and not here.
        let first = iter::repeat_n(Place::Starting, bounds.min);
        let later = iter::repeat_n(Place::Empty, bounds.places() - bounds.min);
        Self {
            bounds,
            places: first.chain(later).collect(),
            counts: TagCounts {
                wanted: bounds.min,
                ..TagCounts::default()
            },
            asked: false,
            may_grow: false,
            failed: false,
            look_at: None,
            unclear: 0,
            keeping: None,
            closed: false,
        }
    }

    /// The most workers that there may be now.
    pub(super) fn cap(&self) -> usize {
        let replaced = self.counts.blocked.min(self.bounds.max_blocked);
        self.places.len().min(self.bounds.max + replaced)
    }

    /// Workers that are here to stay, those included that are being started.
    pub(super) fn staying(&self) -> usize {
        let starting = self.places.iter().filter(|at| **at == Place::Starting);
        self.confirmed().count() + starting.count()
    }

    /// Workers that are here to stay and have begun.
    pub(super) fn confirmed(&self) -> impl Iterator<Item = usize> {
        let places = self.places.iter().enumerate();
        places.filter_map(|(worker, place)| {
            matches!(place, Place::Fresh | Place::Working).then_some(worker)
        })
    }

    pub(super) fn threads(&self) -> usize {
        let taken = self.places.iter().filter(|at| **at != Place::Empty);
        taken.count()
    }

    pub(super) fn threads_or_min(&self) -> usize {
        self.threads().max(self.bounds.min)
    }

    pub(super) fn staying_or_min(&self) -> usize {
        self.staying().max(self.bounds.min)
    }

    /// Whether a worker is to be started unasked.
    pub(super) fn is_below_min(&self) -> bool {
        !self.failed
            && self.staying() < self.bounds.min
            && self.threads() < self.cap()
            && self.places.contains(&Place::Empty)
    }

    pub(super) fn is_above_min(&self) -> bool {
        !self.closed && self.staying() > self.bounds.min
    }

    pub(super) fn count_missing(&mut self) {
        self.counts.missing = self.bounds.min.saturating_sub(self.staying());
    }
}
