//! Finds the items of a Rust file that are tests or exist only for tests.

use std::ops::Range;

use super::lex::{LITERAL, RustCode};

const DEPTH_CAP: usize = 64;
/// Most bytes after the documentation in which an item's name is searched.
const NAME_CAP_BYTES: usize = 4096;

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
    Doctest(super::lex::DocStyle),
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
    text: &'a str,
    code: &'a RustCode,
    found: GuardedItems,
}

/// The beginning of an item.
#[derive(Default)]
struct ItemHead {
    keyword: String,
    name: String,
}

pub(super) fn find(text: &str, code: &RustCode) -> GuardedItems {
    let mut scan = ItemScan {
        text,
        code,
        found: GuardedItems::default(),
    };
    scan.items(0..text.len(), ItemContext::default());
    scan.found
}

/// Returns the name of the item at `at`, for people.
pub(super) fn name_at(code: &RustCode, mut at: usize) -> String {
    let to = code.bytes.len().min(at + NAME_CAP_BYTES);
    while let Some((open, _)) = attribute(code, at, to) {
        at = code.skip_blanks(code.closing(open, to) + 1, to);
    }
    let head = head(code, at, to);
    if head.keyword.is_empty() {
        return code.word(code.skip_blanks(at, to), to).to_owned();
    }
    format!("{} {}", head.keyword, head.name).trim_end().to_owned()
}

