//! The list of the agents' questions: moving in it and opening an entry.

use ralph_words::{Tone, used_up_in_words};

use crate::ui::tui::{
    model::{AnswerBox, AnswerSubject, ExpandedAsk, InputMode, Model, listed, position, select, used_up},
    view,
};

use super::order::Scroll;

pub(super) fn scroll(model: &mut Model, scroll: Scroll) {
    if let Some(reading) = model.ui.asks.reading {
        let last = view::last_line_of_ask(model, reading.place);
        let top = scroll.downwards(reading.top.min(last), last);
        model.ui.asks.reading = Some(ExpandedAsk { top, ..reading });
        return;
    }
    let last = model.asks.len().saturating_sub(1);
    select(model, scroll.downwards(position(model), last));
}

/// Opens the answer box for an open question; shows other entries in full.
pub(super) fn open(model: &mut Model) {
    if model.ui.asks.reading.is_some() {
        return;
    }
    let Some(entry) = listed(model).nth(position(model)) else {
        return;
    };
    let (place, number) = (entry.place, entry.number.unwrap_or_default());
    let subject = AnswerSubject::find(&model.run, number).filter(|_| model.ui.replay.is_none());
    let Some(subject) = subject else {
        model.ui.asks.reading = Some(ExpandedAsk { place, top: 0 });
        return;
    };
    let is_late = subject.is_late();
    let needs_iteration = is_late && !matches!(subject, AnswerSubject::Tests(_));
    if let Some(limit) = used_up(&model.run).filter(|_| needs_iteration) {
        return model.ui.toast(Tone::Note, used_up_in_words(limit), model.now_ms);
    }
    // The user opened the box, so keys count at once.
    model.ui.mode = InputMode::Answering(AnswerBox {
        late: is_late,
        ..AnswerBox::new(number, 0)
    });
}

#[cfg(test)]
mod tests {
    use crossterm::event::KeyCode;

    use ralph_core::{
        event::{Answer, AnswerPlace, AskId, Decider, Event, Outcome, Record, StopReason, UserCommand},
        testing::{iteration_started, permission_asked, question_asked},
    };

    use super::*;
    use crate::ui::tui::{
        model::{Pane, ReplayState},
        testing::{running, stopped},
        update::{
            ScreenOrder, show_question,
            tests::{after, key, press},
            update,
        },
    };

    fn allowed(ask: u32, title: &str) -> Event {
        Event::PermissionDecided {
            iteration: 3,
            id: AskId(format!("request-{ask}")),
            ask: Some(ask),
            tool: "Bash".to_owned(),
            title: title.to_owned(),
            allowed: true,
            by: Decider::User {
                at: Some(AnswerPlace::Screen),
            },
            message: None,
            waited_ms: 1,
            denials: 0,
        }
    }

    fn ended() -> Event {
        Event::IterationEnded {
            iteration: 3,
            outcome: Outcome::Completed,
            exit: None,
            duration_ms: 1,
            output_bytes: 1,
        }
    }

    /// The list after these events, without a box over it.
    fn listing(events: Vec<Event>) -> Model {
        let mut model = after([running(), events].concat());
        model.ui.put_off = u32::MAX;
        model.ui.report.due = false;
        press(&mut model, "P");
        assert_eq!((model.ui.pane, &model.ui.mode), (Pane::Asks, &InputMode::Normal));
        model
    }

    fn numbers(model: &Model) -> Vec<u32> {
        listed(model).map(|entry| entry.number.unwrap_or_default()).collect()
    }

    fn opened(model: &Model) -> Option<(u32, bool)> {
        match &model.ui.mode {
            InputMode::Answering(answering) => Some((answering.ask, answering.late)),
            _ => None,
        }
    }

    #[test]
    fn what_waits_is_listed_first_and_its_box_opens_and_the_past_is_shown_whole() {
        let asks = [1, 2, 3].map(permission_asked).to_vec();
        let mut model = listing(
            [
                asks,
                vec![allowed(1, "one"), question_asked(4, false), allowed(3, "three")],
            ]
            .concat(),
        );
        assert_eq!(numbers(&model), [2, 4, 3, 1]);
        press(&mut model, "j");
        update(&mut model, key(KeyCode::Enter));
        assert_eq!(opened(&model), Some((4, false)));
        let orders = press(&mut model, "1");
        assert!(
            matches!(
                &orders[..],
                [ScreenOrder::Command {
                    command: UserCommand::Answer { ask: 4, .. },
                    ..
                }]
            ),
            "at once"
        );
        update(&mut model, key(KeyCode::Esc));
        assert_eq!(opened(&model), None, "what was put off stays so");
        press(&mut model, "G");
        update(&mut model, key(KeyCode::Enter));
        let reading = model.ui.asks.reading.expect("an entry");
        assert_eq!(model.asks.at(reading.place).and_then(|entry| entry.number), Some(1));
        update(&mut model, key(KeyCode::Esc));
        assert_eq!((model.ui.pane, model.ui.asks.reading), (Pane::Asks, None));
        update(&mut model, key(KeyCode::Esc));
        assert_eq!(model.ui.pane, Pane::Terminal);
    }

