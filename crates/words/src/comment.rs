//! Comments on lines in words.

use ralph_core::{
    event::{CommentAuthor, PlacedComment},
    run::{Comment, CommentState},
};

use super::counted;

/// How an agent answers a comment.
pub(super) fn how_to_answer(comment: u32) -> String {
    format!(
        "change these lines, or say why they stay with the line `RALPH COMMENT {comment}: why` in your last message"
    )
}

/// A message with comments, for an agent. Each comment has its number, place, quoted lines and text.
pub fn comments_in_prompt(text: &str) -> String {
    format!(
        "The user comments on lines of the work. Change the lines of each comment, or say why they stay as they are: with the tool \
         `comment_answer`, or in your last message with a line for each such as `RALPH COMMENT 1: why`. The work is not done while a \
         comment is open.\n\n{text}"
    )
}

/// The state of a comment: `draft`, `open`, `changed in iteration 3`.
pub fn comment_state_in_words(comment: &Comment) -> String {
    let state = match comment.state() {
        CommentState::Draft => "draft".to_owned(),
        CommentState::Open => "open".to_owned(),
        CommentState::Changed { iteration } => format!("changed in iteration {iteration}"),
        CommentState::Answered => "answered, not resolved".to_owned(),
        CommentState::Resolved => "resolved".to_owned(),
    };
    let is_outdated = comment.is_outdated() && !matches!(comment.state(), CommentState::Changed { .. });
    match is_outdated {
        true => format!("{state}, outdated: its lines are gone"),
        false => state,
    }
}

/// The author of a comment, if it is not the user.
pub fn comment_author_in_words(by: CommentAuthor) -> Option<String> {
    match by {
        CommentAuthor::User => None,
        CommentAuthor::Reviewer { iteration } => Some(format!("finding of the review in iteration {iteration}")),
    }
}

/// The reply to a comment that was written.
pub fn comment_written_in_words(comment: u32, place: &str) -> String {
    format!("comment {comment} on {place} is a draft; `ralph comment --send` sends all drafts")
}

/// The reply to comments that were sent: how many, and how many are left because the message has no room for them.
pub fn comments_sent_in_words(sent: usize, left: usize) -> String {
    let sent = counted(sent as u64, "comment");
    match left {
        0 => format!("{sent} sent in one message"),
        left => format!("{sent} sent in one message; {left} did not fit: send again"),
    }
}

/// The log's line for comments whose lines were changed or moved; `None` if they only moved.
pub(super) fn placed_in_words(places: &[PlacedComment]) -> Option<String> {
    let changed = places.iter().filter(|placed| placed.lines != Default::default());
    let changed: Vec<String> = changed
        .map(|placed| format!("{} ({})", placed.comment, placed.file))
        .collect();
    (!changed.is_empty()).then(|| format!("lines of comments changed: {}", changed.join(", ")))
}
