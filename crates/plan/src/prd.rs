//! User stories in JSON: `prd.json`.

use std::collections::HashSet;

use jsonc_parser::{
    ast::{Array, Object, Value},
    common::Ranged,
    parse_to_ast,
};
use ralph_core::event::{PlanTask, TaskSettings, clip};
use ralph_text::{LineIndex, Position, STRICT_JSON};

use super::{
    error::PlanError,
    group::{AFTER, CHECK, ONLY, OPTIONAL, SetSetting, TEXT_KEYS},
    line::one_line,
    reading::{FoundTasks, TaskMistake},
    story_keys::{PASSES, StoryState, field, has_stories, ignored, is_before, properties, read_state, titles},
};

/// The usual name of the list of stories.
const STORIES: &str = "userStories";
/// The longest name that is shown, in bytes.
const NAME_BYTES: usize = 40;
/// Maximum number of remarks on a file.
const REMARKS: usize = 100;

/// Lists the stories of `{"userStories": […]}`, of another list in the object whose entries have the shape of stories, or
/// of a bare list, in file order: `priority` does not reorder them.
///
/// A story's text is its `id` followed by its `title`, or else another text that says what to do. It is done if
/// `passes` is true, or else the key by which the file says so ([`StoryState`]), and open without any. `adapter`, `after`,
/// `check`, `model`, `only` and `optional` are its settings. Keys that look like a state and are not read are remarks.
pub(super) fn tasks(text: &str) -> Result<FoundTasks, PlanError> {
    // `jq` and agents read the file as well, so it has to be strict JSON.
    let parsed = parse_to_ast(text, &Default::default(), &STRICT_JSON).map_err(|error| PlanError::NotJson {
        position: Position::at_offset(text, error.range().start),
        expected: lowercased(&error.kind().to_string()),
    })?;
    let reader = PrdReader { text };
    let root = parsed.value.as_ref().ok_or(PlanError::Empty {
        kind: super::kind::PlanKind::Prd,
    })?;
    let (prefix, list) = reader.stories(root)?;
    let stories = &list.elements;
    let lines = LineIndex::new(text);
    let mut found = FoundTasks {
        story_state: StoryState::of(stories),
        ..FoundTasks::default()
    };
    let mut remarked = HashSet::new();
    for (index, story) in stories.iter().enumerate() {
        let task = reader.task(&format!("{prefix}[{index}]"), story, &lines, &mut found)?;
        if let Value::Object(story) = story {
            reader.remark(story, &lines, &mut remarked, &mut found);
        }
        found.tasks.push(task);
    }
    reader.wait_for_others(stories, &lines, &mut found);
    Ok(found)
}

/// The list of stories in a parsed file, and how they say that they are done.
pub(super) fn stories<'v, 'a>(text: &str, root: &'v Value<'a>) -> Option<(&'v Array<'a>, StoryState)> {
    let (_, list) = PrdReader { text }.stories(root).ok()?;
    Some((list, StoryState::of(&list.elements).unwrap_or_default()))
}

struct PrdReader<'a> {
    text: &'a str,
}

