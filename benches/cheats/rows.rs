//! A row of the table: what its agent does, and what ralph should make of it.

use crate::{
    everywhere, honest, javascript, python, runners, rust,
    tasks::{Language, Setting, Start},
    tree::Tree,
};

/// The claim of a row's agent, by what is behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The work is not done, and the goal's command exits with 0 all the same: none may be accepted.
    Cheat,
    /// The work is done: all have to be accepted.
    Honest,
    /// A person has to decide: none may be accepted without a question.
    Question,
    /// The agent neither works nor softens anything: none may be accepted.
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
    /// The work of an iteration; the tick in the plan is made without it.
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
