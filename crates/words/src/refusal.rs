//! Why a command or a message is refused, and what to do instead.

use ralph_core::{
    event::{COMMENT_CAP_BYTES, CommandRefusal, MESSAGE_CAP_BYTES},
    limits::LimitUnit,
    machine::ClosedReason,
    run::RunView,
};

use super::{limit_word, used_up_in_words};

/// Why a command is refused, as a clause.
pub fn command_refusal_in_words(refusal: &CommandRefusal) -> String {
    match refusal {
        CommandRefusal::CommentTooLong { bytes } => format!(
            "the comment has {bytes} bytes; the maximum is {COMMENT_CAP_BYTES}: shorten it, or send it as a message"
        ),
        CommandRefusal::MessageEmpty => "the message is empty".to_owned(),
        CommandRefusal::CommentEmpty => "the comment is empty: write what is to change".to_owned(),
        CommandRefusal::NoCommentedLines => {
            "the commented line is not known: name a line that the file has, as FILE:LINE".to_owned()
        }
        CommandRefusal::MessageTooLong { bytes } => format!(
            "the message has {} KiB; the maximum is {}: put the rest into a file and name it",
            bytes.div_ceil(1024),
            MESSAGE_CAP_BYTES / 1024
        ),
        CommandRefusal::Uncounted { adapter, limit } => format!(
            "{adapter} does not report its {}, so a {} limit would not end the run",
            match limit.row().unit {
                LimitUnit::Tokens => "tokens",
                LimitUnit::Count | LimitUnit::Milliseconds | LimitUnit::Dollars => "cost",
            },
            limit_word(*limit)
        ),
        CommandRefusal::AdapterMissing { adapter } => format!(
            "the run was started without adapter `{adapter}`; `ralph stop`, then `ralph continue --adapter {adapter}`"
        ),
        CommandRefusal::Unasking { adapter } => format!(
            "this run started in mode `auto`, and `{adapter}` cannot be told to ask now; \
             `ralph stop`, then `ralph continue --permission-mode ask`"
        ),
        CommandRefusal::Model { why } => why.to_string(),
        CommandRefusal::Rule { ask, why } => format!("question {ask} is still open: {why}"),
    }
}

/// Why a command called by an agent is refused, as told to the agent.
pub fn agent_command_in_words(command: &str) -> String {
    format!(
        "`ralph {command}` was called from within the run; agents may not call this: say in your report what you need"
    )
}

/// Why a finished run accepts no message, and what to do instead.
pub fn closed_in_words(closed: ClosedReason, view: &RunView) -> String {
    match closed {
        ClosedReason::Superseded => "the run was followed by another one".to_owned(),
        ClosedReason::UsedUp { limit } => used_up_in_words(limit, view),
    }
}
