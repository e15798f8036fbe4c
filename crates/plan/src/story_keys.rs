//! The meaning of the keys of a story: `prd.json` has many dialects.
//!
//! A key is known by its words and by the type of its value, so that `is_complete`, `isComplete` and `complete` are one.

use std::collections::HashSet;

use jsonc_parser::ast::{Object, ObjectProp, Value};
use ralph_core::event::clip;

/// The state of a story.
pub(super) const PASSES: &str = "passes";
/// Keys whose texts say what to do, in order of preference.
const TITLES: [&str; 7] = ["title", "name", "task", "story", "summary", "description", "text"];
/// Words of done, as a key with true or as the text of a status.
const DONE: [&str; 11] = [
    "done",
    "complete",
    "completed",
    "passes",
    "pass",
    "passed",
    "passing",
    "finished",
    "closed",
    "resolved",
    "merged",
];
/// Words of a state that is not done, as a key or as the text of a status.
const OPEN: [&str; 20] = [
    "open",
    "todo",
    "to do",
    "pending",
    "planned",
    "new",
    "ready",
    "backlog",
    "not started",
    "not done",
    "started",
    "in progress",
    "doing",
    "active",
    "wip",
    "in review",
    "failing",
    "failed",
    "incomplete",
    "blocked",
];
/// Words of a key whose text is the state.
const STATUS: [&str; 2] = ["status", "state"];
/// Keys with the ids of stories that come first, besides `after`.
const BEFORE: [&str; 6] = [
    "depends on",
    "dependencies",
    "depends",
    "deps",
    "blocked by",
    "prerequisites",
];
/// The longest value that is named in a message, in bytes.
const SHOWN_BYTES: usize = 40;

/// How the stories of a file say that they are done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoryState {
    pub key: String,
    /// The value of a done story, as JSON.
    pub done: String,
    /// The value of an open story, as JSON.
    pub(super) open: String,
}

impl Default for StoryState {
    fn default() -> Self {
        Self {
            key: PASSES.to_owned(),
            done: true.to_string(),
            open: false.to_string(),
        }
    }
}

impl StoryState {
    /// The state of a file: `passes` if any story has it, or else the first key with true or false, or else a status.
    pub(super) fn of(stories: &[Value<'_>]) -> Option<Self> {
        let all = || stories.iter().filter_map(Value::as_object).flat_map(properties);
        let states = all().filter_map(|property| Some((rank(property)?, property.name.as_str())));
        let (rank, key) = states.min_by_key(|(rank, _)| *rank)?;
        if rank < Rank::Status {
            return Some(Self {
                key: key.to_owned(),
                ..Self::default()
            });
        }
        // As the other stories write it.
        let written = |is_done: bool| {
            let mut values = all().filter(|property| property.name.as_str() == key);
            let found = values.find(|property| read_state(property) == Some(Ok(is_done)));
            found.and_then(|property| match &property.value {
                Value::StringLit(text) => Some(serde_json::Value::from(text.value.as_ref()).to_string()),
                _ => None,
            })
        };
        Some(Self {
            key: key.to_owned(),
            done: written(true).unwrap_or_else(|| "\"done\"".to_owned()),
            open: written(false).unwrap_or_else(|| "\"open\"".to_owned()),
        })
    }

    /// The property of a story that is its state: that of the file, or else the one that this would be.
    pub(super) fn property<'v, 'a>(&self, story: &'v Object<'a>) -> Option<&'v ObjectProp<'a>> {
        let states = properties(story).filter_map(|property| Some((rank(property)?, property)));
        let found = states.min_by_key(|(rank, property)| (property.name.as_str() != self.key, *rank));
        found.map(|(_, property)| property)
    }
}

/// The precedence of keys that carry a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Passes,
    Boolean,
    Status,
    /// A status of something, such as `taskStatus`.
    StatusOf,
}

fn rank(property: &ObjectProp<'_>) -> Option<Rank> {
    let key = property.name.as_str();
    match (&property.value, words(key).as_str()) {
        (Value::BooleanLit(_), _) if key == PASSES => Some(Rank::Passes),
        (Value::BooleanLit(_), words) if DONE.contains(&words) => Some(Rank::Boolean),
        (Value::StringLit(_), words) if STATUS.contains(&words) => Some(Rank::Status),
        (Value::StringLit(_), words) if is_status(words) => Some(Rank::StatusOf),
        _ => None,
    }
}

