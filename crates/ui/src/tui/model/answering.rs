//! State of the box in which the user answers a question of the agent.

use std::collections::BTreeSet;

use ralph_core::event::{Question, RuleScope};

use crate::tui::editor::Editor;

/// A question that is shown, with the state of its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerBox {
    /// The question's number.
    pub ask: u32,
    /// Time at which the box appeared: keys shortly after it may have been meant for something else.
    pub shown_ms: u64,
    /// Whether the agent no longer waits: then the answer goes into its next prompt.
    pub late: bool,
    /// First visible line of the question.
    pub top: usize,
    pub step: AnswerStep,
    pub choice: ChoiceSelection,
    /// The loop's reason for refusing the answer.
    pub refused: Option<String>,
}

/// The cursor and the selection among the choices.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChoiceSelection {
    /// Index among the choices of all questions.
    pub cursor: usize,
    /// Selected choices, as indices of question and choice.
    pub taken: BTreeSet<(usize, usize)>,
}

/// A question that was settled while the user typed an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettledMeanwhile {
    pub fate: String,
    /// Time at which the question was settled: the next key may have been meant for the answer.
    pub since_ms: u64,
    /// Whether the typed text was saved in the message history.
    pub kept: bool,
}

/// The step of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerStep {
    /// A key decides.
    Choosing,
    /// The user types a reason for a denial.
    Denying(Editor),
    /// The user types an answer: a line for each question.
    Wording(Editor),
    /// The user edits the rules that are added with an approval, one per line.
    Remembering(RuleScope, Editor),
}

impl AnswerBox {
    pub fn new(ask: u32, shown_ms: u64) -> Self {
        Self {
            ask,
            shown_ms,
            late: false,
            top: 0,
            step: AnswerStep::Choosing,
            choice: ChoiceSelection::default(),
            refused: None,
        }
    }

    /// The text being typed, if any.
    pub fn editor(&mut self) -> Option<&mut Editor> {
        match &mut self.step {
            AnswerStep::Choosing => None,
            AnswerStep::Denying(editor) | AnswerStep::Wording(editor) | AnswerStep::Remembering(_, editor) => {
                Some(editor)
            }
        }
    }
}

impl AnswerStep {
    /// The text being typed, if any.
    pub fn line(&self) -> Option<&Editor> {
        match self {
            AnswerStep::Choosing => None,
            AnswerStep::Denying(editor) | AnswerStep::Wording(editor) | AnswerStep::Remembering(_, editor) => {
                Some(editor)
            }
        }
    }
}

/// All choices, as indices of question and choice.
pub fn choices(questions: &[Question]) -> Vec<(usize, usize)> {
    let of_each = questions.iter().enumerate();
    let all = of_each.flat_map(|(question, asked)| (0..asked.choices.len()).map(move |choice| (question, choice)));
    all.collect()
}

/// Whether choices are selected before Enter: with several questions or multiple answers.
pub fn are_marked(questions: &[Question]) -> bool {
    questions.len() > 1 || questions.iter().any(|question| question.multiple)
}
