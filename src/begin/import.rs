//! Requirements as somebody wrote them, made into a plan by their structure alone. Pure.
//!
//! Headings stay headings. An item of a list is a task, what is nested in it a note to the task; so are user stories and, where
//! there are neither, sentences that say what must be. Nothing is invented, and what is no requirement is left out.

use std::collections::HashSet;

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use serde_json::Value;
use thiserror::Error;

use crate::text::one_line;

/// Longer texts of a task are cut: a plan names work, and the requirements stay where they are.
const TASK_CHARS: usize = 400;
/// What most plans can be worked through in; more is a mistake in what was taken for requirements.
const MOST: usize = 5_000;

/// Why no plan comes of a file.
#[derive(Debug, PartialEq, Eq, Error)]
pub(crate) enum ImportError {
    #[error("it is empty")]
    Empty,
    #[error("it is {what}, not text")]
    NotText {
        what: &'static str,
        command: Option<&'static str>,
    },
    #[error("no requirements were found in it")]
    Nothing,
    #[error("it has {count} requirements, more than {MOST}")]
    TooMany { count: usize },
    #[error("its JSON is neither a prd.json nor what `gh issue list --json title,body,number,labels` prints")]
    OtherJson,
}

impl ImportError {
    /// Whether there is nothing to read, for whomever.
    pub(crate) fn is_no_text(&self) -> bool {
        match self {
            ImportError::Empty | ImportError::NotText { .. } => true,
            ImportError::Nothing | ImportError::TooMany { .. } | ImportError::OtherJson => false,
        }
    }

    /// What to type.
    pub(crate) fn hint(&self, file: &str) -> String {
        match self {
            ImportError::NotText {
                command: Some(command), ..
            } => command.replace("FILE", file),
            ImportError::Empty | ImportError::NotText { .. } => {
                "requirements are Markdown, plain text or JSON".to_owned()
            }
            ImportError::Nothing => {
                "a requirement is an item of a list, a numbered line, a user story (`As a …`) or a sentence with `must`"
                    .to_owned()
            }
            ImportError::TooMany { .. } => "split the file: a plan of hundreds of tasks is for several runs".to_owned(),
            ImportError::OtherJson => "write it as Markdown, an item of a list for each requirement".to_owned(),
        }
    }
}

/// One requirement.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Task {
    text: String,
    notes: Vec<String>,
    done: bool,
    /// The lower, the earlier; none comes between high and low.
    priority: Option<u8>,
}

/// Requirements below one heading.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Section {
    heading: String,
    tasks: Vec<Task>,
}

/// What was made of a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Imported {
    /// The plan, in Markdown.
    pub(crate) plan: String,
    pub(crate) tasks: usize,
    /// Requirements that were there twice.
    pub(crate) merged: usize,
    /// What is to be done, a line each.
    pub(crate) requirements: Vec<String>,
}

/// Makes a plan that is called `title` of what is in a file.
///
/// # Errors
/// [`ImportError`] if that is no text, or has no requirements.
pub(crate) fn import(bytes: &[u8], title: &str) -> Result<Imported, ImportError> {
    let text = text_of(bytes)?;
    let sections = match text
        .trim_start()
        .starts_with(['{', '['])
        .then(|| serde_json::from_str::<Value>(text))
    {
        Some(Ok(json)) => of_json(&json).ok_or(ImportError::OtherJson)?,
        Some(Err(_)) | None => of_markdown(text),
    };
    let (sections, merged) = without_repetitions(sections);
    let tasks: usize = sections.iter().map(|section| section.tasks.len()).sum();
    match tasks {
        0 => Err(ImportError::Nothing),
        1..=MOST => Ok(Imported {
            plan: written(title, &sections),
            tasks,
            merged,
            requirements: open(&sections),
        }),
        count => Err(ImportError::TooMany { count }),
    }
}

fn open(sections: &[Section]) -> Vec<String> {
    let tasks = sections.iter().flat_map(|section| &section.tasks);
    tasks.filter(|task| !task.done).map(|task| cut(&task.text)).collect()
}

