//! Adds a task to the text of a plan, in the style of its neighbours.
//!
//! The rest of the text stays as it is: list markers, indentation, line ends, a byte order mark, and a missing final
//! newline. The result is parsed again and must have exactly one more task.

use std::collections::HashMap;

use jsonc_parser::{
    ast::{Object, Value},
    parse_to_ast,
};
use ralph_core::event::{PlanSnapshot, PlanTask};
use ralph_text::{LineIndex, STRICT_JSON};
use serde_json::json;
use thiserror::Error;

use super::{
    error::PlanError,
    headings::{below, end_of},
    kind::PlanKind,
    line::one_line,
    markdown::{self, headings},
    prd,
    read::{not_utf8, read_bytes},
    reading::{ParsedPlan, TaskSource},
    shape::indentation,
    story_keys::{StoryState, field, properties, titles},
};

/// Why a task was not added.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AddError {
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error("a prd.json has no sections")]
    NoSections,
    #[error("there is no place in it where the task would be read as one")]
    NoPlace,
    #[error("{0}")]
    Mistake(String),
}

/// Returns the text of the plan with an additional open task: after the last one, or after the last one below the
/// heading `section`, which is appended if it does not exist.
///
/// # Errors
/// [`AddError`] if the bytes are not a plan, if the new task would not be parsed as one, or has a mistake in its settings.
pub fn add(kind: PlanKind, bytes: &[u8], task: &str, section: Option<&str>) -> Result<String, AddError> {
    let text = std::str::from_utf8(bytes).map_err(|_| not_utf8(bytes))?;
    let (mark, body) = match text.strip_prefix('\u{feff}') {
        Some(body) => ("\u{feff}", body),
        None => ("", text),
    };
    let before = match parse(kind, body) {
        Ok(parsed) => parsed.plan,
        // A plan without tasks gets its first one.
        Err(PlanError::NoTasks { .. } | PlanError::NoTaskYet) => PlanSnapshot::default(),
        Err(PlanError::Empty {
            kind: PlanKind::Markdown,
        }) => PlanSnapshot::default(),
        Err(error) => return Err(error.into()),
    };
    let task = one_line(task);
    let added = match (kind, section) {
        (PlanKind::Markdown, section) => to_markdown(body, &before, &task, section),
        (PlanKind::Prd, Some(_)) => return Err(AddError::NoSections),
        (PlanKind::Prd, None) => to_prd(body, &task).ok_or(AddError::NoPlace)?,
    };
    let after = parse(kind, &added).map_err(|error| match error {
        PlanError::NoTasks { .. } | PlanError::NoTaskYet | PlanError::Empty { .. } => AddError::NoPlace,
        other => other.into(),
    })?;
    let new = position_of_new(&before.tasks, &after.plan.tasks).ok_or(AddError::NoPlace)?;
    if let Some(mistake) = after.mistakes.into_iter().find(|mistake| mistake.task == new) {
        return Err(AddError::Mistake(mistake.what));
    }
    Ok(format!("{mark}{added}"))
}

/// The index of the one open task that `after` has more than `before`, if they are otherwise equal.
fn position_of_new(before: &[PlanTask], after: &[PlanTask]) -> Option<usize> {
    let same =
        |one: &PlanTask, other: &PlanTask| (&one.text, one.done, one.depth) == (&other.text, other.done, other.depth);
    let alike = before
        .iter()
        .zip(after)
        .take_while(|(one, other)| same(one, other))
        .count();
    let (new, rest) = after.get(alike..)?.split_first()?;
    let old = &before[alike..];
    let is_one_more = !new.done && rest.len() == old.len() && rest.iter().zip(old).all(|(one, other)| same(one, other));
    is_one_more.then_some(alike)
}

fn parse(kind: PlanKind, text: &str) -> Result<ParsedPlan, PlanError> {
    read_bytes(kind, text.as_bytes())
}

