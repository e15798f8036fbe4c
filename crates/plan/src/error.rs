use ralph_core::{event::UnreadLine, notices::first_named};
use ralph_text::Position;
use thiserror::Error;

use super::kind::{ALL_TEXTS_CAP_BYTES, NESTED_CAP, PlanKind, TASKS_CAP, UNREAD_CAP};

/// Why a plan cannot be worked on. The caller adds the path.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PlanError {
    #[error("the plan is empty")]
    Empty { kind: PlanKind },
    /// As created by `ralph init`: headings and comments only.
    #[error("the plan has no task yet")]
    NoTaskYet,
    #[error("no task found{}", like_tasks(.unread))]
    NoTasks {
        kind: PlanKind,
        /// The lines that look like tasks and cannot be read.
        unread: Vec<UnreadLine>,
    },
    #[error("it has no section `{section}` with tasks")]
    NoSection { section: String },
    #[error("the plan has {} tasks; the maximum is {}", grouped(*.tasks), grouped(TASKS_CAP))]
    TooMany { tasks: usize },
    #[error(
        "{} lines look like tasks and cannot be read as tasks; the maximum is {}",
        grouped(*.lines), grouped(UNREAD_CAP)
    )]
    TooManyUnread { lines: usize },
    #[error("the tasks have {} KiB of text; the maximum is {} KiB", .bytes.div_ceil(1024), ALL_TEXTS_CAP_BYTES >> 10)]
    TooMuchText { bytes: usize },
    #[error(
        "{} list items begin on the same line as another; the maximum is {}",
        grouped(*.items), grouped(NESTED_CAP)
    )]
    TooNested { items: usize },
    #[error("{position}: not UTF-8")]
    NotUtf8 { position: Position, utf16: bool },
    /// `expected` is a short message by the parser.
    #[error("{position}: not valid JSON ({expected})")]
    NotJson { position: Position, expected: String },
    #[error("{position}: `{second}` is a list of stories, and so is `{first}`; a plan has one")]
    TwoLists {
        position: Position,
        first: String,
        second: String,
    },
    #[error("{position}: {key} is {found}; expected {expected}")]
    IllTyped {
        position: Position,
        key: String,
        found: String,
        expected: &'static str,
    },
}

impl PlanError {
    /// The position of the error, if known.
    pub fn position(&self) -> Option<Position> {
        match self {
            PlanError::NotUtf8 { position, .. }
            | PlanError::NotJson { position, .. }
            | PlanError::TwoLists { position, .. }
            | PlanError::IllTyped { position, .. } => Some(*position),
            PlanError::Empty { .. }
            | PlanError::NoTaskYet
            | PlanError::NoTasks { .. }
            | PlanError::NoSection { .. }
            | PlanError::TooMany { .. }
            | PlanError::TooManyUnread { .. }
            | PlanError::TooMuchText { .. }
            | PlanError::TooNested { .. } => None,
        }
    }

    /// The suggested correction, in one sentence.
    pub fn hint(&self) -> &'static str {
        match self {
            PlanError::NoTaskYet => "add one: `ralph plan add \"what to do\"`",
            PlanError::Empty { kind } | PlanError::NoTasks { kind, .. } => match kind {
                PlanKind::Markdown => "write tasks as `- [ ] what to do`, one per line; `- [x]` marks one as done",
                PlanKind::Prd => {
                    r#"write stories as {"userStories": [{"id": "US-001", "title": "what to do", "passes": false}]}"#
                }
            },
            PlanError::NoSection { .. } => "`--section` takes the text of a heading with tasks below it",
            PlanError::TooMany { .. } | PlanError::TooMuchText { .. } => {
                "split it into several plans and run them one by one with `--plan FILE`"
            }
            PlanError::TooManyUnread { .. } => "write tasks as `- [ ] what to do`, or move what is no task elsewhere",
            PlanError::TooNested { .. } => "begin each item on a line of its own",
            PlanError::NotUtf8 { utf16: true, .. } => "it looks like UTF-16; save it as UTF-8",
            PlanError::NotUtf8 { utf16: false, .. } => "save it as UTF-8",
            PlanError::NotJson { .. } => {
                "a plan whose name ends in `.json` is plain JSON: no comments, no trailing commas"
            }
            PlanError::TwoLists { .. } => "put all stories into one list, or the other list into a file of its own",
            PlanError::IllTyped { .. } => {
                r#"a story looks like {"id": "US-001", "title": "what to do", "passes": false}"#
            }
        }
    }
}

/// Names the first lines that look like tasks.
fn like_tasks(unread: &[UnreadLine]) -> String {
    const NAMED: usize = 5;
    let named = first_named(
        unread
            .iter()
            .map(|unread| format!("{} (`{}`)", unread.line, unread.text)),
        NAMED,
        ", ",
    );
    match unread.len() {
        0 => String::new(),
        1 => format!("; line {named} looks like one"),
        _ => format!("; these lines look like one: {named}"),
    }
}

/// Formats a number with a comma between thousands.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_set_apart() {
        for (number, text) in [(0, "0"), (999, "999"), (10_000, "10,000"), (1_234_567, "1,234,567")] {
            assert_eq!(grouped(number), text);
        }
    }
}
