//! The box in which somebody answers what the agent asks.

use std::collections::BTreeSet;

use ralph_core::{
    event::{Offer, PermissionRequest, Question, RuleScope, ToolKind},
    run::{Ask, Block, RunView},
};

use crate::ui::tui::editor::Editor;

/// A question of the agent's that is on the screen, and what its user has done with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answering {
    /// Its number.
    pub ask: u32,
    /// When the box appeared: a key that was meant for something else is no answer.
    pub shown_ms: u64,
    /// The agent does not wait any more: an answer goes into its next prompt.
    pub late: bool,
    /// First line in view of what is asked.
    pub top: usize,
    pub step: AnswerStep,
    pub choice: Choosing,
    /// Why the loop did not take the answer.
    pub refused: Option<String>,
}

/// What is pointed at and taken of the choices.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Choosing {
    /// Index among the choices of all questions.
    pub cursor: usize,
    /// Those that were taken, each with the index of its question.
    pub taken: BTreeSet<(usize, usize)>,
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

/// What an answer is to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Subject<'r> {
    /// The agent waits.
    Waiting(&'r Ask),
    /// It does not any more: an answer goes into its next prompt.
    Missed(&'r Ask),
    /// Whether tests count as the agent changed them.
    Tests(&'r Ask),
    /// What keeps a task from being done.
    Block(&'r Block),
}

impl Answering {
    pub fn new(ask: u32, shown_ms: u64) -> Self {
        Self {
            ask,
            shown_ms,
            late: false,
            top: 0,
            step: AnswerStep::Choosing,
            choice: Choosing::default(),
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

impl AnswerStep {
    /// The line that is typed, if one is.
    pub fn line(&self) -> Option<&Editor> {
        match self {
            AnswerStep::Choosing => None,
            AnswerStep::Denying(editor) | AnswerStep::Wording(editor) | AnswerStep::Remembering(_, editor) => {
                Some(editor)
            }
        }
    }
}

impl<'r> Subject<'r> {
    /// What is open under this number; none if it has an answer, or can have none.
    pub fn of(run: &'r RunView, number: u32) -> Option<Self> {
        let permissions = &run.permissions;
        let waiting = permissions.pending.iter().find(|ask| ask.number == number);
        let missed = || permissions.unanswered.iter().find(|ask| ask.number == number);
        let block = || run.blocks.iter().find(|block| block.number == number);
        waiting
            .map(Subject::Waiting)
            .or_else(|| {
                missed().map(|ask| match ask.is_about_tests() {
                    true => Subject::Tests(ask),
                    false => Subject::Missed(ask),
                })
            })
            .or_else(|| block().map(Subject::Block))
    }

    fn ask(self) -> Option<&'r Ask> {
        match self {
            Subject::Waiting(ask) | Subject::Missed(ask) | Subject::Tests(ask) => Some(ask),
            Subject::Block(_) => None,
        }
    }

    pub fn request(self) -> Option<&'r PermissionRequest> {
        self.ask().map(|ask| &ask.request)
    }

    /// What is asked in words, with choices.
    pub fn questions(self) -> &'r [Question] {
        self.request().map_or(&[], |request| &request.questions)
    }

    /// Whether it is about the use of a tool, which is allowed or denied.
    pub fn is_permission(self) -> bool {
        matches!(self, Subject::Waiting(ask) | Subject::Missed(ask) if ask.request.questions.is_empty())
    }

    pub fn offer(self) -> Option<&'r Offer> {
        self.ask().map(|ask| &ask.offer)
    }

    /// The rule that allows everything of the request's kind; none for tools that a rule names one by one.
    pub fn whole_kind(self) -> Option<&'static str> {
        match self.request()?.kind {
            ToolKind::Shell => Some("Bash"),
            ToolKind::Edit => Some("Edit"),
            ToolKind::Read => Some("Read"),
            ToolKind::Fetch => Some("WebFetch"),
            ToolKind::Mcp | ToolKind::Other => None,
        }
    }

    /// Whether not all of the request is known.
    pub fn is_cut(self) -> bool {
        self.ask().is_some_and(|ask| ask.cut)
    }

    pub fn is_late(self) -> bool {
        match self {
            Subject::Waiting(_) => false,
            Subject::Missed(_) | Subject::Tests(_) | Subject::Block(_) => true,
        }
    }
}

/// Every choice: the index of its question, and its own.
pub fn choices(questions: &[Question]) -> Vec<(usize, usize)> {
    let of_each = questions.iter().enumerate();
    let all = of_each.flat_map(|(question, asked)| (0..asked.choices.len()).map(move |choice| (question, choice)));
    all.collect()
}

/// Whether choices are marked: where Enter alone does not say everything.
pub fn are_marked(questions: &[Question]) -> bool {
    questions.len() > 1 || questions.iter().any(|question| question.multiple)
}
