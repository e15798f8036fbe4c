//! Check-lists in Markdown, read line by line.
//!
//! Each line that looks like a task (`shape`) either becomes one or is named as unread, with the reason. So the reader follows what
//! people mean by their lines, and not CommonMark, for which `### [ ] task`, a list that is indented by four, or all that follows a
//! fence without an end are text. What is an example stays one: code and comments that end, and quotes.
//!
//! Only the text of a task is parsed as Markdown, by itself.

use std::{num::NonZeroU32, ops::Range};

use ralph_core::event::{PlanTask, TaskSettings, UnreadWhy};
use ralph_text::Position;

use super::{
    check_box::{BoxForm, BoxState, CheckBox},
    group::{self, CHECK, GroupMistake, SetSetting, SettingsGroup},
    headings::Heading,
    kind::TASKS_CAP,
    left_out::{leave_out_signs, leave_out_skipped},
    line::one_line,
    lines::{CODE_COLUMN, FenceEnd, INNER_COLUMNS, Lines, verbatim_tag},
    reading::{FoundTasks, TaskMistake, TaskSource, unread},
    shape::{Place, fence, heading_level, indentation, is_rule, suspicion, take_marker},
    words::PlainWords,
};

/// Whether there is text outside of headings and comments, which could describe the work.
pub(super) fn has_prose(text: &str) -> bool {
    MarkdownReader::read(text).has_prose
}

/// Lists the tasks of a check-list in file order, with the lines that look like tasks and cannot be read.
///
/// A task is an item of any list (`-`, `*`, `+`, `1.`, `1)`, `•`) or a heading that begins with a box and has a text; the text
/// is the first paragraph without its markup. An item is in the one above it if it is indented more than that one's marker.
/// A heading that is a task holds the tasks of its section. Depth counts the enclosing tasks, not lists. A group of settings
/// at the end is not part of the text, and neither is a later line that begins with `check:`, which is the task's check. A
/// group at the end of a heading applies to the tasks of its section.
pub(super) fn tasks(text: &str) -> FoundTasks {
    let mut found = MarkdownReader::read(text).found;
    leave_out_signs(&mut found);
    leave_out_skipped(text, &mut found);
    found.unread.sort_by_key(|unread| (unread.line, unread.why));
    found.unread.dedup_by_key(|unread| unread.line);
    found
}

/// The headings that divide the text, without their settings. A heading in a list item is text, and one in a quote is
/// an example.
pub(super) fn headings(text: &str) -> Vec<Heading> {
    MarkdownReader::read(text).found.headings
}

struct MarkdownReader<'a> {
    text: &'a str,
    lines: Lines<'a>,
    found: FoundTasks,
    has_prose: bool,
    /// The items around the current position, outermost first.
    items: Vec<ListItem>,
    /// Number of those that are tasks. Counting them again for each item would be quadratic in a deep list.
    tasks_around: usize,
    /// The box of the innermost item, until its text is complete.
    pending: Option<PendingTask>,
    paragraph: Paragraph,
    /// Whether the last line was blank.
    after_blank: bool,
    /// End of the last line that was not blank.
    last_end: usize,
    list_count: u32,
    /// Levels of the headings around that are tasks, outermost first.
    heading_tasks: Vec<usize>,
    /// The latest heading that no task has followed yet.
    latest_heading: Option<String>,
    /// The settings of the sections around the current position, outermost first.
    sections: Vec<SectionSettings>,
}

