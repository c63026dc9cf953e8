//! Metrics in the text format that Prometheus scrapes, version 0.0.4.
//!
//! A family of samples is a name, a line of help, a type, and a sample per tag or per worker. Sums over tags are
//! the scraper's to make, so there are none. The source of the format is Prometheus's own page on "exposition
//! formats": label values escape backslash, quote and line feed.

use std::fmt::{self, Write};

use parkade_core::Activity;

use crate::metrics::{Metrics, TagMetrics, TimerMetrics};
use crate::worker_metrics::WorkerMetrics;

/// Name, help, type, and the number of a row.
type Family<R> = (&'static str, &'static str, Kind, fn(&R) -> usize);

#[derive(Clone, Copy)]
enum Kind {
    Counter,
    Gauge,
    Summary,
}

use Kind::{Counter, Gauge, Summary};

#[rustfmt::skip]
const TAGS: [Family<TagMetrics>; 20] = [
    ("parkade_tasks_spawned_total", "Tasks accepted.", Counter, |tag| tag.spawned),
    ("parkade_tasks_ran_total", "Tasks that ran to their end.", Counter, |tag| tag.ran),
    ("parkade_tasks_stolen_total", "Tasks taken from another worker.", Counter, |tag| tag.stolen),
    ("parkade_tasks_dropped_total", "Tasks accepted and dropped unrun.", Counter, |tag| tag.dropped),
    ("parkade_panics_total", "Panics of tasks and hooks.", Counter, |tag| tag.panicked),
    ("parkade_parks_total", "Times a worker went to sleep.", Counter, |tag| tag.parked),
    ("parkade_wakes_asked_total", "Idle workers claimed for a wake.", Counter, |tag| tag.wakes_asked),
    ("parkade_wake_calls_total", "Calls to the backend to wake.", Counter, |tag| tag.wake_calls),
    ("parkade_wakes_skipped_total", "Submits that woke nobody.", Counter, |tag| tag.skipped_wakes),
    ("parkade_tasks_queued", "Tasks that wait in a queue.", Gauge, |tag| tag.queued),
    ("parkade_workers", "Workers whose threads run.", Gauge, |tag| tag.workers),
    ("parkade_workers_busy", "Workers that run a task or a hook.", Gauge, |tag| tag.busy),
    ("parkade_workers_idle", "Workers that sleep or are about to.", Gauge, |tag| tag.idle),
    ("parkade_workers_misplaced", "Workers on other CPUs than asked for.", Gauge, |tag| tag.misplaced),
    ("parkade_workers_missing", "Workers that could not be started.", Gauge, |tag| tag.missing),
    ("parkade_workers_wanted", "Workers that a tag is to have at least.", Gauge, |tag| tag.wanted),
    ("parkade_workers_blocked", "Workers that wait and say so: in blocking, sleep, block_on, a join of a handle.", Gauge, |tag| tag.blocked),
    ("parkade_workers_grown_total", "Workers started after the runtime.", Counter, |tag| tag.grown),
    ("parkade_workers_retired_total", "Workers that have retired.", Counter, |tag| tag.retired),
    ("parkade_workers_failed_total", "Late workers that could not be started.", Counter, |tag| tag.failed_starts),
];

#[rustfmt::skip]
const WORKERS: [Family<WorkerMetrics>; 4] = [
    ("parkade_worker_tasks_ran_total", "Tasks that a worker ran.", Counter, |worker| worker.ran),
    ("parkade_worker_panics_total", "Panics of a worker's tasks and hooks.", Counter, |worker| worker.panicked),
    ("parkade_worker_tasks_stolen_total", "Tasks that a worker took from others.", Counter, |worker| worker.stolen),
    ("parkade_worker_parks_total", "Times a worker went to sleep.", Counter, |worker| worker.parked),
];

#[rustfmt::skip]
const TIMERS: [Family<TimerMetrics>; 4] = [
    ("parkade_timers_pending", "Timers that are not due yet.", Gauge, |timers| timers.pending),
    ("parkade_timers_fired_total", "Timers that have fired.", Counter, |timers| timers.fired),
    ("parkade_timers_cancelled_total", "Timers that will not fire.", Counter, |timers| timers.cancelled),
    ("parkade_alarm_panics_total", "Alarms that panicked.", Counter, |timers| timers.panicked_alarms),
];

