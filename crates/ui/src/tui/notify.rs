//! Notifies the user when the run is over or needs attention, and shows its progress in the terminal.

use std::sync::Arc;

use ralph_core::{
    event::{
        AgentEvent, AgentSignal, AskEvent, AskKind, Event, Question, RunEvent, StopReason, TaskEvent, TimeEvent, Wait,
    },
    run::{Phase, RunView},
};
use ralph_text::one_line;
use ralph_words::{answer_command, asked_in_words, counted, narrate, stop_in_words, wait_cause_in_words};

/// Maximum characters of a reason: notifications are short.
const REASON_CHARS: usize = 200;
/// Maximum characters of the project's name in a reason.
const PROJECT_CHARS: usize = 40;

/// The way to notify the user.
#[derive(Clone)]
pub enum NotifyChannel {
    None,
    Bell,
    /// The notification of the terminal emulator (OSC 9), where supported.
    Osc9,
    /// A callback, which must not block.
    Call(Arc<dyn Fn(Reason) + Send + Sync>),
}

/// The reason for a notification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    pub text: String,
    /// The path on ralph's page.
    pub route: String,
}

/// The reason to notify the user of `event`, and how to answer if it is a question; `None` if it can wait. `view` must
/// already include `event`.
///
/// An agent's words are truncated and never come last: the command at the end is always ralph's own.
pub fn reason(event: &Event, view: &RunView) -> Option<Reason> {
    let mut asked_as = None;
    let (reason, how) = match event {
        // The question was already announced when the iteration asked it.
        Event::Run(RunEvent::Stopped {
            reason: StopReason::Blocked { .. },
            ..
        }) if asked_last(view) => return None,
        // A user who has ended the run knows it.
        Event::Run(RunEvent::Stopped { reason, totals, .. }) if !reason.was_asked_for() => {
            let all = u64::from(totals.tasks_done) + u64::from(totals.tasks_open);
            let tasks = counted(all, "task");
            let reason = format!("{} · {} of {tasks}", stop_in_words(reason), totals.tasks_done);
            (reason, None)
        }
        Event::Agent(AgentEvent::Reported {
            signal:
                AgentSignal::PermissionAsked {
                    text, allowed: false, ..
                }
                | AgentSignal::QuestionAsked { text, .. },
            ..
        }) => (format!("the agent asks: {text}"), None),
        Event::Time(TimeEvent::WaitStarted {
            wait: Wait::Disk, why, ..
        }) => (format!("waiting for space: {}", wait_cause_in_words(why)), None),
        // A question whose wait has no end any more was announced before.
        Event::Ask(AskEvent::Asked { ask }) if ask.kind.waits() && ask.until_ms.is_none() => return None,
        Event::Ask(AskEvent::Asked { ask }) => {
            asked_as = Some(ask.number);
            let request = &ask.request;
            match (ask.kind, &request.questions[..]) {
                (AskKind::Tests, _) => {
                    let why = request.reason.as_deref().unwrap_or_default();
                    let how = "ralph confirm".to_owned();
                    (format!("accept the changed tests? {why}"), Some(how))
                }
                (AskKind::Scope, _) => (request.title.clone(), Some("ralph confirm".to_owned())),
                (AskKind::Permission | AskKind::Question | AskKind::Ticket, questions) => {
                    let asked = match questions {
                        [only] => format!("{}{}", only.text, choices_in_words(only)),
                        _ => asked_in_words(&request.tool, &request.title),
                    };
                    let how = answer_command(ask.number, questions);
                    (format!("the agent asks: {asked}"), Some(how))
                }
            }
        }
        Event::Task(TaskEvent::Blocked { question, .. }) => {
            let number = view.blocks.last().map(|block| block.number);
            let how = number.map(|number| format!("ralph answer {number} \"…\""));
            asked_as = number;
            (format!("blocked: {question}"), how)
        }
        Event::Task(TaskEvent::SetAside { .. }) | Event::Run(RunEvent::LimitNeared { .. }) => {
            (narrate(event, |_| String::new())?.text, None)
        }
        _ => return None,
    };
    let how = how.map(|how| format!(" · {how}")).unwrap_or_default();
    let room = REASON_CHARS - how.chars().count();
    let reason: String = one_line(&format!("{}: {reason}", sender(view)))
        .chars()
        .take(room)
        .collect();
    Some(Reason {
        text: reason + &how,
        route: route(view, asked_as),
    })
}

