//! Which boots there are: modes, numbers of harts, seeds.
//!
//! The modes and their exit codes are those of `kernel/src/modes/mod.rs`; a test holds the two lists together.

use std::fmt;

/// How many harts a boot has where nothing else is said.
pub(super) const HARTS: u8 = 4;

/// The other numbers of harts, and how often each mode is run on each.
const OTHER_HARTS: [u8; 3] = [1, 2, 8];
const OTHER_RUNS: u32 = 3;

/// How often the negative control is run, and in how many of these at least it must be caught.
const CONTROLS: u32 = 10;
const CAUGHT: (usize, usize) = (8, 10);

/// Exit codes of runs that did not come to their check.
pub(super) const PANICKED: i32 = 101;
pub(super) const TRAPPED: i32 = 102;
pub(super) const HUNG: i32 = 103;

/// What the kernel can be booted into.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mode {
    pub(super) name: &'static str,
    /// The exit code of its failed check.
    pub(super) code: i32,
    meant: Meant,
}

/// How a mode is meant to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meant {
    /// Its property holds.
    Pass,
    /// The same, and the host looks at what parked harts cost; not run with the others.
    PassUnwatched,
    /// Badly, by this code.
    End(i32),
    /// By a hang, nearly always: the negative control.
    Hang,
}

#[rustfmt::skip]
pub(super) const MODES: &[Mode] = &[
    Mode { name: "boot",     code: 11, meant: Meant::Pass },
    Mode { name: "spread",   code: 12, meant: Meant::Pass },
    Mode { name: "outside",  code: 13, meant: Meant::Pass },
    Mode { name: "tags",     code: 14, meant: Meant::Pass },
    Mode { name: "priority", code: 15, meant: Meant::Pass },
    Mode { name: "stop",     code: 16, meant: Meant::Pass },
    Mode { name: "handler",  code: 17, meant: Meant::Pass },
    IDLE,
    Mode { name: "broken",   code: 19, meant: Meant::Hang },
    Mode { name: "panic",    code: 20, meant: Meant::End(PANICKED) },
    Mode { name: "trap",     code: 21, meant: Meant::End(TRAPPED) },
    Mode { name: "hang",     code: 22, meant: Meant::End(HUNG) },
];

/// The mode that is watched from outside.
pub(super) const IDLE: Mode = Mode {
    name: "idle",
    code: 18,
    meant: Meant::PassUnwatched,
};

impl Mode {
    pub(super) fn is_idle(&self) -> bool {
        self.meant == Meant::PassUnwatched
    }

    pub(super) fn is_control(&self) -> bool {
        self.meant == Meant::Hang
    }

    /// The exit code that it is meant to end with.
    pub(super) fn meant(&self) -> i32 {
        match self.meant {
            Meant::Pass | Meant::PassUnwatched => 0,
            Meant::End(code) => code,
            Meant::Hang => HUNG,
        }
    }

    /// How many of so many runs must end as they are meant to.
    pub(super) fn needed(&self, runs: usize) -> usize {
        match self.meant {
            Meant::Hang => (runs * CAUGHT.0).div_ceil(CAUGHT.1),
            _ => runs,
        }
    }
}

/// The mode of that name, as the command line names it.
pub(super) fn mode(name: &str) -> Result<&'static Mode, String> {
    MODES.iter().find(|mode| mode.name == name).ok_or_else(|| {
        let names: Vec<_> = MODES.iter().map(|mode| mode.name).collect();
        format!("there are {}", names.join(", "))
    })
}

/// What time is for a boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Clock {
    /// The host's: harts run at the same time.
    Real,
    /// Counted instructions, 2^shift ns each: harts take turns, and a run is the same every time.
    Counted { shift: u8 },
}

/// One boot of the kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Boot {
    pub(super) mode: &'static Mode,
    pub(super) harts: u8,
    pub(super) seed: u32,
    pub(super) clock: Clock,
}

impl fmt::Display for Boot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-harts", self.mode.name, self.harts)?;
        match self.clock {
            Clock::Real => write!(f, "-run-{}", self.seed),
            Clock::Counted { shift } => write!(f, "-shift-{shift}"),
        }
    }
}

