//! The emulator: how a kernel is built for it, booted and judged.

use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;

use super::image::Image;
use super::plan::{Boot, Clock, HUNG, Mode, PANICKED, TRAPPED};
use crate::run::{Step, StepError, root};

/// Where the kernels are built, and what they print.
const TARGET: &str = "kernel/target";

/// How long a boot may take: a hundred times what it takes.
const LIMIT: Duration = Duration::from_secs(60);

/// A processor that the kernel is written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Arch {
    Riscv64,
    Aarch64,
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Riscv64 => "riscv64",
            Self::Aarch64 => "aarch64",
        })
    }
}

impl Arch {
    fn target(self) -> &'static str {
        match self {
            Self::Riscv64 => "riscv64gc-unknown-none-elf",
            Self::Aarch64 => "aarch64-unknown-none",
        }
    }

    fn emulator(self) -> &'static str {
        match self {
            Self::Riscv64 => "qemu-system-riscv64",
            Self::Aarch64 => "qemu-system-aarch64",
        }
    }

    /// Debian's name for what has the emulator.
    fn package(self) -> &'static str {
        match self {
            Self::Riscv64 => "qemu-system-misc",
            Self::Aarch64 => "qemu-system-arm",
        }
    }

    fn board(self) -> &'static [&'static str] {
        match self {
            Self::Riscv64 => &["-M", "virt", "-bios", "none"],
            Self::Aarch64 => &[
                "-M",
                "virt",
                "-cpu",
                "cortex-a72",
                "-nic",
                "none",
                "-semihosting",
            ],
        }
    }

    /// How many times each mode is run: what one processor has shown of the code that both share, the other
    /// need not show again.
    pub(super) fn runs(self) -> u32 {
        match self {
            Self::Riscv64 => 20,
            Self::Aarch64 => 3,
        }
    }

    /// Where in RAM the kernel looks for its parameters.
    fn parameters(self) -> u64 {
        match self {
            Self::Riscv64 => 0x87f0_0000,
            Self::Aarch64 => 0x47f0_0000,
        }
    }
}

/// A processor, its emulator and the kernel's image.
#[derive(Debug)]
pub(super) struct Machine {
    arch: Arch,
}

/// The machines that can be run here.
pub(super) fn chosen(only: Option<Arch>) -> Result<Vec<Machine>> {
    let mut machines = Vec::new();
    for &arch in Arch::value_variants() {
        if only.is_some_and(|only| only != arch) {
            continue;
        }
        if Step::new(arch.emulator(), ["--version"]).succeeds() {
            machines.push(Machine { arch });
        } else if only.is_some() || arch == Arch::Riscv64 {
            bail!(
                "`{}` is not there: it boots the kernel. On Debian it is in the package {}",
                arch.emulator(),
                arch.package()
            );
        } else {
            println!(
                "{arch}: left out, for `{}` is not there (Debian: {})",
                arch.emulator(),
                arch.package()
            );
        }
    }
    Ok(machines)
}

/// How a boot ended.
#[derive(Debug)]
pub(super) enum End {
    Code(i32),
    /// The host's patience ended before the kernel's: a hang too.
    OutOfTime,
    /// There was no run.
    Failed(StepError),
}

impl End {
    /// Whether the mode is meant to end so.
    pub(super) fn is_meant(&self, mode: &Mode) -> bool {
        match self {
            Self::Code(code) => *code == mode.meant(),
            Self::OutOfTime => mode.is_control(),
            Self::Failed(_) => false,
        }
    }
}

impl From<Result<(), StepError>> for End {
    fn from(result: Result<(), StepError>) -> Self {
        match result {
            Ok(()) => Self::Code(0),
            Err(StepError::TimedOut { .. }) => Self::OutOfTime,
            Err(StepError::Failed { status, command }) => match status.code() {
                Some(code) => Self::Code(code),
                None => Self::Failed(StepError::Failed { status, command }),
            },
            Err(error) => Self::Failed(error),
        }
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(0) => f.write_str("passed"),
            Self::Code(PANICKED) => f.write_str("panicked"),
            Self::Code(TRAPPED) => f.write_str("trapped"),
            Self::Code(HUNG) => f.write_str("hung"),
            Self::Code(code) => write!(f, "failed, exit code {code}"),
            Self::OutOfTime => write!(f, "hung, ended after {} s", LIMIT.as_secs()),
            Self::Failed(error) => error.fmt(f),
        }
    }
}

impl Machine {
    pub(super) fn arch(&self) -> Arch {
        self.arch
    }

    fn image(&self) -> PathBuf {
        let target = self.arch.target();
        root().join(format!("{TARGET}/{target}/release/parkade-kernel"))
    }