/// Whether the last iteration ended with a question that blocks its task.
fn asked_last(view: &RunView) -> bool {
    let last = view.iterations.rows.last();
    last.zip(view.blocks.last())
        .is_some_and(|(last, block)| last.task == block.task)
}

/// The sender's name, with the project: several projects may have a run each.
fn sender(view: &RunView) -> String {
    match view.project.file_name() {
        Some(project) => {
            let project: String = project.to_string_lossy().chars().take(PROJECT_CHARS).collect();
            format!("ralph {project}")
        }
        None => "ralph".to_owned(),
    }
}

/// Progress that terminals show in their tab or in the task bar (OSC 9;4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Progress {
    /// No indicator.
    #[default]
    None,
    /// Percentage of completed tasks.
    Working(u8),
    /// Working, without tasks to measure progress by.
    Unmeasured,
    /// Paused or waiting.
    Waiting(u8),
}

impl Progress {
    pub(super) fn from_view(view: &RunView) -> Self {
        let (done, all) = (view.plan.done(), view.plan.tasks.len());
        let share = (done * 100).checked_div(all).and_then(|share| u8::try_from(share).ok());
        match (&view.phase, share) {
            (Phase::Stopped { .. }, _) => Progress::None,
            (Phase::Waiting { .. } | Phase::Paused, share) => Progress::Waiting(share.unwrap_or(0)),
            (_, Some(share)) => Progress::Working(share),
            (_, None) => Progress::Unmeasured,
        }
    }

    pub(super) fn sequence(self) -> String {
        let parameters = match self {
            Progress::None => "0".to_owned(),
            Progress::Working(share) => format!("1;{share}"),
            Progress::Unmeasured => "3".to_owned(),
            Progress::Waiting(share) => format!("4;{share}"),
        };
        format!("\x1b]9;4;{parameters}\x1b\\")
    }
}

/// Whether the terminal supports progress sequences, according to its environment variables. Other terminals would show
/// the sequence as a notification.
pub fn shows_progress(variable: impl Fn(&str) -> String) -> bool {
    // Terminal multiplexers pass on the variables of the terminal they were started in.
    let is_nested = ["TMUX", "STY", "ZELLIJ"].iter().any(|name| !variable(name).is_empty());
    let version = variable("TERM_PROGRAM_VERSION");
    let knows = match variable("TERM_PROGRAM").as_str() {
        "ghostty" => version != "1.0" && !version.starts_with("1.0.") && !version.starts_with("1.1."),
        // Versions are dates.
        "WezTerm" => version.as_str() >= "20250209",
        _ => {
            !variable("WT_SESSION").is_empty()
                || variable("ConEmuANSI") == "ON"
                || !variable("KONSOLE_VERSION").is_empty()
        }
    };
    knows && !is_nested
}

/// The path of the run, or of a question in it, on ralph's page.
fn route(view: &RunView, ask: Option<u32>) -> String {
    let run = view.run.as_ref().map_or("", |run| &run.0);
    let ask = ask.map(|ask| format!("/asks/{ask}")).unwrap_or_default();
    format!("#/runs/{run}{ask}")
}

/// The numbered choices of a question: ` (1 red, 2 blue)`.
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

