//! What users can name shows how it is used.
//!
//! A type, trait, function, method, constant or exported macro that is public has an example in its doc, which runs as
//! a test, or a sentence like "See \[`Thing`\] for an example." Where several methods are one idea, one example has them
//! all: so the example that the sentence leads to must use the name, in a line that the reader sees. `crate` and the
//! names of public modules lead to their heads.
//!
//! Public is what says `pub`, because the compiler denies `pub` where nobody can reach it. What a macro makes is not
//! seen here; neither are fields, variants and implementations of traits, which their types' and traits' docs teach.

use std::collections::HashMap;

use super::Finding;
use super::source::Tree;

/// The folders whose public items users meet.
const ROOMS: [&str; 4] = [
    "core/src/",
    "backend-linux/src/",
    "backend-std/src/",
    "runtime/src/",
];

/// What stands before the link in a sentence that leads to an example, and what may stand after it.
const BEFORE: [&str; 2] = ["See [", "; see ["];
const AFTER: [&str; 2] = [" for an example.", " for more and an example."];

/// A public item, and what its doc shows.
struct Item {
    /// With its type, if it is a method: `Type::method`.
    path: String,
    file: String,
    line: usize,
    /// The lines of its examples that a reader sees, if it has one.
    example: Option<String>,
    /// Where the sentence leads.
    leads_to: Option<String>,
}

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for room in ROOMS {
        let mut items = Vec::new();
        for file in tree.room(room) {
            match syn::parse_file(&file.text) {
                Ok(parsed) => {
                    items.push(head(room, &file.path, &parsed.attrs));
                    collect(&file.path, &parsed.items, &mut items);
                }
                Err(error) => findings.push(Finding::new(&file.path, 1, error.to_string())),
            }
        }
        let examples: HashMap<&str, &str> = items
            .iter()
            .filter_map(|item| Some((item.path.as_str(), item.example.as_deref()?)))
            .collect();
        for item in items.iter().filter(|item| item.line > 0) {
            if let Some(what) = fault(item, &examples) {
                findings.push(Finding::new(&item.file, item.line, what));
            }
        }
    }
    findings
}

/// What is wrong with an item's doc, if anything.
fn fault(item: &Item, examples: &HashMap<&str, &str>) -> Option<String> {
    let path = &item.path;
    if item.example.is_some() {
        return None;
    }
    let Some(target) = &item.leads_to else {
        return Some(format!(
            "`{path}` has neither an example nor a sentence that leads to one"
        ));
    };
    let Some(example) = shown_at(target, examples) else {
        return Some(format!(
            "`{path}` leads to `{target}`, which has no example"
        ));
    };
    let name = path.rsplit("::").next().unwrap_or(path);
    let used = example
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .any(|word| word == name);
    (!used).then(|| format!("`{path}` leads to `{target}`, whose example does not use it"))
}

/// The example at a path, in front of whose name there may be modules.
fn shown_at<'a>(target: &str, examples: &HashMap<&str, &'a str>) -> Option<&'a str> {
    let of = |path: &str| examples.get(path).copied();
    of(target).or_else(|| shown_at(target.split_once("::")?.1, examples))
}

/// The head of a file, which an item may lead to; nothing is demanded of it, so it has no line.
fn head(room: &str, file: &str, attributes: &[syn::Attribute]) -> Item {
    let name = file.strip_prefix(room).unwrap_or(file);
    let name = name.strip_suffix(".rs").unwrap_or(name);
    let name = match name.strip_suffix("/mod").unwrap_or(name) {
        "lib" => "crate",
        name => name,
    };
    item(name.replace('/', "::"), file, 0, attributes)
}

