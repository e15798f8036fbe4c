//! Finds the items of a Rust file that are tests or exist only for tests.

use std::ops::Range;

use crate::mutants::{Kind, Source};

const DEPTH_CAP: usize = 64;

/// A guarded part of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TestBlock {
    /// Name for people, such as `mod tests`.
    pub(super) name: String,
    /// The surrounding modules, implementations and traits, outermost first.
    pub(super) container: Vec<String>,
    /// The conditions of the surroundings, other than `cfg(test)`.
    pub(super) conditions: String,
    /// The compared text; for a module, without the tests in it, which are blocks of their own.
    pub(super) text: String,
    pub(super) range: Range<usize>,
    pub(super) shape: BlockShape,
    /// Index of the surrounding module of tests among the blocks.
    pub(super) module: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockShape {
    Item,
    /// A module with a body that exists only for tests.
    Module,
    Doctest(DocStyle),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DocStyle {
    Line,
    Block,
}

/// A module, implementation or trait with a body.
#[derive(Debug, Clone)]
pub(super) struct Container {
    pub(super) path: Vec<String>,
    pub(super) conditions: String,
    /// The end of its body.
    pub(super) end: usize,
}

/// The guarded items of a file.
#[derive(Debug, Default)]
pub(super) struct GuardedItems {
    pub(super) blocks: Vec<TestBlock>,
    pub(super) containers: Vec<Container>,
    /// The conditions of the whole file, with the ranges of their attributes.
    pub(super) conditions: Vec<(String, Range<usize>)>,
}

/// The surroundings of an item.
#[derive(Clone, Default)]
struct ItemContext {
    container: Vec<String>,
    conditions: String,
    module: Option<usize>,
}

struct ItemScan<'a> {
    source: &'a Source<'a>,
    found: GuardedItems,
}

/// The beginning of an item.
#[derive(Default)]
struct ItemHead<'a> {
    keyword: &'a str,
    name: &'a str,
}

pub(super) fn find(source: &Source<'_>) -> GuardedItems {
    let mut scan = ItemScan {
        source,
        found: GuardedItems::default(),
    };
    scan.items(0..source.tokens.len(), ItemContext::default());
    scan.found
}

/// Returns the name of the item at a token, for people.
pub(super) fn name_at(source: &Source<'_>, mut at: usize) -> String {
    while let Some((open, _)) = attribute(source, at) {
        at = closing(source, open, source.tokens.len()) + 1;
    }
    match head(source, at) {
        ItemHead { keyword: "", .. } if source.is_word(at) => source.at(at).to_owned(),
        head => format!("{} {}", head.keyword, head.name).trim().to_owned(),
    }
}

/// The tokens of a range without blanks and comments.
fn squeezed(source: &Source<'_>, range: Range<usize>) -> String {
    range.map(|token| source.at(token)).collect()
}

