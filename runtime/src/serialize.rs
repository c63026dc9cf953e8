//! Serialization of metrics and reports, with the feature `serde`: structs of their public fields.
//!
//! It is written out here, and not derived where the types are, because features are asked for in few files.
//! Each macro line takes its type apart by all of its fields: one that is added and not named here is an error.

use parkade_core::Activity;
use serde::Serializer;
use serde::ser::{Serialize, SerializeStruct};

use crate::latency::Latency;
use crate::metrics::{Metrics, TagMetrics, TimerMetrics};
use crate::report::{Report, StillRunning};
use crate::stop::Policy;
use crate::worker_metrics::WorkerMetrics;

/// A struct by its fields; `field: show` serializes `show(field)`.
macro_rules! serialize {
    ($type:ident { $($field:ident $(: $show:path)?),+ $(,)? }) => {
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let Self { $($field),+ } = self;
                let fields = [$(stringify!($field)),+].len();
                let mut all = serializer.serialize_struct(stringify!($type), fields)?;
                $(all.serialize_field(stringify!($field), shown!($field $(, $show)?))?;)+
                all.end()
            }
        }
    };
}

macro_rules! shown {
    ($field:ident) => {
        $field
    };
    ($field:ident, $show:path) => {
        &$show($field)
    };
}

serialize!(Metrics {
    tags,
    total,
    workers,
    timers,
});

serialize!(TimerMetrics {
    pending,
    fired,
    cancelled,
    panicked_alarms,
});

serialize!(TagMetrics {
    name,
    spawned,
    ran,
    stolen,
    parked,
    wakes_asked,
    wake_calls,
    skipped_wakes,
    panicked,
    dropped,
    workers,
    queued,
    busy,
    idle,
    searching,
    misplaced,
    missing,
    latency,
    wanted,
    blocked,
    grown,
    retired,
    failed_starts,
});

serialize!(WorkerMetrics {
    tag,
    index,
    thread_name,
    cpu,
    activity: Activity::to_string,
    claimed,
    run_queue,
    inbox,
    mailbox,
    ran,
    panicked,
    stolen,
    parked,
});

serialize!(Report {
    policy,
    ran,
    dropped,
    still_running,
    alarm_still_running,
    interrupts,
    interrupt_failure,
    elapsed,
});

serialize!(StillRunning {
    tag,
    worker,
    thread_name,
});

/// Its numbers, in nanoseconds.
impl Serialize for Latency {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let numbers = [
            ("p50_ns", self.p50()),
            ("p90_ns", self.p90()),
            ("p99_ns", self.p99()),
            ("p99_9_ns", self.p99_9()),
            ("max_ns", self.max()),
            ("sum_ns", self.sum()),
        ];
        let mut all = serializer.serialize_struct("Latency", numbers.len() + 1)?;
        all.serialize_field("count", &self.count())?;
        for (name, wait) in numbers {
            let nanoseconds = u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX);
            all.serialize_field(name, &nanoseconds)?;
        }
        all.end()
    }
}

impl Serialize for Policy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(match self {
            Self::Drain => "drain",
            Self::Abandon => "abandon",
        })
    }
}
