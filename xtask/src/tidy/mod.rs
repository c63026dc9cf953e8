//! `cargo xtask tidy`: the rules that a compiler cannot enforce.
//!
//! A rule is a name, a sentence, and either a check in a file beside this one or the command that
//! enforces it elsewhere. ARCHITECTURE.md states each as a line `Invariant[name]: …`; the rule
//! `invariants` holds the two lists together, so neither promises what the other does not keep.
//!
//! A finding reads `file:line: rule: what`, so that an editor can jump to it.

mod arguments;
mod cfgs;
mod citations;
mod examples;
mod files;
mod imports;
mod invariants;
mod orderings;
mod source;
mod unsafety;

use std::fmt;

use anyhow::{Result, bail};
use clap::Args;

use source::Tree;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// List the rules, and check none.
    #[arg(long)]
    rules: bool,
}

/// A rule of the house.
struct Rule {
    name: &'static str,
    says: &'static str,
    enforced: Enforced,
}

enum Enforced {
    /// By a check here.
    Here(fn(&Tree) -> Vec<Finding>),
    /// By another command, named.
    By(&'static str),
}

/// A place that breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    file: String,
    line: usize,
    what: String,
}

impl Finding {
    fn new(file: &str, line: usize, what: impl Into<String>) -> Self {
        Self {
            file: file.to_owned(),
            line,
            what: what.into(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.what)
    }
}

const RULES: &[Rule] = &[
    Rule {
        name: "core-imports",
        says: "core uses core and crossbeam-utils; spin, heapless and alloc stay in core/src/pieces",
        enforced: Enforced::Here(imports::core),
    },
    Rule {
        name: "core-one-door",
        says: "core reaches atomics through core/src/sync.rs, with few named exceptions",
        enforced: Enforced::Here(imports::one_door),
    },
    Rule {
        name: "backend-imports",
        says: "a backend names neither the other backend nor the runtime",
        enforced: Enforced::Here(imports::backends),
    },
    Rule {
        name: "runtime-imports",
        says: "the runtime makes no system call itself: it names neither rustix nor libc",
        enforced: Enforced::Here(imports::runtime),
    },
    Rule {
        name: "runtime-one-selector",
        says: "runtime/src/backend.rs alone names the backends",
        enforced: Enforced::Here(imports::selector),
    },
    Rule {
        name: "core-cfg",
        says: "core's logic has no cfg: features in pieces, the models' cfg at the door to atomics",
        enforced: Enforced::Here(cfgs::core),
    },
    Rule {
        name: "runtime-cfg",
        says: "the runtime asks for features and targets in backend.rs and lib.rs alone",
        enforced: Enforced::Here(cfgs::runtime),
    },
    Rule {
        name: "core-no-unsafe",
        says: "core is no_std and forbids unsafe code",
        enforced: Enforced::Here(unsafety::core),
    },
    Rule {
        name: "kernel-imports",
        says: "the kernel names neither std nor alloc, neither the runtime nor its backends",
        enforced: Enforced::Here(imports::kernel),
    },
    Rule {
        name: "kernel-cfg",
        says: "the kernel asks for its target only where it picks a machine",
        enforced: Enforced::Here(cfgs::kernel),
    },
    Rule {
        name: "kernel-boots",
        says: "the core, unchanged, boots without an operating system or an allocator and holds its properties",
        enforced: Enforced::By("cargo xtask kernel"),
    },
    Rule {
        name: "citations",
        says: "each line that the page for kernels cites says what the page says",
        enforced: Enforced::Here(citations::check),
    },
    Rule {
        name: "unsafe-files",
        says: "unsafe code stands only in the files whose purpose it is",
        enforced: Enforced::Here(unsafety::elsewhere),
    },
    Rule {
        name: "orderings-named",
        says: "in core each ordering above Relaxed is a named one: order(\"id\", …)",
        enforced: Enforced::Here(orderings::named),
    },
    Rule {
        name: "orderings-explained",
        says: "each ordering above Relaxed and each fence has an // Ordering[id]: note, one meaning an id",
        enforced: Enforced::Here(orderings::explained),
    },
    Rule {
        name: "no-seqcst-access",
        says: "in core SeqCst is for fences, never for a load, a store or a read-modify-write",
        enforced: Enforced::Here(orderings::no_seqcst_access),
    },
    Rule {
        name: "argument-sections",
        says: "each protocol of core teaches in the same order, its transitions numbered from 1",
        enforced: Enforced::Here(arguments::sections),
    },
    Rule {
        name: "argument-references",
        says: "the transitions and orderings that core's comments refer to exist",
        enforced: Enforced::Here(arguments::references),
    },
    Rule {
        name: "file-heads",
        says: "every file of Rust code opens by teaching what it is about",
        enforced: Enforced::Here(files::heads),
    },
    Rule {
        name: "file-length",
        says: "no file of Rust code is longer than 500 lines",
        enforced: Enforced::Here(files::length),
    },
    Rule {
        name: "examples",
        says: "every public item has an example that runs, or leads to one that uses it",
        enforced: Enforced::Here(examples::check),
    },
    Rule {
        name: "unfinished",
        says: "no ignored test, no placeholder, no debugging left-over, no silenced dead code",
        enforced: Enforced::Here(files::unfinished),
    },
    Rule {
        name: "house-words",
        says: "no path of a developer's machine stands in a tracked file",
        enforced: Enforced::Here(files::house_words),
    },
    Rule {
        name: "invariants",
        says: "ARCHITECTURE.md and this list name the same rules",
        enforced: Enforced::Here(invariants::check),
    },
    Rule {
        name: "core-dependencies",
        says: "core's dependency tree holds no crate that needs std",
        enforced: Enforced::By("cargo xtask deps"),
    },
    Rule {
        name: "core-bare-metal",
        says: "core builds for four targets that have no operating system",
        enforced: Enforced::By("cargo xtask ci --only 'bare metal'"),
    },
    Rule {
        name: "std-everywhere",
        says: "the runtime on the std backend compiles for Windows and macOS",
        enforced: Enforced::By("cargo xtask ci --only 'other systems'"),
    },
    Rule {
        name: "generic-alone",
        says: "the runtime compiles with no backend at all",
        enforced: Enforced::By("cargo xtask ci --only 'generic runtime'"),
    },
];

pub(crate) fn run(options: &Options) -> Result<()> {
    if options.rules {
        for rule in RULES {
            let by = match rule.enforced {
                Enforced::Here(_) => "tidy",
                Enforced::By(command) => command,
            };
            println!("{}: {} [{by}]", rule.name, rule.says);
        }
        return Ok(());
    }
    let tree = Tree::tracked()?;
    let mut found = 0;
    let mut checked = 0;
    for rule in RULES {
        let Enforced::Here(check) = rule.enforced else {
            continue;
        };
        checked += 1;
        let mut findings = check(&tree);
        findings.sort();
        for Finding { file, line, what } in &findings {
            println!("{file}:{line}: {}: {what}", rule.name);
        }
        found += findings.len();
    }
    if found > 0 {
        bail!("{found} findings; `cargo xtask tidy --rules` says what each rule wants");
    }
    println!("{checked} rules hold in {} files", tree.len());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_has_a_name_of_its_own() {
        let mut names: Vec<_> = RULES.iter().map(|rule| rule.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), RULES.len());
    }
}
