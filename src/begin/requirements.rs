//! Requirements in a text, found by its structure alone: items of lists, and rows of tables that are announced as
//! requirements. Pure.
//!
//! Prose is left to agents. The line of each passage that is left out is reported, so that no requirement is lost
//! silently. Text below a heading such as "Out of scope" becomes context, which an agent reads with the plan, and not a
//! task.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use ralph_text::{LineIndex, one_line};

use super::priority::{LOW, alone, plain, rank, without_priority};

/// Maximum number of words in a label before a colon.
const LABEL_WORDS: usize = 5;
/// A level below every heading of Markdown.
const NUMBERED: usize = 7;

/// One requirement.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Requirement {
    pub(super) text: String,
    pub(super) notes: Vec<String>,
    pub(super) done: bool,
    /// Lower values come first. `None` comes between high and low.
    pub(super) priority: Option<u8>,
}

/// Context that an agent reads in addition to the tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ContextText {
    Paragraph(String),
    Item(String),
}

impl ContextText {
    pub(super) fn text(&self) -> &str {
        match self {
            ContextText::Paragraph(text) | ContextText::Item(text) => text,
        }
    }
}

/// Requirements below one heading.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct RequirementsSection {
    pub(super) heading: String,
    pub(super) context: Vec<ContextText>,
    pub(super) tasks: Vec<Requirement>,
    kind: AnnouncedKind,
    /// The line of a heading that was written as the only item of a numbered list.
    numbered: Option<u32>,
}

impl RequirementsSection {
    /// Tasks without a heading.
    pub(super) fn from_tasks(tasks: Vec<Requirement>) -> Self {
        Self {
            tasks,
            ..Self::default()
        }
    }
}

/// The kind of text that a heading or a label announces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum AnnouncedKind {
    /// Items of lists are requirements.
    #[default]
    Open,
    /// Rows of tables are requirements as well.
    Required,
    /// As [`AnnouncedKind::Required`], but they may stay undone.
    Optional,
    /// The text has no requirement.
    Excluded,
}

/// The requirements of a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RequirementsDocument {
    /// The only heading of the first level.
    pub(super) title: Option<String>,
    pub(super) sections: Vec<RequirementsSection>,
    /// Number of passages that say what is not to be done.
    pub(super) excluded: usize,
    /// Lines of the passages that were left out.
    pub(super) left: Vec<u32>,
}

/// Reads Markdown or plain text.
pub(super) fn read(text: &str) -> RequirementsDocument {
    // Bullets of office programs.
    let text = text.replace(['•', '◦', '▪', '‣'], "-");
    let mut reader = RequirementsReader::new(&text);
    for (event, range) in parser(&text) {
        reader.take(&event, range);
    }
    reader.finish()
}

fn parser(text: &str) -> impl Iterator<Item = (Event<'_>, Range<usize>)> {
    Parser::new_ext(text, Options::ENABLE_TASKLISTS | Options::ENABLE_TABLES).into_offset_iter()
}

/// A piece of text, with the line at which it begins.
#[derive(Debug, Default)]
struct Passage {
    text: String,
    line: u32,
}

impl Passage {
    fn push(&mut self, text: &str, line: u32) {
        if self.text.is_empty() {
            self.line = line;
        }
        self.text += text;
    }
}

/// How the current list item was classified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ItemClass {
    Unread,
    Task,
    Excluded,
}

/// The reader's position in a document.
struct RequirementsReader<'a> {
    text: &'a str,
    lines: LineIndex,
    /// Offsets of the items of numbered lists that are headings.
    numbered: Vec<usize>,
    title: Option<String>,
    titles: usize,
    sections: Vec<RequirementsSection>,
    /// The enclosing headings, outermost first: level, kind, text.
    above: Vec<(usize, AnnouncedKind, String)>,
    /// Nesting depth of lists.
    depth: usize,
    item: ItemClass,
    /// Whether the current item is a heading.
    heads: bool,
    /// Whether the reader is in code or a comment, which are skipped.
    silent: bool,
    passage: Passage,
    /// The cells of the current table row.
    cells: Vec<String>,
    done: bool,
    /// Label in the previous paragraph, which applies to the next block.
    label: Option<AnnouncedKind>,
    /// Label of the current list or table.
    rows: Option<AnnouncedKind>,
    /// A paragraph that ends in a colon. A list after it makes it an introduction.
    lead_in: Option<(String, u32)>,
    excluded: usize,
    left: Vec<u32>,
}

