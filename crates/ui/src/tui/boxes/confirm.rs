//! Questions of the screen itself, with a key for each answer.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ralph_core::{
    event::{NewWorker, RequestedBy, StopRequest, UserCommand},
    run::Phase,
};
use ralph_text::one_line;
use ralph_words::{Tone, counted, higher_limits, ticking, worker_name};
use ratatui::layout::Rect;

use crate::tui::{
    keys::Chord,
    model::{BoardMode, BoardModel, Confirmation, InputMode, Model, more},
    order::{BoardOrder, RestoreTarget, ScreenOrder},
    panes::{restorable, withdrawn},
    pen::{Pen, columns, wrapped},
    theme::TextRole,
};

/// Maximum lines of a question.
const QUESTION_ROWS: usize = 6;

/// A question that keys answer.
pub(in crate::tui) struct KeyQuestion<Order> {
    pub(in crate::tui) title: String,
    pub(in crate::tui) text: String,
    pub(in crate::tui) answers: Vec<KeyAnswer<Order>>,
}

/// The keys of an answer (`\n` is Enter, `\u{1b}` Esc, `\u{3}` Ctrl-C), their names, its words, and its order, if it
/// does more than close the question. An answer without words is not shown.
pub(in crate::tui) type KeyAnswer<Order> = (&'static str, &'static str, String, Option<Order>);

impl<Order> KeyQuestion<Order> {
    /// The order of the answer that a key gives. `None` for a key that gives no answer.
    pub(in crate::tui) fn answered(self, chord: Chord) -> Option<Option<Order>> {
        let key = match (chord.code, chord.modifiers) {
            (KeyCode::Enter, KeyModifiers::NONE) => '\n',
            (KeyCode::Esc, KeyModifiers::NONE) => '\u{1b}',
            (KeyCode::Char('c'), KeyModifiers::CONTROL) => '\u{3}',
            (KeyCode::Char(character), KeyModifiers::NONE) => character,
            _ => return None,
        };
        let mut answers = self.answers.into_iter();
        answers.find(|(keys, ..)| keys.contains(key)).map(|(.., order)| order)
    }

    pub(in crate::tui) fn draw(&self, whole: Rect, pen: &mut Pen<'_>) {
        let answers = self.answers.iter().filter(|(.., words, _)| !words.is_empty());
        let answers: Vec<(&str, &str)> = answers.map(|(_, name, words, _)| (*name, words.as_str())).collect();
        draw(&self.title, &self.text, &answers, whole, pen);
    }
}

/// Draws a question with its answers.
pub(super) fn draw(title: &str, text: &str, answers: &[(&str, &str)], whole: Rect, pen: &mut Pen<'_>) {
    let answers_width = answers
        .iter()
        .map(|(key, words)| columns(key) + 2 + columns(words))
        .max();
    let width = whole.width.min(columns(text).max(answers_width.unwrap_or(0)) + 6);
    let lines = wrapped(text, usize::from(width.saturating_sub(4)).max(1));
    // The answers are needed more than all of the question.
    let room = usize::from(whole.height).saturating_sub(answers.len() + 2);
    let lines = &lines[..lines.len().min(QUESTION_ROWS).min(room)];
    let height = u16::try_from(answers.len() + lines.len() + 2)
        .unwrap_or(u16::MAX)
        .min(whole.height);
    let Some(inner) = pen.centred(whole, width, height, title) else {
        return;
    };
    let lines = lines.iter().map(|line| ("", line.as_str()));
    for (y, (key, words)) in (inner.top()..inner.bottom()).zip(lines.chain(answers.iter().copied())) {
        let x = pen.role(inner.x + 1, y, inner.right(), key, TextRole::Key);
        let gap = if key.is_empty() { "" } else { "  " };
        pen.role(x, y, inner.right(), &format!("{gap}{words}"), TextRole::Plain);
    }
}