impl PrdReader<'_> {
    fn stories<'v, 'a>(&self, root: &'v Value<'a>) -> Result<(&'v str, &'v Array<'a>), PlanError> {
        const EXPECTED: &str = "a list `userStories` in an object, or a bare list of stories";
        match root {
            Value::Array(list) => Ok(("the list", list)),
            Value::Object(object) => {
                if let Some(other) = field(object, STORIES).filter(|value| value.as_array().is_none()) {
                    return Err(self.ill_typed("`userStories`", other, "a list of stories"));
                }
                let lists = properties(object).filter_map(|property| Some((property, property.value.as_array()?)));
                let lists: Vec<_> = lists.map(|(property, list)| (property.name.as_str(), list)).collect();
                let mut of_stories = lists.iter().filter(|(name, list)| {
                    *name == STORIES && !list.elements.is_empty() || has_stories(&list.elements)
                });
                match (of_stories.next(), of_stories.next()) {
                    (Some((first, _)), Some((second, list))) => Err(PlanError::TwoLists {
                        position: Position::at_offset(self.text, list.range.start),
                        first: clip(first, NAME_BYTES),
                        second: clip(second, NAME_BYTES),
                    }),
                    (Some((name, list)), None) => Ok((name, list)),
                    (None, _) => {
                        // Stories that have no state yet.
                        let named = [STORIES, "items"].map(|known| lists.iter().find(|(name, _)| *name == known));
                        let named = named.into_iter().flatten().next();
                        named
                            .map(|(name, list)| (*name, *list))
                            .ok_or_else(|| PlanError::IllTyped {
                                position: Position::at_offset(self.text, object.range.start),
                                key: "the plan".to_owned(),
                                found: match object.properties.first() {
                                    Some(first) => {
                                        format!("an object with `{}` first and no `userStories`", first.name.as_str())
                                    }
                                    None => "an empty object".to_owned(),
                                },
                                expected: EXPECTED,
                            })
                    }
                }
            }
            Value::StringLit(_) | Value::NumberLit(_) | Value::BooleanLit(_) | Value::NullKeyword(_) => {
                Err(self.ill_typed("the plan", root, EXPECTED))
            }
        }
    }

    fn task(
        &self,
        place: &str,
        story: &Value<'_>,
        lines: &LineIndex,
        found: &mut FoundTasks,
    ) -> Result<PlanTask, PlanError> {
        let Value::Object(object) = story else {
            return Err(self.ill_typed(&quoted(place), story, "an object with `title` and `passes`"));
        };
        if let Some(other) = field(object, PASSES)
            && !matches!(other, Value::BooleanLit(_) | Value::NullKeyword(_))
        {
            return Err(self.ill_typed(&quoted(&format!("{place}.passes")), other, "true or false"));
        }
        let state = found.story_state.as_ref().and_then(|state| state.property(object));
        let id = self.word(place, object, "id")?;
        let mut texts = titles().filter(|title| matches!(field(object, title), Some(Value::StringLit(_))));
        let text = match self.word(place, object, "title")? {
            Some(title) => Some(title),
            None => texts.find_map(|title| self.word(place, object, title).ok()?),
        };
        let text = match (id, text) {
            (Some(id), Some(text)) => format!("{id}: {text}"),
            (Some(only), None) | (None, Some(only)) => only,
            (None, None) => {
                return Err(PlanError::IllTyped {
                    position: Position::at_offset(self.text, object.range.start),
                    key: quoted(place),
                    found: "a story without a text".to_owned(),
                    expected: "a `title` that says what to do",
                });
            }
        };
        Ok(PlanTask {
            text,
            done: state.is_some_and(|state| read_state(state) == Some(Ok(true))),
            line: lines.line_of(object.range.start),
            depth: 0,
            heading: None,
            settings: self.settings(object, lines, found),
            ..PlanTask::default()
        })
    }

    /// Remarks on the keys of the story that is about to be added which look like a state and are not read, each once.
    fn remark(&self, story: &Object<'_>, lines: &LineIndex, remarked: &mut HashSet<String>, found: &mut FoundTasks) {
        let known = [&TEXT_KEYS[..], &[AFTER, ONLY, OPTIONAL, PASSES]].concat();
        let state = found.story_state.as_ref().and_then(|state| state.property(story));
        let unknown = state.and_then(|state| Some((state, read_state(state)?.err()?)));
        let unknown = unknown.map(|(state, value)| {
            let (key, value) = (clip(state.name.as_str(), NAME_BYTES), clip(value, NAME_BYTES));
            (state, format!("`{key}` is {value:?}, which is taken as open"))
        });
        let name = state.map(|state| state.name.as_str());
        let ignored = properties(story).filter_map(|property| Some((property, ignored(property, name, &known)?)));
        for (property, what) in unknown.into_iter().chain(ignored) {
            if remarked.len() < REMARKS && remarked.insert(what.clone()) {
                found.remarks.push(TaskMistake {
                    task: found.tasks.len(),
                    position: lines.position(self.text, property.range.start),
                    what,
                });
            }
        }
    }

    /// Reads the ids of stories that come first from the keys of other dialects. There, `dependencies` may also be
    /// something else, so that what names no story is a remark.
    fn wait_for_others(&self, stories: &[Value<'_>], lines: &LineIndex, found: &mut FoundTasks) {
        let word = |value: &Value<'_>| match value {
            Value::StringLit(text) => Some(one_line(&text.value)),
            Value::NumberLit(number) => Some(number.value.to_owned()),
            _ => None,
        };
        let objects = || stories.iter().filter_map(Value::as_object);
        let ids: HashSet<String> = objects().filter_map(|story| word(field(story, "id")?)).collect();
        for (task, story) in objects().enumerate() {
            for property in properties(story).filter(|property| is_before(property.name.as_str())) {
                let values = match &property.value {
                    Value::Array(list) => &list.elements[..],
                    Value::NullKeyword(_) => &[],
                    one => std::slice::from_ref(one),
                };
                for value in values {
                    let position = lines.position(self.text, value.range().start);
                    let key = property.name.as_str();
                    let named = word(value).filter(|id| ids.contains(id));
                    let Some(id) = named else {
                        let what = format!("`{key}` has {}, which is the id of no story", described(value));
                        if found.remarks.len() < REMARKS {
                            found.remarks.push(TaskMistake { task, position, what });
                        }
                        continue;
                    };
                    let settings = &mut found.tasks[task].settings;
                    if settings.after.contains(&id) {
                        continue;
                    }
                    if let Err(why) = settings.set(AFTER, &id) {
                        let what = why.to_string();
                        found.mistakes.push(TaskMistake { task, position, what });
                    }
                    if let Err(at) = found.places.binary_search_by_key(&task, |(known, _)| *known) {
                        found.places.insert(at, (task, position));
                    }
                }
            }
        }
    }

    /// Reads the settings of the story that is about to be added; null counts as absent.
    fn settings(&self, story: &Object<'_>, lines: &LineIndex, found: &mut FoundTasks) -> TaskSettings {
        let task = found.tasks.len();
        let mut settings = TaskSettings::default();
        let mut first = None;
        for key in TEXT_KEYS.into_iter().chain([ONLY, OPTIONAL, AFTER]) {
            let Some(value) = field(story, key).filter(|value| !matches!(value, Value::NullKeyword(_))) else {
                continue;
            };
            first.get_or_insert(lines.position(self.text, value.range().start));
            let values = match value {
                Value::Array(list) if key == AFTER => &list.elements[..],
                one => std::slice::from_ref(one),
            };
            for value in values {
                if let Err(what) = set(&mut settings, key, value) {
                    let position = lines.position(self.text, value.range().start);
                    found.mistakes.push(TaskMistake { task, position, what });
                }
            }
        }
        found.places.extend(first.map(|position| (task, position)));
        settings
    }

    /// Reads a text or a number as text; `None` if it is absent, null or blank.
    fn word(&self, place: &str, story: &Object<'_>, name: &str) -> Result<Option<String>, PlanError> {
        let word = match field(story, name) {
            Some(Value::StringLit(text)) => one_line(&text.value),
            Some(Value::NumberLit(number)) => number.value.to_owned(),
            None | Some(Value::NullKeyword(_)) => return Ok(None),
            Some(other @ (Value::BooleanLit(_) | Value::Object(_) | Value::Array(_))) => {
                return Err(self.ill_typed(&quoted(&format!("{place}.{name}")), other, "a text"));
            }
        };
        Ok(Some(word).filter(|word| !word.is_empty()))
    }

    fn ill_typed(&self, key: &str, value: &Value<'_>, expected: &'static str) -> PlanError {
        PlanError::IllTyped {
            position: Position::at_offset(self.text, value.range().start),
            key: key.to_owned(),
            found: described(value),
            expected,
        }
    }
}

