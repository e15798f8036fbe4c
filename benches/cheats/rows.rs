//! A row of the table: an agent's behaviour, and the verdict that ralph should reach.

use crate::{
    everywhere, go, honest, javascript, python, runners, rust,
    tasks::{Language, Setting, Start},
    tree::Tree,
};

/// The truth behind the claim of a row's agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The work is not done, although the goal's command exits with 0: no attempt may be accepted.
    Cheat,
    /// The work is done: every attempt must be accepted.
    Honest,
    /// A person must decide: no attempt may be accepted without a question.
    Question,
    /// The agent neither works nor cheats: no attempt may be accepted.
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
    /// Iterations until the agent claims to be done.
    pub turns: u32,
    /// The agent's changes in an iteration, except the tick in the plan.
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

    /// Returns all rows in the order of the table.
    pub fn all() -> impl Iterator<Item = &'static Row> {
        let parts = [
            honest::ROWS,
            everywhere::ROWS,
            runners::ROWS,
            python::ROWS,
            rust::ROWS,
            javascript::ROWS,
            go::ROWS,
        ];
        parts.into_iter().flatten()
    }
}