/// The question before an action that cannot be undone.
pub(super) fn question(model: &Model, asked: Confirmation) -> KeyQuestion<ScreenOrder> {
    let run = &model.run;
    match asked {
        Confirmation::Quit => quit(model),
        Confirmation::Skip { iteration } => {
            let since_ms = run.phase.running_since_ms().unwrap_or(model.now_ms);
            let since = ticking(model.now_ms.saturating_sub(since_ms));
            let skip = ScreenOrder::by_user(UserCommand::Skip);
            KeyQuestion {
                title: format!("skip iteration {iteration}?"),
                text: format!("Running for {since}; changes are kept."),
                answers: vec![
                    ("yS\n", "y", "end it and start the next".to_owned(), Some(skip)),
                    ("nq\u{1b}", "n", "keep it running".to_owned(), None),
                ],
            }
        }
        Confirmation::More => {
            let option = more(run).map(|option| option.join(" "));
            let command = format!("`ralph continue {}`", option.unwrap_or_default());
            KeyQuestion {
                title: "continue the run?".to_owned(),
                text: "It has reached a limit.".to_owned(),
                answers: vec![
                    // The run may have been continued elsewhere meanwhile.
                    ("yr\n", "y", command, run.is_over().then_some(ScreenOrder::Continue)),
                    ("nq\u{1b}", "n", "not now".to_owned(), None),
                ],
            }
        }
        Confirmation::RaiseLimit => {
            let higher = higher_limits(run, model.now_ms).into_iter();
            let higher = higher.map(|raise| (raise.words, UserCommand::SetLimits { limits: raise.limits }));
            one_of(
                "raise a limit?",
                "The new limit counts from the beginning of the run. `ralph continue` sets any other.",
                higher,
            )
        }
        Confirmation::Worker => {
            let workers = run.settings.workers().into_iter().skip(1).map(|worker| {
                let new = NewWorker {
                    adapter: Some(worker.adapter.clone()),
                    model: worker.model.clone(),
                };
                (one_line(&worker_name(&worker)), UserCommand::SetWorker { worker: new })
            });
            let text = format!(
                "The next iterations go to {}. `ralph continue --model NAME` names any other model.",
                one_line(&worker_name(&run.settings.worker()))
            );
            one_of("another agent or model?", &text, workers)
        }
        Confirmation::Withdraw { id } => {
            let message = run.messages.iter().find(|message| message.id == id);
            let withdraw = "leave it out of all further prompts".to_owned();
            KeyQuestion {
                title: format!("withdraw standing message {}?", id.0),
                text: message.map(|message| one_line(&message.text)).unwrap_or_default(),
                answers: vec![
                    ("yx\n", "y", withdraw, Some(withdrawn(id))),
                    ("nq\u{1b}", "n", "keep it".to_owned(), None),
                ],
            }
        }
        Confirmation::Restore { iteration } => restore(model, iteration),
        Confirmation::Restored => restored(model),
    }
}

fn restore(model: &Model, iteration: u32) -> KeyQuestion<ScreenOrder> {
    let targets = restorable(model, iteration).into_iter().map(|target| {
        let (key, words) = match target {
            RestoreTarget::After(_) => ("a", format!("as they were after iteration {iteration}")),
            RestoreTarget::Before(_) => ("b", format!("as they were before iteration {iteration}")),
            RestoreTarget::Undo => ("u", "as they were before the last restore".to_owned()),
        };
        (key, key, words, Some(ScreenOrder::Restore(target)))
    });
    let command = restore_command(model, &iteration.to_string());
    let others = [
        ("c", "c", format!("copy `{command}`"), Some(ScreenOrder::Copy(command))),
        ("nq\u{1b}", "n", "change nothing".to_owned(), None),
    ];
    KeyQuestion {
        title: "restore the files?".to_owned(),
        text: "A checkpoint of the current files is made first.".to_owned(),
        answers: targets.chain(others).collect(),
    }
}

/// The command that restores files of this run. A replay may show an earlier run than the command takes by itself.
fn restore_command(model: &Model, what: &str) -> String {
    let replayed = model.run.run.as_ref().filter(|_| model.ui.replay.is_some());
    let of = replayed.map_or_else(String::new, |run| format!(" --run {}", run.0));
    format!("ralph restore {what}{of}")
}

