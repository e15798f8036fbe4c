//! Check-lists in Markdown.
//!
//! pulldown-cmark distinguishes list items from text that only looks like them (code, quotes, comments). The box itself
//! is parsed here, from the source, because the parser's task lists miss some forms that people write and tick: `[]`,
//! `[ x ]`, `[ ]glued`.

use std::{num::NonZeroU32, ops::Range};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use ralph_core::event::{PlanTask, TaskSettings};
use ralph_text::{LineIndex, Position};

use super::{
    check_box::CheckBox,
    group::{self, CHECK, GroupMistake, SetSetting, SettingsGroup},
    headings::Heading,
    line::one_line,
    reading::{FoundTasks, TaskMistake},
};

/// Whether there is text outside of headings and comments, which could describe the work.
pub(super) fn has_prose(text: &str) -> bool {
    let mut in_heading = false;
    Parser::new(text).any(|event| {
        match event {
            Event::Start(Tag::Heading { .. }) => in_heading = true,
            Event::End(TagEnd::Heading(_)) => in_heading = false,
            Event::Text(ref words) | Event::Code(ref words) => return !in_heading && !words.trim().is_empty(),
            _ => {}
        }
        false
    })
}

/// Counts the list items and quotes that begin after another one on the same line.
///
/// The parser takes some hundred bytes for each, and each takes only two bytes of the file or less. Items that begin on
/// a line of their own are bounded by the file, as deeper ones need more indentation.
pub(super) fn nested_on_a_line(text: &str) -> usize {
    let nested = |line: &str| Markers(line).count().saturating_sub(1);
    text.lines().map(nested).sum()
}

/// Iterates over the markers of list items and quotes at the beginning of a line; holds the rest of the line.
struct Markers<'a>(&'a str);

impl Iterator for Markers<'_> {
    type Item = ();

    fn next(&mut self) -> Option<()> {
        let line = self.0.trim_start_matches([' ', '\t']);
        if let Some(quoted) = line.strip_prefix('>') {
            self.0 = quoted;
            return Some(());
        }
        let digits = line.bytes().take_while(u8::is_ascii_digit).count();
        let delimiters: &[char] = if digits == 0 { &['-', '*', '+'] } else { &['.', ')'] };
        let item = line[digits..].strip_prefix(delimiters)?;
        self.0 = item.strip_prefix([' ', '\t'])?;
        Some(())
    }
}

/// Lists the tasks of a check-list in file order.
///
/// A task is an item of any list (`-`, `*`, `+`, `1.`, `1)`) that begins with a box and has a text; the text is the
/// item's first paragraph without its markup. A box without text is not a task. Items in code, in a block quote or in
/// an HTML comment are examples. Depth counts the enclosing tasks, not lists. A group of settings at the end is not
/// part of the text, and neither is a later line that begins with `check:`, which is the task's check. A group at the end of
/// a heading applies to the tasks of its section.
pub(super) fn tasks(text: &str) -> FoundTasks {
    let mut reader = MarkdownReader::new(text);
    for (event, range) in Parser::new_ext(text, Options::ENABLE_STRIKETHROUGH).into_offset_iter() {
        reader.read(&event, range);
    }
    reader.found
}

/// The headings that divide the text, without their settings. A heading in a list item is text, and one in a quote is
/// an example.
pub(super) fn headings(text: &str) -> Vec<Heading> {
    let mut reader = MarkdownReader::new(text);
    let events = Parser::new_ext(text, Options::ENABLE_STRIKETHROUGH).into_offset_iter();
    let headings = events.filter_map(|(event, range)| {
        reader.read(&event, range.clone());
        let (level, text) = reader.ended_heading.take()?;
        Some(Heading {
            level,
            text,
            start: range.start,
            end: range.end,
        })
    });
    headings.collect()
}

