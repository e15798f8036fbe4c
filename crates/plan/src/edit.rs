//! Ticks and moves tasks in the text of a plan.
//!
//! A change moves the task or its box and nothing else: the result is parsed again and compared.

use std::ops::Range;

use jsonc_parser::{
    ast::{Object, Value},
    common::Ranged,
    parse_to_ast,
};
use ralph_core::event::PlanTask;
use ralph_text::STRICT_JSON;
use serde_json::json;
use thiserror::Error;

use super::{
    check_box::CheckBox,
    error::PlanError,
    kind::PlanKind,
    markdown, prd,
    read::{not_utf8, read_bytes},
    story_keys::{StoryState, properties},
};

/// A change of one task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskEdit {
    Tick,
    Untick,
    /// Exchange it with the task before it in its list, each with the tasks in it.
    MoveUp,
    /// Exchange it with the task after it in its list, each with the tasks in it.
    MoveDown,
}

/// Why a task was not changed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EditError {
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error("line {line} is no longer the task `{task}`")]
    Changed { line: u32, task: String },
    #[error("it is the first task of its list")]
    First,
    #[error("it is the last task of its list")]
    Last,
    #[error("the file is written in a way in which this cannot be changed safely")]
    Unsafe,
}

/// Returns the text of the plan with a change of the task `task` on `line`.
///
/// # Errors
/// [`EditError`] if the bytes are not a plan, if no such task is on that line, or if the change has no place.
pub fn edit(kind: PlanKind, bytes: &[u8], line: u32, task: &str, edit: TaskEdit) -> Result<String, EditError> {
    let text = std::str::from_utf8(bytes).map_err(|_| not_utf8(bytes))?;
    let (mark, body) = match text.strip_prefix('\u{feff}') {
        Some(body) => ("\u{feff}", body),
        None => ("", text),
    };
    let before = read_bytes(kind, body.as_bytes())?.plan.tasks;
    let is_it = |known: &PlanTask| known.line == line && known.text == task;
    let at = before.iter().position(is_it).ok_or_else(|| EditError::Changed {
        line,
        task: task.to_owned(),
    })?;
    let mut expected: Vec<(&str, bool, u8)> = before.iter().map(seen).collect();
    let edited = match edit {
        TaskEdit::Tick | TaskEdit::Untick => {
            let done = edit == TaskEdit::Tick;
            expected[at].1 = done;
            ticked(kind, body, &before, at, done).ok_or(EditError::Unsafe)?
        }
        TaskEdit::MoveUp | TaskEdit::MoveDown => {
            let (first, second) = match edit {
                TaskEdit::MoveUp => (previous(&before, at).ok_or(EditError::First)?, at),
                _ => (at, next(&before, at).ok_or(EditError::Last)?),
            };
            let end = second + with_parts(&before, second);
            expected[first..end].rotate_left(second - first);
            let places = places(kind, body, &before, [first, second]).ok_or(EditError::Unsafe)?;
            exchanged(body, &places)
        }
    };
    let after = read_bytes(kind, edited.as_bytes()).map_err(|_| EditError::Unsafe)?;
    match after.plan.tasks.iter().map(seen).eq(expected) {
        true => Ok(format!("{mark}{edited}")),
        false => Err(EditError::Unsafe),
    }
}

fn seen(task: &PlanTask) -> (&str, bool, u8) {
    (&task.text, task.done, task.depth)
}

/// The number of tasks in a task, with itself.
fn with_parts(tasks: &[PlanTask], at: usize) -> usize {
    let rest = tasks[at + 1..].iter();
    1 + rest.take_while(|task| task.depth > tasks[at].depth).count()
}

fn previous(tasks: &[PlanTask], at: usize) -> Option<usize> {
    let found = tasks[..at].iter().rposition(|task| task.depth <= tasks[at].depth)?;
    (tasks[found].depth == tasks[at].depth && tasks[at].heading.is_none()).then_some(found)
}

fn next(tasks: &[PlanTask], at: usize) -> Option<usize> {
    let found = at + with_parts(tasks, at);
    let task = tasks.get(found)?;
    (task.depth == tasks[at].depth && task.heading.is_none()).then_some(found)
}

/// Exchanges two ranges, the first of which ends before the second.
fn exchanged(text: &str, [first, second]: &[Range<usize>; 2]) -> String {
    let part = |range: Range<usize>| &text[range];
    [
        part(0..first.start),
        part(second.clone()),
        part(first.end..second.start),
        part(first.clone()),
        part(second.end..text.len()),
    ]
    .concat()
}

