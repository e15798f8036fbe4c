//! Check-lists in Markdown.
//!
//! pulldown-cmark says what is a list item and what only looks like one (code, quotes, comments); the box itself is
//! read here, from the source, because its own task lists are off by a few cases that people write and tick:
//! `[]`, `[ x ]`, `[ ]glued`.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::read::one_line;
use crate::{event::PlanTask, position::Lines};

/// Lists the tasks of a check-list in file order.
///
/// A task is an item of any list (`-`, `*`, `+`, `1.`, `1)`) that begins with a box and has a text; the text is the
/// item's first paragraph without its markup. An empty box asks for nothing and is none. Whatever stands in code, in a
/// block quote or in an HTML comment is an example. Depth counts the tasks around a task, not the lists.
pub(super) fn tasks(text: &str) -> Vec<PlanTask> {
    let mut reader = Reader::new(text);
    for (event, range) in Parser::new_ext(text, Options::ENABLE_STRIKETHROUGH).into_offset_iter() {
        reader.read(&event, range);
    }
    reader.tasks
}

struct Reader<'a> {
    text: &'a str,
    tasks: Vec<PlanTask>,
    /// The items around the current place, outermost first.
    items: Vec<Item>,
    /// Block quotes around the current place.
    quotes: usize,
    lines: Lines,
}

/// A list item that is being read.
struct Item {
    /// Its box; none once the text is complete, or if there is none.
    pending: Option<Pending>,
    /// It became a task.
    is_task: bool,
}

/// A box whose text is not complete.
struct Pending {
    check_box: CheckBox,
    /// Line of the box.
    line: u32,
    text: String,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str) -> Self {
        Reader {
            text,
            tasks: Vec::new(),
            items: Vec::new(),
            quotes: 0,
            lines: Lines::of(text),
        }
    }

    fn read(&mut self, event: &Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(tag) => self.start(tag, range),
            Event::End(tag) => self.end(*tag),
            Event::Text(text) | Event::Code(text) => self.append(text, range),
            Event::InlineHtml(html) if html.starts_with("<!--") => {}
            // `Vec<String>` outside a code span reads as a tag.
            Event::InlineHtml(html) => self.append(html, range),
            Event::SoftBreak | Event::HardBreak => self.append(" ", range),
            Event::Html(_)
            | Event::InlineMath(_)
            | Event::DisplayMath(_)
            | Event::FootnoteReference(_)
            | Event::Rule
            | Event::TaskListMarker(_) => {}
        }
    }

    fn start(&mut self, tag: &Tag<'_>, range: Range<usize>) {
        match tag {
            Tag::Item => {
                self.complete();
                let pending = self.pending(range);
                self.items.push(Item {
                    pending,
                    is_task: false,
                });
            }
            Tag::BlockQuote(_) => {
                self.complete();
                self.quotes += 1;
            }
            Tag::List(_) | Tag::CodeBlock(_) | Tag::HtmlBlock | Tag::Table(_) => self.complete(),
            // Inline markup, and blocks that hold the text or cannot stand in an item.
            Tag::Paragraph
            | Tag::Heading { .. }
            | Tag::Emphasis
            | Tag::Strong
            | Tag::Strikethrough
            | Tag::Superscript
            | Tag::Subscript
            | Tag::Link { .. }
            | Tag::Image { .. }
            | Tag::TableHead
            | Tag::TableRow
            | Tag::TableCell
            | Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::MetadataBlock(_) => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Item => {
                self.complete();
                self.items.pop();
            }
            TagEnd::BlockQuote(_) => self.quotes -= 1,
            // A box alone in its paragraph takes the next one for its text.
            TagEnd::Paragraph | TagEnd::Heading(_) if self.has_text() => self.complete(),
            TagEnd::Paragraph
            | TagEnd::Heading(_)
            | TagEnd::CodeBlock
            | TagEnd::HtmlBlock
            | TagEnd::List(_)
            | TagEnd::FootnoteDefinition
            | TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::Table
            | TagEnd::TableHead
            | TagEnd::TableRow
            | TagEnd::TableCell
            | TagEnd::Emphasis
            | TagEnd::Strong
            | TagEnd::Strikethrough
            | TagEnd::Superscript
            | TagEnd::Subscript
            | TagEnd::Link
            | TagEnd::Image
            | TagEnd::MetadataBlock(_) => {}
        }
    }

    fn pending(&mut self, item: Range<usize>) -> Option<Pending> {
        if self.quotes > 0 {
            return None;
        }
        let check_box = CheckBox::find(self.text, item)?;
        Some(Pending {
            line: self.lines.line_of(check_box.start),
            check_box,
            text: String::new(),
        })
    }

    fn has_text(&self) -> bool {
        self.items
            .last()
            .and_then(|item| item.pending.as_ref())
            .is_some_and(|pending| !pending.text.trim().is_empty())
    }

    /// Adds to the text of the innermost item, without the part that is its box.
    fn append(&mut self, text: &str, range: Range<usize>) {
        let Some(pending) = self.items.last_mut().and_then(|item| item.pending.as_mut()) else {
            return;
        };
        let of_the_box = pending.check_box.end.saturating_sub(range.start);
        // Nothing but plain text can straddle the end of a box, and that is the source itself.
        pending.text.push_str(text.get(of_the_box..).unwrap_or_default());
    }

    /// Makes a task of the innermost item, if it has a box and a text.
    fn complete(&mut self) {
        let depth = self.items.iter().filter(|item| item.is_task).count();
        let Some(item) = self.items.last_mut() else { return };
        let Some(pending) = item.pending.take() else { return };
        let text = one_line(&pending.text);
        if text.is_empty() {
            return;
        }
        item.is_task = true;
        self.tasks.push(PlanTask {
            text,
            done: pending.check_box.ticked,
            line: pending.line,
            depth: u8::try_from(depth).unwrap_or(u8::MAX),
        });
    }
}

/// `[ ]` or `[x]` at the beginning of an item, by its place in the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CheckBox {
    start: usize,
    end: usize,
    ticked: bool,
}

impl CheckBox {
    /// Looks for a box after the marker of the list item at `item`.
    ///
    /// In the box stand `x`, `X` or nothing, with any white space around; `[P1]`, `[2026-01-02]` or `[-]` are text.
    /// What follows tells a box from a link (`[x](url)`, `[x][ref]`, `[x]: url`) and from `[]string`.
    fn find(text: &str, item: Range<usize>) -> Option<Self> {
        let source = text.get(item.clone())?;
        let after_marker = source.trim_start().trim_start_matches(|c: char| c.is_ascii_digit());
        let content = after_marker.strip_prefix(['-', '*', '+', '.', ')'])?.trim_start();
        let (inside, after) = content.strip_prefix('[')?.split_once(']')?;
        let ticked = match inside.trim() {
            _ if inside.contains(['\n', '\r']) => return None,
            "" => false,
            "x" | "X" => true,
            _ => return None,
        };
        let glued = after.chars().next().filter(|c| !c.is_whitespace());
        match glued {
            Some('(' | '[' | ':') => return None,
            Some(_) if inside.is_empty() => return None,
            Some(_) | None => {}
        }
        Some(CheckBox {
            start: item.start + source.len() - content.len(),
            end: item.start + source.len() - after.len(),
            ticked,
        })
    }
}