struct MarkdownReader<'a> {
    text: &'a str,
    found: FoundTasks,
    /// The items around the current position, outermost first.
    items: Vec<ListItem>,
    /// Number of those that are tasks. Counting them again for each item would be quadratic in a deep list.
    tasks_around: usize,
    /// Number of block quotes around the current position.
    quotes: usize,
    /// The level and the text of the heading that is being read.
    heading: Option<(usize, PendingText)>,
    /// The level and the text of the heading that ended with the latest event.
    ended_heading: Option<(usize, String)>,
    /// The latest heading that no task has followed yet.
    latest_heading: Option<String>,
    /// The settings of the sections around the current position, outermost first.
    sections: Vec<SectionSettings>,
    lines: LineIndex,
    /// End of the line that was read as a check.
    read_to: usize,
}

/// A list item that is being read.
struct ListItem {
    /// Its check-box, until the text is complete. Boxed, since most enclosing items have no check-box.
    pending: Option<Box<PendingTask>>,
    /// The number of the task that it became, from 1.
    task: Option<NonZeroU32>,
}

/// A check-box whose text is not complete.
struct PendingTask {
    check_box: CheckBox,
    /// Line of the box.
    line: u32,
    text: PendingText,
    /// The offset of its check, and the command.
    check: Option<(usize, String)>,
}

/// Settings at the end of a heading, for the tasks of its section.
struct SectionSettings {
    level: usize,
    settings: TaskSettings,
    place: Position,
}

/// A text that is not complete.
#[derive(Default)]
struct PendingText {
    text: String,
    /// End of the last code span in the text.
    code_end: usize,
    /// The start of each piece of the text, in the text and in the source.
    pieces: Vec<(usize, usize)>,
}

impl PendingText {
    fn push(&mut self, piece: &str, source: usize) {
        self.pieces.push((self.text.len(), source));
        self.text.push_str(piece);
    }

    /// The source offset of a byte of the text.
    fn source_of(&self, at: usize) -> usize {
        let piece = self.pieces.partition_point(|(start, _)| *start <= at).saturating_sub(1);
        let (start, source) = self.pieces.get(piece).copied().unwrap_or_default();
        source + at.saturating_sub(start)
    }
}

impl<'a> MarkdownReader<'a> {
    fn new(text: &'a str) -> Self {
        MarkdownReader {
            text,
            found: FoundTasks::default(),
            items: Vec::new(),
            tasks_around: 0,
            quotes: 0,
            heading: None,
            ended_heading: None,
            latest_heading: None,
            sections: Vec::new(),
            lines: LineIndex::new(text),
            read_to: 0,
        }
    }