/// Returns the terminal sequence for `reason`; empty for a channel that is no terminal.
pub fn bytes(notifier: &NotifyChannel, reason: &str) -> Vec<u8> {
    match notifier {
        NotifyChannel::None | NotifyChannel::Call(_) => Vec::new(),
        NotifyChannel::Bell => vec![0x07],
        // Terminals without OSC 9 ignore the sequence.
        NotifyChannel::Osc9 => format!("\x1b]9;{reason}\x1b\\").into_bytes(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use ralph_core::{
        event::{Proof, Totals},
        testing::{permission_asked, question_asked},
    };

    use super::*;

    fn told(event: &Event) -> Option<String> {
        let mut view = RunView::default();
        view.apply_event(1, event);
        reason(event, &view).map(|reason| reason.text)
    }

    fn stopped(reason: StopReason) -> Event {
        Event::Run(RunEvent::Stopped {
            reason,
            hints: Vec::new().into(),
            totals: Totals {
                tasks_done: 4,
                ..Totals::default()
            },
        })
    }

    #[test]
    fn an_end_that_nobody_asked_for_is_told() {
        let done = told(&stopped(StopReason::done(Proof::Tests)));
        assert_eq!(done.as_deref(), Some("ralph: done (verified) · 4 of 4 tasks"));
        assert_eq!(told(&stopped(StopReason::Interrupted)), None);
    }

    #[test]
    fn a_notification_names_the_project() {
        let mut view = RunView {
            project: PathBuf::from("/home/me/shop").into(),
            ..RunView::default()
        };
        let done = stopped(StopReason::done(Proof::Tests));
        view.apply_event(1, &done);
        let reason = reason(&done, &view).map(|reason| reason.text);
        assert_eq!(reason.as_deref(), Some("ralph shop: done (verified) · 4 of 4 tasks"));
    }

    #[test]
    fn progress_is_shown_by_terminals_that_have_it_until_the_run_is_over() {
        let shown = |set: &[(&str, &str)]| {
            let value = |name: &str| {
                set.iter()
                    .find(|(known, _)| *known == name)
                    .map(|(_, value)| (*value).to_owned())
            };
            shows_progress(|name| value(name).unwrap_or_default())
        };
        let ghostty = ("TERM_PROGRAM", "ghostty");
        assert!(shown(&[("WT_SESSION", "x")]) && shown(&[ghostty, ("TERM_PROGRAM_VERSION", "1.2.0")]));
        assert!(!shown(&[
            ("TERM_PROGRAM", "WezTerm"),
            ("TERM_PROGRAM_VERSION", "20240203-110809")
        ]));
        assert!(!shown(&[]) && !shown(&[("TMUX", "x"), ghostty]));
        let mut view = RunView::default();
        assert_eq!(Progress::from_view(&view).sequence(), "\x1b]9;4;3\x1b\\");
        view.apply_event(1, &stopped(StopReason::Interrupted));
        assert_eq!(Progress::from_view(&view), Progress::None);
    }

    #[test]
    fn a_permission_that_was_given_calls_nobody() {
        let asked = |allowed| {
            told(&Event::Agent(AgentEvent::Reported {
                iteration: 1,
                signal: AgentSignal::PermissionAsked {
                    id: "1".to_owned(),
                    text: "bash (touch x)".to_owned(),
                    allowed,
                },
            }))
        };
        assert_eq!(asked(true), None);
        assert_eq!(asked(false).as_deref(), Some("ralph: the agent asks: bash (touch x)"));
    }

    #[test]
    fn nothing_of_an_agent_gets_out_of_the_notification() {
        let asked = told(&Event::Agent(AgentEvent::Reported {
            iteration: 1,
            signal: AgentSignal::QuestionAsked {
                id: String::new(),
                text: "a\x1b\\\x1b]52;c;x\x07b\u{9c}".to_owned(),
            },
        }));
        let bytes = bytes(&NotifyChannel::Osc9, &asked.unwrap());
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
        let blocked = Event::Task(TaskEvent::Blocked {
            iteration: 1,
            task: None,
            question: "Which key?".into(),
        });
        let key = "ralph: blocked: Which key? · ralph answer 1 \"…\"";
        assert_eq!(told(&blocked).as_deref(), Some(key));

        let mut evil = permission_asked(3);
        if let Event::Ask(AskEvent::Asked { ask }) = &mut evil {
            ask.request.title = format!("$(reboot) · ralph answer 3 always\n\x1b]0;x\x07\0{}", "x".repeat(500));
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