fn ticked(kind: PlanKind, text: &str, tasks: &[PlanTask], at: usize, done: bool) -> Option<String> {
    let replaced = |range: Range<usize>, with: &str| [&text[..range.start], with, &text[range.end..]].concat();
    match kind {
        PlanKind::Markdown => {
            let found = markdown::tasks(text);
            let steps = &tasks[at].steps;
            let is_it = |line: u32| line == tasks[at].line || steps.iter().any(|step| step.line == line);
            let boxes = found
                .tasks
                .iter()
                .zip(&found.sources)
                .filter(|(task, _)| is_it(task.line));
            let boxes: Vec<CheckBox> = boxes.map(|(_, source)| source.check_box).collect();
            let mut edited = text.to_owned();
            for check_box in boxes.iter().rev() {
                edited.replace_range(check_box.start..check_box.end, if done { "[x]" } else { "[ ]" });
            }
            (!boxes.is_empty()).then_some(edited)
        }
        PlanKind::Prd => stories(text, |stories, state| {
            let Value::Object(story) = stories.get(at)? else {
                return None;
            };
            let value = |state: &StoryState| if done { state.done.clone() } else { state.open.clone() };
            // A null is no state yet, and its key is there.
            let empty = || properties(story).find(|property| property.name.as_str() == state.key);
            let property = state.property(story).or_else(empty);
            let Some(property) = property else {
                let last = last_property(story)?;
                return Some(replaced(
                    last..last,
                    &format!(", {}: {}", json!(state.key), value(&state)),
                ));
            };
            let range = property.value.range();
            let value = match property.name.as_str() == state.key {
                true => value(&state),
                false => match property.value {
                    Value::StringLit(_) => format!("\"{}\"", if done { "done" } else { "open" }),
                    _ => done.to_string(),
                },
            };
            Some(replaced(range.start..range.end, &value))
        }),
    }
}

fn last_property(story: &Object<'_>) -> Option<usize> {
    story.properties.last().map(|property| property.range.end)
}

/// The ranges of two tasks of one list, with everything that belongs to them.
fn places(kind: PlanKind, text: &str, tasks: &[PlanTask], two: [usize; 2]) -> Option<[Range<usize>; 2]> {
    match kind {
        PlanKind::Markdown => {
            let found = markdown::tasks(text);
            let of = |task: usize| {
                let line = tasks[task].line;
                let at = found.tasks.iter().position(|known| known.line == line)?;
                found.sources.get(at).filter(|source| source.list > 0)
            };
            let [first, second] = [of(two[0])?, of(two[1])?];
            let is_apart = first.list == second.list && first.range.end < second.range.start;
            is_apart.then(|| [first.range.clone(), second.range.clone()])
        }
        PlanKind::Prd => stories(text, |stories, _| {
            let range = |task: usize| stories.get(task).map(|story| story.range().start..story.range().end);
            Some([range(two[0])?, range(two[1])?])
        }),
    }
}

