//! The lines of a text, and where code and comments that begin on one of them end.

use std::ops::Range;

use ralph_text::LineIndex;

use super::{
    check_box::CheckBox,
    shape::{Fence, fence, indentation, take_marker},
};

/// A deeper indentation than this begins a block of code, unless it is a list.
pub(super) const CODE_COLUMN: u32 = 4;
/// Fewest columns by which an item is set off from the one that it is in.
pub(super) const INNER_COLUMNS: u32 = 2;
/// How many lines of code are searched for its end once it has code in it.
const NESTED_CODE_LINES_CAP: u32 = 1_000;
/// HTML whose content is no Markdown.
const VERBATIM_TAGS: [&str; 4] = ["pre", "script", "style", "textarea"];

pub(super) struct Lines<'a> {
    text: &'a str,
    pub(super) index: LineIndex,
    /// Number of lines, which is that of the last one.
    pub(super) count: u32,
    unclosed: Unclosed,
}

/// The blocks that have no end behind the current position, so that it is not searched for again.
#[derive(Default)]
struct Unclosed {
    comment: bool,
    /// Whether each of [`VERBATIM_TAGS`] is not closed.
    tags: [bool; VERBATIM_TAGS.len()],
    /// The shortest fence of backticks and of tildes without an end.
    fences: [Option<usize>; 2],
}

/// The end of code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FenceEnd {
    /// On this line.
    At(u32),
    /// The line of the end, or `None`: a fence in the code has no end.
    Perhaps(u32),
    Never,
}

impl<'a> Lines<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let index = LineIndex::new(text);
        Lines {
            text,
            count: index.line_of(text.len()),
            index,
            unclosed: Unclosed::default(),
        }
    }

    /// The range of a line without its end and trailing blanks.
    pub(super) fn range(&self, line: u32) -> Range<usize> {
        let start = self.index.start_of(line);
        let end = if line < self.count {
            self.index.start_of(line + 1)
        } else {
            self.text.len()
        };
        start..start + self.text[start..end].trim_end().len()
    }

    pub(super) fn source(&self, line: u32) -> &'a str {
        &self.text[self.range(line)]
    }

    /// Finds the end of the code that begins with a fence on `line`.
    ///
    /// In code that shows Markdown, a fence with a text begins code in the code. If no end is found this way, the first fence
    /// that can be one is the end, as in CommonMark.
    pub(super) fn fence_end(&mut self, line: u32, opening: Fence) -> FenceEnd {
        let unclosed = usize::from(opening.sign == b'~');
        if self.unclosed.fences[unclosed].is_some_and(|length| opening.length >= length) {
            return FenceEnd::Never;
        }
        let (mut depth, mut first) = (0_usize, None);
        for next in line + 1..=self.count {
            if first.is_some() && next - line > NESTED_CODE_LINES_CAP {
                break;
            }
            let found = fence(self.source(next).trim_start());
            match found.filter(|found| found.sign == opening.sign) {
                Some(found) if found.has_text => depth += 1,
                Some(found) if found.length >= opening.length && depth == 0 => return FenceEnd::At(next),
                Some(found) => {
                    depth = depth.saturating_sub(1);
                    first = first.or_else(|| (found.length >= opening.length).then_some(next));
                }
                None => {}
            }
        }
        if first.is_none() {
            self.unclosed.fences[unclosed] = Some(opening.length);
        }
        first.map_or(FenceEnd::Never, FenceEnd::Perhaps)
    }

    /// The offset of the end of a comment whose content begins at `offset`.
    pub(super) fn comment_end(&mut self, offset: usize) -> Option<usize> {
        let length = (!self.unclosed.comment)
            .then(|| self.text[offset..].find("-->"))
            .flatten();
        self.unclosed.comment |= length.is_none();
        Some(offset + length?)
    }

    /// The line on which the tag of [`verbatim_tag`] that begins on `line` is closed.
    pub(super) fn tag_end(&mut self, line: u32, tag: usize) -> Option<u32> {
        if self.unclosed.tags[tag] {
            return None;
        }
        let closing = format!("</{}", VERBATIM_TAGS[tag]);
        let closes = |line: &u32| self.source(*line).to_ascii_lowercase().contains(&closing);
        let last = (line..=self.count).find(closes);
        self.unclosed.tags[tag] = last.is_none();
        last
    }

    /// Whether the block that begins on `line` has nothing but items at its own indentation, and a box in one of them.
    pub(super) fn is_list(&self, line: u32) -> bool {
        let first = indentation(self.source(line)).column;
        let mut has_box = false;
        for next in line..=self.count {
            let source = self.source(next);
            let place = indentation(source);
            if place.offset >= source.len() {
                continue;
            }
            if place.column < CODE_COLUMN {
                break;
            }
            let mut behind = place;
            let is_item = take_marker(source, &mut behind).is_some();
            if !is_item && (next == line || place.column < first + INNER_COLUMNS) {
                return false;
            }
            has_box |= is_item && CheckBox::at(source, behind.offset).is_some();
        }
        has_box
    }
}

/// The index of the tag that begins a line's content, if what is in it is no Markdown.
pub(super) fn verbatim_tag(content: &str) -> Option<usize> {
    let tag = content.strip_prefix('<')?;
    VERBATIM_TAGS.into_iter().position(|name| {
        let (start, rest) = tag.split_at_checked(name.len()).unwrap_or_default();
        start.eq_ignore_ascii_case(name) && !rest.starts_with(|c: char| c.is_alphanumeric() || c == '-')
    })
}