fn is_status(words: &str) -> bool {
    words.rsplit(' ').next().is_some_and(|last| STATUS.contains(&last))
}

/// Whether a state is done, or the text of a status that is not known; `None` if it is no state.
pub(super) fn read_state<'v>(property: &'v ObjectProp<'_>) -> Option<Result<bool, &'v str>> {
    rank(property)?;
    match &property.value {
        Value::BooleanLit(done) => Some(Ok(done.value)),
        Value::StringLit(text) => Some(match words(&text.value).as_str() {
            word if DONE.contains(&word) => Ok(true),
            word if OPEN.contains(&word) => Ok(false),
            _ if text.value.trim().is_empty() => Ok(false),
            _ => Err(&text.value),
        }),
        _ => None,
    }
}

/// Whether the key holds the ids of stories that come first, under a name that is not ralph's.
pub(super) fn is_before(key: &str) -> bool {
    BEFORE.contains(&words(key).as_str())
}

/// The keys of a story that may hold its text, in order of preference.
pub(super) fn titles() -> impl Iterator<Item = &'static str> {
    TITLES.into_iter()
}

/// Whether the list has a story: an object with a text and a state.
pub(super) fn has_stories(list: &[Value<'_>]) -> bool {
    list.iter().filter_map(Value::as_object).any(|object| {
        let has_text = |title| matches!(field(object, title), Some(Value::StringLit(_)));
        titles().any(has_text) && properties(object).any(|property| rank(property).is_some())
    })
}

/// Why a property of a story has no effect although its name or type says that it carries state. `state` is the key
/// that counts for the story.
pub(super) fn ignored(property: &ObjectProp<'_>, state: Option<&str>, known: &[&str]) -> Option<String> {
    let key = property.name.as_str();
    let shown = clip(key, SHOWN_BYTES);
    if known.contains(&key) || state == Some(key) {
        return None;
    }
    let words = words(key);
    let has_state_name = DONE.contains(&words.as_str()) || is_status(&words);
    match (&property.value, state) {
        (Value::NullKeyword(_), _) => None,
        (_, Some(state)) if rank(property).is_some() => Some(format!(
            "`{shown}` has no effect: `{}` says whether a story is done",
            clip(state, SHOWN_BYTES)
        )),
        (Value::BooleanLit(_), _) if OPEN.contains(&words.as_str()) => None,
        (Value::BooleanLit(_), _) => Some(format!("`{shown}` has no effect: it is no key that ralph knows")),
        (Value::Array(list), _) if has_stories(&list.elements) => {
            Some(format!("`{shown}` is a list of stories in a story, which is not read"))
        }
        _ if has_state_name => Some(format!(
            "`{shown}` has no effect: its value is neither true or false nor a text that says so"
        )),
        _ => None,
    }
}

/// The properties of an object. The last of several with the same name counts, as in other JSON parsers.
pub(super) fn properties<'v, 'a>(object: &'v Object<'a>) -> impl Iterator<Item = &'v ObjectProp<'a>> {
    let mut seen = HashSet::new();
    let last = object
        .properties
        .iter()
        .rev()
        .filter(|property| seen.insert(property.name.as_str()));
    let last: Vec<_> = last.collect();
    last.into_iter().rev()
}

/// Finds a field. The last of several with the same name counts, as in other JSON parsers.
pub(super) fn field<'v, 'a>(object: &'v Object<'a>, name: &str) -> Option<&'v Value<'a>> {
    let property = object
        .properties
        .iter()
        .rev()
        .find(|property| property.name.as_str() == name)?;
    Some(&property.value)
}

/// The words of a key or a value in lower case: `is_in-progress`, `isInProgress` and `In progress` are `in progress`.
///
/// A text that is long or has control characters is no such word: messages and prompts name what is.
fn words(text: &str) -> String {
    if text.len() > SHOWN_BYTES || text.contains(char::is_control) {
        return String::new();
    }
    let mut words = String::new();
    let mut was_lower = false;
    for sign in text.chars() {
        if !sign.is_alphanumeric() || sign.is_uppercase() && was_lower {
            words.push(' ');
        }
        was_lower = sign.is_lowercase();
        if sign.is_alphanumeric() {
            words.extend(sign.to_lowercase());
        }
    }
    let mut words: Vec<&str> = words.split_whitespace().collect();
    if words.len() > 1 && ["is", "has"].contains(&words[0]) {
        words.remove(0);
    }
    words.join(" ")
}
