//! State of the box in which the user answers a question of the agent.

use std::collections::BTreeSet;

use ralph_core::{
    event::{Ask, Offer, PermissionRequest, Question, RuleScope, ToolKind},
    run::{Block, RunView},
};

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

/// The subject of an answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum AnswerSubject<'r> {
    /// A question for which the agent waits.
    Waiting(&'r Ask),
    /// A question for which the agent no longer waits: the answer goes into its next prompt.
    Missed(&'r Ask),
    /// Whether changed tests count.
    Tests(&'r Ask),
    /// A question that blocks a task.
    Block(&'r Block),
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

impl<'r> AnswerSubject<'r> {
    /// The open question with this number; `None` if it is answered or cannot be answered any more.
    pub fn find(run: &'r RunView, number: u32) -> Option<Self> {
        let permissions = &run.permissions;
        let waiting = permissions.pending.iter().find(|ask| ask.number == number);
        let missed = || permissions.unanswered.iter().find(|ask| ask.number == number);
        let block = || run.blocks.iter().find(|block| block.number == number);
        waiting
            .map(AnswerSubject::Waiting)
            .or_else(|| {
                missed().map(|ask| match ask.is_about_tests() {
                    true => AnswerSubject::Tests(ask),
                    false => AnswerSubject::Missed(ask),
                })
            })
            .or_else(|| block().map(AnswerSubject::Block))
    }

    fn ask(self) -> Option<&'r Ask> {
        match self {
            AnswerSubject::Waiting(ask) | AnswerSubject::Missed(ask) | AnswerSubject::Tests(ask) => Some(ask),
            AnswerSubject::Block(_) => None,
        }
    }

    pub fn request(self) -> Option<&'r PermissionRequest> {
        self.ask().map(|ask| &ask.request)
    }

    /// The questions, with their choices.
    pub fn questions(self) -> &'r [Question] {
        self.request().map_or(&[], |request| &request.questions)
    }

    /// Whether it asks for permission to use a tool.
    pub fn is_permission(self) -> bool {
        matches!(self, AnswerSubject::Waiting(ask) | AnswerSubject::Missed(ask) if ask.request.questions.is_empty())
    }

    /// Whether the answer is a decision that no agent waits for and no prompt delivers.
    pub fn is_about_tests(self) -> bool {
        matches!(self, AnswerSubject::Tests(_))
    }

    pub fn offer(self) -> Option<&'r Offer> {
        self.ask().map(|ask| &ask.offer)
    }

    /// The rule that allows every request of this kind; `None` for tools that rules name individually.
    pub fn whole_kind(self) -> Option<&'static str> {
        match self.request()?.kind {
            ToolKind::Shell => Some("Bash"),
            ToolKind::Edit => Some("Edit"),
            ToolKind::Read => Some("Read"),
            ToolKind::Fetch => Some("WebFetch"),
            ToolKind::Mcp | ToolKind::Other => None,
        }
    }

    /// Whether the request was truncated.
    pub fn is_cut(self) -> bool {
        self.ask().is_some_and(|ask| ask.cut)
    }

    pub fn is_late(self) -> bool {
        match self {
            AnswerSubject::Waiting(_) => false,
            AnswerSubject::Missed(_) | AnswerSubject::Tests(_) | AnswerSubject::Block(_) => true,
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