fn to_markdown(text: &str, before: &PlanSnapshot, task: &str, section: Option<&str>) -> String {
    let end_of_line = end_of_line(text);
    let headings = headings(text);
    let (range, is_new) = match section {
        None => (0..text.len(), false),
        Some(name) => match below(&headings, name, text.len()) {
            Some(range) => (range, false),
            None => (text.len()..text.len(), true),
        },
    };
    let lines = LineIndex::new(text);
    let tasks = before.tasks.iter().filter(|task| {
        let start = lines.start_of(task.line);
        range.contains(&start)
    });
    let tasks: Vec<&PlanTask> = tasks.collect();
    let depth = tasks.iter().map(|task| task.depth).min();
    let outermost = tasks.iter().filter(|task| Some(task.depth) == depth);
    let last = outermost.clone().next_back().map(|task| task.line);
    let as_heading = headings
        .iter()
        .position(|heading| Some(lines.line_of(heading.start)) == last);
    if let Some(at) = as_heading {
        let head = text[..end_of(&headings, at, text.len())].trim_end().len();
        let level = "#".repeat(headings[at].level);
        return inserted(text, head, &format!("{}{level} [ ] {task}", end_of_line.repeat(2)));
    }
    if let Some(sibling) = Sibling::last(text, &lines, outermost.map(|task| task.line)) {
        let gap = sibling.gap(text, end_of_line);
        let line = format!("{gap}{}[ ] {task}", sibling.marker);
        return inserted(text, sibling.end, &line);
    }
    let head = text[..range.end].trim_end().len();
    let title = match (section, is_new) {
        (Some(name), true) => {
            let level = headings.last().map_or(2, |heading| heading.level);
            format!("{} {}{end_of_line}{end_of_line}", "#".repeat(level), one_line(name))
        }
        (Some(_) | None, _) => String::new(),
    };
    let gap = if head == 0 {
        String::new()
    } else {
        end_of_line.repeat(2)
    };
    let tail = if text.is_empty() { end_of_line } else { "" };
    inserted(text, head, &format!("{gap}{title}- [ ] {task}{tail}"))
}

fn inserted(text: &str, at: usize, line: &str) -> String {
    let (before, after) = text.split_at(at);
    format!("{before}{line}{after}")
}

/// The line ending of the text.
fn end_of_line(text: &str) -> &'static str {
    match text.find(['\n', '\r']) {
        Some(at) if text[at..].starts_with("\r\n") => "\r\n",
        Some(at) if text[at..].starts_with('\r') => "\r",
        Some(_) | None => "\n",
    }
}

/// The task after which the new one is inserted.
struct Sibling {
    /// The end of the whole item, including notes and tasks below it.
    end: usize,
    /// The text before the box of the new task: indentation and list marker.
    marker: String,
    /// The start of its line.
    start: usize,
    /// Whether its last line is indented less than its text: Markdown does not count that to the item.
    is_extended: bool,
}

impl Sibling {
    /// The last of the tasks on these lines that belongs to none of the others.
    fn last(text: &str, lines: &LineIndex, tasks: impl Iterator<Item = u32>) -> Option<Self> {
        let found = markdown::tasks(text);
        let items = found
            .tasks
            .iter()
            .zip(&found.sources)
            .filter(|(_, source)| source.list > 0);
        let items: HashMap<u32, &TaskSource> = items.map(|(task, source)| (task.line, source)).collect();
        let mut last: Option<&TaskSource> = None;
        for item in tasks.filter_map(|line| items.get(&line)) {
            if last.is_none_or(|last| last.range.end <= item.range.start) {
                last = Some(item);
            }
        }
        let item = last?;
        let start = lines.start_of(lines.line_of(item.range.start));
        let indent: String = text[start..item.range.start]
            .chars()
            .map(|character| if character == '\t' { '\t' } else { ' ' })
            .collect();
        let last_line = text[..item.range.end].rfind(['\n', '\r']).map_or(0, |at| at + 1);
        let is_extended = last_line > item.range.start
            && indentation(&text[last_line..]).column < width_of(&text[start..item.check_box.start]);
        Some(Self {
            is_extended,
            end: item.range.end,
            marker: indent + &next_marker(&text[item.range.start..item.check_box.start]),
            start,
        })
    }

    /// The gap before the new task: with an empty line if this task has one before it, or ends in text that is not in
    /// its item.
    fn gap(&self, text: &str, end_of_line: &str) -> String {
        let above = text[..self.start].trim_end_matches([' ', '\t']);
        let line_above = above.strip_suffix(end_of_line).unwrap_or(above);
        let is_loose = line_above.ends_with(end_of_line) && is_below_an_item(line_above);
        // Directly below a line of text, a number other than 1 begins no list.
        end_of_line.repeat(if is_loose || self.is_extended { 2 } else { 1 })
    }
}