/// A queue of a worker, and how many tasks it holds.
type Queue = (&'static str, fn(&WorkerMetrics) -> usize);

const QUEUES: [Queue; 3] = [
    ("run_queue", |worker| worker.run_queue),
    ("inbox", |worker| worker.inbox),
    ("mailbox", |worker| worker.mailbox),
];

/// Those of the latency's summary; 1 is the longest.
const QUANTILES: [f64; 5] = [0.5, 0.9, 0.99, 0.999, 1.0];

impl Metrics {
    /// The metrics in Prometheus's text format, for the answer to a scrape (`text/plain; version=0.0.4`).
    ///
    /// Names begin with `parkade_`; each sample has the label `tag`, and those of workers `worker`, the index
    /// in its tag; those of timers, which belong to no tag, have none. Latencies are a summary in seconds, if they
    /// are measured. Costs one string; a line per tag and family, and 13 lines per worker.
    ///
    /// ```
    /// use parkade::{Runtime, Tag};
    ///
    /// let runtime = Runtime::builder().tag(Tag::new("io").workers(2)).build()?;
    /// runtime.spawn(|| ()).join()?;
    /// let text = runtime.metrics().prometheus();
    /// assert!(text.contains("# TYPE parkade_tasks_ran_total counter\n"));
    /// assert!(text.contains("parkade_tasks_ran_total{tag=\"io\"} 1\n"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn prometheus(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = self.write_prometheus(&mut text);
        text
    }

    fn write_prometheus(&self, out: &mut String) -> fmt::Result {
        for (name, help, kind, number) in TAGS {
            head(out, name, help, kind)?;
            for tag in &self.tags {
                let (label, value) = (Escaped(&tag.name), number(tag));
                writeln!(out, "{name}{{tag=\"{label}\"}} {value}")?;
            }
        }
        for (name, help, kind, number) in WORKERS {
            head(out, name, help, kind)?;
            for worker in &self.workers {
                sample(out, name, worker, "", number(worker))?;
            }
        }
        let name = "parkade_worker_queued";
        head(out, name, "Tasks in a queue of a worker.", Gauge)?;
        for worker in &self.workers {
            for (queue, length) in QUEUES {
                let more = format!(",queue=\"{queue}\"");
                sample(out, name, worker, &more, length(worker))?;
            }
        }
        let name = "parkade_worker_activity";
        head(out, name, "1 for what a worker does, else 0.", Gauge)?;
        for worker in &self.workers {
            for activity in Activity::ALL {
                let more = format!(",activity=\"{activity}\"");
                let is = usize::from(worker.activity == activity);
                sample(out, name, worker, &more, is)?;
            }
        }
        for (name, help, kind, number) in TIMERS {
            head(out, name, help, kind)?;
            writeln!(out, "{name} {}", number(&self.timers))?;
        }
        self.write_latencies(out)
    }

    /// In seconds, as all times are in this format. Nothing if none is measured.
    fn write_latencies(&self, out: &mut String) -> fmt::Result {
        if self.total.latency.is_none() {
            return Ok(());
        }
        let name = "parkade_task_latency_seconds";
        head(
            out,
            name,
            "Time from a task's creation to its start.",
            Summary,
        )?;
        for tag in &self.tags {
            let Some(latency) = &tag.latency else {
                continue;
            };
            let label = Escaped(&tag.name);
            for quantile in QUANTILES {
                let wait = latency.quantile(quantile).as_secs_f64();
                writeln!(
                    out,
                    "{name}{{tag=\"{label}\",quantile=\"{quantile}\"}} {wait}"
                )?;
            }
            let (sum, count) = (latency.sum().as_secs_f64(), latency.count());
            writeln!(out, "{name}_sum{{tag=\"{label}\"}} {sum}")?;
            writeln!(out, "{name}_count{{tag=\"{label}\"}} {count}")?;
        }
        Ok(())
    }
}

fn head(out: &mut String, name: &str, help: &str, kind: Kind) -> fmt::Result {
    let kind = match kind {
        Counter => "counter",
        Gauge => "gauge",
        Summary => "summary",
    };
    writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}")
}

fn sample(
    out: &mut String,
    name: &str,
    worker: &WorkerMetrics,
    more: &str,
    value: usize,
) -> fmt::Result {
    let (tag, index) = (Escaped(&worker.tag), worker.index);
    writeln!(
        out,
        "{name}{{tag=\"{tag}\",worker=\"{index}\"{more}}} {value}"
    )
}

/// A label's value.
struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|char| match char {
            '\\' => f.write_str("\\\\"),
            '"' => f.write_str("\\\""),
            '\n' => f.write_str("\\n"),
            other => f.write_char(other),
        })
    }
}