    /// Builds the kernel and reads its image.
    pub(super) fn build(&self) -> Result<Image> {
        Step::cargo(
            "build --release --locked --config kernel/.cargo/config.toml \
             --manifest-path kernel/Cargo.toml",
        )
        .args(["--target-dir", TARGET, "--target", self.arch.target()])
        .run()?;
        let path = self.image();
        let bytes = fs::read(&path).with_context(|| path.display().to_string())?;
        Image::parse(&bytes)
    }

    /// Where a boot's serial line goes.
    pub(super) fn serial(&self, boot: &Boot) -> PathBuf {
        root().join(format!("{TARGET}/{}-{boot}.txt", self.arch))
    }

    /// What a boot printed in the end.
    pub(super) fn last_words(&self, boot: &Boot) -> String {
        const LINES: usize = 8;
        let bytes = fs::read(self.serial(boot)).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<_> = text.lines().collect();
        lines[lines.len().saturating_sub(LINES)..].join("\n")
    }

    pub(super) fn run(&self, boot: &Boot) -> End {
        self.step(boot).judge().into()
    }

    /// Boots the kernel while `look` looks at the emulator's process.
    pub(super) fn run_while<T>(
        &self,
        boot: &Boot,
        look: impl FnOnce(u32) -> T,
    ) -> Result<T, StepError> {
        self.step(boot).judge_while(look)
    }

    fn step(&self, boot: &Boot) -> Step {
        // What an earlier boot said is not what this one says. There need not be any.
        let _ = fs::remove_file(self.serial(boot));
        let serial = format!("file:{}", self.serial(boot).display());
        let mut step = Step::new(self.arch.emulator(), self.arch.board().iter().copied())
            .args(["-m", "128M", "-smp", &boot.harts.to_string()])
            .args(["-name", "parkade,debug-threads=on", "-display", "none"])
            .args(["-monitor", "none", "-serial", &serial]);
        if let Clock::Counted { shift } = boot.clock {
            step = step.args(["-icount", &format!("shift={shift},sleep=off")]);
        }
        let words = [word(boot.mode.name), boot.seed.into(), boot.harts.into()];
        for (address, word) in (self.arch.parameters()..).step_by(8).zip(words) {
            let loader = format!("loader,addr={address:#x},data={word:#x},data-len=8");
            step = step.args(["-device", &loader]);
        }
        step.args(["-kernel", &self.image().display().to_string()])
            .limit(LIMIT)
    }
}

/// A name of at most eight letters as the word that it is in memory.
fn word(name: &str) -> u64 {
    name.bytes()
        .rev()
        .fold(0, |word, byte| word << 8 | u64::from(byte))
}

#[cfg(test)]
mod tests {
    use super::super::plan;
    use super::*;

    fn boot(name: &str, clock: Clock) -> Boot {
        Boot {
            mode: plan::mode(name).expect("there is such a mode"),
            harts: 2,
            seed: 7,
            clock,
        }
    }

    #[test]
    fn a_name_is_a_little_endian_word() {
        assert_eq!(word("boot").to_le_bytes(), *b"boot\0\0\0\0");
        assert_eq!(word("priority").to_le_bytes(), *b"priority");
    }

    #[test]
    fn the_emulator_is_told_mode_seed_harts_and_clock() {
        let machine = Machine {
            arch: Arch::Riscv64,
        };
        let real = machine.step(&boot("stop", Clock::Real)).to_string();
        assert!(real.contains("-smp 2"), "{real}");
        assert!(real.contains("loader,addr=0x87f00000,data=0x706f7473,data-len=8"));
        assert!(real.contains("loader,addr=0x87f00008,data=0x7,data-len=8"));
        assert!(real.contains("loader,addr=0x87f00010,data=0x2,data-len=8"));
        assert!(!real.contains("-icount"), "{real}");
        let counted = machine.step(&boot("stop", Clock::Counted { shift: 3 }));
        assert!(counted.to_string().contains("-icount shift=3,sleep=off"));
    }

    #[test]
    fn each_way_to_end_is_told_apart() {
        let stop = plan::mode("stop").expect("there is such a mode");
        let broken = plan::mode("broken").expect("there is such a mode");
        let panic = plan::mode("panic").expect("there is such a mode");
        assert!(End::Code(0).is_meant(stop));
        assert!(!End::Code(16).is_meant(stop));
        assert!(!End::OutOfTime.is_meant(stop));
        assert!(End::Code(HUNG).is_meant(broken));
        assert!(End::OutOfTime.is_meant(broken));
        assert!(!End::Code(0).is_meant(broken));
        assert!(End::Code(PANICKED).is_meant(panic));
        assert!(!End::Code(TRAPPED).is_meant(panic));
        assert_eq!(End::Code(TRAPPED).to_string(), "trapped");
        assert_eq!(End::Code(16).to_string(), "failed, exit code 16");
    }
}
