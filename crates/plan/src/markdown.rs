//! Check-lists in Markdown.
//!
//! pulldown-cmark distinguishes list items from text that only looks like them (code, quotes, comments). The box itself
//! is parsed here, from the source, because the parser's task lists miss some forms that people write and tick: `[]`,
//! `[ x ]`, `[ ]glued`.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use ralph_core::event::{PlanTask, TaskSettings};
use ralph_text::{LineIndex, Position};

use super::{
    check_box::CheckBox,
    group::{self, SettingsGroup},
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
/// part of the text. A group at the end of a heading applies to the tasks of its section.
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
}

/// A list item that is being read.
struct ListItem {
    /// Its check-box, until the text is complete. Boxed, since most enclosing items have no check-box.
    pending: Option<Box<PendingTask>>,
    /// Whether it became a task.
    is_task: bool,
}

/// A check-box whose text is not complete.
struct PendingTask {
    check_box: CheckBox,
    /// Line of the box.
    line: u32,
    text: PendingText,
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
        }
    }

    fn read(&mut self, event: &Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(tag) => self.start(tag, range),
            Event::End(tag) => self.end(*tag),
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
                self.items.push(ListItem {
                    pending,
                    is_task: false,
                });
            }
            Tag::BlockQuote(_) => {
                self.complete();
                self.quotes += 1;
            }
            Tag::List(_) | Tag::CodeBlock(_) | Tag::HtmlBlock | Tag::Table(_) => self.complete(),
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
                if self.items.pop().is_some_and(|item| item.is_task) {
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
        }))
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
            item.is_task = true;
        }
        let own = group.map(|group| self.settings(&pending.text, group));
        let (mut settings, mut place) = own.map_or_else(Default::default, |(settings, place)| (settings, Some(place)));
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
        (group.settings, position(group.start))
    }
}

