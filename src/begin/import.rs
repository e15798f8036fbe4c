//! Turns written requirements into a plan, by their structure alone. Pure.
//!
//! Headings stay headings. A list item becomes a task, and nested items become notes to it. Nothing is invented, and the
//! lines of passages that are not taken are reported: prose is for an agent to read.

use std::collections::HashSet;

use ralph_plan::{PlanKind, parse_bytes};
use serde_json::Value;
use thiserror::Error;

use super::{
    priority,
    requirements::{ContextText, Requirement, RequirementsDocument, RequirementsSection, by_priority, read, words_of},
};

/// Maximum length of a task's text. Longer ones are cut: a plan names the work, and the requirements remain available.
const TASK_CHARS: usize = 400;
/// Maximum number of requirements. More indicate that other text was mistaken for requirements.
const MOST: usize = 5_000;

/// Why a file cannot be turned into a plan.
#[derive(Debug, PartialEq, Eq, Error)]
pub(crate) enum ImportError {
    #[error("it is empty")]
    Empty,
    #[error("it is {what}, not text")]
    NotText {
        what: &'static str,
        command: Option<&'static str>,
    },
    #[error("it is prose: no item of a list is in it that could be a task")]
    Prose,
    #[error("it has {count} requirements, more than {MOST}")]
    TooMany { count: usize },
    #[error("its JSON is neither a prd.json nor what `gh issue list --json title,body,number,labels` prints")]
    OtherJson,
}

impl ImportError {
    /// Whether the file has no text that a person or an agent could read.
    pub(crate) fn is_no_text(&self) -> bool {
        match self {
            ImportError::Empty | ImportError::NotText { .. } => true,
            ImportError::Prose | ImportError::TooMany { .. } | ImportError::OtherJson => false,
        }
    }

    /// The hint: what to type next.
    pub(crate) fn hint(&self, file: &str) -> String {
        match self {
            ImportError::NotText {
                command: Some(command), ..
            } => command.replace("FILE", file),
            ImportError::Empty | ImportError::NotText { .. } => {
                "requirements are Markdown, plain text or JSON".to_owned()
            }
            ImportError::Prose => {
                format!(
                    "`ralph import {file} --with-agent` has an agent write the plan, or write an item for each requirement"
                )
            }
            ImportError::TooMany { .. } => "split the file: hundreds of tasks need several runs".to_owned(),
            ImportError::OtherJson => "write it as Markdown, an item of a list for each requirement".to_owned(),
        }
    }
}

/// Whether a text has no items of lists, so that only an agent can make a plan of it.
pub(crate) fn is_prose(bytes: &[u8]) -> bool {
    matches!(import(bytes, None, ""), Err(ImportError::Prose))
}

/// The result of an import.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Imported {
    /// The plan, in Markdown.
    pub(crate) plan: String,
    pub(crate) tasks: usize,
    /// Number of repeated requirements.
    pub(crate) merged: usize,
    /// Number of passages that exclude something. The plan has them as prose.
    pub(crate) excluded: usize,
    /// The line of each passage that was left out.
    pub(crate) left: Vec<u32>,
    /// The requirements, one line each.
    pub(crate) requirements: Vec<String>,
}

/// Turns the content of a file into a plan. The title is `name`, or that of the document, or `file`.
///
/// # Errors
/// [`ImportError`] if the content is not text, or has no requirements.
pub(crate) fn import(bytes: &[u8], name: Option<&str>, file: &str) -> Result<Imported, ImportError> {
    let text = text_of(bytes)?;
    let document = match text
        .trim_start()
        .starts_with(['{', '['])
        .then(|| serde_json::from_str::<Value>(text))
    {
        Some(Ok(Value::Array(entries))) if entries.is_empty() => return Err(ImportError::Empty),
        Some(Ok(json)) => from_json(&json, text).ok_or(ImportError::OtherJson)?,
        Some(Err(_)) | None => read(text),
    };
    let title = name.or(document.title.as_deref()).unwrap_or(file);
    let (sections, merged) = without_repetitions(document.sections);
    let tasks: usize = sections.iter().map(|section| section.tasks.len()).sum();
    match tasks {
        0 => Err(ImportError::Prose),
        1..=MOST => Ok(Imported {
            plan: written(title, &sections),
            tasks,
            merged,
            excluded: document.excluded,
            left: document.left,
            requirements: open(&sections),
        }),
        count => Err(ImportError::TooMany { count }),
    }
}

fn open(sections: &[RequirementsSection]) -> Vec<String> {
    let tasks = sections.iter().flat_map(|section| &section.tasks);
    tasks.filter(|task| !task.done).map(|task| cut(&task.text)).collect()
}