/// Whether the last line of the text looks like a list item.
fn is_below_an_item(text: &str) -> bool {
    let last = text.trim_end().rsplit(['\n', '\r']).next().unwrap_or_default();
    let last = last.trim_start();
    let number = last.trim_start_matches(|character: char| character.is_ascii_digit());
    last.starts_with(['-', '*', '+']) || (number.len() < last.len() && number.starts_with(['.', ')']))
}

/// The number of columns of a text.
fn width_of(text: &str) -> u32 {
    let mut place = indentation(text);
    place.skip(&text[place.offset..]);
    place.column
}

/// The list marker after this one: numbers are incremented.
fn next_marker(marker: &str) -> String {
    let digits = marker.len()
        - marker
            .trim_start_matches(|character: char| character.is_ascii_digit())
            .len();
    match marker[..digits].parse::<u32>() {
        Ok(number) => format!("{}{}", number.saturating_add(1), &marker[digits..]),
        Err(_) => marker.to_owned(),
    }
}

/// Adds a story in the style of the last one; `None` if there is no list to add it to.
fn to_prd(text: &str, task: &str) -> Option<String> {
    let parsed = parse_to_ast(text, &Default::default(), &STRICT_JSON).ok()?;
    let (stories, state) = prd::stories(text, parsed.value.as_ref()?)?;
    let Some(last) = stories.elements.last() else {
        let story = json!({ "title": task, "passes": false });
        return Some(inserted(text, stories.range.start + 1, &story.to_string()));
    };
    let Value::Object(last) = last else { return None };
    let all: Vec<&Object<'_>> = stories.elements.iter().filter_map(Value::as_object).collect();
    let before = &text[..last.range.start];
    let space = &before[before.trim_end().len()..];
    Some(inserted(
        text,
        last.range.end,
        &format!(",{space}{}", story_like(text, last, &all, (&state, task))),
    ))
}

/// A story with the known keys of the last one, in the same order and layout.
fn story_like(text: &str, last: &Object<'_>, all: &[&Object<'_>], (state, task): (&StoryState, &str)) -> String {
    let title = titles().find(|title| field(last, title).is_some()).unwrap_or("title");
    let mut fields: Vec<(&str, String)> = Vec::new();
    for property in properties(last) {
        let name = property.name.as_str();
        let value = match name {
            "id" => next_id(all).map(|id| id.to_string()),
            _ if name == title => Some(json!(task).to_string()),
            "priority" => next_number(all, "priority").map(|number| number.to_string()),
            "acceptanceCriteria" | "steps" => Some("[]".to_owned()),
            _ if name == state.key => Some(state.open.clone()),
            _ => None,
        };
        fields.extend(value.map(|value| (name, value)));
    }
    for (name, value) in [(title, json!(task).to_string()), (&state.key, state.open.clone())] {
        if !fields.iter().any(|(known, _)| *known == name) {
            fields.push((name, value));
        }
    }
    // The white space after the opening brace, between two keys, and before the closing brace.
    let source = &text[last.range.start..last.range.end];
    let open = &source[1..source.len() - source[1..].trim_start().len()];
    let close = &source[source[..source.len() - 1].trim_end().len()..source.len() - 1];
    let between = if open.contains(['\n', '\r']) { open } else { " " };
    let rows: Vec<String> = fields
        .into_iter()
        .map(|(name, value)| format!("{}: {value}", json!(name)))
        .collect();
    format!("{{{open}{}{close}}}", rows.join(&format!(",{between}")))
}