    #[test]
    fn what_nobody_answered_is_answered_late_from_the_list_also_after_the_end() {
        let blocked = StopReason::Blocked {
            question: "?".to_owned(),
        };
        for events in [
            vec![permission_asked(1), ended()],
            vec![permission_asked(1), ended(), stopped(blocked.clone())],
        ] {
            let mut model = listing(events);
            update(&mut model, key(KeyCode::Enter));
            assert_eq!(opened(&model), Some((1, true)));
            let command = UserCommand::Answer {
                ask: 1,
                answer: Answer::Deny { message: None },
                at: AnswerPlace::Screen,
            };
            assert_eq!(press(&mut model, "n"), [ScreenOrder::by_user(command)]);
        }
        let mut used_up = listing(vec![permission_asked(1), ended(), stopped(blocked)]);
        used_up.run.settings.limits.max_iterations = Some(1);
        update(&mut used_up, key(KeyCode::Enter));
        assert_eq!(opened(&used_up), None);
        assert!(used_up.ui.toast.is_some(), "it is said why");
        let mut gone = listing(vec![permission_asked(1), ended(), iteration_started(4, None, None)]);
        update(&mut gone, key(KeyCode::Enter));
        assert!(opened(&gone).is_none() && gone.ui.asks.reading.is_some());
    }

    #[test]
    fn a_task_that_is_blocked_is_answered_from_the_list() {
        let block = Event::TaskBlocked {
            iteration: 3,
            task: Some("Write the parser".to_owned()),
            question: "Which key?".to_owned(),
        };
        let mut model = listing(vec![block]);
        update(&mut model, key(KeyCode::Enter));
        assert_eq!(opened(&model), Some((1, true)));
        press(&mut model, "othe blue one");
        let command = UserCommand::Answer {
            ask: 1,
            answer: Answer::Words {
                words: vec!["the blue one".to_owned()],
            },
            at: AnswerPlace::Screen,
        };
        assert_eq!(update(&mut model, key(KeyCode::Enter)), [ScreenOrder::by_user(command)]);
    }

    #[test]
    fn a_replay_shows_what_was_asked_and_answers_nothing() {
        let mut model = listing(vec![permission_asked(1)]);
        model.ui.replay = Some(ReplayState {
            speed: 1.0,
            paused: false,
            over: false,
        });
        assert_eq!(update(&mut model, key(KeyCode::Enter)), []);
        assert!(opened(&model).is_none() && model.ui.asks.reading.is_some());
    }

    #[test]
    fn ten_thousand_are_gone_through_and_searched_and_the_chosen_one_stays_chosen() {
        let many = (1..=10_000).flat_map(|number| {
            let mut asked = permission_asked(number);
            if let Event::PermissionAsked { request, .. } = &mut asked {
                request.title = format!("echo {number}.");
            }
            [asked, allowed(number, "echo")]
        });
        let mut model = listing(many.collect());
        press(&mut model, "jj");
        let chosen = |model: &Model| listed(model).nth(position(model)).and_then(|entry| entry.number);
        assert_eq!(chosen(&model), Some(9_998));
        model.apply(&Record {
            seq: 1,
            at_ms: model.now_ms,
            event: permission_asked(10_001),
        });
        show_question(&mut model);
        assert_eq!(
            (chosen(&model), position(&model)),
            (Some(9_998), 3),
            "another one came first"
        );
        press(&mut model, "/echo 5000.");
        update(&mut model, key(KeyCode::Enter));
        assert_eq!(chosen(&model), Some(5_000));
        press(&mut model, "N");
        assert_eq!(chosen(&model), Some(5_000), "the only one, around the end");
        press(&mut model, "G");
        assert_eq!(chosen(&model), Some(2), "the first was dropped");
    }
}