fn collect(file: &str, items: &[syn::Item], found: &mut Vec<Item>) {
    for each in items {
        match each {
            syn::Item::Mod(module) if !skipped(&module.attrs) => {
                if let Some((_, items)) = &module.content {
                    collect(file, items, found);
                }
            }
            syn::Item::Impl(block) if block.trait_.is_none() => {
                let of = type_name(&block.self_ty);
                for member in &block.items {
                    let (visibility, attributes, name) = match member {
                        syn::ImplItem::Fn(it) => (&it.vis, &it.attrs, &it.sig.ident),
                        syn::ImplItem::Const(it) => (&it.vis, &it.attrs, &it.ident),
                        _ => continue,
                    };
                    public(file, Some(&of), visibility, attributes, name, found);
                }
            }
            syn::Item::Trait(it) => {
                public(file, None, &it.vis, &it.attrs, &it.ident, found);
                for member in &it.items {
                    let (attributes, name) = match member {
                        syn::TraitItem::Fn(it) => (&it.attrs, &it.sig.ident),
                        syn::TraitItem::Const(it) => (&it.attrs, &it.ident),
                        _ => continue,
                    };
                    let of = it.ident.to_string();
                    public(file, Some(&of), &it.vis, attributes, name, found);
                }
            }
            syn::Item::Macro(it) => {
                let exported = it.attrs.iter().any(|at| at.path().is_ident("macro_export"));
                if let (true, Some(name)) = (exported, &it.ident) {
                    let line = name.span().start().line;
                    found.push(item(name.to_string(), file, line, &it.attrs));
                }
            }
            syn::Item::Fn(it) => public(file, None, &it.vis, &it.attrs, &it.sig.ident, found),
            syn::Item::Struct(it) => public(file, None, &it.vis, &it.attrs, &it.ident, found),
            syn::Item::Enum(it) => public(file, None, &it.vis, &it.attrs, &it.ident, found),
            syn::Item::Union(it) => public(file, None, &it.vis, &it.attrs, &it.ident, found),
            syn::Item::Type(it) => public(file, None, &it.vis, &it.attrs, &it.ident, found),
            syn::Item::Const(it) => public(file, None, &it.vis, &it.attrs, &it.ident, found),
            syn::Item::Static(it) => public(file, None, &it.vis, &it.attrs, &it.ident, found),
            _ => {}
        }
    }
}

/// Notes an item if it is public, and neither hidden nor a test's.
fn public(
    file: &str,
    of: Option<&str>,
    visibility: &syn::Visibility,
    attributes: &[syn::Attribute],
    name: &syn::Ident,
    found: &mut Vec<Item>,
) {
    if !matches!(visibility, syn::Visibility::Public(_)) || skipped(attributes) {
        return;
    }
    let path = of.map_or_else(|| name.to_string(), |of| format!("{of}::{name}"));
    found.push(item(path, file, name.span().start().line, attributes));
}

fn item(path: String, file: &str, line: usize, attributes: &[syn::Attribute]) -> Item {
    let (prose, example) = split(&doc(attributes));
    let of = path.split("::").next().unwrap_or_default();
    let leads_to = target(&prose).map(|target| target.replace("Self", of));
    Item {
        path,
        file: file.to_owned(),
        line,
        example,
        leads_to,
    }
}

/// Whether an item is a test's, or hidden from the docs.
fn skipped(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let syn::Meta::List(list) = &attribute.meta else {
            return false;
        };
        let inside = list.tokens.to_string();
        (list.path.is_ident("cfg")
            && inside
                .split(|c: char| !c.is_alphanumeric())
                .any(|w| w == "test"))
            || (list.path.is_ident("doc") && inside == "hidden")
    })
}

/// The lines of a doc that stand in the file; what it includes from elsewhere is left out.
fn doc(attributes: &[syn::Attribute]) -> String {
    let mut text = String::new();
    for attribute in attributes {
        if let syn::Meta::NameValue(pair) = &attribute.meta
            && pair.path.is_ident("doc")
            && let syn::Expr::Lit(literal) = &pair.value
            && let syn::Lit::Str(line) = &literal.lit
        {
            text.push_str(&line.value());
            text.push('\n');
        }
    }
    text
}

/// The prose of a doc as one line, and what a reader sees of its examples that run.
fn split(doc: &str) -> (String, Option<String>) {
    let (mut prose, mut seen) = (String::new(), String::new());
    // Inside a block: whether it runs.
    let mut block: Option<bool> = None;
    for line in doc.lines().map(str::trim) {
        match (line.strip_prefix("```"), block) {
            (Some(_), Some(_)) => block = None,
            (Some(language), None) => {
                block = Some(["", "rust", "should_panic"].contains(&language));
            }
            (None, Some(true)) if line != "#" && !line.starts_with("# ") && !line.is_empty() => {
                seen.push_str(line);
                seen.push('\n');
            }
            (None, Some(_)) => {}
            (None, None) => {
                prose.push_str(line);
                prose.push(' ');
            }
        }
    }
    (prose, Some(seen).filter(|seen| !seen.is_empty()))
}

/// Where the sentence that leads to an example leads: the path in the link's brackets, or after them.
fn target(prose: &str) -> Option<String> {
    let before = AFTER.iter().find_map(|after| prose.split_once(after))?.0;
    let link = BEFORE.iter().find_map(|see| before.rsplit_once(see))?.1;
    let (shown, after) = link.split_once(']')?;
    let path = after
        .strip_prefix('(')
        .and_then(|path| path.strip_suffix(')'))
        .unwrap_or(shown)
        .trim_matches('`');
    let path = path.strip_suffix("()").unwrap_or(path);
    Some(path.strip_prefix("crate::").unwrap_or(path).to_owned())
}