fn text_of(bytes: &[u8]) -> Result<&str, ImportError> {
    let not_text = |what, command| Err(ImportError::NotText { what, command });
    match bytes {
        [b'%', b'P', b'D', b'F', ..] => {
            return not_text(
                "a PDF",
                Some("`pdftotext -layout FILE requirements.txt` makes text of it"),
            );
        }
        [b'P', b'K', 3, 4, ..] => {
            return not_text(
                "a document of an office program, or an archive",
                Some("`pandoc FILE -t gfm -o requirements.md` makes Markdown of a docx or odt"),
            );
        }
        [b'{', b'\\', b'r', b't', b'f', ..] | [0xd0, 0xcf, 0x11, 0xe0, ..] => {
            return not_text(
                "a document of an office program",
                Some("`pandoc FILE -t gfm -o requirements.md` makes Markdown of it, or save it as text"),
            );
        }
        _ => {}
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let text = match std::str::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => text,
        Ok(_) | Err(_) => return not_text("binary, or not UTF-8", None),
    };
    match text.trim().is_empty() {
        true => Err(ImportError::Empty),
        false => Ok(text),
    }
}

/// Requirements of a `prd.json`, or of issues as `gh` prints them.
fn of_json(json: &Value) -> Option<Vec<Section>> {
    let stories = json["userStories"].as_array().or_else(|| json["stories"].as_array());
    let entries = match (stories, json) {
        (Some(stories), _) => stories.clone(),
        (None, Value::Array(entries)) => entries.clone(),
        (None, one) if one["title"].is_string() => vec![one.clone()],
        (None, _) => return None,
    };
    let tasks: Option<Vec<Task>> = entries.iter().map(of_entry).collect();
    Some(vec![Section {
        heading: String::new(),
        tasks: by_priority(tasks?),
    }])
}

fn of_entry(entry: &Value) -> Option<Task> {
    let title = words_of(entry["title"].as_str()?);
    let number = entry["number"]
        .as_u64()
        .map(|number| format!(" (#{number})"))
        .unwrap_or_default();
    let criteria = entry["acceptanceCriteria"].as_array().into_iter().flatten();
    let mut notes: Vec<String> = criteria.filter_map(Value::as_str).map(words_of).collect();
    // Of an issue's text, what can be ticked off is what is asked for.
    if let Some(body) = entry["body"].as_str() {
        let inner = of_markdown(body).into_iter().flat_map(|section| section.tasks);
        notes.extend(inner.map(|task| task.text));
    }
    let labels = entry["labels"].as_array().into_iter().flatten();
    let mut labels = labels.filter_map(|label| label["name"].as_str().or_else(|| label.as_str()));
    let priority = match &entry["priority"] {
        Value::Number(number) => number.as_u64().and_then(|number| u8::try_from(number).ok()),
        Value::String(word) => priority_of(word),
        _ => labels.find_map(priority_of),
    };
    let is_closed = entry["state"]
        .as_str()
        .is_some_and(|state| state.eq_ignore_ascii_case("closed"));
    Some(Task {
        text: format!("{title}{number}"),
        notes,
        done: entry["passes"].as_bool().unwrap_or(is_closed),
        priority,
    })
}

/// Where in a document the parser is.
#[derive(Default)]
struct Reading {
    sections: Vec<Section>,
    /// How deep in lists.
    depth: usize,
    text: String,
    done: bool,
    /// Sentences that say what must be, for a document without lists.
    sentences: Vec<Section>,
}

