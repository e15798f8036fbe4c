//! The settings at the end of a task: `- [ ] port the parser {adapter=codex model=gpt-5.4}`.
//!
//! Braces in tasks have other uses as well (`return {}`, `render {name}`), so only a group whose first word is `key=…`
//! is parsed as settings. Anything wrong in such a group is a mistake and never text: otherwise the task would be given
//! to another agent than the author intended.

use ralph_core::event::TaskSettings;
use ralph_policy::settings::closest;
use thiserror::Error;

use super::scope;

/// The settings of a task.
pub(super) const KEYS: [&str; 10] = [
    ADAPTER, AFTER, CHECK, EACH, MODEL, ONLY, OPTIONAL, PRIORITY, SKIP, TESTS,
];
/// Those without a value.
const WORDS: [&str; 3] = [EACH, OPTIONAL, SKIP];
/// The settings of a task that have a text of the user's own.
pub(super) const TEXT_KEYS: [&str; 3] = [ADAPTER, CHECK, MODEL];
const ADAPTER: &str = "adapter";
pub(super) const AFTER: &str = "after";
pub(super) const CHECK: &str = "check";
const MODEL: &str = "model";
pub(super) const ONLY: &str = "only";
const TESTS: &str = "tests";
pub(super) const OPTIONAL: &str = "optional";
const PRIORITY: &str = "priority";
const EACH: &str = "each";
const SKIP: &str = "skip";
/// The value of `tests` that permits changes to tests.
const MAY_CHANGE: &str = "may-change";
/// Maximum size of a value, in bytes: longer than any name of an adapter or a model.
const VALUE_CAP_BYTES: usize = 200;
/// Maximum size of a command, and of all patterns of a scope, in bytes.
const COMMAND_CAP_BYTES: usize = 1024;

/// The settings at the end of a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SettingsGroup {
    /// Byte offset of the opening brace.
    pub(super) start: usize,
    pub(super) settings: TaskSettings,
    /// Whether the boxes below this heading are a task each.
    pub(super) is_each: bool,
    /// Whether the task is left out.
    pub(super) is_skipped: bool,
    /// The mistakes in the group, with their byte offsets.
    pub(super) mistakes: Vec<(usize, GroupMistake)>,
}

