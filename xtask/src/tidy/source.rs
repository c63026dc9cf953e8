//! What the checks look at: tracked files, and Rust files cut into tokens.
//!
//! The tokens are proc-macro2's, flattened, so a word in a string or a comment is never taken for
//! code. What the lexer skips, the comments, is kept beside them by line.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};

use crate::run::{Step, root};

/// The tracked text files of the repository.
pub(super) struct Tree {
    files: Vec<Source>,
}

/// One text file; without tokens unless it is Rust.
pub(super) struct Source {
    pub(super) path: String,
    pub(super) text: String,
    pub(super) tokens: Vec<Token>,
    /// Plain comments, `//` and `/* */` but not doc comments, by line.
    pub(super) comments: BTreeMap<usize, String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) text: String,
    pub(super) line: usize,
    pub(super) kind: Kind,
    /// Whether it stands in an item under `#[cfg(test)]`, or in that attribute.
    pub(super) in_test: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Word,
    Literal,
    /// A punctuation character, a bracket, or `::`.
    Mark,
}

impl Tree {
    /// Reads what git tracks, and what it would track: new files count before they are added.
    pub(super) fn tracked() -> Result<Self> {
        let listed = Step::new(
            "git",
            [
                "ls-files",
                "--cached",
                "--others",
                "--exclude-standard",
                "-z",
            ],
        )
        .capture()
        .context("the tracked files are unknown")?;
        let mut files = Vec::new();
        for path in listed.split('\0').filter(|path| !path.is_empty()) {
            let full = root().join(path);
            // A file that is deleted but not yet staged is still listed.
            let Ok(bytes) = std::fs::read(&full) else {
                continue;
            };
            if let Ok(text) = String::from_utf8(bytes) {
                files.push(Source::new(path, text)?);
            }
        }
        Ok(Self { files })
    }

    pub(super) fn len(&self) -> usize {
        self.files.len()
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Source> {
        self.files.iter()
    }

    pub(super) fn rust(&self) -> impl Iterator<Item = &Source> {
        self.files.iter().filter(|file| file.path.ends_with(".rs"))
    }

    /// The Rust files below a folder, test modules in files of their own excepted.
    pub(super) fn room<'a>(&'a self, folder: &'a str) -> impl Iterator<Item = &'a Source> {
        self.rust().filter(move |file| {
            file.path.starts_with(folder)
                && !file.path.ends_with("/tests.rs")
                && !file.path.contains("/tests/")
        })
    }

    pub(super) fn get(&self, path: &str) -> Option<&Source> {
        self.files.iter().find(|file| file.path == path)
    }
}

impl Source {
    fn new(path: &str, text: String) -> Result<Self> {
        let mut source = Self {
            path: path.to_owned(),
            text,
            tokens: Vec::new(),
            comments: BTreeMap::new(),
        };
        if path.ends_with(".rs") {
            let stream: TokenStream = match source.text.parse() {
                Ok(stream) => stream,
                Err(error) => bail!("{path} is not Rust: {error}"),
            };
            let mut rest = source.text.clone().into_bytes();
            flatten(stream, false, &mut source.tokens, &mut rest);
            for (index, line) in String::from_utf8_lossy(&rest).lines().enumerate() {
                if !line.trim().is_empty() {
                    source.comments.insert(index + 1, line.trim().to_owned());
                }
            }
        }
        Ok(source)
    }

    /// The tokens outside test modules.
    pub(super) fn code(&self) -> Vec<&Token> {
        self.tokens.iter().filter(|token| !token.in_test).collect()
    }
}

impl Token {
    pub(super) fn is(&self, text: &str) -> bool {
        self.kind != Kind::Literal && self.text == text
    }