/// All boots, but for the idle ones.
pub(super) fn boots(
    only: Option<&'static Mode>,
    harts: Option<u8>,
    runs: u32,
    seeds: u8,
) -> Vec<Boot> {
    let modes = MODES
        .iter()
        .filter(|mode| !mode.is_idle() && only.is_none_or(|only| only == *mode));
    let at = harts.unwrap_or(HARTS);
    let mut boots = Vec::new();
    for mode in modes {
        let counted = |shift: u8| Boot {
            mode,
            harts: at,
            seed: shift.into(),
            clock: Clock::Counted { shift },
        };
        let real = |harts, seed| Boot {
            mode,
            harts,
            seed,
            clock: Clock::Real,
        };
        match mode.meant {
            Meant::Pass => {
                boots.extend((0..runs).map(|seed| real(at, seed)));
                for other in OTHER_HARTS.into_iter().filter(|_| harts.is_none()) {
                    boots.extend((0..OTHER_RUNS.min(runs)).map(|seed| real(other, seed)));
                }
                boots.extend((0..seeds).map(counted));
            }
            // A lone hart has nobody to lose a wake from. Seeds first: what they catch does not depend on
            // how busy the host is.
            Meant::Hang if at > 1 => {
                boots.extend((0..seeds).map(counted));
                let rest = CONTROLS.saturating_sub(seeds.into()).min(runs);
                boots.extend((0..rest).map(|seed| real(at, seed)));
            }
            Meant::End(_) => boots.extend((0..OTHER_RUNS.min(runs)).map(|seed| real(at, seed))),
            Meant::Hang | Meant::PassUnwatched => {}
        }
    }
    boots
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_has_these_modes_with_these_codes() {
        let list = include_str!("../../../kernel/src/modes/mod.rs");
        let rows = list.lines().filter(|line| line.contains("Mode { name:"));
        let listed: Vec<_> = rows
            .filter_map(|row| {
                let name = row.split('"').nth(1)?;
                let code = row.split("code: ").nth(1)?.split(',').next()?;
                Some((name, code.parse().ok()?))
            })
            .collect();
        let known: Vec<_> = MODES.iter().map(|mode| (mode.name, mode.code)).collect();
        assert_eq!(listed, known);
    }

    #[test]
    fn the_kernel_ends_badly_with_these_codes() {
        let verdict = include_str!("../../../kernel/src/verdict.rs");
        for (name, code) in [("PANICKED", PANICKED), ("TRAPPED", TRAPPED), ("HUNG", HUNG)] {
            let line = format!("const {name}: u8 = {code};");
            assert!(verdict.contains(&line), "{line}");
        }
    }

    #[test]
    fn by_default_each_mode_is_run_on_every_number_of_harts_and_with_every_seed() {
        let boots = boots(None, None, 20, 8);
        let count = |name, harts, counted| {
            let wanted = |boot: &&Boot| {
                boot.mode.name == name
                    && boot.harts == harts
                    && (boot.clock != Clock::Real) == counted
            };
            boots.iter().filter(wanted).count()
        };
        assert_eq!(count("spread", 4, false), 20);
        assert_eq!([1, 2, 8].map(|harts| count("spread", harts, false)), [3; 3]);
        assert_eq!(count("spread", 4, true), 8);
        assert_eq!(count("broken", 4, true) + count("broken", 4, false), 10);
        assert_eq!(count("panic", 4, false), 3);
        assert!(!boots.iter().any(|boot| boot.mode.is_idle()));
    }

    #[test]
    fn one_number_of_harts_and_one_mode_can_be_asked_for() {
        let boots = boots(mode("stop").ok(), Some(2), 5, 1);
        let shown: Vec<_> = boots.iter().map(ToString::to_string).collect();
        assert_eq!(shown.len(), 6);
        assert_eq!(shown[0], "stop-2-harts-run-0");
        assert_eq!(shown[5], "stop-2-harts-shift-0");
        assert!(mode("halt").is_err_and(|error| error.contains("handler")));
    }

    #[test]
    fn the_negative_control_may_escape_in_two_of_ten_runs() {
        assert_eq!(mode("broken").map(|mode| mode.needed(10)), Ok(8));
        assert_eq!(mode("broken").map(|mode| mode.needed(1)), Ok(1));
        assert_eq!(mode("stop").map(|mode| mode.needed(10)), Ok(10));
    }
}
