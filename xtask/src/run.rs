//! Running one process: shown before it starts, bounded in time, timed, and judged by its exit code.
//!
//! Each process leads a process group (a job object on Windows), so that a step that runs out of time
//! takes its grandchildren with it: a hung test binary does not outlive the test runner. It is asked to
//! end first, because test runners put their tests into groups of their own and end those themselves.
//! A group does not get the terminal's Ctrl-C, so that is passed on from here.

use std::fmt;
use std::io::{self, Read};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use process_wrap::std::{ChildWrapper, CommandWrap};
use thiserror::Error;

/// How often a running process is looked at. Coarse, so that a measurement next to it is not disturbed.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// How long a process that was asked to end may take to end what it has started.
const GRACE: Duration = Duration::from_secs(5);

/// What a step gets when it names no limit of its own.
const DEFAULT_LIMIT: Duration = Duration::from_secs(15 * 60);

/// Why a process did not do what it was started for.
#[derive(Debug, Error)]
pub(crate) enum StepError {
    #[error("`{program}` cannot be started: {source}")]
    NotStarted { program: String, source: io::Error },
    #[error("`{command}` failed: {status}")]
    Failed { command: String, status: ExitStatus },
    #[error("`{command}` was still running after {} s and was ended", .limit.as_secs())]
    TimedOut { command: String, limit: Duration },
    #[error("`{command}` was interrupted")]
    Interrupted { command: String },
    #[error("waiting for `{command}`: {source}")]
    Lost { command: String, source: io::Error },
}

/// One process to be run from the root of the repository.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    program: String,
    args: Vec<String>,
    env: Vec<(String, String)>,
    limit: Duration,
}

impl Step {
    pub(crate) fn new<A: Into<String>>(program: &str, args: impl IntoIterator<Item = A>) -> Self {
        Self {
            program: program.to_owned(),
            args: args.into_iter().map(Into::into).collect(),
            env: Vec::new(),
            limit: DEFAULT_LIMIT,
        }
    }

    /// A cargo command, given as one line whose words are separated by spaces.
    pub(crate) fn cargo(line: &str) -> Self {
        Self::new("cargo", line.split_whitespace())
    }

    pub(crate) fn args<A: Into<String>>(mut self, more: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(more.into_iter().map(Into::into));
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl Into<String>) -> Self {
        self.env.push((name.to_owned(), value.into()));
        self
    }

    pub(crate) fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Runs the process with its output on the terminal; returns how long it took.
    pub(crate) fn run(&self) -> Result<Duration, StepError> {
        eprintln!("$ {self}");
        let started = Instant::now();
        let mut child = self.spawn(Stdio::inherit(), Stdio::inherit())?;
        self.finish(child.as_mut(), started)?;
        let took = started.elapsed();
        eprintln!("  {:.1} s", took.as_secs_f64());
        Ok(took)
    }

    /// Runs the process quietly and returns what it wrote to standard output.
    pub(crate) fn capture(&self) -> Result<String, StepError> {
        let started = Instant::now();
        let mut child = self.spawn(Stdio::piped(), Stdio::inherit())?;
        let reader = child.stdout().take().map(|mut pipe| {
            thread::spawn(move || {
                let mut text = String::new();
                pipe.read_to_string(&mut text).map(|_| text)
            })
        });
        self.finish(child.as_mut(), started)?;
        let text = reader.map_or_else(
            || Ok(String::new()),
            |reader| {
                reader
                    .join()
                    .unwrap_or_else(|_| Err(io::Error::other("the reading thread panicked")))
            },
        );
        text.map_err(|source| self.lost(source))
    }

    /// Runs the process for its exit code; its output is thrown away.
    pub(crate) fn judge(&self) -> Result<(), StepError> {
        let mut child = self.spawn(Stdio::null(), Stdio::null())?;
        self.finish(child.as_mut(), Instant::now())
    }

    /// Runs the process for its exit code while `look` looks at it from outside, by its process id.
    pub(crate) fn judge_while<T>(&self, look: impl FnOnce(u32) -> T) -> Result<T, StepError> {
        let started = Instant::now();
        let mut child = self.spawn(Stdio::null(), Stdio::null())?;
        let seen = look(child.id());
        self.finish(child.as_mut(), started)?;
        Ok(seen)
    }

    /// Whether the process can be started and succeeds; its output is thrown away.
    pub(crate) fn succeeds(&self) -> bool {
        self.judge().is_ok()
    }

