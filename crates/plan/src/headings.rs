//! The headings of a Markdown plan, and the sections below them.

use std::ops::Range;

use super::line::one_line;

/// A heading of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Heading {
    pub(super) level: usize,
    /// On one line, without its settings.
    pub(super) text: String,
    pub(super) start: usize,
    pub(super) end: usize,
    /// Whether each of the boxes below it is a task, even if they look like steps.
    pub(super) is_each: bool,
}

impl Heading {
    /// Whether the heading is called `name`, ignoring case and the amount of white space.
    fn is_named(&self, name: &str) -> bool {
        self.text.to_lowercase() == one_line(name).to_lowercase()
    }
}

/// The range below the heading `name`, up to the next heading of the same or a higher level.
pub(super) fn below(headings: &[Heading], name: &str, end: usize) -> Option<Range<usize>> {
    let at = headings.iter().position(|heading| heading.is_named(name))?;
    Some(headings[at].end..end_of(headings, at, end))
}

/// The end of the section of the heading at index `at`.
pub(super) fn end_of(headings: &[Heading], at: usize, end: usize) -> usize {
    let level = headings[at].level;
    let next = headings[at + 1..].iter().find(|heading| heading.level <= level);
    next.map_or(end, |next| next.start)
}