fn text_of(bytes: &[u8]) -> Result<&str, ImportError> {
    let not_text = |what, command| Err(ImportError::NotText { what, command });
    match bytes {
        [b'%', b'P', b'D', b'F', ..] => {
            return not_text(
                "a PDF",
                Some("`pdftotext -layout FILE requirements.txt` converts it to text"),
            );
        }
        [b'P', b'K', 3, 4, ..] => {
            return not_text(
                "an office document or an archive",
                Some("`pandoc FILE -t gfm -o requirements.md` converts a docx or odt to Markdown"),
            );
        }
        [b'{', b'\\', b'r', b't', b'f', ..] | [0xd0, 0xcf, 0x11, 0xe0, ..] => {
            return not_text(
                "an office document",
                Some("`pandoc FILE -t gfm -o requirements.md` converts it to Markdown; or save it as text"),
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

/// Requirements of a `prd.json`, or of issues in the format of `gh`.
fn from_json(json: &Value, text: &str) -> Option<RequirementsDocument> {
    // The reader of plans decides which list has the stories, and which of them are done.
    let read = parse_bytes(PlanKind::Prd, text.as_bytes())
        .or_else(|_| parse_bytes(PlanKind::Prd, format!("[{text}]").as_bytes()))
        .unwrap_or_default()
        .tasks;
    let is_read = |value: &&Value| {
        let entries = value.as_array().filter(|entries| !entries.is_empty());
        entries.is_some_and(|entries| entries.len() == read.len() && entries.iter().all(|entry| title(entry).is_some()))
    };
    let named = ["userStories", "stories"].into_iter().map(|name| &json[name]);
    let all = json.as_object().into_iter().flat_map(|fields| fields.values());
    let entries = match named.chain(all).find(is_read).and_then(Value::as_array) {
        Some(stories) => stories.as_slice(),
        None => match json {
            Value::Array(entries) => entries,
            one => std::slice::from_ref(one),
        },
    };
    let is_done = |at: usize| read.get(at).is_some_and(|task| task.done);
    let tasks = entries
        .iter()
        .enumerate()
        .map(|(at, entry)| parse_entry(entry, is_done(at)));
    let tasks: Option<Vec<Requirement>> = tasks.collect();
    Some(RequirementsDocument {
        title: json["project"].as_str().map(str::to_owned),
        sections: vec![RequirementsSection::from_tasks(by_priority(tasks?))],
        excluded: 0,
        left: Vec::new(),
    })
}

fn title(entry: &Value) -> Option<&str> {
    let mut keys = ["title", "name", "task", "story", "summary", "description"].into_iter();
    keys.find_map(|key| entry[key].as_str())
}

fn parse_entry(entry: &Value, done: bool) -> Option<Requirement> {
    let title = words_of(title(entry)?);
    let number = entry["number"]
        .as_u64()
        .map(|number| format!(" (#{number})"))
        .unwrap_or_default();
    let criteria = entry["acceptanceCriteria"].as_array().into_iter().flatten();
    let mut notes: Vec<String> = criteria.filter_map(Value::as_str).map(words_of).collect();
    // The text of an issue has the requirements. Passages that exclude something are needed as well.
    if let Some(body) = entry["body"].as_str() {
        let RequirementsDocument { sections, excluded, .. } = read(body);
        let has_items = sections.iter().any(|section| !section.tasks.is_empty());
        notes.extend(Some(words_of(body)).filter(|body| !has_items && !body.is_empty()));
        for section in sections {
            if excluded > 0 {
                notes.extend(section.context.iter().map(|context| context.text().to_owned()));
            }
            notes.extend(section.tasks.into_iter().map(|task| task.text));
        }
    }
    let labels = entry["labels"].as_array().into_iter().flatten();
    let mut labels = labels.filter_map(|label| label["name"].as_str().or_else(|| label.as_str()));
    let priority = match &entry["priority"] {
        Value::Number(number) => number.as_u64().and_then(|number| u8::try_from(number).ok()),
        Value::String(word) => priority::parse_label(word),
        _ => labels.find_map(priority::parse_label),
    };
    Some(Requirement {
        text: format!("{title}{number}"),
        notes,
        done,
        priority,
    })
}

/// Merges repeated requirements, ignoring case and punctuation.
fn without_repetitions(sections: Vec<RequirementsSection>) -> (Vec<RequirementsSection>, usize) {
    let mut seen = HashSet::new();
    let mut merged = 0;
    let sections = sections.into_iter().map(|mut section| {
        section.tasks.retain(|task| {
            let letters = task.text.to_lowercase();
            let alone: String = letters.chars().filter(|letter| letter.is_alphanumeric()).collect();
            let is_new = seen.insert(if alone.is_empty() { letters } else { alone });
            merged += usize::from(!is_new);
            is_new
        });
        section
    });
    let sections = sections
        .filter(|section| !section.tasks.is_empty() || !section.context.is_empty())
        .collect();
    (sections, merged)
}

fn written(title: &str, sections: &[RequirementsSection]) -> String {
    let mut text = format!("# {}\n", words_of(title));
    for section in sections {
        text.push('\n');
        if !section.heading.is_empty() {
            text += &format!("## {}\n\n", section.heading);
        }
        for (at, entry) in section.context.iter().enumerate() {
            match entry {
                // A tag at the beginning of a line would hide the text below it.
                ContextText::Paragraph(paragraph) if paragraph.starts_with('<') => text += &format!("\\{paragraph}\n"),
                ContextText::Paragraph(paragraph) => text += &format!("{paragraph}\n"),
                ContextText::Item(item) => text += &format!("* {item}\n"),
            }
            let is_close = match (entry, section.context.get(at + 1)) {
                (ContextText::Item(_), Some(ContextText::Item(_))) => true,
                (ContextText::Item(_) | ContextText::Paragraph(_), next) => next.is_none() && section.tasks.is_empty(),
            };
            if !is_close {
                text.push('\n');
            }
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

fn cut(text: &str) -> String {
    match text.char_indices().nth(TASK_CHARS) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::testing::Dice;

    fn plan(text: &str) -> String {
        import(text.as_bytes(), None, "Plan").unwrap().plan
    }

    #[test]
    fn a_requirement_that_does_not_show_is_none() {
        assert_eq!(
            plan("- Read the file\n- \u{1b}\n- \u{202e}\u{200f}\n"),
            "# Plan\n\n- [ ] Read the file\n"
        );
        assert!(import("- \u{1b}[31m\n- \u{202e}\n".as_bytes(), None, "Plan").is_err());
    }

    #[test]
    fn lists_become_tasks_below_their_headings_and_what_is_nested_notes() {
        let text = "# Shop\n\nWe sell `things`.\n\n## Cart\n\n1. Add an item\n   - with its price\n   - [ ] and `count`\n2. [low] Share it\n\
                    3. P0: Remove an item\n\n## Pay\n\n* [x] By card\n* Add an item.\n* As a buyer I want a receipt so that I can prove it.\n";
        assert_eq!(
            plan(text),
            "# Shop\n\n## Cart\n\n- [ ] Remove an item\n- [ ] Add an item\n  - with its price\n  - and `count`\n- [ ] Share it\n\n\
             ## Pay\n\n- [x] By card\n- [ ] As a buyer I want a receipt so that I can prove it.\n"
        );
        let imported = import(text.as_bytes(), Some("Mine"), "Plan").unwrap();
        assert_eq!((imported.merged, imported.left), (1, vec![3]));
        assert!(imported.plan.starts_with("# Mine\n"), "{}", imported.plan);
    }

    #[test]
    fn prose_is_left_to_agents_and_its_lines_are_told() {
        for prose in [
            "The system is old. It must answer within a second.\n",
            "# A\n\nDas System muss schnell sein.\n",
            "## Requirements\n\nMust have: speed\n\n| Id | What |\n|---|---|\n| S1 | It starts fast |\n",
            "```\nmake\n```\n",
        ] {
            let error = import(prose.as_bytes(), None, "Plan").unwrap_err();
            assert_eq!(error, ImportError::Prose, "{prose}");
            assert!(is_prose(prose.as_bytes()), "{prose}");
            assert!(error.hint("spec.md").starts_with("`ralph import spec.md --with-agent`"));
        }
        let imported = import(b"It must be fast.\n\n- Log in\n\nIt shall be\nblue.\n", None, "Plan").unwrap();
        assert_eq!(imported.plan, "# Plan\n\n- [ ] Log in\n");
        assert_eq!(imported.left, [1, 5]);
    }

    #[test]
    fn every_requirement_is_a_task_or_its_line_is_told() {
        let spec = "# Shop: requirements\n\nThe shop sells books.\n\n\
                    ## Cart\n\nThe cart has to:\n\n- keep its items\n- show the sum - priority: low\n- empty itself\n  - priority: high\n\n\
                    Users want to see past orders:\n\n### Languages\n\n1. German\n2. English\n\n## Nice to have\n\n- Gift cards\n\n## Non goals\n\n- No payments\n\n\
                    The shop must not sell cars.\n\n### Later\n\n1. Bikes\n\n## Speed requirements\n\n```\nGET /\n```\n\n\
                    | Id | What | Priority |\n|---|---|---|\n| S1 | Answers come fast | low |\n| S2 | It shall start fast | P0 |\n\n\
                    ## Fields\n\n| Name | Type |\n|---|---|\n| isbn | text |\n\nOut of scope: caches. They need work.\n";
        let imported = import(spec.as_bytes(), None, "req").unwrap();
        assert_eq!(
            imported.plan,
            "# Shop: requirements\n\n\
             ## Cart\n\nThe cart has to:\n\n- [ ] empty itself\n- [ ] keep its items\n- [ ] show the sum\n\n\
             ## Languages\n\n- [ ] German\n- [ ] English\n\n\
             ## Non goals\n\n* No payments\n\nThe shop must not sell cars.\n\n## Non goals: Later\n\n* Bikes\n\n\
             ## Nice to have\n\n- [ ] Gift cards\n"
        );
        assert_eq!((imported.tasks, imported.excluded), (6, 3));
        assert_eq!(imported.left, [3, 14, 37, 41, 48, 52]);
    }

    #[test]
    fn a_list_that_is_introduced_as_out_of_scope_has_no_task() {
        let spec = "# Shop\n\nOut of scope:\n\n- Payments\n  - by card\n\nThe first ones:\n\n- Books\n\n**Not planned**:\n* Cars\n";
        let imported = import(spec.as_bytes(), None, "Plan").unwrap();
        assert_eq!(
            imported.plan,
            "# Shop\n\nOut of scope:\n\n* Payments\n* by card\n\nThe first ones:\n\nNot planned:\n\n* Cars\n\n- [ ] Books\n"
        );
        assert_eq!((imported.tasks, imported.excluded), (1, 2));
    }

    #[test]
    fn a_numbered_list_goes_on_behind_what_is_between_its_items() {
        let steps = "1. Install\n\n```\nmake\n```\n\n2. Run it\n\nThat is all.\n";
        let imported = import(steps.as_bytes(), None, "Plan").unwrap();
        assert_eq!(imported.plan, "# Plan\n\n- [ ] Install\n- [ ] Run it\n");
        assert_eq!(imported.left, [3, 9]);
    }

    #[test]
    fn issues_and_stories_in_json_are_tasks_with_what_they_ask_for() {
        let issues = r#"[ { "number": 7, "title": "Crash on start", "labels": [{ "name": "P0" }], "body": "Steps:\n- [ ] mend\n- [ ] test" },
                          { "number": 3, "title": "Dark mode", "state": "CLOSED", "body": "please" } ]"#;
        assert_eq!(
            plan(issues),
            "# Plan\n\n- [ ] Crash on start (#7)\n  - mend\n  - test\n- [x] Dark mode (#3)\n  - please\n"
        );
        let prd = r#"{ "userStories": [ { "title": "Log in", "acceptanceCriteria": ["by mail"], "priority": 2, "passes": true },
                                        { "title": "Sign up", "priority": 1 } ] }"#;
        assert_eq!(plan(prd), "# Plan\n\n- [ ] Sign up\n- [x] Log in\n  - by mail\n");
        let other = r#"{ "name": "Shop", "features": [ { "name": "Log in", "status": "done" }, { "name": "Log out", "status": "open" } ] }"#;
        assert_eq!(plan(other), "# Plan\n\n- [x] Log in\n- [ ] Log out\n");
        assert_eq!(
            plan(r#"{ "title": "Crash", "state": "CLOSED" }"#),
            "# Plan\n\n- [x] Crash\n"
        );
        assert_eq!(import(b"[]", None, "Plan"), Err(ImportError::Empty));
        assert_eq!(import(br#"{ "a": 1 }"#, None, "Plan"), Err(ImportError::OtherJson));
        assert_eq!(import(br#"[ 1, 2 ]"#, None, "Plan"), Err(ImportError::OtherJson));
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
            let error = import(bytes, None, "Plan").unwrap_err();
            assert!(error.hint("spec.bin").contains(part), "{error:?}");
        }
        let many: String = (0..=MOST).map(|n| format!("- requirement {n}\n")).collect();
        assert_eq!(
            import(many.as_bytes(), None, "Plan"),
            Err(ImportError::TooMany { count: MOST + 1 })
        );
        let thousand: String = (0..1000).map(|n| format!("- requirement {n}\n")).collect();
        assert_eq!(import(thousand.as_bytes(), None, "Plan").unwrap().tasks, 1000);
    }

    #[test]
    fn a_plan_that_was_made_is_one_that_can_be_read() {
        const PIECES: [&str; 22] = [
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
            "Out of scope: ",
            "&lt;!-- ",
            "<!-- ",
            "<pre>",
            ":",
            "\n\n2. ",
        ];
        let mut dice = Dice::new(7);
        for _ in 0..3_000 {
            let text: String = (0..dice.index(30)).map(|_| PIECES[dice.index(PIECES.len())]).collect();
            let Ok(imported) = import(text.as_bytes(), None, "Plan") else {
                continue;
            };
            let read = parse_bytes(PlanKind::Markdown, imported.plan.as_bytes());
            let read = read.unwrap_or_else(|error| panic!("{error:?} in {:?} of {text:?}", imported.plan));
            assert_eq!(read.tasks.len(), imported.tasks, "{:?} of {text:?}", imported.plan);
        }
    }
}