    pub(super) fn is_word(&self) -> bool {
        self.kind == Kind::Word
    }
}

/// Whether the tokens from `at` on read as `texts`.
pub(super) fn reads(tokens: &[&Token], at: usize, texts: &[&str]) -> bool {
    tokens.len() >= at + texts.len()
        && texts
            .iter()
            .zip(&tokens[at..])
            .all(|(text, token)| token.is(text))
}

/// The index just after the bracket that closes the one at `open`.
pub(super) fn after_group(tokens: &[&Token], open: usize) -> usize {
    let mut depth = 0_usize;
    for (offset, token) in tokens[open..].iter().enumerate() {
        if ["(", "[", "{"].iter().any(|mark| token.is(mark)) {
            depth += 1;
        } else if [")", "]", "}"].iter().any(|mark| token.is(mark)) {
            depth -= 1;
            if depth == 0 {
                return open + offset + 1;
            }
        }
    }
    tokens.len()
}

/// Appends the stream's tokens and blanks their bytes in `rest`, so that comments remain there.
fn flatten(stream: TokenStream, in_test: bool, tokens: &mut Vec<Token>, rest: &mut [u8]) {
    let trees: Vec<TokenTree> = stream.into_iter().collect();
    let mut test_item = false;
    let mut at = 0;
    while let Some(tree) = trees.get(at) {
        let line = tree.span().start().line;
        test_item |= is_cfg_test(&trees, at);
        let in_test = in_test || test_item;
        let mut push = |text: String, line, kind| {
            tokens.push(Token {
                text,
                line,
                kind,
                in_test,
            });
        };
        match tree {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::None => ("", ""),
                };
                blank(rest, group.span_open().byte_range());
                blank(rest, group.span_close().byte_range());
                push(open.to_owned(), line, Kind::Mark);
                flatten(group.stream(), in_test, tokens, rest);
                tokens.push(Token {
                    text: close.to_owned(),
                    line: group.span_close().start().line,
                    kind: Kind::Mark,
                    in_test,
                });
                if group.delimiter() == Delimiter::Brace {
                    test_item = false;
                }
            }
            TokenTree::Ident(word) => {
                blank(rest, word.span().byte_range());
                push(word.to_string(), line, Kind::Word);
            }
            TokenTree::Literal(literal) => {
                blank(rest, literal.span().byte_range());
                push(literal.to_string(), line, Kind::Literal);
            }
            TokenTree::Punct(mark) => {
                blank(rest, mark.span().byte_range());
                let mut text = mark.as_char().to_string();
                if mark.as_char() == ':'
                    && mark.spacing() == Spacing::Joint
                    && let Some(TokenTree::Punct(second)) = trees.get(at + 1)
                    && second.as_char() == ':'
                {
                    blank(rest, second.span().byte_range());
                    text.push(':');
                    at += 1;
                }
                if text == ";" {
                    test_item = false;
                }
                push(text, line, Kind::Mark);
            }
        }
        at += 1;
    }
}

/// Whether the tree at `at` is the bracket of `#[cfg(test)]` or `#[cfg(all(test, …))]`.
fn is_cfg_test(trees: &[TokenTree], at: usize) -> bool {
    let attribute = at > 0
        && matches!(&trees[at - 1], TokenTree::Punct(mark) if mark.as_char() == '#')
        && matches!(&trees[at], TokenTree::Group(_));
    attribute && {
        let text = trees[at].to_string().replace(' ', "");
        text == "[cfg(test)]" || text.starts_with("[cfg(all(test,")
    }
}

fn blank(bytes: &mut [u8], range: std::ops::Range<usize>) {
    for byte in &mut bytes[range] {
        // Line breaks inside a literal keep the lines countable.
        if *byte != b'\n' {
            *byte = b' ';
        }
    }
}

/// A tree made of samples, for the tests of the checks.
#[cfg(test)]
pub(super) fn sample(files: &[(&str, &str)]) -> Tree {
    let files = files
        .iter()
        .map(|(path, text)| Source::new(path, (*text).to_owned()).expect("a sample parses"))
        .collect();
    Tree { files }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_in_strings_and_comments_are_not_code() {
        let tree = sample(&[(
            "a.rs",
            "//! std::x\nfn f() { g(\"std::y\\n\"); } // std::z\n/* w */\n",
        )]);
        let file = tree.get("a.rs").expect("it is there");
        assert!(!file.tokens.iter().any(|token| token.is("std")));
        assert_eq!(file.comments.get(&2).map(String::as_str), Some("// std::z"));
        assert_eq!(file.comments.get(&3).map(String::as_str), Some("/* w */"));
        assert_eq!(file.comments.len(), 2);
    }

    #[test]
    fn test_modules_are_told_apart_from_code() {
        let text = "fn a() {}\n#[cfg(all(test, not(m)))]\nmod tests { fn b() {} }\nfn c() {}\n#[cfg(test)]\nuse d;\nfn e() {}\n#[cfg(not(test))] fn f() {}\n";
        let tree = sample(&[("a.rs", text)]);
        let file = tree.get("a.rs").expect("it is there");
        let words: Vec<_> = file
            .code()
            .into_iter()
            .filter(|token| token.is_word() && token.text.len() == 1)
            .map(|token| token.text.as_str())
            .collect();
        assert_eq!(words, ["a", "c", "e", "f"]);
    }

    #[test]
    fn lines_are_counted_through_multi_byte_text() {
        let tree = sample(&[(
            "a.rs",
            "//! ≥ 2\nfn f() {\n    \"é\n\";\n    g()\n} // ü end\n",
        )]);
        let file = tree.get("a.rs").expect("it is there");
        let g = file.tokens.iter().find(|token| token.is("g"));
        assert_eq!(g.map(|token| token.line), Some(5));
        assert_eq!(file.comments.get(&6).map(String::as_str), Some("// ü end"));
    }
}