/// The last word of a type's path.
fn type_name(of: &syn::Type) -> String {
    match of {
        syn::Type::Path(path) => path.path.segments.last().map(|last| last.ident.to_string()),
        _ => None,
    }
    .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::source::sample;
    use super::*;

    fn whats(text: &str) -> Vec<String> {
        let tree = sample(&[("runtime/src/a.rs", text)]);
        let findings = check(&tree).into_iter();
        findings.map(|finding| finding.what).collect()
    }

    /// An example whose visible line is `code`.
    fn shows(code: &str) -> String {
        format!("/// What it is.\n///\n/// ```\n/// # hidden();\n/// {code}\n/// ```\n")
    }

    #[test]
    fn each_kind_of_public_item_shows_its_use() {
        for item in [
            "pub struct A;",
            "pub enum A {}",
            "pub trait A {}",
            "pub type A = u8;",
            "pub const A: u8 = 0;",
            "pub const unsafe fn A() {}",
            "#[macro_export]\nmacro_rules! A { () => {} }",
            "mod b { #[doc = \"Docs.\"] pub fn A() {} }",
        ] {
            let missing = "`A` has neither an example nor a sentence that leads to one";
            assert_eq!(whats(&format!("/// Docs.\n{item}")), [missing], "{item}");
        }
        let members =
            "impl<T> A<T> { pub fn b() {} pub const C: u8 = 0; fn d() {} pub(crate) fn e() {} }";
        assert_eq!(whats(members).len(), 2);
        let members = format!("{}pub trait A {{ fn b(); fn c() {{}} }}", shows("A"));
        assert_eq!(whats(&members).len(), 2);
        assert_eq!(whats(&format!("{}pub struct A;", shows("A"))), [""; 0]);
    }

    #[test]
    fn what_users_cannot_name_needs_none() {
        for item in [
            "fn a() {}",
            "pub(crate) struct A;",
            "impl B for A { fn c() {} }",
            "trait A { fn b(); }",
            "macro_rules! a { () => {} }",
            "#[doc(hidden)] pub fn a() {}",
            "#[cfg(test)] mod tests { pub fn a() {} }",
            "pub struct A { pub b: u8 }",
        ] {
            let text = item.replace("pub struct A {", &format!("{}pub struct A {{", shows("A")));
            assert_eq!(whats(&text), [""; 0], "{item}");
        }
        let elsewhere = sample(&[("xtask/src/a.rs", "pub fn a() {}")]);
        assert_eq!(check(&elsewhere), []);
    }

    #[test]
    fn a_block_that_does_not_run_is_no_example() {
        for opened in ["```text", "```ignore", "```compile_fail", "```no_run"] {
            let text = shows("a()").replacen("```", opened, 1);
            assert_eq!(
                whats(&format!("{text}pub fn a() {{}}")).len(),
                1,
                "{opened}"
            );
        }
        let unseen = "/// ```\n/// # a();\n/// ```\npub fn a() {}";
        assert_eq!(whats(unseen).len(), 1);
    }

    #[test]
    fn a_sentence_leads_to_an_example_that_uses_the_name() {
        let led = |sentence: &str, code: &str| {
            let of_a = shows(code);
            whats(&format!(
                "//! {sentence}\n{of_a}pub struct A;\nimpl A {{\n/// It.\n/// {sentence}\npub fn b() {{}} }}"
            ))
        };
        for sentence in [
            "See [`A`] for an example.",
            "See [`Self`] for an example.",
            "See [`A`](crate::A) for an example.",
            "See [it](crate::c::A) for an example.",
            "B; see [`A`] for more and an example.",
        ] {
            assert_eq!(led(sentence, "A::b()"), [""; 0], "{sentence}");
            let unused = "whose example does not use it";
            assert!(
                led(sentence, "A::bb(\"c\")")[0].ends_with(unused),
                "{sentence}"
            );
        }
        assert_eq!(
            led("See [`B`] for an example.", "A::b()"),
            ["`A::b` leads to `B`, which has no example"]
        );
        assert_eq!(led("See [`A`].", "A::b()").len(), 1);
    }

    #[test]
    fn a_file_s_head_may_have_the_example() {
        let head = "//! ```\n//! let a = b();\n//! ```\n";
        let tree = |path: &str, link: &str| {
            let text = format!("{head}/// See [{link}] for an example.\npub fn b() {{}}");
            sample(&[(path, &text)])
        };
        assert_eq!(check(&tree("core/src/lib.rs", "`crate`")), []);
        assert_eq!(check(&tree("core/src/stop.rs", "`stop`")), []);
        assert_eq!(check(&tree("core/src/stop/mod.rs", "`crate::stop`")), []);
        assert_eq!(check(&tree("core/src/stop.rs", "`start`")).len(), 1);
    }
}
