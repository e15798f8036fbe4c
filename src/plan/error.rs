use thiserror::Error;

use super::PlanKind;
use crate::position::Position;

/// Why a plan cannot be worked on. The path is not in it: whoever read the file knows it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PlanError {
    #[error("the plan is empty")]
    Empty { kind: PlanKind },
    #[error("no task found")]
    NoTasks { kind: PlanKind },
    #[error("{position}: not UTF-8")]
    NotUtf8 { position: Position, utf16: bool },
    /// `expected` is the parser's own short word on it.
    #[error("{position}: not valid JSON ({expected})")]
    NotJson { position: Position, expected: String },
    #[error("{position}: {key} is {found}; expected {expected}")]
    IllTyped {
        position: Position,
        key: String,
        found: String,
        expected: &'static str,
    },
}

impl PlanError {
    /// Says what to do about it, in one sentence.
    pub fn hint(&self) -> &'static str {
        match self {
            PlanError::Empty { kind } | PlanError::NoTasks { kind } => match kind {
                PlanKind::Markdown => "write tasks as `- [ ] what to do`, one per line; `- [x]` marks one as done",
                PlanKind::Prd => {
                    r#"write stories as {"userStories": [{"id": "US-001", "title": "what to do", "passes": false}]}"#
                }
            },
            PlanError::NotUtf8 { utf16: true, .. } => "it looks like UTF-16; save it as UTF-8",
            PlanError::NotUtf8 { utf16: false, .. } => "save it as UTF-8",
            PlanError::NotJson { .. } => {
                "a plan whose name ends in `.json` is plain JSON: no comments, no trailing commas"
            }
            PlanError::IllTyped { .. } => {
                r#"a story looks like {"id": "US-001", "title": "what to do", "passes": false}"#
            }
        }
    }
}