impl ItemScan<'_> {
    fn items(&mut self, range: Range<usize>, mut place: ItemContext) {
        let (code, to) = (self.code, range.end);
        let mut at = code.skip_blanks(range.start, to);
        while at < to {
            let start = at;
            let mut attributes = Vec::new();
            let mut is_inner = false;
            while let Some((open, inner)) = attribute(code, at, to) {
                let close = code.closing(open, to);
                attributes.push(code.squeezed(self.text, open + 1..close));
                at = code.skip_blanks(close + 1, to);
                if inner {
                    is_inner = true;
                    break;
                }
            }
            if is_inner {
                for attribute in attributes {
                    if place.container.is_empty() && !condition(&attribute).is_empty() {
                        self.found.conditions.push((condition(&attribute), start..at));
                    }
                    self.inner(&attribute, &range, &mut place);
                }
            } else if at < to {
                at = self.item(start, at, to, &attributes, &place);
            }
            at = code.skip_blanks(at.max(start + 1), to);
        }
        if let (Some(module), []) = (place.module, place.container.as_slice()) {
            self.close_module(module);
        }
    }

    /// Applies an inner attribute, of the file or of the current module.
    fn inner(&mut self, attribute: &str, range: &Range<usize>, place: &mut ItemContext) {
        place.conditions.push_str(&condition(attribute));
        if is_for_tests(attribute) && place.container.is_empty() && place.module.is_none() {
            place.module = Some(self.found.blocks.len());
            self.add(
                "#![cfg(test)]".to_owned(),
                range.clone(),
                BlockShape::Module,
                &ItemContext::default(),
            );
        }
    }

    /// Reads the item at `at`, whose attributes begin at `start`. Returns its end.
    fn item(&mut self, start: usize, at: usize, to: usize, attributes: &[String], place: &ItemContext) -> usize {
        let head = head(self.code, at, to);
        let (end, body) = item_end(self.code, at, to, &head);
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
        match (head.keyword.as_str(), body) {
            ("mod", Some(body)) if is_for_tests && !is_in_tests => {
                let module = self.found.blocks.len();
                let inside = ItemContext {
                    module: Some(module),
                    ..inside()
                };
                self.add(name, start..end, BlockShape::Module, place);
                self.enter(body, inside);
                self.close_module(module);
            }
            ("mod" | "impl" | "trait", Some(body)) if !is_for_tests || is_in_tests => {
                let inside = inside();
                self.enter(body, inside);
            }
            ("mod", None) if is_called_tests(&head.name) && !is_in_tests => {
                self.add(name, start..end, BlockShape::Item, place);
            }
            ("fn", _) if is_test => self.add(name, start..end, BlockShape::Item, place),
            (_, _) if is_in_tests => {}
            ("macro", _) if self.code.squeezed(self.text, at..end).contains("#[test]") => {
                self.add(name, start..end, BlockShape::Item, place);
            }
            (_, _) if is_for_tests || is_test => self.add(name, start..end, BlockShape::Item, place),
            (_, _) => {}
        }
        end
    }

    fn enter(&mut self, body: (usize, usize), inside: ItemContext) {
        let (open, close) = body;
        self.found.containers.push(Container {
            path: inside.container.clone(),
            conditions: inside.conditions.clone(),
            end: close,
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
        let before = self
            .text
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
            if self.code.bytes[at] == b'\n' {
                push_line(&mut lines, &line, indent);
                line.clear();
            } else {
                line.push(self.text.as_bytes()[at]);
            }
            at += 1;
        }
        push_line(&mut lines, &line, indent);
        lines
    }

    fn container_name(&self, head: &ItemHead, at: usize, body: Option<(usize, usize)>) -> String {
        if head.keyword == "mod" {
            return format!("mod {}", head.name);
        }
        let header = body.and_then(|(open, _)| self.text.get(at..open)).unwrap_or_default();
        header.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

/// Returns the position of the bracket of an attribute at `at`, and whether it is an inner attribute.
fn attribute(code: &RustCode, at: usize, to: usize) -> Option<(usize, bool)> {
    if at >= to || code.bytes[at] != b'#' {
        return None;
    }
    let mut open = code.skip_blanks(at + 1, to);
    let inner = open < to && code.bytes[open] == b'!';
    if inner {
        open = code.skip_blanks(open + 1, to);
    }
    (open < to && code.bytes[open] == b'[').then_some((open, inner))
}

fn head(code: &RustCode, mut at: usize, to: usize) -> ItemHead {
    loop {
        // Skips the `"C"` of a foreign function.
        at = (at..to)
            .find(|&at| !matches!(code.bytes[at], LITERAL | b' ' | b'\n' | b'\r' | b'\t'))
            .unwrap_or(to);
        let word = code.word(at, to);
        let after = code.skip_blanks(at + word.len(), to);
        let next = code.word(after, to);
        match word {
            "pub" if code.bytes.get(after) == Some(&b'(') => at = code.closing(after, to) + 1,
            "const" if !matches!(next, "fn" | "unsafe" | "async" | "extern") => {
                return ItemHead {
                    keyword: "const".to_owned(),
                    name: next.to_owned(),
                };
            }
            "extern" if next == "crate" => {
                return ItemHead {
                    keyword: "use".to_owned(),
                    name: next.to_owned(),
                };
            }
            "pub" | "default" | "unsafe" | "async" | "extern" | "const" if after > at => at = after,
            "mod" | "fn" | "trait" | "struct" | "enum" | "union" | "static" | "type" => {
                let name = if next == "mut" { "" } else { next };
                return ItemHead {
                    keyword: word.to_owned(),
                    name: name.to_owned(),
                };
            }
            "use" | "impl" => {
                return ItemHead {
                    keyword: word.to_owned(),
                    name: String::new(),
                };
            }
            "" => return ItemHead::default(),
            word if code.bytes.get(after) == Some(&b'!') => {
                return ItemHead {
                    keyword: "macro".to_owned(),
                    name: word.to_owned(),
                };
            }
            // A macro with a path.
            _ if code.bytes.get(after) == Some(&b':') => {
                at = after + code.bytes[after..].iter().take_while(|&&byte| byte == b':').count()
            }
            _ => return ItemHead::default(),
        }
    }
}

/// Returns the end of an item, and the positions of its body's brackets.
fn item_end(code: &RustCode, at: usize, to: usize, head: &ItemHead) -> (usize, Option<(usize, usize)>) {
    let has_value = matches!(head.keyword.as_str(), "use" | "const" | "static" | "type");
    let mut at = at;
    while at < to {
        match code.bytes[at] {
            b';' => return (at + 1, None),
            b'{' if !has_value => {
                let close = code.closing(at, to);
                return ((close + 1).min(to), Some((at, close)));
            }
            b'(' | b'[' | b'{' => at = code.closing(at, to) + 1,
            b')' | b']' | b'}' => return (at + 1, None),
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