impl<'a> RequirementsReader<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            text,
            lines: LineIndex::new(text),
            numbered: numbered_headings(text),
            title: None,
            titles: 0,
            sections: vec![RequirementsSection::default()],
            above: Vec::new(),
            depth: 0,
            item: ItemClass::Unread,
            heads: false,
            silent: false,
            passage: Passage::default(),
            cells: Vec::new(),
            done: false,
            label: None,
            rows: None,
            lead_in: None,
            excluded: 0,
            left: Vec::new(),
        }
    }

    fn take(&mut self, event: &Event<'_>, range: Range<usize>) {
        let line = self.lines.line_of(range.start);
        match event {
            Event::Start(tag) => self.start(tag, range),
            Event::End(tag) => self.end(*tag, line),
            Event::TaskListMarker(done) => self.done = *done,
            Event::InlineHtml(html) if html.starts_with("<!--") => {}
            Event::Text(_) | Event::Html(_) if self.silent => {}
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => self.passage.push(text, line),
            Event::Code(code) => self.passage.push(&format!("`{code}`"), line),
            Event::SoftBreak | Event::HardBreak => self.passage.push(" ", line),
            Event::InlineMath(_) | Event::DisplayMath(_) | Event::FootnoteReference(_) | Event::Rule => {}
        }
    }

    fn start(&mut self, tag: &Tag<'_>, range: Range<usize>) {
        match tag {
            Tag::List(_) => {
                self.flush();
                if self.depth == 0 {
                    self.begin_rows();
                }
                self.depth += 1;
            }
            Tag::Item => {
                self.flush();
                if self.depth == 1 {
                    self.item = ItemClass::Unread;
                    self.heads = self.numbered.contains(&range.start);
                }
            }
            Tag::Table(_) if self.depth == 0 => self.begin_rows(),
            Tag::Heading { .. } | Tag::Paragraph | Tag::CodeBlock(_) | Tag::HtmlBlock if self.depth == 0 => {
                self.passage = Passage::default();
                self.resolve_lead_in();
            }
            Tag::Heading { .. } | Tag::Paragraph | Tag::CodeBlock(_) | Tag::HtmlBlock => self.flush(),
            Tag::TableRow | Tag::TableHead => self.cells.clear(),
            Tag::TableCell => self.passage = Passage::default(),
            _ => {}
        }
        match tag {
            Tag::CodeBlock(CodeBlockKind::Fenced(_)) if self.depth == 0 => {
                self.silent = true;
                self.left.push(self.lines.line_of(range.start));
            }
            Tag::HtmlBlock => self.silent = self.text[range].trim_start().starts_with("<!--"),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd, line: u32) {
        match tag {
            TagEnd::Heading(level) if self.depth == 0 => self.heading(level),
            TagEnd::List(_) => {
                self.flush();
                self.depth -= 1;
                if self.depth == 0 {
                    self.rows = None;
                }
            }
            // Indented text is prose as often as code.
            TagEnd::Paragraph | TagEnd::HtmlBlock | TagEnd::CodeBlock if self.depth == 0 => {
                self.silent = false;
                self.paragraph();
            }
            TagEnd::TableCell => {
                let passage = std::mem::take(&mut self.passage);
                self.cells.push(words_of(&passage.text));
            }
            TagEnd::TableHead => self.cells.clear(),
            TagEnd::TableRow => self.row(line),
            TagEnd::Table => self.rows = None,
            TagEnd::Item | TagEnd::Paragraph | TagEnd::Heading(_) | TagEnd::CodeBlock | TagEnd::HtmlBlock => {
                self.silent = false;
                self.flush();
            }
            _ => {}
        }
    }

    /// Begins a list or a table. A paragraph before it that ends in a colon is its introduction.
    fn begin_rows(&mut self) {
        self.rows = self.label.take();
        if let Some((lead_in, _)) = self.lead_in.take() {
            self.section().context.push(ContextText::Paragraph(lead_in));
        }
    }

    fn section(&mut self) -> &mut RequirementsSection {
        self.sections.last_mut().expect("there is always one")
    }

    fn heading(&mut self, level: HeadingLevel) {
        let text = words_of(&std::mem::take(&mut self.passage).text);
        self.label = None;
        if level == HeadingLevel::H1 {
            self.titles += 1;
            if self.titles == 1 && self.sections.iter().all(|section| section.tasks.is_empty()) {
                self.title = Some(text.clone()).filter(|text| !text.is_empty());
            }
        }
        self.begin_section(level as usize, text, None);
    }

    fn begin_section(&mut self, level: usize, text: String, numbered: Option<u32>) {
        while self.above.last().is_some_and(|(above, ..)| *above >= level) {
            self.above.pop();
        }
        let around = self.above.last();
        let of_title = level == 1;
        let own = kind_of_heading(&text).filter(|_| !of_title);
        // The plan shows only the closest heading, so the enclosing "Out of scope" is repeated in it.
        let heading = match (own, around) {
            (None, Some((_, AnnouncedKind::Optional | AnnouncedKind::Excluded, above))) => format!("{above}: {text}"),
            (Some(_), _) | (None, None | Some((_, AnnouncedKind::Open | AnnouncedKind::Required, _))) => text,
        };
        let kind = own.or(around.map(|(_, kind, _)| *kind)).unwrap_or_default();
        self.above.push((level, kind, heading.clone()));
        self.sections.push(RequirementsSection {
            heading,
            kind,
            numbered: numbered.filter(|_| own.is_none()),
            ..RequirementsSection::default()
        });
    }

    /// Takes the text of a list item: a task at the top level, a note below it.
    fn flush(&mut self) {
        let passage = std::mem::take(&mut self.passage);
        let done = std::mem::take(&mut self.done);
        let text = words_of(&passage.text);
        if text.is_empty() || self.depth == 0 {
            return;
        }
        if std::mem::take(&mut self.heads) {
            return self.begin_section(NUMBERED, text, Some(passage.line));
        }
        let kind = self.rows.unwrap_or(self.section().kind);
        let label = label(&text);
        match self.item {
            ItemClass::Unread
                if kind == AnnouncedKind::Excluded
                    || label.is_some_and(|(kind, _)| kind == AnnouncedKind::Excluded) =>
            {
                self.item = ItemClass::Excluded;
                self.exclude(ContextText::Item(text));
            }
            ItemClass::Excluded => self.section().context.push(ContextText::Item(text)),
            ItemClass::Unread => {
                self.item = ItemClass::Task;
                let optional =
                    kind == AnnouncedKind::Optional || label.is_some_and(|(kind, _)| kind == AnnouncedKind::Optional);
                self.push_task(&text, optional, done);
            }
            ItemClass::Task => {
                let rank = alone(&text);
                let task = self.section().tasks.last_mut().expect("the item has become a task");
                match rank {
                    Some(rank) => task.priority = Some(rank),
                    None => task.notes.push(text),
                }
            }
        }
    }

    fn push_task(&mut self, text: &str, optional: bool, done: bool) {
        let (marked, mut text) = without_priority(text);
        // A heading of optional requirements, or the text itself, may already say so.
        let lower = text.to_lowercase();
        let is_said = lower.contains("optional") || lower.contains("nice to have") || lower.contains("could have");
        if optional && !is_said && self.section().kind != AnnouncedKind::Optional {
            text += " (optional)";
        }
        let task = Requirement {
            text,
            notes: Vec::new(),
            done,
            priority: marked.or(optional.then_some(LOW)),
        };
        self.section().tasks.push(task);
    }

    fn exclude(&mut self, context: ContextText) {
        self.excluded += 1;
        self.section().context.push(context);
    }

    fn paragraph(&mut self) {
        let passage = std::mem::take(&mut self.passage);
        let text = words_of(&passage.text);
        let before = self.label.take();
        if text.is_empty() {
            return;
        }
        let label = label(&text);
        let kind = before.unwrap_or(self.section().kind);
        match label {
            _ if kind == AnnouncedKind::Excluded => self.exclude(ContextText::Paragraph(text)),
            Some((AnnouncedKind::Excluded, LabelRest::Some)) => self.exclude(ContextText::Paragraph(text)),
            Some((kind, LabelRest::None)) => {
                self.label = Some(kind);
                if kind == AnnouncedKind::Excluded {
                    self.section().context.push(ContextText::Paragraph(text));
                }
            }
            _ if text.ends_with(':') => self.lead_in = Some((text, passage.line)),
            Some((_, LabelRest::Some)) | None => self.left.push(passage.line),
        }
    }

    fn resolve_lead_in(&mut self) {
        self.left.extend(self.lead_in.take().map(|(_, line)| line));
    }

    /// Takes a row of a table.
    fn row(&mut self, line: u32) {
        let cells = std::mem::take(&mut self.cells);
        let priority = cells.iter().find_map(|cell| rank(cell));
        let cells = cells
            .into_iter()
            .filter(|cell| !cell.is_empty() && rank(cell).is_none());
        let text = words_of(&cells.collect::<Vec<_>>().join(" | "));
        let kind = self.rows.unwrap_or(self.section().kind);
        if kind == AnnouncedKind::Excluded && !text.is_empty() {
            return self.exclude(ContextText::Item(text));
        }
        match kind {
            _ if text.is_empty() => {}
            AnnouncedKind::Required | AnnouncedKind::Optional => {
                self.push_task(&text, kind == AnnouncedKind::Optional, false);
                let task = self.section().tasks.last_mut().expect("it was just added");
                task.priority = priority.or(task.priority);
            }
            AnnouncedKind::Open | AnnouncedKind::Excluded => self.left.push(line),
        }
    }

    fn finish(mut self) -> RequirementsDocument {
        self.resolve_lead_in();
        // If there is no list below the headings, the headings are the requirements.
        let head = |section: &RequirementsSection| section.numbered.is_some();
        let are_headings = (self.sections.iter()).any(|section| head(section) && !section.tasks.is_empty());
        for section in &mut self.sections {
            let Some(line) = section.numbered.filter(|_| section.tasks.is_empty()) else {
                continue;
            };
            if are_headings {
                self.left.push(line);
            } else {
                let (priority, text) = without_priority(&std::mem::take(&mut section.heading));
                section.tasks.push(Requirement {
                    text,
                    priority,
                    ..Requirement::default()
                });
            }
        }
        // Several first-level headings are parts, so none is the title.
        let title = self.title.filter(|_| self.titles == 1);
        let mut sections = self.sections;
        for section in &mut sections {
            if title.as_ref() == Some(&section.heading) && section.kind == AnnouncedKind::Open {
                section.heading.clear();
            }
            section.tasks = by_priority(std::mem::take(&mut section.tasks));
        }
        sections.sort_by_key(|section| section.kind == AnnouncedKind::Optional);
        self.left.sort_unstable();
        RequirementsDocument {
            title,
            sections,
            excluded: self.excluded,
            left: self.left,
        }
    }
}

