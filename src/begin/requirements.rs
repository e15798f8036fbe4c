//! Requirements in a text, found by its structure alone: items of lists, below their headings. Pure.
//!
//! Prose and tables are left to agents. The line of each passage that is left out is reported, so that no requirement is lost
//! silently. Text below a heading such as "Out of scope" becomes context, which an agent reads with the plan, and not a
//! task.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use ralph_text::{LineIndex, one_line};

use super::priority::{alone, plain, without_priority};

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
    kind: SectionKind,
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

/// The kind of text that a heading announces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum SectionKind {
    /// Items of lists are requirements.
    #[default]
    Required,
    /// Items of lists are requirements that may stay undone.
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
    for (event, range) in Parser::new_ext(&text, Options::ENABLE_TASKLISTS).into_offset_iter() {
        reader.take(&event, range);
    }
    reader.finish()
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
    title: Option<String>,
    titles: usize,
    sections: Vec<RequirementsSection>,
    /// The enclosing headings, outermost first: level, kind, text.
    above: Vec<(HeadingLevel, SectionKind, String)>,
    /// Nesting depth of lists.
    depth: usize,
    item: ItemClass,
    /// Whether the reader is in code or a comment, which are skipped.
    silent: bool,
    passage: Passage,
    done: bool,
    /// A paragraph that ends in a colon. A list after it makes it an introduction.
    lead_in: Option<(String, u32)>,
    /// Whether the introduction of the current list is as a heading of what is not to be done.
    is_list_excluded: bool,
    excluded: usize,
    left: Vec<u32>,
}

impl<'a> RequirementsReader<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            text,
            lines: LineIndex::new(text),
            title: None,
            titles: 0,
            sections: vec![RequirementsSection::default()],
            above: Vec::new(),
            depth: 0,
            item: ItemClass::Unread,
            silent: false,
            passage: Passage::default(),
            done: false,
            lead_in: None,
            is_list_excluded: false,
            excluded: 0,
            left: Vec::new(),
        }
    }

    fn take(&mut self, event: &Event<'_>, range: Range<usize>) {
        let line = self.lines.line_of(range.start);
        match event {
            Event::Start(tag) => self.start(tag, range),
            Event::End(tag) => self.end(*tag),
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
                if let Some((lead_in, _)) = self.lead_in.take() {
                    let words = lead_in.trim_end_matches(':');
                    self.is_list_excluded = kind_of_heading(words) == Some(SectionKind::Excluded);
                    self.section().context.push(ContextText::Paragraph(lead_in));
                }
                self.depth += 1;
            }
            Tag::Item => {
                self.flush();
                if self.depth == 1 {
                    self.item = ItemClass::Unread;
                }
            }
            Tag::Heading { .. } | Tag::Paragraph | Tag::CodeBlock(_) | Tag::HtmlBlock if self.depth == 0 => {
                self.passage = Passage::default();
                self.resolve_lead_in();
            }
            Tag::Heading { .. } | Tag::Paragraph | Tag::CodeBlock(_) | Tag::HtmlBlock => self.flush(),
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

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(level) if self.depth == 0 => self.heading(level),
            TagEnd::List(_) => {
                self.flush();
                self.depth -= 1;
                self.is_list_excluded &= self.depth > 0;
            }
            // Indented text is prose as often as code.
            TagEnd::Paragraph | TagEnd::HtmlBlock | TagEnd::CodeBlock if self.depth == 0 => {
                self.silent = false;
                self.paragraph();
            }
            TagEnd::Item | TagEnd::Paragraph | TagEnd::Heading(_) | TagEnd::CodeBlock | TagEnd::HtmlBlock => {
                self.silent = false;
                self.flush();
            }
            _ => {}
        }
    }

    fn section(&mut self) -> &mut RequirementsSection {
        self.sections.last_mut().expect("there is always one")
    }

    fn heading(&mut self, level: HeadingLevel) {
        let text = words_of(&std::mem::take(&mut self.passage).text);
        if level == HeadingLevel::H1 {
            self.titles += 1;
            if self.titles == 1 && self.sections.iter().all(|section| section.tasks.is_empty()) {
                self.title = Some(text.clone()).filter(|text| !text.is_empty());
            }
        }
        while self.above.last().is_some_and(|(above, ..)| *above >= level) {
            self.above.pop();
        }
        let around = self.above.last();
        let own = kind_of_heading(&text).filter(|_| level != HeadingLevel::H1);
        // The plan shows only the closest heading, so the enclosing "Out of scope" is repeated in it.
        let heading = match (own, around) {
            (None, Some((_, SectionKind::Optional | SectionKind::Excluded, above))) => format!("{above}: {text}"),
            (Some(_), _) | (None, None | Some((_, SectionKind::Required, _))) => text,
        };
        let kind = own.or(around.map(|(_, kind, _)| *kind)).unwrap_or_default();
        self.above.push((level, kind, heading.clone()));
        self.sections.push(RequirementsSection {
            heading,
            kind,
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
        let is_excluded = self.is_list_excluded || self.section().kind == SectionKind::Excluded;
        match self.item {
            ItemClass::Unread if is_excluded => {
                self.item = ItemClass::Excluded;
                self.exclude(ContextText::Item(text));
            }
            ItemClass::Excluded => self.section().context.push(ContextText::Item(text)),
            ItemClass::Unread => {
                self.item = ItemClass::Task;
                let (priority, text) = without_priority(&text);
                self.section().tasks.push(Requirement {
                    text,
                    notes: Vec::new(),
                    done,
                    priority,
                });
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

    fn exclude(&mut self, context: ContextText) {
        self.excluded += 1;
        self.section().context.push(context);
    }

    fn paragraph(&mut self) {
        let passage = std::mem::take(&mut self.passage);
        let text = words_of(&passage.text);
        match self.section().kind {
            _ if text.is_empty() => {}
            SectionKind::Excluded => self.exclude(ContextText::Paragraph(text)),
            SectionKind::Required | SectionKind::Optional if text.ends_with(':') => {
                self.lead_in = Some((text, passage.line));
            }
            SectionKind::Required | SectionKind::Optional => self.left.push(passage.line),
        }
    }

    fn resolve_lead_in(&mut self) {
        self.left.extend(self.lead_in.take().map(|(_, line)| line));
    }

    fn finish(mut self) -> RequirementsDocument {
        self.resolve_lead_in();
        // Several first-level headings are parts, so none is the title.
        let title = self.title.filter(|_| self.titles == 1);
        let mut sections = self.sections;
        for section in &mut sections {
            if title.as_ref() == Some(&section.heading) && section.kind == SectionKind::Required {
                section.heading.clear();
            }
            section.tasks = by_priority(std::mem::take(&mut section.tasks));
        }
        sections.sort_by_key(|section| section.kind == SectionKind::Optional);
        self.left.sort_unstable();
        RequirementsDocument {
            title,
            sections,
            excluded: self.excluded,
            left: self.left,
        }
    }
}

/// The kind of text that a heading announces; `None` if that is the one of the heading around it.
fn kind_of_heading(heading: &str) -> Option<SectionKind> {
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
        return Some(SectionKind::Excluded);
    }
    let is_optional = says(&["nice to have", "could have", "low priority"]) || begins(&["optional", "stretch goal"]);
    is_optional.then_some(SectionKind::Optional)
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