/// The id after the highest one: `US-007` after `US-006`, 4 after 3. `None` if the ids are not numbered.
fn next_id(all: &[&Object<'_>]) -> Option<serde_json::Value> {
    if let Some(number) = next_number(all, "id") {
        return Some(json!(number));
    }
    let ids = all.iter().filter_map(|story| match field(story, "id") {
        Some(Value::StringLit(id)) => Some(id.value.to_string()),
        _ => None,
    });
    let counted = ids.filter_map(|id| {
        let stem = id.trim_end_matches(|character: char| character.is_ascii_digit()).len();
        let number = id[stem..].parse::<u64>().ok()?;
        Some((number, id.len() - stem, id[..stem].to_owned()))
    });
    let (number, width, stem) = counted.max()?;
    Some(json!(format!("{stem}{:0width$}", number.checked_add(1)?)))
}

fn next_number(all: &[&Object<'_>], name: &str) -> Option<u64> {
    let numbers = all.iter().filter_map(|story| match field(story, name) {
        Some(Value::NumberLit(number)) => number.value.parse::<u64>().ok(),
        _ => None,
    });
    numbers.max()?.checked_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::testing::Dice;

    fn markdown(text: &str, section: Option<&str>) -> String {
        add(PlanKind::Markdown, text.as_bytes(), "new", section).unwrap_or_else(|error| panic!("{error}: {text:?}"))
    }

    #[test]
    fn a_task_is_written_as_those_around_it() {
        for (text, with) in [
            ("- [ ] one\n", "- [ ] one\n- [ ] new\n"),
            ("- [ ] one", "- [ ] one\n- [ ] new"),
            ("* [x] one\r\n\r\n# End\r\n", "* [x] one\r\n* [ ] new\r\n\r\n# End\r\n"),
            ("9) [ ] one\n   note\n", "9) [ ] one\n   note\n10) [ ] new\n"),
            (
                "\u{feff}- [ ] one\n  - [ ] part\n\n    more\n\nend\n",
                "\u{feff}- [ ] one\n  - [ ] part\n\n    more\n- [ ] new\n\nend\n",
            ),
            ("- [ ] one\n\n- [ ] two\n", "- [ ] one\n\n- [ ] two\n\n- [ ] new\n"),
            ("# Plan\n\n- [ ] one\n", "# Plan\n\n- [ ] one\n- [ ] new\n"),
            ("- Group\n  - [ ] one\n", "- Group\n  - [ ] one\n  - [ ] new\n"),
            ("# Plan\n", "# Plan\n\n- [ ] new\n"),
            ("", "- [ ] new\n"),
            ("- [ ] one\r- [ ] two\r", "- [ ] one\r- [ ] two\r- [ ] new\r"),
        ] {
            assert_eq!(markdown(text, None), with, "{text:?}");
        }
    }

    #[test]
    fn a_task_comes_behind_the_notes_of_the_last_one_at_any_width_of_its_number() {
        for (text, with) in [
            ("25. [ ] y\n\n   note\n", "25. [ ] y\n\n   note\n\n26. [ ] new\n"),
            (
                "100) [ ] y\r\n\r\n  note\r\n\r\n  more\r\n\r\nend\r\n",
                "100) [ ] y\r\n\r\n  note\r\n\r\n  more\r\n\r\n101) [ ] new\r\n\r\nend\r\n",
            ),
            (
                "10. [ ] y\n   - [ ] part\n   - note\n",
                "10. [ ] y\n   - [ ] part\n   - note\n\n11. [ ] new\n",
            ),
            (
                "10. [ ] y\n\n   ```\ncode\n   ```\n   end\n",
                "10. [ ] y\n\n   ```\ncode\n   ```\n   end\n\n11. [ ] new\n",
            ),
            ("- [ ] y\n\n note\n", "- [ ] y\n\n note\n\n- [ ] new\n"),
            ("10. [ ] y\n\n   # Head\n", "10. [ ] y\n11. [ ] new\n\n   # Head\n"),
            (
                "- Group\n\n  10. [ ] y\n\n     note\n- Other\n",
                "- Group\n\n  10. [ ] y\n\n     note\n\n  11. [ ] new\n- Other\n",
            ),
        ] {
            assert_eq!(markdown(text, None), with, "{text:?}");
        }
    }

    #[test]
    fn a_task_is_a_heading_where_the_last_one_is() {
        for (text, with) in [
            (
                "### [x] Task 1\n\ntext\n\n#### Detail\n- [ ] part\n",
                "### [x] Task 1\n\ntext\n\n#### Detail\n- [ ] part\n\n### [ ] new\n",
            ),
            (
                "# A\r\n## [ ] One\r\n## [ ] Two\r\n\r\n# End\r\n",
                "# A\r\n## [ ] One\r\n## [ ] Two\r\n\r\n## [ ] new\r\n\r\n# End\r\n",
            ),
            ("[ ] One\n---\n", "[ ] One\n---\n\n## [ ] new\n"),
            (
                "## [ ] One\n## Quality\n- [ ] passes\n",
                "## [ ] One\n## Quality\n- [ ] passes\n- [ ] new\n",
            ),
        ] {
            assert_eq!(markdown(text, None), with, "{text:?}");
        }
    }

    #[test]
    fn a_section_is_found_by_its_heading_and_added_where_there_is_none() {
        let text = "# Plan\n\n## Parser\n\n- [ ] one\n\n### Later\n\n## Printer\n\ntext\n";
        for (section, with) in [
            ("parser", text.replace("- [ ] one\n", "- [ ] one\n- [ ] new\n")),
            ("Later", text.replace("### Later\n", "### Later\n\n- [ ] new\n")),
            ("Printer", format!("{text}\n- [ ] new\n")),
            ("Other", format!("{text}\n## Other\n\n- [ ] new\n")),
        ] {
            assert_eq!(markdown(text, Some(section)), with, "{section}");
        }
    }

    #[test]
    fn a_task_with_a_mistake_in_its_settings_is_not_added() {
        let text = b"- [ ] one {modle=x}\n";
        for (task, what) in [
            ("new {modle=x}", "unknown task setting `modle`"),
            ("new {optional} later", "`optional` has no effect here"),
        ] {
            let Err(AddError::Mistake(told)) = add(PlanKind::Markdown, text, task, None) else {
                panic!("{task}")
            };
            assert!(told.starts_with(what), "{told}");
        }
        let added = add(PlanKind::Markdown, text, "new {optional}", None);
        assert_eq!(added.as_deref(), Ok("- [ ] one {modle=x}\n- [ ] new {optional}\n"));
    }

    #[test]
    fn a_story_gets_the_next_id_and_the_form_of_the_last_one() {
        let prd = |text: &str| add(PlanKind::Prd, text.as_bytes(), "new", None);
        assert_eq!(
            prd(r#"[{"id":"US-009","title":"a","passes":true}]"#).as_deref(),
            Ok(r#"[{"id":"US-009","title":"a","passes":true},{"id": "US-010", "title": "new", "passes": false}]"#)
        );
        assert_eq!(
            prd("{\n  \"userStories\": [\n    {\n      \"priority\": 2,\n      \"description\": \"a\",\n      \"notes\": \"x\"\n    }\n  ]\n}\n").as_deref(),
            Ok("{\n  \"userStories\": [\n    {\n      \"priority\": 2,\n      \"description\": \"a\",\n      \"notes\": \"x\"\n    },\n    \
                {\n      \"priority\": 3,\n      \"description\": \"new\",\n      \"passes\": false\n    }\n  ]\n}\n")
        );
        assert_eq!(prd("[]").as_deref(), Ok(r#"[{"title":"new","passes":false}]"#));
        assert_eq!(
            prd(r#"{"tasks":[{"name":"a","mvp":true,"status":"done"}]}"#).as_deref(),
            Ok(r#"{"tasks":[{"name":"a","mvp":true,"status":"done"},{"name": "new", "status": "open"}]}"#)
        );
        assert_eq!(
            prd(r#"[{"title":"a","started":true,"complete":true}]"#).as_deref(),
            Ok(r#"[{"title":"a","started":true,"complete":true},{"title": "new", "complete": false}]"#)
        );
        assert_eq!(add(PlanKind::Prd, b"[]", "new", Some("x")), Err(AddError::NoSections));
        assert!(matches!(prd("{}"), Err(AddError::Plan(_))));
    }

    #[test]
    fn whatever_the_text_is_nothing_but_one_task_changes() {
        const PIECES: [&str; 22] = [
            "# Head\n",
            "## [ ] Task\n",
            "### [x] Task\n",
            "10. [ ] y\n",
            "   note\n",
            "- [ ] a\n",
            "- [x] b\n",
            "  - [ ] c\n",
            "* d\n",
            "\n",
            "\n\n",
            "1. [ ] e\n",
            "```\n",
            "<!--\n",
            "-->\n",
            "> - [ ] q\n",
            "text\n",
            "\t- [ ] t\n",
            "    code\n",
            "- [ ] z",
            "\r\n",
            "- - [ ] i\n",
        ];
        let mut dice = Dice::new(11);
        for _ in 0..4_000 {
            let text: String = (0..dice.index(12)).map(|_| PIECES[dice.index(PIECES.len())]).collect();
            let section = (dice.index(3) == 0).then_some("Head");
            let Ok(added) = add(PlanKind::Markdown, text.as_bytes(), "new", section) else {
                continue;
            };
            let at = added.find("new").unwrap();
            assert!(added.len() > text.len() && added[at..].starts_with("new"), "{text:?}");
            let before = parse(PlanKind::Markdown, &text).unwrap_or_default().plan;
            let after = parse(PlanKind::Markdown, &added).unwrap().plan;
            assert_eq!(after.open(), before.open() + 1, "{text:?} → {added:?}");
        }
    }
}