/// A list item that is being read.
struct ListItem {
    /// Column of its marker.
    column: u32,
    /// Columns from its marker to its content.
    width: u16,
    list: u32,
    /// The number of the task that it became, from 1.
    task: Option<NonZeroU32>,
    sign: ListSign,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ListSign {
    /// The ASCII sign of its marker, or 0 for a bullet.
    byte: u8,
    /// Whether nothing of the item has been read.
    is_empty: bool,
}

/// A check-box whose text is not complete.
struct PendingTask {
    check_box: CheckBox,
    /// Line of the box.
    line: u32,
    /// Start of the item's marker.
    start: usize,
    /// The pieces of the text, one for each line.
    pieces: Vec<Range<usize>>,
    /// The offset of its check, and the command.
    check: Option<(usize, String)>,
}

/// The paragraph that the current line may continue.
enum Paragraph {
    None,
    /// The text of the pending task.
    Task,
    /// Text of an item.
    Item,
    /// Text outside of lists, by its lines: a line below may make it a heading.
    Top(Vec<Range<usize>>),
}

/// Settings at the end of a heading, for the tasks of its section.
struct SectionSettings {
    level: usize,
    settings: TaskSettings,
    place: Position,
    is_skipped: bool,
}

impl<'a> MarkdownReader<'a> {
    fn read(text: &'a str) -> Self {
        let mut reader = MarkdownReader {
            text,
            lines: Lines::new(text),
            found: FoundTasks::default(),
            has_prose: false,
            items: Vec::new(),
            tasks_around: 0,
            pending: None,
            paragraph: Paragraph::None,
            after_blank: false,
            last_end: 0,
            list_count: 0,
            heading_tasks: Vec::new(),
            latest_heading: None,
            sections: Vec::new(),
        };
        let mut line = 1;
        while line <= reader.lines.count {
            let last = reader.read_line(line).max(line);
            let end = reader.lines.range(last).end;
            if end > reader.lines.index.start_of(last) && !reader.after_blank {
                reader.last_end = end;
            }
            line = last + 1;
        }
        reader.close_items(0);
        reader
    }

    /// Reads what begins on a line. Returns its last line.
    fn read_line(&mut self, line: u32) -> u32 {
        let source = self.lines.source(line);
        let mut place = indentation(source);
        let content = &source[place.offset.min(source.len())..];
        if content.is_empty() {
            self.end_paragraph();
            self.after_blank = true;
            return line;
        }
        let after_blank = std::mem::take(&mut self.after_blank);
        if let Some(last) = self.read_block(line, source, place) {
            return last;
        }
        if place.column < CODE_COLUMN && self.is_outside(place.column) {
            if let Some(level) = self.underline(content) {
                self.end_setext(line, level);
                return line;
            }
            if let Some((level, text)) = heading_level(content) {
                self.close_items(0);
                self.read_heading(line, level, place.offset + text);
                return line;
            }
        }
        if is_rule(content) {
            self.interrupt(place.column);
            return line;
        }
        let continues = !after_blank && !matches!(self.paragraph, Paragraph::None);
        if place.column >= CODE_COLUMN && self.items.is_empty() && !self.lines.is_list(line) {
            return self.read_indented(line);
        }
        let marker = place;
        if let Some(sign) = take_marker(source, &mut place) {
            return self.read_item(line, marker, place, sign);
        }
        if let Some(why) = suspicion(source) {
            self.name(line, source, why);
        }
        self.read_text(line, place, continues);
        line
    }

    /// Reads a block that is no Markdown, or a quote, if one begins at `place`. Returns its last line.
    fn read_block(&mut self, line: u32, source: &str, place: Place) -> Option<u32> {
        let content = &source[place.offset..];
        if let Some(fence) = fence(content) {
            let end = self.lines.fence_end(line, fence);
            self.has_prose = true;
            self.interrupt(place.column);
            return Some(match end {
                FenceEnd::At(last) => {
                    self.name_all(line + 1..=last, UnreadWhy::Code);
                    last
                }
                FenceEnd::Perhaps(last) => {
                    self.name(line, source, UnreadWhy::Unclosed);
                    self.name_all(line + 1..=last, UnreadWhy::Code);
                    last
                }
                FenceEnd::Never => {
                    self.name(line, source, UnreadWhy::Unclosed);
                    line
                }
            });
        }
        if let Some(commented) = content.strip_prefix("<!--") {
            self.interrupt(place.column);
            let start = self.lines.index.start_of(line) + place.offset + "<!--".len();
            let end = self.lines.comment_end(start);
            return Some(match end {
                Some(end) => {
                    let last = self.lines.index.line_of(end);
                    if let Some(why) = suspicion(commented.trim_start()) {
                        let why = if why == UnreadWhy::Number {
                            why
                        } else {
                            UnreadWhy::Comment
                        };
                        self.name(line, source, why);
                    }
                    self.name_all(line + 1..=last, UnreadWhy::Comment);
                    last
                }
                None => {
                    self.name(line, source, UnreadWhy::Unclosed);
                    line
                }
            });
        }
        if let Some(tag) = verbatim_tag(content) {
            self.interrupt(place.column);
            let last = self.lines.tag_end(line, tag);
            if last.is_none() {
                self.name(line, source, UnreadWhy::Unclosed);
            }
            let last = last.unwrap_or(line);
            self.name_all(line + 1..=last, UnreadWhy::Code);
            return Some(last);
        }
        if content.starts_with('>') {
            self.interrupt(place.column);
            self.has_prose = true;
            if let Some(why) = suspicion(content) {
                self.name(line, source, why);
            }
            return Some(line);
        }
        None
    }

