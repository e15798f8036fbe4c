//! The lines of a plan that look like tasks and could not be read.

use serde::{Deserialize, Serialize};

use super::{List, Text};

/// A line of a plan that looks like a task and could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
pub struct UnreadLine {
    /// From 1.
    pub line: u32,
    /// The beginning of the line.
    pub text: Text,
    pub why: UnreadWhy,
}

/// The lines of a plan that look like tasks and could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, crate::JsonSchema)]
pub struct UnreadLines {
    /// The lines that may be meant as tasks.
    #[serde(default, skip_serializing_if = "<[UnreadLine]>::is_empty")]
    pub lines: List<UnreadLine>,
    /// Number of further ones that were left out of the record.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more: u64,
    /// Number of examples and of tasks that their author has left out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub examples: u64,
}

impl UnreadLines {
    pub fn is_empty(&self) -> bool {
        *self == UnreadLines::default()
    }
}

impl From<Vec<UnreadLine>> for UnreadLines {
    fn from(all: Vec<UnreadLine>) -> Self {
        let (examples, lines): (Vec<_>, Vec<_>) = all.into_iter().partition(|unread| unread.why.is_chosen());
        let (lines, more) = List::with_rest(lines);
        UnreadLines {
            lines,
            more,
            examples: examples.len() as u64,
        }
    }
}

// The signature is required by serde.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Why a line is not a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UnreadWhy {
    /// The line is in a block of code that is closed.
    Code,
    /// The line is in a comment that is closed.
    Comment,
    /// The task has the setting `skip`, or is in one that has it.
    Skipped,
    /// The line is in a quote.
    Quote,
    /// The box is in a cell of a table.
    Table,
    /// The box is at the beginning of a line without a list marker.
    NoMarker,
    /// There is no space between the list marker and the box.
    NoSpace,
    /// The line is in a block that is indented like code and is not only a list.
    Indented,
    /// The box is inside other markup.
    Markup,
    /// There is no text after the box.
    Empty,
    /// The brackets hold a digit, as a reference does.
    Number,
    /// A sign such as ✅ or ❌ that may be no box: others in its list have none, or it is at a heading.
    Sign,
    /// Code or a comment begins on the line and does not end. The lines below were read all the same.
    Unclosed,
}

impl UnreadWhy {
    /// Whether the author of the plan has clearly excluded the line: an example, a reference, or a task that is left out.
    pub fn is_chosen(self) -> bool {
        match self {
            UnreadWhy::Code | UnreadWhy::Comment | UnreadWhy::Skipped | UnreadWhy::Number => true,
            UnreadWhy::Quote
            | UnreadWhy::Table
            | UnreadWhy::NoMarker
            | UnreadWhy::NoSpace
            | UnreadWhy::Indented
            | UnreadWhy::Markup
            | UnreadWhy::Empty
            | UnreadWhy::Sign
            | UnreadWhy::Unclosed => false,
        }
    }
}