/// Why a word in a group is not a valid setting.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(super) enum GroupMistake {
    #[error("unknown task setting `{key}`; {}", near.map_or_else(
        || format!("known settings: {}", KEYS.join(", ")),
        |near| format!("did you mean `{near}`?"),
    ))]
    UnknownKey { key: String, near: Option<&'static str> },
    #[error("`{key}` {}", missing_value(key))]
    NoValue { key: &'static str },
    #[error("`{key}` is not on one line")]
    NotOneLine { key: &'static str },
    /// The command contains Markdown, so its text is not what is written.
    #[error("the command contains Markdown; write it on an indented line of its own below the task: check: COMMAND")]
    MarkedUp,
    #[error("`{key}` is set twice")]
    Twice { key: &'static str },
    #[error("`{word}` is not a setting; write key=value")]
    NotASetting { word: String },
    #[error("the quotation mark is not closed")]
    Unclosed,
    #[error("`{key}` is longer than {} bytes", cap_of(key))]
    TooLong { key: &'static str },
    #[error("`tests` is not `{value}`; write tests={MAY_CHANGE}")]
    NotMayChange { value: String },
    #[error("`priority` is not `{value}`; write a whole number: priority=2")]
    NotANumber { value: String },
    #[error("`{key}` has no value; write it alone")]
    HasNoValue { key: &'static str },
    #[error("`only` has the pattern `{pattern}`: {why}; patterns look like src/parser/** or *.md")]
    WrongPattern { pattern: String, why: &'static str },
    #[error("`{key}` has no effect here; settings belong into one pair of braces at the end, without backticks")]
    NotAtEnd { key: &'static str },
}

fn missing_value(key: &str) -> String {
    match key {
        CHECK => "has no value; write check=\"COMMAND\"".to_owned(),
        ONLY => "names no files; write only=src/parser/**, or only=\"src/a.rs,docs/**\" for several".to_owned(),
        key => format!("has no value; write {key}=NAME"),
    }
}

/// Finds the group at the end of `text`. Text before `from` is code and never part of a group.
pub(super) fn trailing(text: &str, from: usize) -> Option<SettingsGroup> {
    let body = text.trim_end().strip_suffix('}')?;
    let last = body.rfind('{')?;
    let start = if begins_group(body, last) {
        last
    } else {
        // The last brace may be one of a command.
        let earlier = body[..last].rmatch_indices('{').map(|(start, _)| start);
        earlier
            .take_while(|start| *start >= from)
            .find(|start| begins_group(body, *start) && has_quoted_braces_only(&body[start + 1..]))?
    };
    if start < from {
        return None;
    }
    let words = SettingWords::of(&body[start + 1..]);
    let mut group = SettingsGroup::new(start);
    for (at, word) in words {
        if let Err(mistake) = group.take(&word) {
            group.mistakes.push((start + 1 + at, mistake));
        }
    }
    Some(group)
}

/// The groups that consist of settings, wherever they are: the opening brace and the first key.
///
/// Braces that touch a word are text, as in `requests{model="x"}` or `items/{skip}`, except for a scope.
pub(super) fn groups(text: &str) -> impl Iterator<Item = (usize, &'static str)> {
    let key_at = |start: usize| {
        let rest = &text[start + 1..];
        let (inside, after) = rest.split_at(rest.find(['{', '}']).unwrap_or(rest.len()));
        let words = || SettingWords::of(inside).map(|(_, word)| word);
        let mut assignments = words().take_while(SettingWord::is_assignment);
        if assignments.any(|word| word.key == ONLY && word.value.is_some()) {
            return Some(ONLY);
        }
        // A brace in a command ends the command's part of `inside`, so the quotation mark is not closed there.
        let is_closed = match after.strip_prefix('}') {
            Some(behind) => !behind.starts_with(|sign: char| sign.is_alphanumeric() || sign == '/'),
            None => words().any(|word| word.value == Some(SettingValue::Unclosed)),
        };
        let is_set_apart = is_closed && (start == 0 || text[..start].ends_with(char::is_whitespace));
        let first = words().next()?.known();
        first.filter(|_| is_set_apart && words().all(|word| word.known().is_some()))
    };
    let starts = text.match_indices('{').map(|(start, _)| start);
    starts.filter_map(move |start| key_at(start).map(|key| (start, key)))
}

/// Whether the brace at `start` is set apart from the text before and has an assignment after it.
fn begins_group(body: &str, start: usize) -> bool {
    let (before, inside) = (&body[..start], &body[start + 1..]);
    let is_set_apart = before.ends_with(char::is_whitespace) && !before.trim().is_empty();
    let first = SettingWords::of(inside).next();
    is_set_apart && first.is_some_and(|(_, first)| first.is_assignment())
}

/// Whether all braces are in quoted values, or in patterns.
fn has_quoted_braces_only(inside: &str) -> bool {
    let is_bare = |text: &str| text.contains(['{', '}']);
    let mut words = SettingWords::of(inside);
    let bare = words.find(|(at, word)| {
        let quoted = inside[*at..]
            .strip_prefix(word.key)
            .is_some_and(|rest| rest.starts_with("=\""));
        match word.value {
            Some(SettingValue::Text(_)) if word.key == ONLY => false,
            Some(SettingValue::Text(value)) => is_bare(word.key) || !quoted && is_bare(value),
            Some(SettingValue::Unclosed) => true,
            None => is_bare(word.key),
        }
    });
    bare.is_none()
}

impl SettingsGroup {
    pub(super) fn new(start: usize) -> Self {
        Self {
            start,
            settings: TaskSettings::default(),
            is_each: false,
            is_skipped: false,
            mistakes: Vec::new(),
        }
    }

    /// Takes the patterns from the group as it is written: what they consist of is markup in Markdown.
    pub(super) fn take_patterns(&mut self, written: &str) {
        let inside = written.trim_end().strip_suffix('}').unwrap_or(written);
        let is_of_scope = |mistake: &GroupMistake| match mistake {
            GroupMistake::WrongPattern { .. } => true,
            GroupMistake::NoValue { key } | GroupMistake::TooLong { key } | GroupMistake::Twice { key } => *key == ONLY,
            _ => false,
        };
        self.settings.only.clear();
        self.mistakes.retain(|(_, mistake)| !is_of_scope(mistake));
        for (_, word) in SettingWords::of(inside.strip_prefix('{').unwrap_or(inside)) {
            if word.is_scope()
                && let Err(mistake) = self.take(&word)
            {
                self.mistakes.push((self.start + 1, mistake));
            }
        }
    }

    fn take(&mut self, word: &SettingWord<'_>) -> Result<(), GroupMistake> {
        let SettingWord { key, value } = word;
        if let Some(word) = WORDS.into_iter().find(|word| word == key) {
            let flag = match word {
                EACH => &mut self.is_each,
                SKIP => &mut self.is_skipped,
                _ => &mut self.settings.optional,
            };
            return match (value, std::mem::replace(flag, value.is_none())) {
                (Some(_), _) => Err(GroupMistake::HasNoValue { key: word }),
                (None, true) => Err(GroupMistake::Twice { key: word }),
                (None, false) => Ok(()),
            };
        }
        let Some(value) = value else {
            if word.is_scope() {
                return Err(GroupMistake::NoValue { key: ONLY });
            }
            return Err(GroupMistake::NotASetting { word: shortened(key) });
        };
        let Some(known) = KEYS.into_iter().find(|known| known == key) else {
            let near = closest(key, KEYS);
            return Err(GroupMistake::UnknownKey {
                key: shortened(key),
                near,
            });
        };
        let value = match value {
            SettingValue::Unclosed => return Err(GroupMistake::Unclosed),
            SettingValue::Text("") => return Err(GroupMistake::NoValue { key: known }),
            SettingValue::Text(value) => *value,
        };
        self.settings.set(known, value)
    }
}

/// Sets a task's settings by name.
pub(super) trait SetSetting {
    /// # Errors
    /// A [`GroupMistake`] if it is already set, too long, or not an accepted value.
    fn set(&mut self, key: &'static str, value: &str) -> Result<(), GroupMistake>;
}

impl SetSetting for TaskSettings {
    fn set(&mut self, key: &'static str, value: &str) -> Result<(), GroupMistake> {
        if !matches!(key, TESTS | PRIORITY) && value.len() > cap_of(key) {
            return Err(GroupMistake::TooLong { key });
        }
        let is_set = match key {
            TESTS if value == MAY_CHANGE => std::mem::replace(&mut self.tests_may_change, true),
            TESTS => {
                let value = shortened(value);
                return Err(GroupMistake::NotMayChange { value });
            }
            PRIORITY => {
                let priority = value.parse().map_err(|_| GroupMistake::NotANumber {
                    value: shortened(value),
                })?;
                self.priority.replace(priority).is_some()
            }
            AFTER => {
                self.after.push(value.to_owned());
                false
            }
            ONLY if !self.only.is_empty() => true,
            ONLY => {
                self.only = scope::patterns(value).map_err(|(pattern, why)| GroupMistake::WrongPattern {
                    pattern: shortened(pattern),
                    why,
                })?;
                if self.only.is_empty() {
                    return Err(GroupMistake::NoValue { key });
                }
                false
            }
            _ if value.contains(char::is_control) => return Err(GroupMistake::NotOneLine { key }),
            _ => {
                let slot = match key {
                    ADAPTER => &mut self.adapter,
                    CHECK => &mut self.check,
                    _ => &mut self.model,
                };
                let is_set = slot.is_some();
                slot.get_or_insert_with(|| value.to_owned());
                is_set
            }
        };
        match is_set {
            true => Err(GroupMistake::Twice { key }),
            false => Ok(()),
        }
    }
}

fn cap_of(key: &str) -> usize {
    match key {
        CHECK | ONLY => COMMAND_CAP_BYTES,
        _ => VALUE_CAP_BYTES,
    }
}

/// A word of the plan, shortened for a message.
pub fn shortened(word: &str) -> String {
    ralph_core::event::clip(word, 40)
}

/// `key=value`, or a word without a value.
#[derive(Debug, PartialEq, Eq)]
struct SettingWord<'a> {
    key: &'a str,
    value: Option<SettingValue<'a>>,
}

#[derive(Debug, PartialEq, Eq)]
enum SettingValue<'a> {
    Text(&'a str),
    Unclosed,
}

impl SettingWord<'_> {
    /// Whether the word is clearly meant as a setting.
    fn is_assignment(&self) -> bool {
        let mut letters = self.key.chars();
        let is_name = letters.next().is_some_and(|first| first.is_ascii_alphabetic())
            && letters.all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '.'));
        let is_flag = WORDS.contains(&self.key) && self.value.is_none();
        is_name && self.value.is_some() || is_flag || self.is_scope()
    }

    /// The setting that the word gives.
    fn known(&self) -> Option<&'static str> {
        let known = KEYS.into_iter().find(|known| *known == self.key)?;
        (WORDS.contains(&known) != self.value.is_some()).then_some(known)
    }

    /// Whether the word is meant as a scope. One that is written wrongly is a mistake and no text, which would let the agent
    /// change everything.
    fn is_scope(&self) -> bool {
        self.key == ONLY || self.key.starts_with("only:")
    }
}

/// The words of a group, separated by white space and commas, with their byte offsets.
struct SettingWords<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> SettingWords<'a> {
    fn of(text: &'a str) -> Self {
        Self { text, at: 0 }
    }
}

impl<'a> Iterator for SettingWords<'a> {
    type Item = (usize, SettingWord<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let parts = |letter: char| letter.is_whitespace() || letter == ',';
        let start = self.at + self.text[self.at..].find(|letter| !parts(letter))?;
        let rest = &self.text[start..];
        let key_end = rest.find(|letter| parts(letter) || letter == '=').unwrap_or(rest.len());
        let (key, after) = rest.split_at(key_end);
        let Some(value) = after.strip_prefix('=') else {
            self.at = start + key_end;
            return Some((start, SettingWord { key, value: None }));
        };
        let (value, length) = match value.strip_prefix('"') {
            None => {
                // Commas separate patterns.
                let ends = |letter: char| letter.is_whitespace() || (letter == ',' && key != ONLY);
                let end = value.find(ends).unwrap_or(value.len());
                (SettingValue::Text(&value[..end]), end)
            }
            Some(quoted) => match quoted.find('"') {
                Some(end) => (SettingValue::Text(&quoted[..end]), end + 2),
                None => (SettingValue::Unclosed, value.len()),
            },
        };
        self.at = start + key_end + 1 + length;
        let value = Some(value);
        Some((start, SettingWord { key, value }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(adapter: Option<&str>, model: Option<&str>) -> TaskSettings {
        TaskSettings {
            adapter: adapter.map(str::to_owned),
            model: model.map(str::to_owned),
            ..TaskSettings::default()
        }
    }

    fn mistakes(text: &str) -> Vec<String> {
        let group = trailing(text, 0).expect("a group");
        let told = |(at, mistake): &(usize, GroupMistake)| format!("{at}: {mistake}");
        group.mistakes.iter().map(told).collect()
    }

    #[test]
    fn a_group_of_assignments_at_the_end_is_settings() {
        for (text, wanted) in [
            ("do it {adapter=codex}", settings(Some("codex"), None)),
            (
                "do it {model=gpt-5.4 adapter=codex} ",
                settings(Some("codex"), Some("gpt-5.4")),
            ),
            ("do it { model=\"a b\", adapter=x }", settings(Some("x"), Some("a b"))),
            (
                "do {this} {model=openai/gpt-5:free}",
                settings(None, Some("openai/gpt-5:free")),
            ),
        ] {
            let group = trailing(text, 0).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(group.settings, wanted, "{text}");
            assert_eq!(group.mistakes, [], "{text}");
            assert!(text[group.start..].starts_with('{'));
        }
    }

    #[test]
    fn a_scope_is_a_list_of_patterns_with_braces_and_commas() {
        for (text, wanted) in [
            ("do {only=src/parser/**}", &["src/parser/**"][..]),
            ("do {only=src/a/**,src/b.rs model=x}", &["src/a/**", "src/b.rs"]),
            ("do {only=src/{a,b}/*.rs}", &["src/{a,b}/*.rs"]),
            ("do {model=x only=src/{a,b}}", &["src/{a,b}"]),
            ("do {only=\"my dir/**, docs/[,]\"}", &["my dir/**", "docs/[,]"]),
            ("do {only=a/, optional}", &["a/"]),
            ("do {only=ünder/Ä*}", &["ünder/Ä*"]),
        ] {
            let group = trailing(text, 0).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(
                (&group.settings.only[..], &group.mistakes[..]),
                (&strings(wanted)[..], &[][..]),
                "{text}"
            );
        }
    }

    #[test]
    fn a_scope_that_is_written_wrongly_is_never_text() {
        for (text, what) in [
            ("do {only}", "`only` names no files; write only=src/parser/**"),
            ("do {only=}", "`only` names no files"),
            ("do {only=,}", "`only` names no files"),
            ("do {only: src/**}", "`only` names no files"),
            ("do {only:src/**}", "`only` names no files"),
            ("do {only = src/**}", "`only` names no files"),
            ("do {Only=src/**}", "unknown task setting `Only`; did you mean `only`?"),
            ("do {only=a only=b}", "`only` is set twice"),
            ("do {only=src\\parser}", "separate directories by `/`"),
            ("do {only=/src/**}", "starts with `/`"),
            ("do {only=../lib/**}", "`..` is outside of the project"),
            ("do {only=C:/src}", "starts with a drive"),
            ("do {only=~/src}", "starts with `~`"),
            ("do {only=!src/**}", "`!` in front is not supported"),
            ("do {only=src/**.rs}", "`**` is for whole directories"),
            ("do {only=src/[a}", "a `[` without its `]`"),
            ("do {only=src/**,lib/{a}", "a `{` without its `}`"),
            (
                "do {only=*.md,\"src/*.rs\"}",
                "quotation marks go around the whole list",
            ),
            ("do {only='src/*.rs'}", "quotation marks go around the whole list"),
        ] {
            let told = mistakes(text);
            assert!(told.iter().any(|told| told.contains(what)), "{text}: {told:?}");
        }
        let long = format!("do {{only={}}}", "a".repeat(1025));
        assert!(mistakes(&long)[0].contains("`only` is longer than 1024 bytes"));
    }

    fn strings(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn braces_that_hold_no_assignment_are_text() {
        for text in [
            "return {}",
            "return { }",
            "render {name}",
            "render {a, b}",
            "write {\"adapter\": \"codex\"}",
            "{adapter=codex}",
            " {adapter=codex}",
            "glued{adapter=codex}",
            "early {adapter=codex} text",
            "open {adapter=codex",
            "shut adapter=codex}",
            "match {=x}",
            "match {1=x}",
            "match {$a=x}",
            "nested {{adapter=codex}}",
        ] {
            assert_eq!(trailing(text, 0), None, "{text}");
        }
        assert_eq!(trailing("run x {adapter=codex}", 7), None, "it is in code");
    }

    #[test]
    fn a_check_is_a_quoted_command_with_any_braces() {
        let check = |text: &str| trailing(text, 0).map(|group| (group.settings.check, group.mistakes));
        for command in ["cargo test parser", "awk '{print $1}' f", "f() { test -e {a,b}; }; f"] {
            let text = format!("do {{this}} {{check=\"{command}\"}}");
            assert_eq!(check(&text), Some((Some(command.to_owned()), vec![])), "{text}");
        }
        let with_model = check("do it {check=\"a {b}\" model=m}");
        assert_eq!(with_model, Some((Some("a {b}".to_owned()), vec![])));
        assert_eq!(check("do {check=x} and {name}"), None);
        assert_eq!(
            mistakes("do it {check=}"),
            ["7: `check` has no value; write check=\"COMMAND\""]
        );
        assert_eq!(
            mistakes(&format!("do it {{check=\"{}\"}}", "c".repeat(1025))),
            ["7: `check` is longer than 1024 bytes"]
        );
    }

    #[test]
    fn whatever_else_is_in_a_group_is_a_mistake_with_its_place() {
        assert_eq!(
            mistakes("do it {modle=opus}"),
            ["7: unknown task setting `modle`; did you mean `model`?"]
        );
        assert_eq!(
            mistakes("do it {model=opus colour=red}"),
            [
                "18: unknown task setting `colour`; known settings: adapter, after, check, each, model, only, optional, priority, skip, tests"
            ]
        );
        assert_eq!(
            mistakes("do it {adapter=codex gpt}"),
            ["21: `gpt` is not a setting; write key=value"]
        );
        assert_eq!(
            mistakes("do it {model=}"),
            ["7: `model` has no value; write model=NAME"]
        );
        assert_eq!(mistakes("do it {model=a model=b}"), ["15: `model` is set twice"]);
        assert_eq!(mistakes("do it {model=\"a b}"), ["7: the quotation mark is not closed"]);
        assert_eq!(
            mistakes("do it {tests=may}"),
            ["7: `tests` is not `may`; write tests=may-change"]
        );
        assert_eq!(
            mistakes("do it {tests=may-change tests=may-change}"),
            ["24: `tests` is set twice"]
        );
        let long = format!("do it {{model={}}}", "m".repeat(201));
        assert_eq!(mistakes(&long), ["7: `model` is longer than 200 bytes"]);
    }
}
