//! What the kernel's image weighs, how much of it is the core, and that nothing in it allocates.

use std::fmt;

use anyhow::{Context, Result};
use object::{File, Object, ObjectSection, ObjectSymbol, SectionKind, SymbolKind};

/// The most bytes that text and data may take.
const MOST: u64 = 64 * 1024;

/// Names that only a program with an allocator has.
const ALLOCATORS: [&str; 5] = [
    "__rust_alloc",
    "__rust_realloc",
    "__rdl_alloc",
    "malloc",
    "GlobalAlloc",
];

/// The core's name inside the names of its functions, whatever it is generic over.
const CORE: &str = "parkade_core";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Image {
    text: u64,
    data: u64,
    core: u64,
    allocators: Vec<String>,
}

impl Image {
    pub(super) fn parse(bytes: &[u8]) -> Result<Self> {
        let file = File::parse(bytes).context("the kernel's image")?;
        let size = |wanted: fn(SectionKind) -> bool| {
            let sections = file.sections().filter(|section| wanted(section.kind()));
            sections.map(|section| section.size()).sum()
        };
        let names = || {
            file.symbols()
                .filter_map(|symbol| Some((symbol.name().ok()?, symbol)))
        };
        let core = names()
            .filter(|(name, symbol)| symbol.kind() == SymbolKind::Text && name.contains(CORE));
        Ok(Self {
            text: size(|kind| kind == SectionKind::Text),
            data: size(|kind| {
                use SectionKind::{Data, ReadOnlyData, ReadOnlyString};
                matches!(kind, Data | ReadOnlyData | ReadOnlyString)
            }),
            core: core.map(|(_, symbol)| symbol.size()).sum(),
            allocators: allocators(names().map(|(name, _)| name)),
        })
    }

    /// What is wrong with it.
    pub(super) fn faults(&self) -> Vec<String> {
        let size = self.text + self.data;
        let mut faults = Vec::new();
        if size >= MOST {
            faults.push(format!(
                "the image has {size} bytes of text and data, {MOST} or more"
            ));
        }
        if self.core == 0 {
            faults.push("no function of the core is in the image".to_owned());
        }
        if let Some(name) = self.allocators.first() {
            faults.push(format!("the image has an allocator: {name}"));
        }
        faults
    }
}

impl fmt::Display for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            text, data, core, ..
        } = self;
        write!(
            f,
            "{text} bytes of text, {core} of them the core's own functions; {data} bytes of data"
        )
    }
}

fn allocators<'n>(names: impl Iterator<Item = &'n str>) -> Vec<String> {
    names
        .filter(|name| ALLOCATORS.iter().any(|part| name.contains(part)))
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image() -> Image {
        Image {
            text: 40_000,
            data: 100,
            core: 9_000,
            allocators: Vec::new(),
        }
    }

    #[test]
    fn an_image_is_small_has_the_core_and_no_allocator() {
        assert!(image().faults().is_empty());
        let faults = |change: fn(&mut Image)| {
            let mut image = image();
            change(&mut image);
            image.faults().len()
        };
        assert_eq!(faults(|image| image.text = MOST), 1);
        assert_eq!(faults(|image| image.data = MOST), 1);
        assert_eq!(faults(|image| image.core = 0), 1);
        assert_eq!(faults(|image| image.allocators.push("malloc".into())), 1);
    }

    #[test]
    fn allocators_are_known_by_name() {
        let names = [
            "kernel_main",
            "__rust_alloc",
            "_ZN12parkade_core3tag",
            "malloc",
        ];
        assert_eq!(allocators(names.into_iter()), ["__rust_alloc", "malloc"]);
    }

    #[test]
    fn this_program_has_what_a_kernel_has_not() -> Result<()> {
        let image = Image::parse(&std::fs::read(std::env::current_exe()?)?)?;
        assert!(image.text > 0 && image.data > 0);
        assert!(!image.faults().is_empty());
        Ok(())
    }

    #[test]
    fn what_is_no_program_is_refused() {
        assert!(Image::parse(b"no program").is_err());
    }
}
