//! Commands that a user can give to a running loop, from any user interface or terminal.

use serde::{Deserialize, Serialize};

use super::{
    AnswerPlace, COMMENT_CAP_BYTES, CommentPlace, LimitKind, MESSAGE_CAP_BYTES, NewLimits, NewWorker, PermissionMode,
    Remember, SteeringId, SteeringKind, StopRequest, Text,
};
use crate::json::ReadJson;

/// A command of the user. Imperative; the machine decides how to follow it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(
    tag = "type",
    rename_all = "kebab-case",
    rename_all_fields = "camelCase",
    deny_unknown_fields
)]
pub enum UserCommand {
    Steer {
        kind: SteeringKind,
        text: String,
    },
    Withdraw {
        id: SteeringId,
    },
    /// Let the running iteration finish and start no other.
    Pause,
    Resume,
    /// End the running iteration and start the next.
    Skip,
    /// End a wait and try again.
    RetryNow,
    /// Close the breaker.
    ResetCircuit,
    Stop {
        stop: StopRequest,
    },
    /// Withdraw a stop that was requested for after the running iteration.
    WithdrawStop,
    /// Set an open task of the plan aside, with the tasks in it and those that wait for it.
    SetTaskAside {
        /// Its whole text.
        task: String,
    },
    /// Take a task back that the user has set aside.
    TakeTaskBack {
        task: String,
    },
    /// Write a comment on lines of a file. It is a draft until it is sent.
    WriteComment {
        place: Box<CommentPlace>,
        text: String,
    },
    /// Change the text of a draft.
    EditComment {
        comment: u32,
        text: String,
    },
    /// Withdraw a draft.
    WithdrawComment {
        comment: u32,
    },
    /// Send all drafts in one message.
    SendComments {
        kind: SteeringKind,
    },
    /// Resolve a comment that was sent, or a finding of a reviewer.
    ResolveComment {
        comment: u32,
    },
    /// Answer a question of the agent.
    Answer {
        /// The number of the question.
        ask: u32,
        answer: Answer,
        #[serde(default)]
        at: AnswerPlace,
    },
    /// Let a question of the agent wait without a deadline.
    WaitForAnswer {
        /// The number of the question.
        ask: u32,
    },
    /// Remove a rule that answers have added.
    Forget {
        rule: String,
    },
    /// Change the limits of the run, until it is resumed.
    SetLimits {
        limits: NewLimits,
    },
    /// Give the next iterations to another agent or model, until the run is resumed.
    SetWorker {
        worker: NewWorker,
    },
    /// Change the mode that decides requests without a matching rule, until the run is resumed.
    SetPermissionMode {
        mode: PermissionMode,
    },
}

/// The user's answer to a question of the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Answer {
    Allow {
        /// The rules to add; `None` allows the request once.
        remember: Option<Remember>,
    },
    Deny {
        /// A message to the agent.
        message: Option<String>,
    },
    /// For each question the chosen option, by number or label, or a free text.
    Words { words: Vec<String> },
}

impl Answer {
    /// Whether it accepts what a question is about.
    pub fn is_yes(&self) -> bool {
        match self {
            Answer::Allow { .. } => true,
            Answer::Words { words } => matches!(words.join(" ").trim().to_lowercase().as_str(), "yes" | "y"),
            Answer::Deny { .. } => false,
        }
    }
}

/// Why the loop rejects a command, regardless of its state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ReadJson, crate::JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum CommandRefusal {
    /// Longer than [`MESSAGE_CAP_BYTES`].
    MessageTooLong { bytes: u64 },
    /// A message has no text.
    MessageEmpty,
    /// An agent of the run does not report what the limit would count.
    Uncounted { adapter: Text, limit: LimitKind },
    /// The run was started without the adapter.
    AdapterMissing { adapter: Text },
    /// A comment is longer than [`COMMENT_CAP_BYTES`].
    CommentTooLong { bytes: u64 },
    /// A comment has no text.
    CommentEmpty,
    /// The commented lines are not known.
    NoCommentedLines,
    /// The agent cannot be told to ask before every use of a tool.
    Unasking { adapter: Text },
    /// The agent cannot be given the model.
    Model { why: Text },
    /// The rule to add is invalid, or does not match the request.
    Rule { ask: u32, why: Text },
}