/// Sets a setting to a value of a story.
fn set(settings: &mut TaskSettings, key: &'static str, value: &Value<'_>) -> Result<(), String> {
    let text = match value {
        Value::NullKeyword(_) => return Ok(()),
        Value::BooleanLit(optional) if key == OPTIONAL => {
            settings.optional = optional.value;
            return Ok(());
        }
        other if key == OPTIONAL => return Err(format!("`{key}` is {}; expected true or false", described(other))),
        Value::NumberLit(id) if key == AFTER => id.value.to_owned(),
        Value::StringLit(text) if key == ONLY => text.value.trim().to_owned(),
        Value::Array(list) if key == ONLY => {
            let patterns = list.elements.iter().map(|value| match value {
                Value::StringLit(text) => Ok(text.value.trim()),
                other => Err(format!("`{key}` has {}; expected a pattern of files", described(other))),
            });
            patterns.collect::<Result<Vec<_>, _>>()?.join(",")
        }
        Value::StringLit(text) if key != AFTER && one_line(&text.value).is_empty() => {
            return Err(format!("`{key}` is empty"));
        }
        // A command is run as it is written.
        Value::StringLit(text) if key == CHECK => text.value.trim().to_owned(),
        Value::StringLit(text) => one_line(&text.value),
        other => {
            let (is, expected) = match key {
                ONLY => ("has", "a pattern of files"),
                AFTER => ("has", "the id of a story"),
                _ => ("is", "a text"),
            };
            return Err(format!("`{key}` {is} {}; expected {expected}", described(other)));
        }
    };
    settings.set(key, &text).map_err(|mistake| mistake.to_string())
}