    /// Names a line that looks like a task and cannot be read.
    fn name(&mut self, line: u32, source: &str, why: UnreadWhy) {
        self.found.unread.push(unread(line, source, why));
    }

    /// Names those of these lines that look like tasks.
    fn name_all(&mut self, lines: std::ops::RangeInclusive<u32>, why: UnreadWhy) {
        for line in lines {
            let source = self.lines.source(line);
            if let Some(own) = suspicion(source) {
                self.name(line, source, if own == UnreadWhy::Number { own } else { why });
            }
        }
    }

    /// Whether a heading at `column` is in no item.
    fn is_outside(&self, column: u32) -> bool {
        let first = self.items.first();
        first.is_none_or(|item| column < item.column + u32::from(item.width))
    }

    /// Reads a block that is indented like code. Returns its last line.
    fn read_indented(&mut self, line: u32) -> u32 {
        self.has_prose = true;
        let mut last = line;
        for next in line..=self.lines.count {
            let source = self.lines.source(next);
            let place = indentation(source);
            if source.len() <= place.offset {
                continue;
            }
            if place.column < CODE_COLUMN {
                break;
            }
            last = next;
        }
        self.name_all(line..=last, UnreadWhy::Indented);
        last
    }

    /// Ends the text that is being read, and the items that do not hold what begins at `column`.
    fn interrupt(&mut self, column: u32) {
        self.end_paragraph();
        while self.items.last().is_some_and(|item| column <= item.column) {
            self.close_item();
        }
    }

    fn close_items(&mut self, kept: usize) {
        self.end_paragraph();
        while self.items.len() > kept {
            self.close_item();
        }
    }

    /// Ends the innermost item, and returns it.
    fn close_item(&mut self) -> Option<ListItem> {
        if let Some(pending) = self.pending.take() {
            let source = self.lines.source(pending.line);
            self.name(pending.line, source, UnreadWhy::Empty);
        }
        let item = self.items.pop()?;
        if let Some(task) = item.task {
            self.tasks_around -= 1;
            let end = self.last_end;
            let source = self.found.sources.get_mut(task.get() as usize - 1);
            if let Some(source) = source {
                source.range.end = source.range.end.max(end);
            }
        }
        Some(item)
    }

    fn end_paragraph(&mut self) {
        self.paragraph = Paragraph::None;
        if self.pending.as_ref().is_some_and(|pending| !pending.pieces.is_empty()) {
            self.complete();
        }
    }

    /// Reads the items that begin on a line. `marker` is where the first begins, `place` is behind its marker.
    fn read_item(&mut self, line: u32, mut marker: Place, mut place: Place, mut sign: char) -> u32 {
        let source = self.lines.source(line);
        self.end_paragraph();
        loop {
            let mut sibling = None;
            while self
                .items
                .last()
                .is_some_and(|item| marker.column < item.column + INNER_COLUMNS)
            {
                sibling = self.close_item();
            }
            let byte = u8::try_from(sign).unwrap_or(0);
            let list = match sibling.filter(|sibling| sibling.sign.byte == byte) {
                Some(sibling) => sibling.list,
                None => {
                    self.list_count += 1;
                    self.list_count
                }
            };
            let is_empty = place.offset >= source.len();
            self.items.push(ListItem {
                column: marker.column,
                width: u16::try_from(place.column - marker.column).unwrap_or(u16::MAX),
                list,
                task: None,
                sign: ListSign { byte, is_empty },
            });
            if is_empty {
                return line;
            }
            let start = marker;
            marker = place;
            match take_marker(source, &mut place) {
                Some(inner) => sign = inner,
                None => return self.read_content(line, start.offset, marker),
            }
        }
    }