    fn read(&mut self, event: &Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(tag) => self.start(tag, range),
            Event::End(tag) => self.end(*tag),
            Event::Text(_) | Event::Code(_) | Event::InlineHtml(_) | Event::SoftBreak | Event::HardBreak
                if range.start < self.read_to => {}
            Event::SoftBreak | Event::HardBreak if self.takes_check(range.end) => {}
            Event::Text(text) => self.append(text, range),
            Event::Code(text) => {
                self.append(text, range);
                let task = self.items.last_mut().and_then(|item| item.pending.as_mut());
                let texts = [
                    task.map(|task| &mut task.text),
                    self.heading.as_mut().map(|(_, text)| text),
                ];
                for text in texts.into_iter().flatten() {
                    text.code_end = text.text.len();
                }
            }
            Event::InlineHtml(html) if html.starts_with("<!--") => {}
            // `Vec<String>` outside a code span is parsed as a tag.
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
                self.items.push(ListItem { pending, task: None });
            }
            Tag::BlockQuote(_) => {
                self.complete();
                self.quotes += 1;
            }
            Tag::List(_) | Tag::CodeBlock(_) | Tag::HtmlBlock | Tag::Table(_) => self.complete(),
            Tag::Paragraph if self.items.last().is_some_and(|item| item.task.is_some()) => {
                self.takes_check(range.start);
            }
            // A heading in an item is text, and one in a quote is an example.
            Tag::Heading { level, .. } if self.items.is_empty() && self.quotes == 0 => {
                self.heading = Some((*level as usize, PendingText::default()));
            }
            // Inline markup, and blocks that hold the text or cannot occur in an item.
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
                if self.items.pop().is_some_and(|item| item.task.is_some()) {
                    self.tasks_around -= 1;
                }
            }
            TagEnd::BlockQuote(_) => self.quotes -= 1,
            TagEnd::Heading(_) if self.heading.is_some() => self.end_heading(),
            // A box alone in its paragraph uses the next paragraph as its text.
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

    fn pending(&mut self, item: Range<usize>) -> Option<Box<PendingTask>> {
        if self.quotes > 0 {
            return None;
        }
        let check_box = CheckBox::find(self.text, item)?;
        Some(Box::new(PendingTask {
            line: self.lines.line_of(check_box.start),
            check_box,
            text: PendingText::default(),
            check: None,
        }))
    }

    /// Reads the line at `offset` as the check of the innermost task, if it is one.
    fn takes_check(&mut self, offset: usize) -> bool {
        if self.quotes > 0 {
            return false;
        }
        let Some((at, end, command)) = check_line(self.text, offset) else {
            return false;
        };
        let has_text = self.has_text();
        let Some(item) = self.items.last_mut() else {
            return false;
        };
        let task = match (&mut item.pending, item.task) {
            (Some(pending), _) if has_text => {
                match &pending.check {
                    None => pending.check = Some((at, command)),
                    Some(_) => self.note_check(self.found.tasks.len(), at, &GroupMistake::Twice { key: CHECK }),
                }
                self.read_to = end;
                return true;
            }
            (_, Some(task)) => task.get() as usize - 1,
            (_, None) => return false,
        };
        self.read_to = end;
        let Some(mut settings) = self.found.tasks.get(task).map(|found| found.settings.clone()) else {
            return false;
        };
        let inherited = self
            .sections
            .iter()
            .rev()
            .find_map(|section| section.settings.check.clone());
        if inherited.is_some() && settings.check == inherited {
            settings.check = None;
        }
        match settings.set(CHECK, &command) {
            Ok(()) => self.found.tasks[task].settings = settings,
            Err(mistake) => self.note_check(task, at, &mistake),
        }
        let position = self.lines.position(self.text, at);
        if let Err(after) = self.found.places.binary_search_by_key(&task, |(known, _)| *known) {
            self.found.places.insert(after, (task, position));
        }
        true
    }

    /// Sets the check of the task that is added next.
    fn set_check(&mut self, settings: &mut TaskSettings, at: usize, command: &str) {
        if let Err(mistake) = settings.set(CHECK, command) {
            self.note_check(self.found.tasks.len(), at, &mistake);
        }
    }

    fn note_check(&mut self, task: usize, at: usize, mistake: &GroupMistake) {
        self.found.mistakes.push(TaskMistake {
            task,
            position: self.lines.position(self.text, at),
            what: mistake.to_string(),
        });
    }

    fn has_text(&self) -> bool {
        self.items
            .last()
            .and_then(|item| item.pending.as_ref())
            .is_some_and(|pending| !pending.text.text.trim().is_empty())
    }

    /// Appends to the heading, or to the text of the innermost item after its box.
    fn append(&mut self, text: &str, range: Range<usize>) {
        if let Some((_, heading)) = &mut self.heading {
            heading.push(text, range.start);
        }
        let Some(pending) = self.items.last_mut().and_then(|item| item.pending.as_mut()) else {
            return;
        };
        let of_the_box = pending.check_box.end.saturating_sub(range.start);
        // Only plain text can straddle the end of a box, and plain text equals its source.
        let piece = text.get(of_the_box..).unwrap_or_default();
        pending.text.push(piece, range.start + of_the_box);
    }

    /// Ends the sections that the heading ends, and begins its own.
    fn end_heading(&mut self) {
        let Some((level, heading)) = self.heading.take() else {
            return;
        };
        self.sections.retain(|section| section.level < level);
        let (text, group) = self.divided(&heading);
        if let Some(group) = group {
            // A user who misspelt one setting of a section would not expect the others to apply.
            let is_correct = group.mistakes.is_empty();
            let (settings, place) = self.settings(&heading, group);
            if is_correct {
                self.sections.push(SectionSettings { level, settings, place });
            }
        }
        if !text.is_empty() {
            self.latest_heading = Some(text.clone());
        }
        self.ended_heading = Some((level, text));
    }

    /// Turns the innermost item into a task, if it has a box and a text.
    fn complete(&mut self) {
        let Some(item) = self.items.last_mut() else { return };
        let Some(pending) = item.pending.take() else { return };
        let (text, group) = self.divided(&pending.text);
        if text.is_empty() {
            return;
        }
        if let Some(item) = self.items.last_mut() {
            let number = u32::try_from(self.found.tasks.len() + 1).unwrap_or(u32::MAX);
            item.task = NonZeroU32::new(number);
        }
        let own = group.map(|group| self.settings(&pending.text, group));
        let (mut settings, mut place) = own.map_or_else(Default::default, |(settings, place)| (settings, Some(place)));
        if let Some((at, command)) = pending.check {
            self.set_check(&mut settings, at, &command);
            place = place.or_else(|| Some(self.lines.position(self.text, at)));
        }
        for section in self.sections.iter().rev() {
            settings.inherit(&section.settings);
            place = place.or(Some(section.place));
        }
        self.found
            .places
            .extend(place.map(|place| (self.found.tasks.len(), place)));
        let depth = self.tasks_around;
        self.tasks_around += 1;
        self.found.tasks.push(PlanTask {
            text,
            done: pending.check_box.ticked,
            line: pending.line,
            depth: u8::try_from(depth).unwrap_or(u8::MAX),
            heading: self.latest_heading.take(),
            settings,
        });
    }

    /// Divides a text into one line without settings, and the group of settings at its end.
    fn divided(&self, pending: &PendingText) -> (String, Option<SettingsGroup>) {
        let group = group::trailing(&pending.text, pending.code_end)
            .filter(|group| !is_escaped(self.text, pending.source_of(group.start)));
        let end = group.as_ref().map_or(pending.text.len(), |group| group.start);
        (one_line(&pending.text[..end]), group)
    }

    /// Returns the settings of a group, and its place. Its mistakes are those of the task that is added next.
    fn settings(&mut self, text: &PendingText, group: SettingsGroup) -> (TaskSettings, Position) {
        let task = self.found.tasks.len();
        let position = |at| self.lines.position(self.text, text.source_of(at));
        let mistakes = group.mistakes.iter().map(|(at, mistake)| TaskMistake {
            task,
            position: position(*at),
            what: mistake.to_string(),
        });
        self.found.mistakes.extend(mistakes);
        if let Some(command) = &group.settings.check
            && let Some(at) = text.text[group.start..].find("check=")
        {
            let value = self.text.get(text.source_of(group.start + at)..).unwrap_or_default();
            let value = value.trim_start_matches("check=").trim_start_matches('"');
            if !value.starts_with(command) {
                self.found.mistakes.push(TaskMistake {
                    task,
                    position: position(group.start + at),
                    what: GroupMistake::MarkedUp.to_string(),
                });
            }
        }
        (group.settings, position(group.start))
    }
}

/// The check on the line at `offset`: its offset, the end of the line, and the command, which may be in backticks.
fn check_line(text: &str, offset: usize) -> Option<(usize, usize, String)> {
    let line = text.get(offset..)?.split(['\n', '\r']).next()?;
    let content = line.trim_start_matches([' ', '\t']);
    let command = content.strip_prefix("check:")?;
    let command = command.starts_with([' ', '\t']).then(|| command.trim())?;
    let quoted = command.strip_prefix('`').and_then(|rest| rest.strip_suffix('`'));
    let command = quoted.filter(|quoted| !quoted.contains('`')).unwrap_or(command);
    let at = offset + line.len() - content.len();
    (!command.is_empty()).then(|| (at, offset + line.len(), command.to_owned()))
}

/// Whether the character at `offset` is escaped by a backslash, which makes it text.
fn is_escaped(source: &str, offset: usize) -> bool {
    source.as_bytes()[..offset.min(source.len())].ends_with(b"\\")
}

#[cfg(test)]
mod tests;