    fn spawn(&self, stdout: Stdio, stderr: Stdio) -> Result<Box<dyn ChildWrapper>, StepError> {
        let mut command = Command::new(&self.program);
        command
            .args(&self.args)
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .current_dir(root())
            .stdin(Stdio::null())
            .stdout(stdout)
            .stderr(stderr);
        let mut command = CommandWrap::from(command);
        #[cfg(unix)]
        command.wrap(process_wrap::std::ProcessGroup::leader());
        #[cfg(windows)]
        command.wrap(process_wrap::std::JobObject);
        command.spawn().map_err(|source| StepError::NotStarted {
            program: self.program.clone(),
            source,
        })
    }

    fn finish(&self, child: &mut dyn ChildWrapper, started: Instant) -> Result<(), StepError> {
        let give_up = loop {
            match child.try_wait() {
                Ok(Some(status)) if status.success() => return Ok(()),
                Ok(Some(status)) => {
                    return Err(StepError::Failed {
                        command: self.to_string(),
                        status,
                    });
                }
                Ok(None) => {}
                Err(source) => return Err(self.lost(source)),
            }
            if interrupted() {
                break StepError::Interrupted {
                    command: self.to_string(),
                };
            }
            if started.elapsed() > self.limit {
                break StepError::TimedOut {
                    command: self.to_string(),
                    limit: self.limit,
                };
            }
            thread::sleep(LOOK_EVERY);
        };
        end(child).map_err(|source| self.lost(source))?;
        Err(give_up)
    }

    fn lost(&self, source: io::Error) -> StepError {
        StepError::Lost {
            command: self.to_string(),
            source,
        }
    }
}

/// Asks a process group to end, and ends what is left of it after a grace.
fn end(child: &mut dyn ChildWrapper) -> io::Result<()> {
    #[cfg(unix)]
    {
        const SIGTERM: i32 = 15;
        child.signal(SIGTERM)?;
        let asked = Instant::now();
        while child.try_wait()?.is_none() && asked.elapsed() < GRACE {
            thread::sleep(LOOK_EVERY);
        }
    }
    match child.start_kill() {
        // The whole group has ended by itself.
        Err(_) if matches!(child.try_wait(), Ok(Some(_))) => Ok(()),
        Err(error) => Err(error),
        Ok(()) => child.wait().map(drop),
    }
}

/// The command as it can be typed into a shell at the root of the repository.
impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in &self.env {
            write!(f, "{name}={} ", quoted(value))?;
        }
        f.write_str(&quoted(&self.program))?;
        for arg in &self.args {
            write!(f, " {}", quoted(arg))?;
        }
        Ok(())
    }
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// The root of the repository.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap_or_else(|| Path::new("."))
}

/// Whether this process was asked to end (Ctrl-C, SIGTERM) since its first step started.
fn interrupted() -> bool {
    static INTERRUPTED: AtomicBool = AtomicBool::new(false);
    static LISTEN: Once = Once::new();
    LISTEN.call_once(|| {
        // Without a handler Ctrl-C still ends this process, only not its children at once.
        let _ = ctrlc::set_handler(|| INTERRUPTED.store(true, Ordering::Relaxed));
    });
    INTERRUPTED.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_as_a_shell_would_take_it() {
        let step = Step::cargo("test -p x")
            .args(["it's", "a b"])
            .env("RUSTFLAGS", "--cfg parkade_loom");
        assert_eq!(
            step.to_string(),
            r"RUSTFLAGS='--cfg parkade_loom' cargo test -p x 'it'\''s' 'a b'"
        );
    }

    #[test]
    fn a_missing_program_is_named() {
        let error = Step::new("no-such-program", [""; 0]).run();
        assert!(
            matches!(error, Err(StepError::NotStarted { program, .. }) if program == "no-such-program")
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_failing_step_says_how_it_ended() {
        let error = Step::new("sh", ["-c", "exit 3"]).run();
        assert!(matches!(error, Err(StepError::Failed { status, .. }) if status.code() == Some(3)));
    }

    #[cfg(unix)]
    #[test]
    fn a_step_that_hangs_is_ended_with_its_children() {
        // The grandchild holds the pipe: `capture` would wait 60 s for it if it were not ended too.
        let step = Step::new("sh", ["-c", "sleep 60 & wait"]).limit(Duration::from_millis(200));
        let started = Instant::now();
        assert!(matches!(step.capture(), Err(StepError::TimedOut { .. })));
        assert!(started.elapsed() < Duration::from_secs(20));
    }

    #[cfg(unix)]
    #[test]
    fn output_larger_than_a_pipe_is_captured_whole() -> Result<(), StepError> {
        let text = Step::new("sh", ["-c", "head -c 300000 /dev/zero | tr '\\0' x"]).capture()?;
        assert_eq!(text.len(), 300_000);
        Ok(())
    }
}
