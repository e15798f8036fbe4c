//! Tells somebody who looks elsewhere that the run is over or needs them.

use std::sync::Arc;

use crate::{
    event::{AgentSignal, Event},
    text::one_line,
    words::{asked_in_words, counted, stop_in_words},
};

/// Most characters of a reason: notifications are short.
const REASON_CHARS: usize = 200;

/// The way to tell.
#[derive(Clone)]
pub enum Notifier {
    None,
    Bell,
    /// The notification of the terminal emulator (OSC 9), where it has one.
    Osc9,
    /// Something else, given the reason. Must not block.
    Call(Arc<dyn Fn(String) + Send + Sync>),
}

/// Why somebody should look; none for what can wait.
pub(super) fn reason(event: &Event) -> Option<String> {
    let reason = match event {
        // Who ended the run knows.
        Event::RunStopped { reason, totals, .. } if !reason.was_asked_for() => {
            let all = u64::from(totals.tasks_done) + u64::from(totals.tasks_open);
            format!(
                "{} · {} of {}",
                stop_in_words(reason),
                totals.tasks_done,
                counted(all, "task")
            )
        }
        Event::AgentReported {
            signal:
                AgentSignal::PermissionAsked {
                    text, allowed: false, ..
                }
                | AgentSignal::QuestionAsked { text, .. },
            ..
        } => format!("the agent asks: {text}"),
        Event::PermissionAsked {
            request,
            until_ms: Some(_),
            ..
        } => format!("the agent asks: {}", asked_in_words(&request.tool, &request.title)),
        Event::TaskBlocked { question, .. } => format!("blocked: {question}"),
        _ => return None,
    };
    Some(
        one_line(&format!("ralph: {reason}"))
            .chars()
            .take(REASON_CHARS)
            .collect(),
    )
}

/// What the terminal is sent for `reason`.
pub(super) fn bytes(notifier: &Notifier, reason: &str) -> Vec<u8> {
    match notifier {
        Notifier::None | Notifier::Call(_) => Vec::new(),
        Notifier::Bell => vec![0x07],
        // Terminals without it ignore the whole.
        Notifier::Osc9 => format!("\x1b]9;{reason}\x1b\\").into_bytes(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{StopReason, Totals};

    fn stopped(reason: StopReason) -> Event {
        Event::RunStopped {
            reason,
            hints: Vec::new(),
            totals: Totals {
                tasks_done: 4,
                ..Totals::default()
            },
        }
    }

    #[test]
    fn an_end_that_nobody_asked_for_is_told() {
        let done = reason(&stopped(StopReason::Done { verified: true }));
        assert_eq!(done.as_deref(), Some("ralph: done · 4 of 4 tasks"));
        assert_eq!(reason(&stopped(StopReason::Interrupted)), None);
    }

    #[test]
    fn a_permission_that_was_given_calls_nobody() {
        let asked = |allowed| {
            reason(&Event::AgentReported {
                iteration: 1,
                signal: AgentSignal::PermissionAsked {
                    id: "1".to_owned(),
                    text: "bash (touch x)".to_owned(),
                    allowed,
                },
            })
        };
        assert_eq!(asked(true), None);
        assert_eq!(asked(false).as_deref(), Some("ralph: the agent asks: bash (touch x)"));
    }

    #[test]
    fn nothing_of_an_agent_gets_out_of_the_notification() {
        let asked = reason(&Event::AgentReported {
            iteration: 1,
            signal: AgentSignal::QuestionAsked {
                id: String::new(),
                text: "a\x1b\\\x1b]52;c;x\x07b\u{9c}".to_owned(),
            },
        });
        let bytes = bytes(&Notifier::Osc9, &asked.unwrap());
        let text = String::from_utf8(bytes).unwrap();
        let inner = text
            .strip_prefix("\x1b]9;")
            .and_then(|text| text.strip_suffix("\x1b\\"));
        assert!(inner.is_some_and(|inner| !inner.contains(char::is_control)), "{text:?}");
    }
}