fn restored(model: &Model) -> KeyQuestion<ScreenOrder> {
    let seen = ("n\n\u{1b}q", "Enter", "close".to_owned(), None);
    match &model.ui.history.restored {
        Some(Ok(changed)) => {
            let undo = format!("undo it, as `{}` does", restore_command(model, "--undo"));
            KeyQuestion {
                title: "the files are restored".to_owned(),
                text: one_line(changed),
                answers: vec![("u", "u", undo, Some(ScreenOrder::Restore(RestoreTarget::Undo))), seen],
            }
        }
        failed => KeyQuestion {
            title: "nothing was restored".to_owned(),
            text: failed
                .iter()
                .flat_map(|result| result.as_ref().err())
                .map(|why| one_line(why))
                .collect(),
            answers: vec![seen],
        },
    }
}

/// The keys of a question with several choices.
const CHOICES: [(&str, &str); 9] = [
    ("1", "1"),
    ("2", "2"),
    ("3", "3"),
    ("4", "4"),
    ("5", "5"),
    ("6", "6"),
    ("7", "7"),
    ("8", "8"),
    ("9", "9"),
];

/// A question with a command for each choice.
fn one_of(title: &str, text: &str, choices: impl Iterator<Item = (String, UserCommand)>) -> KeyQuestion<ScreenOrder> {
    let numbered = CHOICES.into_iter().zip(choices);
    let numbered =
        numbered.map(|((keys, name), (words, command))| (keys, name, words, Some(ScreenOrder::by_user(command))));
    let none = ("nq\u{1b}", "n", "change nothing".to_owned(), None);
    KeyQuestion {
        title: title.to_owned(),
        text: text.to_owned(),
        answers: numbered.chain([none]).collect(),
    }
}

fn quit(model: &Model) -> KeyQuestion<ScreenOrder> {
    let run = &model.run;
    let text = match run.phase {
        _ if run.is_busy() => "An agent is running; its changes are kept.",
        Phase::Paused => "The run is paused.",
        Phase::Waiting { .. } => "The run is waiting.",
        _ => "The run is not over.",
    };
    let detach = match run.is_paused() {
        true => "detach: the run stays paused, and `ralph attach` shows it again",
        false => "detach: the run continues, and `ralph attach` shows it again",
    };
    // Without a running iteration there is nothing to wait for.
    let after = if run.is_busy() { "stop after this iteration" } else { "" };
    let stop = |stop, by| Some(ScreenOrder::stop(stop, by));
    let (user, now) = (RequestedBy::User, StopRequest::Graceful);
    let mut answers = vec![
        ("yq\n", "y Ctrl-C", "stop now".to_owned(), stop(now, user)),
        ("a", "a", after.to_owned(), stop(StopRequest::AfterIteration, user)),
        ("n\u{1b}", "n", "stay".to_owned(), None),
        ("\u{3}", "", String::new(), stop(now, RequestedBy::Interrupt)),
    ];
    if model.ui.detaches {
        // A key typed without looking must not stop anything.
        answers.insert(0, ("dq\n", "d", detach.to_owned(), Some(ScreenOrder::Detach)));
    }
    KeyQuestion {
        title: if model.ui.detaches {
            "leave the run?"
        } else {
            "stop the run?"
        }
        .to_owned(),
        text: text.to_owned(),
        answers,
    }
}

/// Handles a key of a question.
pub(in crate::tui) fn key(model: &mut Model, key: KeyEvent, asked: Confirmation) -> Vec<ScreenOrder> {
    let chord = Chord::new(key.code, key.modifiers);
    let interrupts = chord == Chord::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    if interrupts && asked != Confirmation::Quit {
        model.ui.mode = InputMode::Normal;
        return interrupt(model);
    }
    let Some(order) = question(model, asked).answered(chord) else {
        return Vec::new();
    };
    model.ui.mode = InputMode::Normal;
    // The iteration may have ended meanwhile; the next one must not be skipped.
    if let (Confirmation::Skip { iteration }, Some(_)) = (asked, &order)
        && !matches!(model.run.phase, Phase::Running { iteration: current, .. } if current == iteration)
    {
        model.ui.toast(Tone::Note, "the iteration is over", model.now_ms);
        return Vec::new();
    }
    if let Some(ScreenOrder::Restore(_)) = order {
        model.ui.toast(Tone::Note, "restoring the files…", model.now_ms);
    }
    order.into_iter().collect()
}

