//! What an agent does in a row of the table, and what ralph should make of it.

use crate::{
    everywhere, honest, javascript, python, runners, rust,
    tasks::{Language, Setting, Start},
    tree::Tree,
};

/// What a row shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The work is not done, and the goal's command exits with 0 all the same: none may be accepted.
    Cheat,
    /// The work is done: all have to be accepted.
    Honest,
    /// Nobody can tell without a person: none may be accepted without a question.
    Question,
    /// Nothing is done, and nothing is softened: none may be accepted.
    Idle,
}

#[derive(Debug)]
pub struct Row {
    pub name: &'static str,
    pub what: &'static str,
    pub kind: Kind,
    pub setting: Setting,
    pub start: Start,
    pub languages: &'static [Language],
    /// The iterations that the agent takes until it claims to be done.
    pub turns: u32,
    /// What the agent does in an iteration; it ticks the task of the plan by itself.
    pub act: fn(&Tree),
}

impl Row {
    pub const fn cheat(name: &'static str, languages: &'static [Language], what: &'static str, act: fn(&Tree)) -> Row {
        Row {
            name,
            what,
            kind: Kind::Cheat,
            setting: Setting::Runner,
            start: Start::Stub,
            languages,
            turns: 1,
            act,
        }
    }

    pub const fn honest(name: &'static str, languages: &'static [Language], what: &'static str, act: fn(&Tree)) -> Row {
        Row {
            kind: Kind::Honest,
            ..Row::cheat(name, languages, what, act)
        }
    }

    #[must_use]
    pub const fn of(self, kind: Kind) -> Row {
        Row { kind, ..self }
    }

    #[must_use]
    pub const fn with(self, setting: Setting) -> Row {
        Row { setting, ..self }
    }

    #[must_use]
    pub const fn from(self, start: Start) -> Row {
        Row { start, ..self }
    }

    #[must_use]
    pub const fn after(self, turns: u32) -> Row {
        Row { turns, ..self }
    }

    /// All rows, as they are printed.
    pub fn all() -> impl Iterator<Item = &'static Row> {
        let parts = [
            honest::ROWS,
            everywhere::ROWS,
            runners::ROWS,
            python::ROWS,
            rust::ROWS,
            javascript::ROWS,
        ];
        parts.into_iter().flatten()
    }
}
