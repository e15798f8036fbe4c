//! The box in which somebody answers what the agent asks.

use crate::{event::RuleScope, ui::tui::editor::Editor};

/// A question of the agent's that is on the screen, and what its user has done with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answering {
    /// Its number.
    pub ask: u32,
    /// When the box appeared: a key that was meant for something else is no answer.
    pub shown_ms: u64,
    /// First line in view of what is asked.
    pub top: usize,
    pub step: AnswerStep,
    /// Why the loop did not take the answer.
    pub refused: Option<String>,
}

/// What became of a question while somebody typed an answer to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TooLate {
    pub fate: String,
    /// When it was closed: the next key may have been meant for the answer.
    pub since_ms: u64,
    /// What was typed is among the messages that can be brought back.
    pub kept: bool,
}

/// How far an answer is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerStep {
    /// A key decides.
    Choosing,
    /// What the agent is told with a no is typed.
    Denying(Editor),
    /// An answer in words is typed: a line for each question.
    Wording(Editor),
    /// The rules that are added with a yes may be edited, one a line.
    Remembering(RuleScope, Editor),
}

impl Answering {
    pub fn new(ask: u32, shown_ms: u64) -> Self {
        Self {
            ask,
            shown_ms,
            top: 0,
            step: AnswerStep::Choosing,
            refused: None,
        }
    }

    /// The line that is typed, if one is.
    pub fn editor(&mut self) -> Option<&mut Editor> {
        match &mut self.step {
            AnswerStep::Choosing => None,
            AnswerStep::Denying(editor) | AnswerStep::Wording(editor) | AnswerStep::Remembering(_, editor) => {
                Some(editor)
            }
        }
    }
}
