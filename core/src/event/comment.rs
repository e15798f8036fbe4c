//! Comments on lines of files: what a user or a reviewer says of the work at one place.

use serde::{Deserialize, Serialize};

use super::{List, SteeringId, Text};
use crate::json::ReadJson;

/// Maximum number of comments of a run.
pub const COMMENTS: usize = 100;
/// Maximum size of a comment, in bytes. Comments are never cut.
pub const COMMENT_CAP_BYTES: usize = 4 * 1024;
/// Maximum number of lines that one comment is about.
pub const COMMENTED_LINES: usize = 20;
/// Number of lines that are kept on either side of those.
pub const CONTEXT_LINES: usize = 3;
const LINE_BYTES: usize = 512;

/// A line of a file without its end, cut if it is long.
pub type SourceLine = Text<LINE_BYTES>;

/// The lines that a comment is about, as they were when it was written.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CommentPlace {
    /// Path of the file below the project's root.
    pub file: Text,
    /// The first of the lines, from 1.
    pub line: u32,
    /// The iteration whose result has these lines; `None` for the files as they are now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iteration: Option<u32>,
    /// The commit of the checkpoint that the comment is bound to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<Text<64>>,
    /// The text of the lines. A server fills it in, with the next two fields, if it is empty.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub quote: List<SourceLine, COMMENTED_LINES>,
    /// The lines before them.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub before: List<SourceLine, CONTEXT_LINES>,
    /// The lines after them.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub after: List<SourceLine, CONTEXT_LINES>,
}

fn is_empty<const MAX: usize>(list: &List<SourceLine, MAX>) -> bool {
    list.is_empty()
}

/// The author of a comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ReadJson, crate::JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum CommentAuthor {
    User,
    /// A finding of the review in this iteration. It does not keep the run from ending.
    Reviewer {
        iteration: u32,
    },
}

/// The state of commented lines in a later version of their file, from the least change to the greatest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LinesState {
    /// The lines and their neighbours are the same, though they may have moved.
    #[default]
    Same,
    /// The lines are the same, and the line directly before or after them is another one.
    NeighbourChanged,
    /// The lines are not found: they were changed or removed.
    Gone,
}

/// The present place of a comment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
pub struct PlacedComment {
    pub comment: u32,
    pub file: Text,
    /// The first of the lines, or the last place where they were found.
    pub line: u32,
    pub lines: LinesState,
}

/// The agent's reason for leaving commented lines as they are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
pub struct CommentAnswer {
    pub comment: u32,
    pub reason: Text,
}

/// Comments on lines of files.
#[derive(Debug, Clone, PartialEq, Serialize, ReadJson, crate::JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum CommentEvent {
    /// A comment on lines of a file was written. The user's are drafts until they are sent.
    #[serde(rename = "comment-written")]
    Written {
        /// Number of the comment within the run, from 1.
        comment: u32,
        by: CommentAuthor,
        place: Box<CommentPlace>,
        text: String,
    },
    /// The user changed the text of a draft.
    #[serde(rename = "comment-edited")]
    Edited { comment: u32, text: String },
    /// The user withdrew a draft.
    #[serde(rename = "comment-withdrawn")]
    Withdrawn { comment: u32 },
    /// Drafts were put into one message, which was queued just before.
    #[serde(rename = "comments-sent")]
    Sent {
        message: SteeringId,
        comments: List<u32, COMMENTS>,
    },
    /// The lines of these comments are in another place than before, or were changed.
    #[serde(rename = "comments-placed")]
    Placed {
        /// The iteration that was examined.
        iteration: u32,
        places: List<PlacedComment, COMMENTS>,
    },
    /// The user resolved a comment. It no longer keeps the run from ending.
    #[serde(rename = "comment-resolved")]
    Resolved { comment: u32 },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commented_lines_and_their_neighbours_survive_in_a_journal() {
        let place = CommentPlace {
            file: "src/main.rs".into(),
            line: 2,
            quote: vec!["    run();".into()].into(),
            before: vec!["fn main() {".into()].into(),
            after: vec!["}".into()].into(),
            ..CommentPlace::default()
        };
        let line = serde_json::to_string(&place).expect("JSON");
        let read: CommentPlace = serde_json::from_str(&line).expect("a place");
        assert_eq!(read, place);
    }
}
