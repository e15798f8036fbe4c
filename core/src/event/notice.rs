//! Notices: sentences for the user beside the events. Each is written once, where it is made.
//!
//! Code looks into none of them: what it has to know is an event, or a field of one.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Event, Text};

/// Information for the user that does not change the state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
pub struct Notice {
    /// The kind of notice, for programs that read a journal: `session-lost`.
    pub code: Text<64>,
    pub level: Level,
    /// The sentence, without its level.
    pub text: Text,
    /// Names and figures of the sentence, for such programs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub data: BTreeMap<String, Text>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    Info,
    Warning,
}

impl Notice {
    pub fn info(code: &'static str, text: impl AsRef<str>) -> Self {
        Self::new(Level::Info, code, text.as_ref())
    }

    pub fn warning(code: &'static str, text: impl AsRef<str>) -> Self {
        Self::new(Level::Warning, code, text.as_ref())
    }

    fn new(level: Level, code: &'static str, text: &str) -> Self {
        Self {
            code: code.into(),
            level,
            text: harmless(text),
            data: BTreeMap::new(),
        }
    }

    /// Adds a name or figure.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl ToString) -> Self {
        self.data.insert(name.to_owned(), harmless(&value.to_string()));
        self
    }
}

impl Event {
    /// The notice that the event gives to the user; `None` if it gives none, or if its line is made from its facts.
    pub fn notice(&self) -> Option<Notice> {
        match self {
            Event::Noticed { notice } => Some(notice.clone()),
            Event::Run(event) => event.notice(),
            Event::Plan(event) => event.notice(),
            Event::Iteration(event) => event.notice(),
            _ => None,
        }
    }
}

impl From<Notice> for Event {
    fn from(notice: Notice) -> Self {
        Event::Noticed { notice }
    }
}

/// Replaces the characters that a terminal would obey, or that reorder what is shown: names come from files and programs.
fn harmless(text: &str) -> Text {
    let is_obeyed = |character: char| {
        character.is_control() && !matches!(character, '\n' | '\t')
            || matches!(character, '\u{061C}' | '\u{200E}' | '\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
    };
    text.replace(is_obeyed, "\u{FFFD}").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_replaced_in_sentences_and_in_names() {
        let name = "a\u{1b}]52;c;x\u{7}\u{202e}b\tc\nd";
        let notice = Notice::warning("file-odd", format!("{name} is odd")).with("file", name);
        let shown = "a\u{fffd}]52;c;x\u{fffd}\u{fffd}b\tc\nd";
        assert_eq!(notice.text, format!("{shown} is odd"));
        assert_eq!(notice.data["file"], shown);
    }

    #[test]
    fn a_notice_is_bounded() {
        let long = "x".repeat(100_000);
        let notice = Notice::info("long", &long).with("name", &long);
        assert!(serde_json::to_vec(&notice).expect("JSON").len() < 10_000);
    }
}