/// Offsets of the only items of numbered lists whose numbers continue from one list to the next.
///
/// Markdown joins such lists into one unless prose is between them. The items are headings of that prose then.
fn numbered_headings(text: &str) -> Vec<usize> {
    let mut lists: Vec<(Option<u64>, Vec<usize>)> = Vec::new();
    let mut depth = 0;
    for (event, range) in parser(text) {
        match (event, depth) {
            (Event::Start(Tag::List(number)), 0) => {
                depth = 1;
                lists.push((number, Vec::new()));
            }
            (Event::Start(Tag::List(_)), _) => depth += 1,
            (Event::End(TagEnd::List(_)), _) => depth -= 1,
            (Event::Start(Tag::Item), _) => {
                // An item with nested lists adds several items to the count, so it is not taken for a heading.
                lists.last_mut().expect("an item is in a list").1.push(range.start);
            }
            _ => {}
        }
    }
    let single: Vec<(u64, usize)> = lists
        .iter()
        .filter_map(|(number, items)| match (number, &items[..]) {
            (Some(number), [item]) => Some((*number, *item)),
            _ => None,
        })
        .collect();
    let goes_on = |at: usize| {
        let follows = |one: Option<&(u64, usize)>, other: Option<&(u64, usize)>| match (one, other) {
            (Some((one, _)), Some((other, _))) => one.checked_add(1) == Some(*other),
            _ => false,
        };
        let before = at.checked_sub(1).and_then(|before| single.get(before));
        follows(before, single.get(at)) || follows(single.get(at), single.get(at + 1))
    };
    let headings = (0..single.len()).filter(|at| goes_on(*at));
    headings.map(|at| single[at].1).collect()
}