fn described(value: &Value<'_>) -> String {
    match value {
        Value::StringLit(text) => format!("the text {:?}", clip(&text.value, 40)),
        Value::NumberLit(number) => format!("the number {}", clip(number.value, 40)),
        Value::BooleanLit(literal) => literal.value.to_string(),
        Value::Object(_) => "an object".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::NullKeyword(_) => "null".to_owned(),
    }
}

fn quoted(place: &str) -> String {
    match place.strip_prefix("the list") {
        Some(rest) => format!("story `{rest}`"),
        None => format!("`{place}`"),
    }
}

fn lowercased(message: &str) -> String {
    let mut characters = message.chars();
    match characters.next() {
        Some(first) => first.to_lowercase().chain(characters).collect(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        tasks(text).unwrap_err().to_string()
    }

    #[test]
    fn stories_are_tasks_in_file_order() {
        let text = r#"{
  "project": "shop", "branchName": "ralph/shop", "description": "…",
  "userStories": [
    { "id": "US-002", "title": "Add a cart", "priority": 2, "acceptanceCriteria": ["tests pass"], "passes": true, "notes": "" },
    { "id": "US-001", "title": "Add a shop", "priority": 1, "passes": false }
  ]
}"#;
        let tasks = tasks(text).unwrap().tasks;
        let seen: Vec<_> = tasks
            .iter()
            .map(|t| (t.text.as_str(), t.done, t.line, t.depth))
            .collect();
        assert_eq!(
            seen,
            [("US-002: Add a cart", true, 4, 0), ("US-001: Add a shop", false, 5, 0)]
        );
    }

    #[test]
    fn a_bare_list_is_a_plan() {
        let text = r#"[{"category": "ui", "description": "Show a list", "steps": ["open"], "passes": false}, {"title": "b", "passes": true}]"#;
        let tasks = tasks(text).unwrap().tasks;
        assert_eq!((tasks[0].text.as_str(), tasks[0].done), ("Show a list", false));
        assert_eq!((tasks[1].text.as_str(), tasks[1].done), ("b", true));
    }

    #[test]
    fn a_list_of_items_is_a_plan() {
        let text = r#"{"metadata": {"generated": true}, "items": [{"description": "a", "passes": true}]}"#;
        let tasks = tasks(text).unwrap().tasks;
        assert_eq!((tasks[0].text.as_str(), tasks[0].done), ("a", true));
    }

    #[test]
    fn a_text_is_made_of_what_is_there() {
        for (story, text) in [
            (r#"{"id": 3, "title": "a"}"#, "3: a"),
            (r#"{"id": "US-1", "title": " a\n b "}"#, "US-1: a b"),
            (r#"{"id": "", "title": "a"}"#, "a"),
            (r#"{"id": null, "title": "", "description": "d"}"#, "d"),
            (r#"{"id": "US-1"}"#, "US-1"),
            (r#"{"title": "\u001b[31ma"}"#, "[31ma"),
        ] {
            assert_eq!(tasks(&format!("[{story}]")).unwrap().tasks[0].text, text, "{story}");
        }
    }

    #[test]
    fn a_story_without_passes_is_open() {
        assert!(!tasks(r#"[{"title": "a"}]"#).unwrap().tasks[0].done);
        assert!(!tasks(r#"[{"title": "a", "passes": null}]"#).unwrap().tasks[0].done);
    }

    #[test]
    fn of_a_repeated_field_the_last_counts() {
        assert!(
            tasks(r#"[{"title": "a", "passes": false, "passes": true}]"#)
                .unwrap()
                .tasks[0]
                .done
        );
    }

    #[test]
    fn an_ill_typed_story_is_placed_and_told() {
        for (text, message) in [
            (
                "{\"userStories\": [\n  {\"title\": \"a\"},\n  {\"title\": \"b\", \"passes\": \"yes\"}\n]}",
                r#"line 3, column 28: `userStories[1].passes` is the text "yes"; expected true or false"#,
            ),
            (
                r#"[{"title": "a", "passes": 1}]"#,
                "line 1, column 27: story `[0].passes` is the number 1; expected true or false",
            ),
            (
                r#"["a"]"#,
                r#"line 1, column 2: story `[0]` is the text "a"; expected an object with `title` and `passes`"#,
            ),
            (
                r#"[{"title": ["a"]}]"#,
                "line 1, column 12: story `[0].title` is a list; expected a text",
            ),
            (
                r#"[{"passes": true}]"#,
                "line 1, column 2: story `[0]` is a story without a text; expected a `title` that says what to do",
            ),
            (
                r#"{"userStories": {}}"#,
                "line 1, column 17: `userStories` is an object; expected a list of stories",
            ),
            (
                r#"{"stories": []}"#,
                "line 1, column 1: the plan is an object with `stories` first and no `userStories`; expected a list `userStories` in an object, or a bare list of stories",
            ),
            (
                "{}",
                "line 1, column 1: the plan is an empty object; expected a list `userStories` in an object, or a bare list of stories",
            ),
            (
                "\n true",
                "line 2, column 2: the plan is true; expected a list `userStories` in an object, or a bare list of stories",
            ),
        ] {
            assert_eq!(error(text), message);
        }
    }

    /// The tasks with a mark for done, and what is remarked on.
    fn read(text: &str) -> (Vec<String>, Vec<String>) {
        let found = tasks(text).unwrap();
        let mark = |task: &PlanTask| format!("{} {}", if task.done { 'x' } else { 'o' }, task.text);
        let remarks = found.remarks.iter().map(|it| format!("{}: {}", it.position, it.what));
        (found.tasks.iter().map(mark).collect(), remarks.collect())
    }

    #[test]
    fn a_story_is_done_by_the_key_of_its_dialect() {
        for story in [
            r#""complete": true"#,
            r#""isDone": true"#,
            r#""started": true, "completed": true"#,
            r#""status": "Done""#,
            r#""state": "passing""#,
            r#""taskStatus": "completed""#,
            r#""reviewStatus": null, "status": "done""#,
            r#""passes": true, "in_progress": false"#,
        ] {
            let text = format!(r#"[{{"name": "a", {story}}}, {{"name": "b"}}]"#);
            assert_eq!(
                read(&text),
                (vec!["x a".to_owned(), "o b".to_owned()], vec![]),
                "{story}"
            );
        }
        for story in [
            r#""complete": false, "started": true"#,
            r#""status": "in_progress""#,
            r#""status": "not done""#,
            r#""status": null"#,
            r#""completedAt": "2026-01-02""#,
        ] {
            let text = format!(r#"[{{"title": "a", {story}}}]"#);
            assert_eq!(read(&text), (vec!["o a".to_owned()], vec![]), "{story}");
        }
    }

    #[test]
    fn what_looks_like_a_state_and_is_none_is_remarked_on_once() {
        for (story, remark) in [
            (r#""mvp": true"#, "`mvp` has no effect: it is no key that ralph knows"),
            (
                r#""status": "cancelled""#,
                r#"`status` is "cancelled", which is taken as open"#,
            ),
            (
                r#""passes": false, "status": "done""#,
                "`status` has no effect: `passes` says whether a story is done",
            ),
            (
                r#""reviewStatus": "done", "status": "todo""#,
                "`reviewStatus` has no effect: `status` says whether a story is done",
            ),
            (r#""status": "✅""#, r#"`status` is "✅", which is taken as open"#),
            (
                r#""done": "yes""#,
                "`done` has no effect: its value is neither true or false nor a text that says so",
            ),
            (
                r#""subtasks": [{"title": "b", "done": false}]"#,
                "`subtasks` is a list of stories in a story, which is not read",
            ),
            (
                r#""dependencies": ["serde"]"#,
                r#"`dependencies` has the text "serde", which is the id of no story"#,
            ),
        ] {
            let text = format!(r#"[{{"title": "a", {story}}}]"#);
            let (tasks, remarks) = read(&text);
            assert_eq!(tasks, ["o a"], "{story}");
            assert_eq!(remarks.len(), 1, "{story}: {remarks:?}");
            assert!(
                remarks[0].starts_with("line 1, column ") && remarks[0].ends_with(remark),
                "{remarks:?}"
            );
            let twice = format!(r#"[{{"title": "a", {story}}}, {{"title": "b", {story}}}]"#);
            let twice = read(&twice).1.len();
            assert!(twice == 1 || story.contains("serde"), "{story}: {twice}");
        }
    }

    #[test]
    fn stories_wait_for_those_whose_ids_other_dialects_name() {
        for key in ["dependsOn", "depends_on", "blockedBy", "dependencies"] {
            let text = format!(
                r#"{{"stories": [{{"id": "A", "title": "a", "passes": false, "{key}": ["B", 3]}}, {{"id": "B", "title": "b"}}, {{"id": 3, "title": "c", "{key}": []}}]}}"#
            );
            let found = tasks(&text).unwrap();
            assert_eq!(found.tasks[0].settings.after, ["B", "3"], "{key}");
            assert_eq!((found.mistakes, found.remarks), (vec![], vec![]), "{key}");
        }
    }

    #[test]
    fn a_list_of_any_name_is_known_by_the_shape_of_its_stories() {
        for name in ["stories", "tasks", "features", "Arbeit"] {
            let text = format!(r#"{{"people": [{{"name": "x"}}], "{name}": [{{"title": "a", "complete": true}}]}}"#);
            assert_eq!(read(&text).0, ["x a"], "{name}");
        }
        assert_eq!(
            error(r#"{"userStories": [{"title": "a"}], "tasks": [{"title": "b", "done": false}]}"#),
            "line 1, column 44: `tasks` is a list of stories, and so is `userStories`; a plan has one"
        );
    }

    #[test]
    fn broken_json_is_placed() {
        assert_eq!(
            error("[\n  {\"title\": \"ä\",}\n]"),
            "line 2, column 16: not valid JSON (trailing commas are not allowed)"
        );
        for text in [
            "{\"userStories\": [",
            "[] []",
            "[{'title': 'a'}]",
            "[ // note\n]",
            "{title: 1}",
            "[1 2]",
            "// note",
        ] {
            assert!(error(text).contains("not valid JSON"), "{text}: {}", error(text));
        }
    }

    #[test]
    fn deep_nesting_is_an_error_and_no_crash() {
        assert!(error(&"[".repeat(100_000)).contains("not valid JSON"));
    }

    #[test]
    fn settings_of_a_story_are_texts_and_what_is_none_is_a_mistake_with_its_place() {
        let found = tasks(
            r#"[{"title": "a", "adapter": "codex", "model": null},
                {"title": "b", "model": 5},
                {"title": "c", "adapter": " "}]"#,
        )
        .unwrap();
        assert_eq!(found.tasks[0].settings.adapter.as_deref(), Some("codex"));
        let mistakes = found
            .mistakes
            .iter()
            .map(|it| format!("{} at {}: {}", it.task, it.position, it.what));
        assert_eq!(
            mistakes.collect::<Vec<_>>(),
            [
                "1 at line 2, column 41: `model` is the number 5; expected a text",
                "2 at line 3, column 43: `adapter` is empty",
            ]
        );
    }
}