impl UserCommand {
    /// Whether it is about a line of an iteration's result whose text is still to be looked up.
    pub fn lacks_lines(&self) -> bool {
        matches!(self, UserCommand::WriteComment { place, .. } if place.quote.is_empty() && place.iteration.is_some())
    }

    /// Whether it is about comments alone, so that it can change a run that no loop serves.
    pub fn is_about_comments(&self) -> bool {
        self.name() == "comment"
    }

    /// The subcommand that gives the command.
    pub fn name(&self) -> &'static str {
        match self {
            UserCommand::Steer { .. } => "steer",
            UserCommand::Withdraw { .. } => "withdraw",
            UserCommand::Pause => "pause",
            UserCommand::Resume | UserCommand::RetryNow | UserCommand::WithdrawStop => "resume",
            UserCommand::Skip => "skip",
            UserCommand::ResetCircuit => "reset-circuit",
            UserCommand::Stop { .. } => "stop",
            UserCommand::SetTaskAside { .. } | UserCommand::TakeTaskBack { .. } => "plan",
            UserCommand::WriteComment { .. }
            | UserCommand::EditComment { .. }
            | UserCommand::WithdrawComment { .. }
            | UserCommand::SendComments { .. }
            | UserCommand::ResolveComment { .. } => "comment",
            UserCommand::SetLimits { .. } | UserCommand::SetWorker { .. } => "continue",
            UserCommand::Answer { .. } | UserCommand::WaitForAnswer { .. } => "answer",
            UserCommand::Forget { .. } | UserCommand::SetPermissionMode { .. } => "permissions",
        }
    }

    /// Why the loop rejects the command in any state; `None` if it may be accepted.
    pub fn refusal(&self) -> Option<CommandRefusal> {
        match self {
            UserCommand::Steer { text, .. } if text.len() > MESSAGE_CAP_BYTES => Some(CommandRefusal::MessageTooLong {
                bytes: text.len() as u64,
            }),
            UserCommand::Steer { text, .. } if text.trim().is_empty() => Some(CommandRefusal::MessageEmpty),
            UserCommand::Answer {
                answer: Answer::Deny { message: Some(text) },
                ..
            } if text.len() > MESSAGE_CAP_BYTES => Some(CommandRefusal::MessageTooLong {
                bytes: text.len() as u64,
            }),
            UserCommand::WriteComment { text, .. } | UserCommand::EditComment { text, .. }
                if text.len() > COMMENT_CAP_BYTES =>
            {
                Some(CommandRefusal::CommentTooLong {
                    bytes: text.len() as u64,
                })
            }
            UserCommand::WriteComment { text, .. } | UserCommand::EditComment { text, .. }
                if text.trim().is_empty() =>
            {
                Some(CommandRefusal::CommentEmpty)
            }
            UserCommand::WriteComment { place, .. } if place.quote.is_empty() || place.line == 0 => {
                Some(CommandRefusal::NoCommentedLines)
            }
            UserCommand::Steer { .. }
            | UserCommand::WriteComment { .. }
            | UserCommand::EditComment { .. }
            | UserCommand::WithdrawComment { .. }
            | UserCommand::SendComments { .. }
            | UserCommand::ResolveComment { .. }
            | UserCommand::Answer { .. }
            | UserCommand::WaitForAnswer { .. }
            | UserCommand::Forget { .. }
            | UserCommand::SetPermissionMode { .. }
            | UserCommand::SetLimits { .. }
            | UserCommand::SetTaskAside { .. }
            | UserCommand::TakeTaskBack { .. }
            | UserCommand::SetWorker { .. }
            | UserCommand::Withdraw { .. }
            | UserCommand::Pause
            | UserCommand::Resume
            | UserCommand::Skip
            | UserCommand::RetryNow
            | UserCommand::ResetCircuit
            | UserCommand::WithdrawStop
            | UserCommand::Stop { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::List;

    /// A comment on the first line of a file.
    fn place() -> CommentPlace {
        CommentPlace {
            file: "src/main.rs".into(),
            line: 1,
            quote: vec!["fn main() {".into()].into(),
            ..CommentPlace::default()
        }
    }

    fn comment_at(place: CommentPlace) -> UserCommand {
        UserCommand::WriteComment {
            place: Box::new(place),
            text: "Why?".to_owned(),
        }
    }

    fn steer(text: String) -> UserCommand {
        let kind = SteeringKind::Next;
        UserCommand::Steer { kind, text }
    }

    fn deny(text: String) -> UserCommand {
        UserCommand::Answer {
            ask: 1,
            answer: Answer::Deny { message: Some(text) },
            at: AnswerPlace::default(),
        }
    }

    fn write(text: String) -> UserCommand {
        let place = Box::new(place());
        UserCommand::WriteComment { place, text }
    }

    fn edit(text: String) -> UserCommand {
        UserCommand::EditComment { comment: 1, text }
    }

    #[test]
    fn a_message_of_64_kib_is_accepted_and_a_longer_one_is_rejected() {
        for command in [steer, deny] {
            assert_eq!(command("x".repeat(65_536)).refusal(), None);
            let refusal = command("x".repeat(65_537)).refusal();
            assert_eq!(refusal, Some(CommandRefusal::MessageTooLong { bytes: 65_537 }));
        }
    }

    #[test]
    fn a_message_needs_a_text() {
        for blank in ["", " \n\t"] {
            let refusal = steer(blank.to_owned()).refusal();
            assert_eq!(refusal, Some(CommandRefusal::MessageEmpty), "{blank:?}");
        }
    }

    #[test]
    fn a_comment_of_4_kib_is_accepted_and_a_longer_one_is_rejected() {
        for command in [write, edit] {
            assert_eq!(command("x".repeat(4_096)).refusal(), None);
            let refusal = command("x".repeat(4_097)).refusal();
            assert_eq!(refusal, Some(CommandRefusal::CommentTooLong { bytes: 4_097 }));
        }
    }

    #[test]
    fn a_comment_needs_a_text() {
        for command in [write, edit] {
            for blank in ["", " \n\t"] {
                let refusal = command(blank.to_owned()).refusal();
                assert_eq!(refusal, Some(CommandRefusal::CommentEmpty), "{blank:?}");
            }
        }
    }

    #[test]
    fn a_comment_needs_the_number_and_the_text_of_its_lines() {
        assert_eq!(comment_at(place()).refusal(), None);
        let without_number = CommentPlace { line: 0, ..place() };
        let without_text = CommentPlace {
            quote: List::default(),
            ..place()
        };
        for place in [without_number, without_text] {
            let refusal = comment_at(place.clone()).refusal();
            assert_eq!(refusal, Some(CommandRefusal::NoCommentedLines), "{place:?}");
        }
    }

    #[test]
    fn only_a_comment_on_the_result_of_an_iteration_has_its_lines_looked_up() {
        let iteration = Some(3);
        let quote = List::default();
        for (place, lacks_lines) in [
            (place(), false),
            (CommentPlace { iteration, ..place() }, false),
            (CommentPlace { quote, ..place() }, false),
        ] {
            assert_eq!(comment_at(place.clone()).lacks_lines(), lacks_lines, "{place:?}");
        }
        let of_result = CommentPlace {
            iteration,
            quote: List::default(),
            ..place()
        };
        assert!(comment_at(of_result).lacks_lines());
        assert!(!UserCommand::Pause.lacks_lines());
    }

    #[test]
    fn only_commands_about_comments_can_change_a_run_without_a_loop() {
        let kind = SteeringKind::Next;
        for command in [
            comment_at(place()),
            UserCommand::EditComment {
                comment: 1,
                text: "Why?".to_owned(),
            },
            UserCommand::WithdrawComment { comment: 1 },
            UserCommand::SendComments { kind },
            UserCommand::ResolveComment { comment: 1 },
        ] {
            assert!(command.is_about_comments(), "{command:?}");
        }
        for command in [steer("Use tabs.".to_owned()), UserCommand::Pause, UserCommand::Resume] {
            assert!(!command.is_about_comments(), "{command:?}");
        }
    }

    #[test]
    fn what_ends_a_wait_a_pause_or_a_requested_stop_is_given_by_resume() {
        for command in [UserCommand::Resume, UserCommand::RetryNow, UserCommand::WithdrawStop] {
            assert_eq!(command.name(), "resume", "{command:?}");
        }
    }
}