/// The kind of text that a heading announces.
fn kind_of_heading(heading: &str) -> Option<AnnouncedKind> {
    let words = plain(heading);
    let words = words.trim_start_matches(|sign: char| sign.is_ascii_digit() || sign == ' ');
    let says = |phrases: &[&str]| phrases.iter().any(|phrase| words.contains(phrase));
    let begins = |phrases: &[&str]| phrases.iter().any(|phrase| words.starts_with(phrase));
    if says(&[
        "non goal",
        "nongoal",
        "out of scope",
        "not in scope",
        "outside the scope",
        "won't",
    ]) || begins(&[
        "excluded",
        "exclusions",
        "not included",
        "not planned",
        "anti goals",
        "wont ",
    ]) {
        return Some(AnnouncedKind::Excluded);
    }
    if says(&["nice to have", "could have", "low priority"]) || begins(&["optional", "stretch goal"]) {
        return Some(AnnouncedKind::Optional);
    }
    if says(&[
        "requirement",
        "must have",
        "should have",
        "user stories",
        "acceptance criteria",
    ]) || begins(&["features", "functional"])
    {
        return Some(AnnouncedKind::Required);
    }
    let is_beside = begins(&[
        "background",
        "introduction",
        "overview",
        "motivation",
        "glossary",
        "references",
    ]);
    is_beside.then_some(AnnouncedKind::Open)
}

