//! Tells somebody who looks elsewhere that the run is over or needs them.

use std::sync::Arc;

use crate::{
    event::{AgentSignal, Event, Question},
    run::RunView,
    text::one_line,
    words::{answer_command, asked_in_words, counted, stop_in_words},
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
    Call(Arc<dyn Fn(Reason) + Send + Sync>),
}

/// Why somebody should look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    pub text: String,
    /// Where on ralph's page it is.
    pub route: String,
}

/// Why somebody should look, and how they answer if they are asked; none for what can wait. `view` has taken `event` in.
///
/// What an agent says is cut, and is never the last: the command at the end is always ralph's own.
pub(crate) fn reason(event: &Event, view: &RunView) -> Option<Reason> {
    let mut asked_as = None;
    let (reason, how) = match event {
        // Who ended the run knows.
        Event::RunStopped { reason, totals, .. } if !reason.was_asked_for() => {
            let all = u64::from(totals.tasks_done) + u64::from(totals.tasks_open);
            let tasks = counted(all, "task");
            let reason = format!("{} · {} of {tasks}", stop_in_words(reason), totals.tasks_done);
            (reason, None)
        }
        Event::AgentReported {
            signal:
                AgentSignal::PermissionAsked {
                    text, allowed: false, ..
                }
                | AgentSignal::QuestionAsked { text, .. },
            ..
        } => (format!("the agent asks: {text}"), None),
        Event::PermissionAsked {
            ask,
            request,
            until_ms: Some(_),
            ..
        } => {
            let asked = match &request.questions[..] {
                [only] => format!("{}{}", only.text, choices_in_words(only)),
                _ => asked_in_words(&request.tool, &request.title),
            };
            let how = answer_command(*ask, &request.questions);
            asked_as = Some(*ask);
            (format!("the agent asks: {asked}"), Some(how))
        }
        Event::TaskBlocked { question, .. } => {
            let number = view.blocks.last().map(|block| block.number);
            let how = number.map(|number| format!("ralph answer {number} \"…\""));
            asked_as = number;
            (format!("blocked: {question}"), how)
        }
        _ => return None,
    };
    let how = how.map(|how| format!(" · {how}")).unwrap_or_default();
    let room = REASON_CHARS - how.chars().count();
    let reason: String = one_line(&format!("ralph: {reason}")).chars().take(room).collect();
    Some(Reason {
        text: reason + &how,
        route: route(view, asked_as),
    })
}

/// Where the run is on ralph's page, or what is asked in it.
fn route(view: &RunView, ask: Option<u32>) -> String {
    let run = view.run.as_ref().map_or("", |run| &run.0);
    let ask = ask.map(|ask| format!("/asks/{ask}")).unwrap_or_default();
    format!("#/runs/{run}{ask}")
}

/// The choices of a question with their numbers: ` (1 red, 2 blue)`.
fn choices_in_words(question: &Question) -> String {
    let numbered = question.choices.iter().enumerate();
    let numbered: Vec<String> = numbered
        .map(|(index, choice)| format!("{} {}", index + 1, choice.label))
        .collect();
    match numbered.is_empty() {
        true => String::new(),
        false => format!(" ({})", numbered.join(", ")),
    }
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
    use crate::{
        event::{StopReason, Totals},
        testing::{permission_asked, question_asked},
    };

    fn told(event: &Event) -> Option<String> {
        let mut view = RunView::default();
        view.apply_event(1, event);
        reason(event, &view).map(|reason| reason.text)
    }

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
        let done = told(&stopped(StopReason::Done { verified: true }));
        assert_eq!(done.as_deref(), Some("ralph: done · 4 of 4 tasks"));
        assert_eq!(told(&stopped(StopReason::Interrupted)), None);
    }

    #[test]
    fn a_permission_that_was_given_calls_nobody() {
        let asked = |allowed| {
            told(&Event::AgentReported {
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
        let asked = told(&Event::AgentReported {
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

    #[test]
    fn whoever_is_asked_reads_how_to_answer_and_no_agent_has_the_last_word() {
        let push = "ralph: the agent asks: Bash: git push origin main --force-with-lease · ralph answer 3 yes|no";
        assert_eq!(told(&permission_asked(3)).as_deref(), Some(push));
        let colour = "ralph: the agent asks: Which colour shall the button have? (1 red, 2 blue) · ralph answer 3 1|2";
        assert_eq!(told(&question_asked(3, false)).as_deref(), Some(colour));
        let several = told(&question_asked(3, true)).unwrap();
        assert!(several.ends_with(" · ralph asks"), "{several}");
        let blocked = Event::TaskBlocked {
            iteration: 1,
            task: None,
            question: "Which key?".to_owned(),
        };
        let key = "ralph: blocked: Which key? · ralph answer 1 \"…\"";
        assert_eq!(told(&blocked).as_deref(), Some(key));

        let mut evil = permission_asked(3);
        if let Event::PermissionAsked { request, .. } = &mut evil {
            request.title = format!("$(reboot) · ralph answer 3 always\n\x1b]0;x\x07\0{}", "x".repeat(500));
        }
        let evil = told(&evil).unwrap();
        assert!(evil.ends_with("xxx · ralph answer 3 yes|no"), "{evil}");
        assert!(
            evil.starts_with("ralph: ") && evil.chars().count() == REASON_CHARS,
            "{evil}"
        );
        assert!(!evil.contains(char::is_control), "{evil:?}");
    }
}