impl ItemScan<'_> {
    /// Reads the items of a range of tokens.
    fn items(&mut self, range: Range<usize>, mut place: ItemContext) {
        let (source, to) = (self.source, range.end);
        let mut at = range.start;
        while at < to {
            let start = at;
            let mut attributes = Vec::new();
            let mut is_inner = false;
            while let Some((open, inner)) = attribute(source, at).filter(|(open, _)| *open < to && !is_inner) {
                let close = closing(source, open, to);
                attributes.push(squeezed(source, open + 1..close));
                at = close + 1;
                is_inner = inner;
            }
            if is_inner {
                for attribute in attributes {
                    if place.container.is_empty() && !condition(&attribute).is_empty() {
                        let range = source.start_of(start)..source.start_of(at);
                        self.found.conditions.push((condition(&attribute), range));
                    }
                    self.inner(&attribute, &mut place);
                }
            } else if at < to {
                at = self.item(start, at, to, &attributes, &place);
            }
            at = at.max(start + 1);
        }
        if let (Some(module), []) = (place.module, place.container.as_slice()) {
            self.close_module(module);
        }
    }

    /// Applies an inner attribute, of the file or of the current module.
    fn inner(&mut self, attribute: &str, place: &mut ItemContext) {
        place.conditions.push_str(&condition(attribute));
        if is_for_tests(attribute) && place.container.is_empty() && place.module.is_none() {
            place.module = Some(self.found.blocks.len());
            self.add(
                "#![cfg(test)]".to_owned(),
                0..self.source.text.len(),
                BlockShape::Module,
                &ItemContext::default(),
            );
        }
    }

    /// Reads the item at `at`, whose attributes begin at `start`. Returns its end.
    fn item(&mut self, start: usize, at: usize, to: usize, attributes: &[String], place: &ItemContext) -> usize {
        let head = head(self.source, at);
        let (end, body) = item_end(self.source, at, to, &head);
        let range = self.source.start_of(start)..self.source.tokens[end - 1].end;
        let name = format!("{} {}", head.keyword, head.name).trim_end().to_owned();
        let is_for_tests = attributes.iter().any(|attribute| is_for_tests(attribute));
        let is_test = attributes.iter().any(|attribute| is_test(attribute));
        let conditions = attributes
            .iter()
            .map(|attribute| condition(attribute))
            .collect::<String>();
        let is_in_tests = place.module.is_some();
        let inside = || ItemContext {
            container: place
                .container
                .iter()
                .cloned()
                .chain([self.container_name(&head, at, body)])
                .collect(),
            conditions: format!("{}{conditions}", place.conditions),
            module: place.module,
        };
        match (head.keyword, body) {
            ("mod", Some(body)) if is_for_tests && !is_in_tests => {
                let module = self.found.blocks.len();
                let inside = ItemContext {
                    module: Some(module),
                    ..inside()
                };
                self.add(name, range, BlockShape::Module, place);
                self.enter(body, inside);
                self.close_module(module);
            }
            ("mod" | "impl" | "trait", Some(body)) if !is_for_tests || is_in_tests => {
                let inside = inside();
                self.enter(body, inside);
            }
            ("mod", None) if is_called_tests(head.name) && !is_in_tests => {
                self.add(name, range, BlockShape::Item, place);
            }
            ("fn", _) if is_test => self.add(name, range, BlockShape::Item, place),
            (_, _) if is_in_tests => {}
            ("macro", _) if squeezed(self.source, at..end).contains("#[test]") => {
                self.add(name, range, BlockShape::Item, place);
            }
            (_, _) if is_for_tests || is_test => self.add(name, range, BlockShape::Item, place),
            (_, _) => {}
        }
        end
    }

    fn enter(&mut self, body: (usize, usize), inside: ItemContext) {
        let (open, close) = body;
        self.found.containers.push(Container {
            path: inside.container.clone(),
            conditions: inside.conditions.clone(),
            end: self.source.start_of(close),
        });
        if inside.container.len() < DEPTH_CAP {
            self.items(open + 1..close, inside);
        }
    }

    fn add(&mut self, name: String, range: Range<usize>, shape: BlockShape, place: &ItemContext) {
        self.found.blocks.push(TestBlock {
            name,
            container: place.container.clone(),
            conditions: place.conditions.clone(),
            text: self.dedented(&range, &[]),
            range,
            shape,
            module: place.module,
        });
    }

    /// Removes the tests of a module, which are the blocks after it, from its text.
    fn close_module(&mut self, module: usize) {
        let Some((block, tests)) = self.found.blocks.get(module..).and_then(<[TestBlock]>::split_first) else {
            return;
        };
        let tests: Vec<_> = tests.iter().map(|block| block.range.clone()).collect();
        let text = self.dedented(&block.range, &tests);
        self.found.blocks[module].text = text;
    }

    /// Returns the non-blank lines of a range, without the parts `left_out`. The first line's indentation is removed
    /// from all, so that a block moved into another module stays the same. Literals are kept.
    fn dedented(&self, range: &Range<usize>, left_out: &[Range<usize>]) -> String {
        let text = self.source.text;
        let before = text
            .get(..range.start)
            .and_then(|before| before.rsplit('\n').next())
            .unwrap_or_default();
        let indent = if before.trim().is_empty() { before.len() } else { 0 };
        let (mut lines, mut line) = (String::new(), Vec::new());
        let mut left_out = left_out.iter().peekable();
        let mut at = range.start;
        while at < range.end {
            if let Some(part) = left_out.next_if(|part| part.start <= at) {
                at = at.max(part.end);
                continue;
            }
            if text.as_bytes()[at] == b'\n' && !self.source.is_in_token(at) {
                push_line(&mut lines, &line, indent);
                line.clear();
            } else {
                line.push(text.as_bytes()[at]);
            }
            at += 1;
        }
        push_line(&mut lines, &line, indent);
        lines
    }

    fn container_name(&self, head: &ItemHead<'_>, at: usize, body: Option<(usize, usize)>) -> String {
        if head.keyword == "mod" {
            return format!("mod {}", head.name);
        }
        let bytes = body.map(|(open, _)| self.source.start_of(at)..self.source.start_of(open));
        let header = bytes.and_then(|bytes| self.source.text.get(bytes)).unwrap_or_default();
        header.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

/// Returns the bracket of an attribute at a token, and whether it is an inner attribute.
fn attribute(source: &Source<'_>, at: usize) -> Option<(usize, bool)> {
    let inner = source.is_punct(at + 1, "!");
    let open = at + 1 + usize::from(inner);
    (source.is_punct(at, "#") && source.is_punct(open, "[")).then_some((open, inner))
}

/// Returns the bracket that closes the one at `open`, or `to`.
fn closing(source: &Source<'_>, open: usize, to: usize) -> usize {
    let close = source.partner(open).filter(|close| (open..to).contains(close));
    close.unwrap_or(to)
}

fn head<'a>(source: &'a Source<'_>, mut at: usize) -> ItemHead<'a> {
    loop {
        // Skips the `"C"` of a foreign function.
        while source.kind(at) == Some(Kind::Text) {
            at += 1;
        }
        let (keyword, next) = (source.at(at), source.at(at + 1));
        let named = |keyword, name| ItemHead { keyword, name };
        match keyword {
            "pub" if next == "(" => at = closing(source, at + 1, source.tokens.len()) + 1,
            "const" if !matches!(next, "fn" | "unsafe" | "async" | "extern") => return named("const", next),
            "extern" if next == "crate" => return named("use", next),
            "pub" | "default" | "unsafe" | "async" | "extern" | "const" => at += 1,
            "mod" | "fn" | "trait" | "struct" | "enum" | "union" | "static" | "type" => {
                return named(keyword, if next == "mut" { "" } else { next });
            }
            "use" | "impl" => return named(keyword, ""),
            _ if !source.is_word(at) => return ItemHead::default(),
            word if next == "!" => return named("macro", word),
            // A macro with a path.
            _ if next == "::" => at += 2,
            _ => return ItemHead::default(),
        }
    }
}

/// Returns the end of an item, and its body's brackets.
fn item_end(source: &Source<'_>, at: usize, to: usize, head: &ItemHead<'_>) -> (usize, Option<(usize, usize)>) {
    let has_value = matches!(head.keyword, "use" | "const" | "static" | "type");
    let mut at = at;
    while at < to {
        match source.at(at) {
            ";" | ")" | "]" | "}" => return (at + 1, None),
            "{" if !has_value => {
                let close = closing(source, at, to);
                return ((close + 1).min(to), Some((at, close)));
            }
            "(" | "[" | "{" => at = closing(source, at, to) + 1,
            _ => at += 1,
        }
    }
    (to, None)
}

/// Returns the attribute if it is a condition other than `cfg(test)`.
fn condition(attribute: &str) -> String {
    if attribute.starts_with("cfg(") && attribute != "cfg(test)" {
        format!("{attribute};")
    } else {
        String::new()
    }
}

/// Whether an item with this attribute is compiled for tests, and may not be compiled otherwise.
fn is_for_tests(attribute: &str) -> bool {
    let unquoted: String = attribute.split('"').step_by(2).collect();
    let mut words = unquoted.split(|char: char| !char.is_alphanumeric() && char != '_');
    attribute.starts_with("cfg(") && words.any(|word| word == "test") && !unquoted.contains("not(test)")
}

/// Whether the attribute, of any crate, marks a function as a test.
fn is_test(attribute: &str) -> bool {
    let path = attribute.split(['(', '=']).next().unwrap_or_default();
    let name = path.rsplit("::").next().unwrap_or_default();
    matches!(name, "test" | "bench" | "rstest" | "quickcheck" | "proptest")
        || name.starts_with("test_")
        || name.ends_with("_test")
}

fn is_called_tests(name: &str) -> bool {
    name.split('_').any(|word| matches!(word, "test" | "tests"))
}

fn push_line(lines: &mut String, line: &[u8], indent: usize) {
    let line = String::from_utf8_lossy(line);
    let blanks = line.len() - line.trim_start_matches([' ', '\t']).len();
    let line = line[blanks.min(indent)..].trim_end();
    if !line.is_empty() {
        lines.push_str(line);
        lines.push('\n');
    }
}