/// Whether the character at `offset` is escaped by a backslash, which makes it text.
fn is_escaped(source: &str, offset: usize) -> bool {
    source.as_bytes()[..offset.min(source.len())].ends_with(b"\\")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each task as a sketch: `1:  [x] text`, indented by depth.
    fn sketch(text: &str) -> Vec<String> {
        let tasks = tasks(text).tasks;
        let sketch = |task: &PlanTask| {
            let indent = "  ".repeat(task.depth.into());
            let mark = if task.done { 'x' } else { ' ' };
            format!("{}:{indent}[{mark}] {}", task.line, task.text)
        };
        tasks.iter().map(sketch).collect()
    }

    /// The texts of the tasks.
    fn texts(text: &str) -> Vec<String> {
        tasks(text).tasks.into_iter().map(|task| task.text).collect()
    }

    #[test]
    fn every_list_marker_makes_tasks() {
        let plan = "- [ ] a\n\n* [x] b\n\n+ [X] c\n\n1. [ ] d\n2. [x] e\n\n1) [ ] f\n10) [x] g\n";
        assert_eq!(
            sketch(plan),
            [
                "1:[ ] a", "3:[x] b", "5:[x] c", "7:[ ] d", "8:[x] e", "10:[ ] f", "11:[x] g"
            ]
        );
    }

    #[test]
    fn every_line_ending_counts_one_line() {
        for end in ["\n", "\r\n", "\r"] {
            let plan = ["# Plan", "", "- [ ] a", "- [x] b", "", "  note", "- [ ] c"].join(end);
            assert_eq!(sketch(&plan), ["3:[ ] a", "4:[x] b", "7:[ ] c"], "{end:?}");
        }
    }

    #[test]
    fn loose_and_tight_lists_are_the_same() {
        let tight = tasks("- [ ] a\n- [ ] b\n  - [ ] c\n");
        let loose = tasks("- [ ] a\n\n- [ ] b\n\n  - [ ] c\n");
        let shape = |found: FoundTasks| {
            found
                .tasks
                .into_iter()
                .map(|t| (t.text, t.done, t.depth))
                .collect::<Vec<_>>()
        };
        assert_eq!(shape(tight), shape(loose));
    }

    #[test]
    fn children_are_deeper_than_their_tasks() {
        let plan = "- [ ] a\n  - [x] b\n    1. [ ] c\n  - [ ] d\n- [ ] e\n\t- [ ] f\n";
        assert_eq!(
            sketch(plan),
            [
                "1:[ ] a",
                "2:  [x] b",
                "3:    [ ] c",
                "4:  [ ] d",
                "5:[ ] e",
                "6:  [ ] f"
            ]
        );
    }

    #[test]
    fn an_item_without_a_box_adds_no_depth() {
        let plan = "- [ ] before\n- Phase one\n  - [ ] a\n    - [ ] b\n- - [ ] c\n";
        assert_eq!(sketch(plan), ["1:[ ] before", "3:[ ] a", "4:  [ ] b", "5:[ ] c"]);
    }

    #[test]
    fn code_quotes_and_comments_are_examples() {
        for example in [
            "```\n- [ ] no\n```\n",
            "~~~md\n- [ ] no\n~~~\n",
            "```\n- [ ] no\n",
            "text\n\n    - [ ] no\n",
            "> - [ ] no\n> - [x] no\n",
            "> > 1. [ ] no\n",
            "- > - [ ] no\n",
            "<!--\n- [ ] no\n\n- [ ] no\n-->\n",
            "- text\n\n  ```\n  - [ ] no\n  ```\n",
            "-     [ ] no\n",
            "`- [ ] no`\n",
            "<pre>\n- [ ] no\n</pre>\n",
        ] {
            let plan = format!("- [ ] yes\n\nBelow stands an example.\n\n{example}");
            assert_eq!(sketch(&plan), ["1:[ ] yes"], "{plan}");
        }
    }

    #[test]
    fn tasks_go_on_after_an_example() {
        let plan = "- [ ] a\n\n  > - [ ] no\n\n- [ ] b\n\n```\n- [ ] no\n```\n\n- [ ] c\n";
        assert_eq!(sketch(plan), ["1:[ ] a", "5:[ ] b", "11:[ ] c"]);
    }

    #[test]
    fn what_only_looks_like_a_box_is_text() {
        for line in [
            "- [P1] no",
            "- [2026-01-02] no",
            "- [-] no",
            "- [y] no",
            "- [xx] no",
            "- [x](https://example.test) no",
            "- [ ](https://example.test) no",
            "- [x][reference] no",
            "- []string no",
            "- \\[ ] no",
            "- `[ ]` no",
            "- **[ ]** no",
            "- no [ ]",
            "- [ no",
            "-[ ] no",
            "[ ] no",
            "- [\n] no",
            "- [P1] [ ] no",
        ] {
            assert_eq!(texts(line), Vec::<String>::new(), "{line}");
        }
    }

    #[test]
    fn boxes_are_read_as_people_write_them() {
        for (line, done) in [
            ("-   [ ]   a", false),
            ("-\t[ ]\ta", false),
            ("- [  ] a", false),
            ("- [\t] a", false),
            ("- [\u{a0}] a", false),
            ("- [] a", false),
            ("- [ ]a", false),
            ("- [x]a", true),
            ("- [ x ] a", true),
            ("- [X ] a", true),
            ("   - [ ] a", false),
            ("-\n  [ ] a", false),
            ("- [ ]\n  a", false),
            ("- [ ]\n\n  a", false),
        ] {
            let tasks = tasks(line).tasks;
            assert_eq!(tasks.len(), 1, "{line:?}");
            assert_eq!((tasks[0].text.as_str(), tasks[0].done), ("a", done), "{line:?}");
        }
    }

    #[test]
    fn a_box_is_a_box_although_its_letter_names_a_link() {
        let plan = "- [x] a\n- [ x ] b\n\n[x]: https://example.test\n";
        assert_eq!(sketch(plan), ["1:[x] a", "2:[x] b"]);
    }

    #[test]
    fn a_box_without_a_text_is_no_task() {
        for plan in [
            "- [ ]",
            "- [ ] ",
            "- [x]\n",
            "- [ ] <!-- later -->",
            "- [ ]\n\n  ```\n  code\n  ```\n",
        ] {
            assert_eq!(texts(plan), Vec::<String>::new(), "{plan:?}");
        }
        assert_eq!(
            sketch("- [ ]\n  - [ ] child\n- [ ] next\n"),
            ["2:[ ] child", "3:[ ] next"]
        );
    }

    #[test]
    fn tags_and_markup_become_readable_text() {
        for (item, text) in [
            ("[P1] [2026-01-02] fix", "[P1] [2026-01-02] fix"),
            ("run `cargo test -- --ignored` now", "run cargo test -- --ignored now"),
            ("read [the guide](docs/guide.md)", "read the guide"),
            ("see <https://example.test/a>", "see https://example.test/a"),
            ("**bold**, *thin* and ~~gone~~", "bold, thin and gone"),
            ("![diagram](a.png) of it", "diagram of it"),
            ("return Vec<String> &amp; more", "return Vec<String> & more"),
            ("a <!-- id: 3 --> b", "a b"),
            ("\\*literal\\* _under_score", "*literal* _under_score"),
            ("# not a heading", "# not a heading"),
            ("- not a list", "- not a list"),
            ("[ ] twice", "[ ] twice"),
            ("ends in a backslash\\", "ends in a backslash\\"),
            ("Übung: 日本語 🦀", "Übung: 日本語 🦀"),
        ] {
            assert_eq!(texts(&format!("- [ ] {item}\n")), [text]);
        }
    }

    #[test]
    fn the_text_is_the_first_paragraph_on_one_line() {
        let plan = "- [ ] a long task\n  that goes on  \n  and on\n\n  A second paragraph.\n\n  - a note\n";
        assert_eq!(texts(plan), ["a long task that goes on and on"]);
        assert_eq!(texts("- [ ] lazy\ncontinuation\n"), ["lazy continuation"]);
    }

    #[test]
    fn headings_between_lists_do_not_matter() {
        let plan = "# Plan\n- [ ] a\n## Next\nText:\n- [ ] b\n***\n- [ ] c\n";
        assert_eq!(sketch(plan), ["2:[ ] a", "5:[ ] b", "7:[ ] c"]);
    }

    #[test]
    fn the_first_task_after_a_heading_has_it() {
        let plan = "- [ ] a\n\n# Plan\n## The `parser`,\tagain\n- [ ] b\n  - [ ] c\n- # no\n- [ ] d\n> # no\n\n```\n# no\n```\n\
            - [ ] e\n\nPrinter\n---\n\n#\n- [ ] f\n\n# Later\n- [ ] g\n";
        let headings: Vec<_> = tasks(plan).tasks.into_iter().map(|task| task.heading).collect();
        let named = |name: &str| Some(name.to_owned());
        let (parser, printer, later) = (named("The parser, again"), named("Printer"), named("Later"));
        assert_eq!(headings, [None, parser, None, None, None, printer, later]);
    }

    #[test]
    fn settings_of_a_task_are_no_text_of_it_and_their_places_are_those_of_the_source() {
        let plan = "# Plan\n- [ ] port *it* {adapter=codex model=gpt-5.4}\n  - [x] ä &amp; b\n    {model=\"a b\"} <!-- 3 -->\n\
            - [ ] next {modle=x}\n";
        let found = tasks(plan);
        let settings = |adapter: Option<&str>, model: Option<&str>| TaskSettings {
            adapter: adapter.map(str::to_owned),
            model: model.map(str::to_owned),
            ..TaskSettings::default()
        };
        let read: Vec<_> = found
            .tasks
            .iter()
            .map(|task| (task.text.as_str(), task.settings.clone()))
            .collect();
        assert_eq!(
            read,
            [
                ("port it", settings(Some("codex"), Some("gpt-5.4"))),
                ("ä & b", settings(None, Some("a b"))),
                ("next", settings(None, None)),
            ]
        );
        let places: Vec<_> = found
            .places
            .iter()
            .map(|(task, at)| (*task, at.line, at.column))
            .collect();
        assert_eq!(places, [(0, 2, 17), (1, 4, 5), (2, 5, 12)]);
        let mistakes: Vec<_> = found
            .mistakes
            .iter()
            .map(|it| (it.task, it.position.line, it.position.column))
            .collect();
        assert_eq!(mistakes, [(2, 5, 13)]);
    }

    #[test]
    fn settings_of_a_heading_apply_to_the_tasks_of_its_section() {
        let plan = "- [ ] before\n# One *part* {adapter=codex model=m}\n- [ ] a\n- [ ] b {model=n}\n- [ ] c {adapter=claude}\n\
            ## Inner {tests=may-change}\n- [ ] d\n  - [ ] e\n## Next `{x=1}`\n- [ ] f\n# Two \\{x=1}\n- [ ] g\n";
        let found = tasks(plan);
        assert_eq!(found.mistakes, []);
        let read: Vec<_> = found
            .tasks
            .iter()
            .map(|task| {
                let TaskSettings {
                    adapter,
                    model,
                    tests_may_change,
                } = &task.settings;
                (
                    task.text.as_str(),
                    adapter.as_deref(),
                    model.as_deref(),
                    *tests_may_change,
                )
            })
            .collect();
        assert_eq!(
            read,
            [
                ("before", None, None, false),
                ("a", Some("codex"), Some("m"), false),
                ("b", Some("codex"), Some("n"), false),
                // The model of a section is one of its adapter.
                ("c", Some("claude"), None, false),
                ("d", Some("codex"), Some("m"), true),
                ("e", Some("codex"), Some("m"), true),
                ("f", Some("codex"), Some("m"), false),
                ("g", None, None, false),
            ]
        );
        let places: Vec<_> = found.places.iter().map(|(task, at)| (*task, at.line)).collect();
        assert_eq!(places, [(1, 2), (2, 4), (3, 5), (4, 6), (5, 6), (6, 2)]);
        let texts = headings(plan).into_iter().map(|heading| (heading.level, heading.text));
        let named = [(1, "One part"), (2, "Inner"), (2, "Next {x=1}"), (1, "Two {x=1}")];
        assert_eq!(
            texts.collect::<Vec<_>>(),
            named.map(|(level, text)| (level, text.to_owned()))
        );
    }

    #[test]
    fn a_heading_with_a_mistake_sets_nothing_and_says_where() {
        let found = tasks("# One {adapter=codex tests=may}\n- [ ] a\n# Last {modle=x}\n");
        assert!(found.tasks[0].settings.is_empty() && found.places.is_empty());
        let mistakes = found
            .mistakes
            .iter()
            .map(|it| (it.task, it.position.line, it.position.column));
        assert_eq!(mistakes.collect::<Vec<_>>(), [(0, 1, 22), (1, 3, 9)]);
    }

    #[test]
    fn braces_in_code_behind_a_backslash_or_without_a_setting_are_text() {
        for (item, text) in [
            ("run `x {adapter=codex}`", "run x {adapter=codex}"),
            ("keep \\{adapter=codex}", "keep {adapter=codex}"),
            ("return {}", "return {}"),
            ("render {name}", "render {name}"),
            ("{adapter=codex}", "{adapter=codex}"),
        ] {
            let found = tasks(&format!("- [ ] {item}\n"));
            assert_eq!(found.tasks[0].text, text);
            assert!(
                found.tasks[0].settings.is_empty() && found.mistakes.is_empty(),
                "{item}"
            );
        }
    }

    #[test]
    fn equal_and_placeholder_tasks_are_tasks() {
        assert_eq!(texts("- [ ] TODO\n- [ ] TODO\n- [ ] …\n"), ["TODO", "TODO", "…"]);
    }

    #[test]
    fn any_cut_of_a_plan_is_read_without_panic() {
        let plan = "# P\r\n\r\n- [ ] ä `c` [l](u)\r\n  1) [x] b\n> - [ ] q\n```\n- [ ] f\n```\n- [ x ] 🦀 <!-- c -->\n\t- [ ]\n";
        for (cut, _) in plan.char_indices() {
            for task in tasks(&plan[..cut]).tasks {
                assert!(!task.text.is_empty() && task.line >= 1);
            }
        }
    }

    #[test]
    fn the_largest_plan_of_the_deepest_list_is_read_in_one_pass() {
        // Examining all enclosing items for each item would take 10^11 steps.
        let plan = "- ".repeat(1 << 19) + "[ ] deep\n";
        assert_eq!(texts(&plan), ["deep"]);
        let plan: String = (0..1_900)
            .map(|depth| format!("{}- [\n", " ".repeat(depth * 2)))
            .collect();
        assert_eq!(texts(&plan), Vec::<String>::new());
    }

    #[test]
    fn an_item_around_another_takes_no_more_than_two_words() {
        assert!(size_of::<ListItem>() <= 16, "{} bytes", size_of::<ListItem>());
    }

    #[test]
    fn items_and_quotes_behind_others_are_counted() {
        for (text, nested) in [
            ("", 0),
            ("- [ ] a\n* b\n1. c\n> d\n", 0),
            ("- - a\n  - b\n", 1),
            ("> > - 12) + [ ] a\n", 4),
            (">>>a\r\n\t-\t* b", 3),
            ("-a - b\n1 - a\n**a**\n", 0),
        ] {
            assert_eq!(nested_on_a_line(text), nested, "{text:?}");
        }
    }

    #[test]
    fn a_very_deep_plan_is_read() {
        let plan: String = (0..1_000)
            .map(|depth| format!("{}- [ ] {depth}\n", "  ".repeat(depth)))
            .collect();
        let tasks = tasks(&plan).tasks;
        assert_eq!(tasks.first().map(|task| task.depth), Some(0));
        assert_eq!(tasks.iter().map(|task| task.depth).max(), Some(u8::MAX));
    }
}
