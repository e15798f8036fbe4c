//! The headings of a Markdown plan, and the sections below them.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::line::one_line;

/// A heading of the text.
pub(super) struct Heading {
    pub(super) level: usize,
    pub(super) text: String,
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Heading {
    /// Whether the heading is called `name`, ignoring case and the amount of white space.
    fn is_named(&self, name: &str) -> bool {
        one_line(&self.text).to_lowercase() == one_line(name).to_lowercase()
    }
}

/// The headings that divide the text. A heading in a list item is text, and one in a quote is an example.
pub(super) fn headings(text: &str) -> Vec<Heading> {
    let mut all: Vec<Heading> = Vec::new();
    let (mut is_open, mut around) = (false, 0_usize);
    for (event, range) in Parser::new_ext(text, Options::ENABLE_STRIKETHROUGH).into_offset_iter() {
        match event {
            Event::Start(Tag::Item | Tag::BlockQuote(_)) => around += 1,
            Event::End(TagEnd::Item | TagEnd::BlockQuote(_)) => around -= 1,
            Event::Start(Tag::Heading { level, .. }) if around == 0 => {
                is_open = true;
                all.push(Heading {
                    level: level as usize,
                    text: String::new(),
                    start: range.start,
                    end: range.end,
                });
            }
            Event::End(TagEnd::Heading(_)) => is_open = false,
            Event::Text(text) | Event::Code(text) if is_open => {
                if let Some(heading) = all.last_mut() {
                    heading.text.push_str(&text);
                }
            }
            _ => {}
        }
    }
    all
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