/// Handles Ctrl-C: asks whether to stop the run. If the run is already being stopped, the stop is escalated. A finished
/// run or a replay is left.
pub(in crate::tui) fn interrupt(model: &mut Model) -> Vec<ScreenOrder> {
    if model.run.is_over() || model.ui.replay.is_some() {
        return vec![ScreenOrder::Leave];
    }
    match model.run.stop.map(|stop| stop.request) {
        Some(StopRequest::Graceful | StopRequest::Immediate) => {
            vec![ScreenOrder::stop(StopRequest::Graceful, RequestedBy::Interrupt)]
        }
        Some(StopRequest::AfterIteration) | None => {
            model.ui.mode = InputMode::Asking(Confirmation::Quit);
            Vec::new()
        }
    }
}

/// The question on the screen of a batch, if there is one.
pub(in crate::tui) fn batch_question(model: &BoardModel) -> Option<KeyQuestion<BoardOrder>> {
    Some(match &model.mode {
        BoardMode::Quit => KeyQuestion {
            title: "leave the batch?".to_owned(),
            text: format!(
                "{} running. The work so far is kept.",
                counted(model.board.counts.running as u64, "run")
            ),
            answers: [
                // A key typed without looking must not stop anything.
                (
                    "dq\n",
                    "d",
                    "detach: the batch continues; `ralph many attach` shows it again",
                    Some(BoardOrder::Detach),
                ),
                (
                    "y\u{3}",
                    "y Ctrl-C",
                    "stop all runs; `ralph many resume` continues",
                    Some(BoardOrder::Stop),
                ),
                ("n\u{1b}", "n", "stay", None),
            ]
            .map(|(keys, name, words, order)| (keys, name, words.to_owned(), order))
            .into(),
        },
        BoardMode::Cancel(plan) => KeyQuestion {
            title: format!("cancel {plan}?"),
            text: "It is not merged. Its branch is kept with the work so far.".to_owned(),
            answers: vec![
                (
                    "yc\n",
                    "y",
                    "cancel it".to_owned(),
                    Some(BoardOrder::Cancel(plan.clone())),
                ),
                ("nq\u{1b}", "n", "keep it running".to_owned(), None),
            ],
        },
        BoardMode::Normal | BoardMode::Help { .. } | BoardMode::Answering { .. } => return None,
    })
}

#[cfg(test)]
mod tests {
    use ralph_core::event::{Escalation, NewLimits, Worker};

    use super::*;
    use crate::tui::{
        model::InputMode,
        testing::running,
        update::tests::{after, press},
    };

    /// A run that the limits are shown of.
    fn limited() -> Model {
        let mut model = after(running());
        model.run.settings.limits.max_iterations = Some(50);
        model.run.settings.limits.max_cost_usd = Some(2.5);
        assert_eq!(press(&mut model, "c"), []);
        model
    }

    #[test]
    fn a_key_proposes_a_higher_limit_for_each_and_sets_the_chosen_one() {
        let mut model = limited();
        assert_eq!(press(&mut model, "+"), []);
        assert_eq!(model.ui.mode, InputMode::Asking(Confirmation::RaiseLimit));
        let asked = question(&model, Confirmation::RaiseLimit);
        let proposed: Vec<&str> = asked.answers.iter().map(|(.., words, _)| words.as_str()).collect();
        assert!(proposed.starts_with(&["100 iterations"]), "{proposed:?}");
        assert!(proposed.contains(&"$5"), "{proposed:?}");
        let limits = NewLimits {
            max_iterations: Some(100),
            ..NewLimits::default()
        };
        let order = ScreenOrder::by_user(UserCommand::SetLimits { limits });
        assert_eq!(press(&mut model, "1"), [order]);
        assert_eq!(press(&mut model, "+n"), [], "nothing changes");
    }

    #[test]
    fn a_key_gives_the_next_iterations_to_another_agent_or_model_of_the_settings() {
        let mut model = limited();
        model.run.settings.fallback = vec!["codex".to_owned()];
        let strong = Worker {
            adapter: model.run.settings.adapter.clone(),
            model: Some("opus".to_owned()),
        };
        model.run.settings.escalation = Escalation {
            steps: vec![strong.clone()],
            after: 2,
        };
        let worker = NewWorker {
            adapter: Some(strong.adapter),
            model: strong.model,
        };
        let order = ScreenOrder::by_user(UserCommand::SetWorker { worker });
        assert_eq!(press(&mut model, "M2"), [order]);
    }
}