/// Whether a label is followed by text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LabelRest {
    None,
    Some,
}

/// The kind that the beginning of a paragraph or item announces, up to a colon: `Out of scope: gift cards`. A text
/// without a colon must be the label alone.
fn label(text: &str) -> Option<(AnnouncedKind, LabelRest)> {
    let (head, rest) = text.split_once(':').unwrap_or((text, ""));
    let words = plain(head);
    let phrases: &[(&[&str], AnnouncedKind)] = &[
        (
            &[
                "non goal",
                "nongoal",
                "out of scope",
                "not in scope",
                "won't have",
                "won't do",
                "won't",
            ],
            AnnouncedKind::Excluded,
        ),
        (&["nice to have", "could have", "optional"], AnnouncedKind::Optional),
        (&["must have", "should have", "requirement"], AnnouncedKind::Required),
    ];
    let is_it = |phrase: &str| words.trim_end_matches('s') == phrase;
    // "Optional fields: …" and "Out of scope variables are reported" are not labels.
    let begins = |phrase: &str| text.contains(':') && phrase.contains(' ') && words.starts_with(phrase);
    let (_, kind) = phrases
        .iter()
        .find(|(phrases, _)| phrases.iter().any(|phrase| is_it(phrase) || begins(phrase)))?;
    let rest = if rest.trim().is_empty() {
        LabelRest::None
    } else {
        LabelRest::Some
    };
    (words.split(' ').count() <= LABEL_WORDS).then_some((*kind, rest))
}

/// Sorts requirements by priority. Requirements of the same priority keep the order of the document.
pub(super) fn by_priority(mut tasks: Vec<Requirement>) -> Vec<Requirement> {
    tasks.sort_by_key(|task| task.priority.unwrap_or(2));
    tasks
}

/// The words of a text on one line, without leading characters that are special in a plan.
///
/// Invisible characters are removed, as in the reader of plans: a task of only such characters would have no text.
pub(super) fn words_of(text: &str) -> String {
    let text = one_line(text);
    let words = text.split_whitespace();
    let is_sign = |word: &&str| {
        let number = word.strip_suffix(['.', ')']).unwrap_or_default();
        ["-", "*", "+", ">", "[", "]", "[]", "[x]", "[X]"].contains(word)
            || word
                .chars()
                .all(|sign| matches!(sign, '#' | '`' | '~' | '|' | '>' | '-' | '=' | '*' | '_' | '+'))
            || (!number.is_empty() && number.chars().all(|digit| digit.is_ascii_digit()))
    };
    words.skip_while(is_sign).collect::<Vec<_>>().join(" ")
}