    /// Reads what an item begins with, at `place`. `start` is the offset of its marker in the line.
    fn read_content(&mut self, line: u32, start: usize, place: Place) -> u32 {
        let source = self.lines.source(line);
        if let Some(last) = self.read_block(
            line,
            source,
            Place {
                column: u32::MAX,
                ..place
            },
        ) {
            return last;
        }
        let line_start = self.lines.index.start_of(line);
        match CheckBox::at(source, place.offset) {
            Some(found) if found.is_number(source) => {
                self.name(line, source, UnreadWhy::Number);
                self.paragraph = Paragraph::Item;
            }
            Some(found) => {
                let mut pending = PendingTask {
                    check_box: CheckBox {
                        start: line_start + found.start,
                        end: line_start + found.end,
                        ..found
                    },
                    line,
                    start: line_start + start,
                    pieces: Vec::new(),
                    check: None,
                };
                if !source[found.end..].trim().is_empty() {
                    pending.pieces.push(line_start + found.end..line_start + source.len());
                }
                self.paragraph = if pending.pieces.is_empty() {
                    Paragraph::Item
                } else {
                    Paragraph::Task
                };
                self.pending = Some(pending);
            }
            None => {
                if let Some(why) = suspicion(source) {
                    self.name(line, source, why);
                }
                self.paragraph = Paragraph::Item;
            }
        }
        self.has_prose = true;
        line
    }

    /// Reads a line of a paragraph, which `continues` or begins.
    fn read_text(&mut self, line: u32, place: Place, continues: bool) {
        self.has_prose = true;
        let range = self.lines.range(line);
        let range = range.start + place.offset..range.end;
        if !continues {
            self.interrupt(place.column);
            if let Some(item) = self.items.last_mut()
                && std::mem::take(&mut item.sign.is_empty)
            {
                self.read_content(line, place.offset, place);
                return;
            }
        }
        if self.takes_check(range.start) {
            if !continues {
                self.paragraph = Paragraph::Item;
            }
            return;
        }
        if let Some(pending) = &mut self.pending {
            pending.pieces.push(range);
            self.paragraph = Paragraph::Task;
            return;
        }
        match &mut self.paragraph {
            Paragraph::Top(lines) if continues => lines.push(range),
            Paragraph::None | Paragraph::Task | Paragraph::Item | Paragraph::Top(_) if !continues => {
                self.paragraph = match self.items.is_empty() {
                    true => Paragraph::Top(vec![range]),
                    false => Paragraph::Item,
                };
            }
            Paragraph::None | Paragraph::Task | Paragraph::Item | Paragraph::Top(_) => {}
        }
    }

