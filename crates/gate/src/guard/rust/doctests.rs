//! Finds the examples in the documentation of a Rust file that rustdoc runs as tests.

use std::ops::Range;

use super::items::{BlockShape, DocStyle, TestBlock, name_at};
use crate::mutants::{Source, block_comment};

/// Words after the fence that tell how to test an example. Any other word names another language.
const EXAMPLE_WORDS: [&str; 7] = [
    "rust",
    "ignore",
    "no_run",
    "should_panic",
    "compile_fail",
    "test_harness",
    "standalone",
];

/// A documentation comment.
struct DocComment {
    range: Range<usize>,
    style: DocStyle,
    /// Whether it documents its surroundings, as `//!` does.
    is_inner: bool,
}

/// A line of documentation.
struct DocLine<'a> {
    /// The whole line, including the comment sign.
    range: Range<usize>,
    text: &'a str,
}

/// Finds the examples of a file in order, except those in `tests`, which are compared with the surrounding block.
pub(super) fn find(source: &Source<'_>, tests: &[Range<usize>]) -> Vec<TestBlock> {
    let text = source.text;
    let mut blocks = Vec::new();
    let docs = docs(source);
    let mut docs = docs.as_slice();
    while let Some(first) = docs.first() {
        let count = 1 + docs
            .windows(2)
            .take_while(|pair| belong_together(text, &pair[0], &pair[1]))
            .count();
        let (together, rest) = docs.split_at(count);
        docs = rest;
        let before = tests.partition_point(|range| range.start <= first.range.start);
        if before
            .checked_sub(1)
            .is_some_and(|at| tests[at].contains(&first.range.start))
        {
            continue;
        }
        let end = together.last().map_or(first.range.end, |doc| doc.range.end);
        let what = if first.is_inner {
            "the module".to_owned()
        } else {
            name_at(source, source.tokens.partition_point(|token| token.start < end))
        };
        let lines: Vec<DocLine<'_>> = together.iter().flat_map(|doc| lines(text, doc)).collect();
        blocks.extend(examples(&lines, &format!("doctest of {what}"), first.style));
    }
    blocks
}

/// Finds the documentation among the comments, which stand between tokens.
fn docs(source: &Source<'_>) -> Vec<DocComment> {
    let mut docs = Vec::new();
    let ends = source.tokens.iter().map(|token| token.start).chain([source.text.len()]);
    let mut at = 0;
    for (number, end) in ends.enumerate() {
        while let Some(start) = source.text[at..end].find('/').map(|found| at + found) {
            let rest = &source.text[start..end];
            let (style, length) = match rest.starts_with("//") {
                true => (DocStyle::Line, rest.find('\n').unwrap_or(rest.len())),
                false => (DocStyle::Block, block_comment(rest, true)),
            };
            at = start + length;
            let (third, fourth) = (rest.as_bytes().get(2), rest.as_bytes().get(3));
            // Not documentation: `////`, `/***` and `/**/`.
            let is_outer = match style {
                DocStyle::Line => third == Some(&b'/') && fourth != Some(&b'/'),
                DocStyle::Block => third == Some(&b'*') && !matches!(fourth, Some(b'*' | b'/')),
            };
            let is_inner = third == Some(&b'!');
            if is_outer || is_inner {
                let range = start..at;
                docs.push(DocComment { range, style, is_inner });
            }
        }
        at = source.tokens.get(number).map_or(end, |token| token.end);
    }
    docs
}

fn belong_together(text: &str, one: &DocComment, next: &DocComment) -> bool {
    let between = text.get(one.range.end..next.range.start).unwrap_or("x");
    one.style == DocStyle::Line
        && next.style == DocStyle::Line
        && one.is_inner == next.is_inner
        && between.trim().is_empty()
}

fn lines<'a>(text: &'a str, doc: &DocComment) -> Vec<DocLine<'a>> {
    let mut lines = Vec::new();
    let mut at = doc.range.start;
    for line in text.get(doc.range.clone()).unwrap_or_default().split('\n') {
        let range = at..at + line.len();
        at = range.end + 1;
        let is_first = range.start == doc.range.start;
        let bare = line.trim_start();
        let text = match doc.style {
            // `///` and `/**` have three bytes, as do `//!` and `/*!`.
            DocStyle::Line => line.get(3..).unwrap_or_default(),
            DocStyle::Block if is_first => line.get(3..).unwrap_or_default(),
            DocStyle::Block => bare
                .strip_prefix('*')
                .filter(|rest| !rest.starts_with('/'))
                .unwrap_or(line),
        };
        let text = text.strip_prefix(' ').unwrap_or(text).trim_end();
        lines.push(DocLine { range, text });
    }
    lines
}

fn examples(lines: &[DocLine<'_>], name: &str, style: DocStyle) -> Vec<TestBlock> {
    let mut blocks = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let Some((fence, info)) = fence(lines[at].text) else {
            at += 1;
            continue;
        };
        let closes = |line: &DocLine<'_>| {
            let text = line.text.trim();
            text.len() >= fence.len()
                && text.starts_with(fence)
                && text[fence.len()..].trim_start_matches(&fence[..1]).is_empty()
        };
        let length = lines[at + 1..].iter().position(closes);
        let last = length.map_or(lines.len() - 1, |length| at + 1 + length);
        let text: Vec<&str> = lines[at..=last].iter().map(|line| line.text).collect();
        if is_rust(info) {
            blocks.push(TestBlock {
                name: name.to_owned(),
                container: Vec::new(),
                conditions: String::new(),
                text: text.join("\n"),
                range: lines[at].range.start..lines[last].range.end,
                shape: BlockShape::Doctest(style),
                module: None,
            });
        }
        at = last + 1;
    }
    blocks
}

/// Returns the fence that a line opens, and the words after it.
fn fence(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_start();
    let length = |mark: char| line.len() - line.trim_start_matches(mark).len();
    let length = length('`').max(length('~'));
    (length >= 3).then(|| line.split_at(length))
}

fn is_rust(info: &str) -> bool {
    let words = || info.split([',', ' ', '\t']).filter(|word| !word.is_empty());
    let is_known = |word: &str| {
        EXAMPLE_WORDS.contains(&word)
            || word.starts_with("edition")
            || word.starts_with("E0")
            || word.starts_with("ignore-")
    };
    words().all(is_known) || words().any(|word| word == "rust")
}

/// Formats the lines of an example as documentation in the style of its place.
pub(super) fn as_comment(text: &str, style: DocStyle, is_inner: bool, indent: &str) -> String {
    let prefix = match (style, is_inner) {
        (DocStyle::Line, false) => "/// ",
        (DocStyle::Line, true) => "//! ",
        (DocStyle::Block, _) => "",
    };
    let lines: Vec<String> = text
        .split('\n')
        .map(|line| format!("{prefix}{line}").trim_end().to_owned())
        .collect();
    lines.join(&format!("\n{indent}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutants::Language;

    #[test]
    fn comments_for_rustdoc_are_told_from_others() {
        let docs = |text| {
            let docs = docs(&Source::new(Language::Rust, text)).into_iter();
            docs.map(|doc| doc.is_inner).collect::<Vec<_>>()
        };
        assert_eq!(docs("/// a\n//! b\n//// c\n// d\n"), [false, true]);
        assert_eq!(docs("/** a */ /*! b */ /*** c */ /**/ /* d */"), [false, true]);
    }
}