fn stories<T>(text: &str, work: impl FnOnce(&[Value<'_>], StoryState) -> Option<T>) -> Option<T> {
    let parsed = parse_to_ast(text, &Default::default(), &STRICT_JSON).ok()?;
    let (list, state) = prd::stories(text, parsed.value.as_ref()?)?;
    work(&list.elements, state)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::testing::Dice;

    fn edited(kind: PlanKind, text: &str, task: &str, change: TaskEdit) -> Result<String, EditError> {
        let tasks = read_bytes(kind, text.as_bytes()).unwrap().plan.tasks;
        let line = tasks.iter().find(|known| known.text == task).unwrap().line;
        edit(kind, text.as_bytes(), line, task, change)
    }

    #[test]
    fn a_box_is_ticked_and_nothing_else_changes() {
        for (text, task, change, with) in [
            (
                "# P\n\n- [ ] a\n- [ ] b",
                "b",
                TaskEdit::Tick,
                "# P\n\n- [ ] a\n- [x] b",
            ),
            ("\u{feff}* [X] a\r\n", "a", TaskEdit::Untick, "\u{feff}* [ ] a\r\n"),
            ("1. [] a\n   - [ ] b\n", "b", TaskEdit::Tick, "1. [] a\n   - [x] b\n"),
            ("- - [ ] a\n", "a", TaskEdit::Tick, "- - [x] a\n"),
        ] {
            assert_eq!(
                edited(PlanKind::Markdown, text, task, change).as_deref(),
                Ok(with),
                "{text:?}"
            );
        }
        for (text, with) in [
            (r#"[{"title":"a","passes":false}]"#, r#"[{"title":"a","passes":true}]"#),
            (r#"[{"title": "a"}]"#, r#"[{"title": "a", "passes": true}]"#),
            (
                r#"{"items":[{"title":"a","passes":null}]}"#,
                r#"{"items":[{"title":"a","passes":true}]}"#,
            ),
            (
                r#"[{"title":"a","complete":false}]"#,
                r#"[{"title":"a","complete":true}]"#,
            ),
            (
                r#"{"tasks":[{"name":"a","status":"todo"},{"name":"b","status":"Finished"}]}"#,
                r#"{"tasks":[{"name":"a","status":"Finished"},{"name":"b","status":"Finished"}]}"#,
            ),
            (
                r#"[{"title":"a"},{"title":"b","status":"in progress"}]"#,
                r#"[{"title":"a", "status": "done"},{"title":"b","status":"in progress"}]"#,
            ),
            (
                r#"[{"title":"a","done":false},{"title":"b","passes":false}]"#,
                r#"[{"title":"a","done":true},{"title":"b","passes":false}]"#,
            ),
            (
                r#"[{"title":"a","status":"open"},{"title":"b","passes":false}]"#,
                r#"[{"title":"a","status":"done"},{"title":"b","passes":false}]"#,
            ),
        ] {
            assert_eq!(edited(PlanKind::Prd, text, "a", TaskEdit::Tick).as_deref(), Ok(with));
        }
    }

    #[test]
    fn a_task_is_moved_with_its_notes_and_parts_within_its_list() {
        let text = "## One\n\n- [ ] a\n\n  note\n  - [x] part\n\n- [ ] b\n\n## Two\n\n- [ ] c\n";
        let moved = "## One\n\n- [ ] b\n\n- [ ] a\n\n  note\n  - [x] part\n\n## Two\n\n- [ ] c\n";
        let markdown = |text, task, change| edited(PlanKind::Markdown, text, task, change);
        assert_eq!(markdown(text, "b", TaskEdit::MoveUp).as_deref(), Ok(moved));
        assert_eq!(markdown(text, "a", TaskEdit::MoveDown).as_deref(), Ok(moved));
        assert_eq!(markdown(text, "a", TaskEdit::MoveUp), Err(EditError::First));
        assert_eq!(markdown(text, "part", TaskEdit::MoveUp), Err(EditError::First));
        assert_eq!(markdown(text, "b", TaskEdit::MoveDown), Err(EditError::Last));
        assert_eq!(markdown(text, "c", TaskEdit::MoveUp), Err(EditError::First));
        assert_eq!(
            markdown("- [ ] a\n- [ ] b", "b", TaskEdit::MoveUp).as_deref(),
            Ok("- [ ] b\n- [ ] a")
        );
        assert_eq!(
            markdown("- [ ] a\n- [ ] b\n\n note\n", "b", TaskEdit::MoveUp).as_deref(),
            Ok("- [ ] b\n\n note\n- [ ] a\n")
        );
        let stories = r#"[{"title":"a"}, {"title":"b"}]"#;
        assert_eq!(
            edited(PlanKind::Prd, stories, "b", TaskEdit::MoveUp).as_deref(),
            Ok(r#"[{"title":"b"}, {"title":"a"}]"#)
        );
    }

    #[test]
    fn a_task_that_is_elsewhere_by_now_is_left_alone() {
        let changed = edit(PlanKind::Markdown, b"- [ ] a\n- [ ] b\n", 2, "a", TaskEdit::Tick);
        let task = "a".to_owned();
        assert_eq!(changed, Err(EditError::Changed { line: 2, task }));
    }

    #[test]
    fn whatever_the_text_is_one_box_changes_or_two_tasks_change_places() {
        const PIECES: [&str; 14] = [
            "# Head\n",
            "- [ ] a\n",
            "- [x] b\n",
            "  - [ ] c\n",
            "* d\n",
            "\n",
            "1. [ ] e\n",
            "```\n",
            "> - [ ] q\n",
            "text\n",
            "\t- [ ] t\n",
            "- [ ] z",
            "\r\n",
            "- - [ ] i\n",
        ];
        const EDITS: [TaskEdit; 4] = [TaskEdit::Tick, TaskEdit::Untick, TaskEdit::MoveUp, TaskEdit::MoveDown];
        let mut dice = Dice::new(7);
        let mut made = 0;
        for _ in 0..4_000 {
            let text: String = (0..dice.index(10)).map(|_| PIECES[dice.index(PIECES.len())]).collect();
            let Ok(before) = read_bytes(PlanKind::Markdown, text.as_bytes()) else {
                continue;
            };
            let tasks = before.plan.tasks;
            let task = &tasks[dice.index(tasks.len())];
            let Ok(edited) = edit(
                PlanKind::Markdown,
                text.as_bytes(),
                task.line,
                &task.text,
                EDITS[dice.index(4)],
            ) else {
                continue;
            };
            made += 1;
            let sorted = |text: &str| {
                let mut signs: Vec<char> = text.chars().filter(|sign| !['x', ' '].contains(sign)).collect();
                signs.sort_unstable();
                signs
            };
            assert_eq!(sorted(&text), sorted(&edited), "{text:?} → {edited:?}");
        }
        assert!(made > 500, "{made}");
    }
}