    /// Reads the line at `offset` as the check of the innermost task, if it is one.
    fn takes_check(&mut self, offset: usize) -> bool {
        let Some((at, _, command)) = check_line(self.text, offset) else {
            return false;
        };
        match &mut self.pending {
            Some(pending) if pending.pieces.is_empty() => return false,
            Some(pending) => {
                match &pending.check {
                    None => pending.check = Some((at, command)),
                    Some(_) => self.note_check(self.found.tasks.len(), at, &GroupMistake::Twice { key: CHECK }),
                }
                return true;
            }
            None => {}
        }
        let Some(task) = self.items.last().and_then(|item| item.task) else {
            return false;
        };
        let task = task.get() as usize - 1;
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
        let position = self.lines.index.position(self.text, at);
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
            position: self.lines.index.position(self.text, at),
            what: mistake.to_string(),
        });
    }

    /// The level of the heading that a line of signs makes of the paragraph above it.
    fn underline(&self, content: &str) -> Option<usize> {
        let sign = content.chars().next().filter(|sign| matches!(sign, '=' | '-'))?;
        let is_underline = content.chars().all(|character| character == sign);
        let is_below_text = matches!(self.paragraph, Paragraph::Top(_));
        (is_underline && is_below_text).then_some(if sign == '=' { 1 } else { 2 })
    }

    /// Ends the paragraph above `line` as a heading.
    fn end_setext(&mut self, line: u32, level: usize) {
        if let Paragraph::Top(places) = std::mem::replace(&mut self.paragraph, Paragraph::None) {
            let first = self.lines.index.line_of(places.first().map_or(0, |place| place.start));
            let count = self.found.tasks.len();
            self.add_heading(level, first, line, &places);
            if self.found.tasks.len() > count {
                // Its box was named when its line was a paragraph. Only lines of the same paragraph were named since.
                let unread = &mut self.found.unread;
                let named = unread.iter().rev().take_while(|unread| unread.line >= first);
                let begin = unread.len() - named.count();
                if unread.get(begin).is_some_and(|unread| unread.line == first) {
                    unread.remove(begin);
                }
            }
        }
    }

    /// Reads a heading whose text begins at `text` in its line.
    fn read_heading(&mut self, line: u32, level: usize, text: usize) {
        let mut place = self.lines.range(line);
        place.start += text.min(place.len());
        let words = self.text[place.clone()].trim_end_matches('#');
        if words.is_empty() || words.ends_with([' ', '\t']) {
            place.end = place.start + words.trim_end().len();
        }
        let place = std::slice::from_ref(&place);
        self.add_heading(level, line, line, place);
    }

    /// Ends the sections that the heading ends, and begins its own. A heading with a box is a task, too.
    fn add_heading(&mut self, level: usize, first: u32, last: u32, places: &[Range<usize>]) {
        self.sections.retain(|section| section.level < level);
        self.heading_tasks.retain(|outer| *outer < level);
        let mut places = places.to_vec();
        let check_box = places
            .first()
            .and_then(|place| CheckBox::at(&self.text[..place.end], place.start));
        let check_box = check_box.filter(|found| {
            let line = self.lines.source(first);
            let why = match found.form {
                _ if found.is_number(self.text) => Some(UnreadWhy::Number),
                BoxForm::Emoji if found.state == BoxState::Ticked => return false,
                BoxForm::Emoji => Some(UnreadWhy::Sign),
                BoxForm::Brackets | BoxForm::Sign => None,
            };
            self.found.unread.extend(why.map(|why| unread(first, line, why)));
            why.is_none()
        });
        if let (Some(found), Some(place)) = (check_box, places.first_mut()) {
            place.start = found.end;
        }
        let words = PlainWords::parsed(self.text, &places);
        let (text, group) = self.divided(&words);
        let mut is_each = false;
        if let Some(group) = group {
            // A user who misspelt one setting of a section would not expect the others to apply.
            let is_correct = group.mistakes.is_empty();
            is_each = group.is_each;
            let is_skipped = group.is_skipped;
            let (settings, place) = self.settings(&words, group);
            let sets = is_skipped || !settings.is_empty();
            if is_correct && sets {
                self.sections.push(SectionSettings {
                    level,
                    settings,
                    place,
                    is_skipped,
                });
            }
        }
        self.found.headings.push(Heading {
            level,
            text: text.clone(),
            start: self.lines.index.start_of(first),
            end: if last < self.lines.count {
                self.lines.index.start_of(last + 1)
            } else {
                self.text.len()
            },
            is_each,
        });
        match check_box {
            Some(_) if text.is_empty() => {
                let source = self.lines.source(first);
                self.name(first, source, UnreadWhy::Empty);
            }
            Some(check_box) => {
                let range = self.lines.index.start_of(first)..self.lines.range(last).end;
                let source = self.task_source(check_box, range, 0);
                self.add_task(text, first, source, None, TaskSettings::default());
                self.heading_tasks.push(level);
            }
            None if text.is_empty() => {}
            None => self.latest_heading = Some(text),
        }
    }

    /// Turns the innermost item into a task, if its text has words.
    fn complete(&mut self) {
        let Some(pending) = self.pending.take() else { return };
        // A plan with more tasks is refused with their number.
        let is_beyond = self.found.tasks.len() > TASKS_CAP;
        let words = match is_beyond {
            true => PlainWords::default(),
            false => PlainWords::parsed(self.text, &pending.pieces),
        };
        let (text, group) = match is_beyond {
            true => ("beyond".to_owned(), None),
            false => self.divided(&words),
        };
        if text.is_empty() {
            let source = self.lines.source(pending.line);
            self.name(pending.line, source, UnreadWhy::Empty);
            return;
        }
        let is_skipped = group.as_ref().is_some_and(|group| group.is_skipped);
        let own = group.map(|group| self.settings(&words, group));
        let (mut settings, mut place) = own.map_or_else(Default::default, |(settings, place)| (settings, Some(place)));
        // The scope of a task is that of the tasks in it.
        if settings.only.is_empty()
            && let Some(around) = self.items.iter().rev().find_map(|item| item.task)
            && let Some(around) = self.found.tasks.get(around.get() as usize - 1)
        {
            settings.only.clone_from(&around.settings.only);
        }
        if let Some((at, command)) = pending.check {
            self.set_check(&mut settings, at, &command);
            place = place.or_else(|| Some(self.lines.index.position(self.text, at)));
        }
        let list = self.items.last().map_or(0, |item| item.list);
        let end = pending.pieces.last().map_or(pending.start, |piece| piece.end);
        let mut source = self.task_source(pending.check_box, pending.start..end, list);
        source.is_skipped |= is_skipped;
        self.add_task(text, pending.line, source, place, settings);
        if let Some(item) = self.items.last_mut() {
            let number = u32::try_from(self.found.tasks.len()).unwrap_or(u32::MAX);
            item.task = NonZeroU32::new(number);
        }
        self.tasks_around += 1;
    }

    fn task_source(&self, check_box: CheckBox, range: Range<usize>, list: u32) -> TaskSource {
        TaskSource {
            check_box,
            range,
            list,
            section: self.found.headings.len(),
            is_skipped: self.sections.iter().any(|section| section.is_skipped),
        }
    }

    /// Adds a task with the `settings` of its own, which are at `place`.
    fn add_task(
        &mut self,
        text: String,
        line: u32,
        source: TaskSource,
        mut place: Option<Position>,
        mut settings: TaskSettings,
    ) {
        for section in self.sections.iter().rev() {
            settings.inherit(&section.settings);
            place = place.or(Some(section.place));
        }
        let places = place.map(|place| (self.found.tasks.len(), place));
        self.found.places.extend(places);
        let depth = self.heading_tasks.len() + self.tasks_around;
        self.found.tasks.push(PlanTask {
            text,
            done: source.check_box.state == BoxState::Ticked,
            line,
            depth: u8::try_from(depth).unwrap_or(u8::MAX),
            heading: self.latest_heading.take(),
            settings,
            mark: source.check_box.mark(self.text).map(str::to_owned),
            ..PlanTask::default()
        });
        self.found.sources.push(source);
    }

    /// Divides a text into one line without settings, and the group of settings at its end.
    fn divided(&self, words: &PlainWords) -> (String, Option<SettingsGroup>) {
        let is_escaped = |at| is_escaped(self.text, words.source_of(at));
        let code_end = words.code.last().map_or(0, |code| code.end);
        let mut group = group::trailing(&words.text, code_end).filter(|group| !is_escaped(group.start));
        if let Some(group) = &mut group {
            let written = words.source_of(group.start)..words.source_of(words.text.trim_end().len());
            group.take_patterns(self.text.get(written).unwrap_or_default());
        }
        let end = group.as_ref().map_or(words.text.len(), |group| group.start);
        let is_text = |at| is_escaped(at) || words.code.iter().any(|code| code.contains(&at));
        if let Some((at, key)) = group::groups(&words.text[..end]).find(|(at, _)| !is_text(*at)) {
            let group = group.get_or_insert_with(|| SettingsGroup::new(end));
            group.mistakes.push((at, GroupMistake::NotAtEnd { key }));
        }
        (one_line(&words.text[..end]), group)
    }

    /// Returns the settings of a group, and its place. Its mistakes are those of the task that is added next.
    fn settings(&mut self, text: &PlainWords, group: SettingsGroup) -> (TaskSettings, Position) {
        let task = self.found.tasks.len();
        let position = |at| self.lines.index.position(self.text, text.source_of(at));
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