fn of_markdown(text: &str) -> Vec<Section> {
    // Bullets of office programs.
    let text = text.replace(['•', '◦', '▪', '‣'], "-");
    let mut reading = Reading::default();
    reading.sections.push(Section::default());
    reading.sentences.push(Section::default());
    for event in Parser::new_ext(&text, Options::ENABLE_TASKLISTS | Options::ENABLE_TABLES) {
        reading.take(&event);
    }
    let has_tasks = reading.sections.iter().any(|section| !section.tasks.is_empty());
    // Numbered headings look like a list; what such a text requires is in its sentences, in capitals.
    let has_headings_only = is_any_in_capitals(&reading.sentences) && !is_any_in_capitals(&reading.sections);
    let mut sections = match has_tasks && !has_headings_only {
        true => reading.sections,
        false => reading.sentences,
    };
    for section in &mut sections {
        section.tasks = by_priority(std::mem::take(&mut section.tasks));
    }
    sections
}

/// Whether something is required in the capitals of standards.
fn is_any_in_capitals(sections: &[Section]) -> bool {
    let mut tasks = sections.iter().flat_map(|section| &section.tasks);
    tasks.any(|task| {
        [" MUST ", " SHALL ", " SHOULD "]
            .iter()
            .any(|word| task.text.contains(word))
    })
}

impl Reading {
    fn take(&mut self, event: &Event<'_>) {
        match event {
            Event::Start(Tag::Heading { .. }) | Event::Start(Tag::Paragraph) if self.depth == 0 => self.text.clear(),
            Event::End(TagEnd::Heading(HeadingLevel::H1)) if self.is_untouched() => self.text.clear(),
            Event::End(TagEnd::Heading(_)) => {
                let heading = words_of(&std::mem::take(&mut self.text));
                for sections in [&mut self.sections, &mut self.sentences] {
                    sections.push(Section {
                        heading: heading.clone(),
                        tasks: Vec::new(),
                    });
                }
            }
            Event::Start(Tag::List(_)) => {
                self.flush();
                self.depth += 1;
            }
            Event::End(TagEnd::List(_)) => {
                self.flush();
                self.depth -= 1;
            }
            Event::Start(Tag::Item) | Event::End(TagEnd::Item) => self.flush(),
            Event::End(TagEnd::Paragraph) if self.depth == 0 => {
                let paragraph = std::mem::take(&mut self.text);
                self.paragraph(&paragraph);
            }
            Event::End(TagEnd::Paragraph) => self.flush(),
            Event::TaskListMarker(done) => self.done = *done,
            Event::Text(text) | Event::InlineHtml(text) => self.text += text,
            Event::Code(code) => self.text += &format!("`{code}`"),
            Event::SoftBreak | Event::HardBreak => self.text.push(' '),
            _ => {}
        }
    }

    fn is_untouched(&self) -> bool {
        self.sections.len() == 1 && self.sections[0].tasks.is_empty()
    }

    /// Takes what an item of a list says: at the top a task, below it a note.
    fn flush(&mut self) {
        let text = words_of(&std::mem::take(&mut self.text));
        let done = std::mem::take(&mut self.done);
        if text.is_empty() || self.depth == 0 {
            return;
        }
        let section = self.sections.last_mut().expect("there is always one");
        match section.tasks.last_mut() {
            Some(task) if self.depth > 1 => task.notes.push(text),
            Some(_) | None => section.tasks.push(Task {
                priority: priority_of(&text),
                text,
                notes: Vec::new(),
                done,
            }),
        }
    }

    fn paragraph(&mut self, paragraph: &str) {
        let text = words_of(paragraph);
        let lower = text.to_lowercase();
        let is_story =
            ["as a ", "as an ", "als "].iter().any(|start| lower.starts_with(start)) && lower.contains(" want");
        if is_story {
            let section = self.sections.last_mut().expect("there is always one");
            section.tasks.push(task(&text));
            return;
        }
        let section = self.sentences.last_mut().expect("there is always one");
        let sentences = text.split_inclusive(['.', ';']).map(str::trim);
        let binding = sentences.filter(|sentence| {
            let words = sentence.to_lowercase();
            [" must ", " shall ", " should ", " has to ", " have to "]
                .iter()
                .any(|word| words.contains(word))
        });
        section.tasks.extend(binding.map(task));
    }
}

fn task(text: &str) -> Task {
    Task {
        text: text.to_owned(),
        priority: priority_of(text),
        ..Task::default()
    }
}

/// What a text says of its own urgency: `P0`, `[high]`, `(must have)`.
fn priority_of(text: &str) -> Option<u8> {
    let lower = text.to_lowercase();
    let words: Vec<&str> = lower
        .split(|character: char| !character.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    let is_marked = |name: &str| {
        let marks = [
            format!("[{name}"),
            format!("({name}"),
            format!("{name}:"),
            format!("priority: {name}"),
        ];
        lower == name || marks.iter().any(|mark| lower.contains(mark))
    };
    for (rank, names) in [
        (0, &["p0", "critical", "blocker"][..]),
        (1, &["p1", "high", "must"]),
        (2, &["p2", "medium", "should"]),
        (3, &["p3", "low", "could"]),
        (4, &["p4", "won't"]),
    ] {
        let [short, long @ ..] = names else { continue };
        if words.contains(short) || long.iter().any(|name| is_marked(name)) {
            return Some(rank);
        }
    }
    None
}

/// The urgent ones first, those alike in the order of the document.
fn by_priority(mut tasks: Vec<Task>) -> Vec<Task> {
    tasks.sort_by_key(|task| task.priority.unwrap_or(2));
    tasks
}

/// Merges what is asked for twice, whatever its case and punctuation.
fn without_repetitions(sections: Vec<Section>) -> (Vec<Section>, usize) {
    let mut seen = HashSet::new();
    let mut merged = 0;
    let sections = sections.into_iter().map(|mut section| {
        section.tasks.retain(|task| {
            let letters = task.text.to_lowercase();
            let letters: String = letters.chars().filter(|letter| letter.is_alphanumeric()).collect();
            let is_new = seen.insert(letters);
            merged += usize::from(!is_new);
            is_new
        });
        section
    });
    let sections = sections.filter(|section| !section.tasks.is_empty()).collect();
    (sections, merged)
}

fn written(title: &str, sections: &[Section]) -> String {
    let mut text = format!("# {}\n", words_of(title));
    for section in sections {
        text.push('\n');
        if !section.heading.is_empty() {
            text += &format!("## {}\n\n", section.heading);
        }
        for task in &section.tasks {
            let mark = if task.done { 'x' } else { ' ' };
            text += &format!("- [{mark}] {}\n", cut(&task.text));
            for note in &task.notes {
                text += &format!("  - {}\n", cut(note));
            }
        }
    }
    text
}

/// The words of a text, on one line, without signs at its beginning that would be signs of the plan.
///
/// What does not show is no word: whoever reads the plan leaves it out, too, and a task of nothing else would be none.
fn words_of(text: &str) -> String {
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

fn cut(text: &str) -> String {
    match text.char_indices().nth(TASK_CHARS) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        plan::{PlanKind, parse_bytes},
        testing::Dice,
    };

    fn plan(text: &str) -> String {
        import(text.as_bytes(), "Plan").unwrap().plan
    }

    #[test]
    fn a_requirement_that_does_not_show_is_none() {
        assert_eq!(
            plan("- Read the file\n- \u{1b}\n- \u{202e}\u{200f}\n"),
            "# Plan\n\n- [ ] Read the file\n"
        );
        assert!(import("- \u{1b}[31m\n- \u{202e}\n".as_bytes(), "Plan").is_err());
    }

    #[test]
    fn lists_become_tasks_below_their_headings_and_what_is_nested_notes() {
        let text = "# Shop\n\nWe sell `things`.\n\n## Cart\n\n1. Add an item\n   - with its price\n   - [ ] and `count`\n2. [low] Share it\n\
                    3. P0: Remove an item\n\n## Pay\n\n* [x] By card\n* Add an item.\n\nAs a buyer I want a receipt so that I can prove it.\n";
        assert_eq!(
            plan(text),
            "# Plan\n\n## Cart\n\n- [ ] P0: Remove an item\n- [ ] Add an item\n  - with its price\n  - and `count`\n- [ ] [low] Share it\n\n\
             ## Pay\n\n- [x] By card\n- [ ] As a buyer I want a receipt so that I can prove it.\n"
        );
        assert_eq!(import(text.as_bytes(), "Plan").unwrap().merged, 1);
    }

    #[test]
    fn without_lists_sentences_that_bind_are_tasks() {
        let text = "The system is old. It must answer within a second. Colours are nice.\nUsers shall log in; admins should see all.\n";
        assert_eq!(
            plan(text),
            "# Plan\n\n- [ ] It must answer within a second.\n- [ ] Users shall log in;\n- [ ] admins should see all.\n"
        );
        assert_eq!(import(b"Once upon a time.", "Plan"), Err(ImportError::Nothing));
    }

    #[test]
    fn issues_and_stories_in_json_are_tasks_with_what_they_ask_for() {
        let issues = r#"[ { "number": 7, "title": "Crash on start", "labels": [{ "name": "P0" }], "body": "Steps:\n- [ ] mend\n- [ ] test" },
                          { "number": 3, "title": "Dark mode", "state": "CLOSED", "body": "please" } ]"#;
        assert_eq!(
            plan(issues),
            "# Plan\n\n- [ ] Crash on start (#7)\n  - mend\n  - test\n- [x] Dark mode (#3)\n"
        );
        let prd = r#"{ "userStories": [ { "title": "Log in", "acceptanceCriteria": ["by mail"], "priority": 2, "passes": true },
                                        { "title": "Sign up", "priority": 1 } ] }"#;
        assert_eq!(plan(prd), "# Plan\n\n- [ ] Sign up\n- [x] Log in\n  - by mail\n");
        assert_eq!(import(br#"{ "a": 1 }"#, "Plan"), Err(ImportError::OtherJson));
        assert_eq!(import(br#"[ 1, 2 ]"#, "Plan"), Err(ImportError::OtherJson));
    }

    #[test]
    fn what_is_no_text_is_refused_with_the_command_that_makes_text_of_it() {
        for (bytes, part) in [
            (&b"%PDF-1.7 ..."[..], "pdftotext"),
            (b"PK\x03\x04....", "pandoc"),
            (b"{\\rtf1 x}", "pandoc"),
            (b"\x00\x01\x02", "Markdown"),
            (b"\xff\xfe", "Markdown"),
            (b" \n\t", "Markdown"),
        ] {
            let error = import(bytes, "Plan").unwrap_err();
            assert!(error.hint("spec.bin").contains(part), "{error:?}");
        }
        let many: String = (0..=MOST).map(|n| format!("- requirement {n}\n")).collect();
        assert_eq!(
            import(many.as_bytes(), "Plan"),
            Err(ImportError::TooMany { count: MOST + 1 })
        );
        let thousand: String = (0..1000).map(|n| format!("- requirement {n}\n")).collect();
        assert_eq!(import(thousand.as_bytes(), "Plan").unwrap().tasks, 1000);
    }

    #[test]
    fn a_plan_that_was_made_is_one_that_can_be_read() {
        const PIECES: [&str; 16] = [
            "# ",
            "## Heading",
            "- ",
            "1. ",
            "  - ",
            "word ",
            "must ",
            "`code` ",
            "\n",
            "\n\n",
            "[x] ",
            "[ ] ",
            "```\n",
            "> ",
            "As a user I want ",
            "| a | b |\n|---|---|\n",
        ];
        let mut dice = Dice::new(7);
        for _ in 0..3_000 {
            let text: String = (0..dice.index(30)).map(|_| PIECES[dice.index(PIECES.len())]).collect();
            let Ok(imported) = import(text.as_bytes(), "Plan") else {
                continue;
            };
            let read = parse_bytes(PlanKind::Markdown, imported.plan.as_bytes());
            let read = read.unwrap_or_else(|error| panic!("{error:?} in {:?} of {text:?}", imported.plan));
            assert_eq!(read.tasks.len(), imported.tasks, "{:?} of {text:?}", imported.plan);
        }
    }
}
