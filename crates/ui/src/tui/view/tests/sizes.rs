//! Boxes on terminals of any size.

use super::*;
use crate::tui::model::Recalling;

/// A run that is blocked, and one whose agent waits for an answer.
fn asked() -> [Vec<Event>; 2] {
    let question = "Which of the two formats is meant: the old one, or the one of version 2?";
    let blocked = StopReason::Blocked {
        question: question.into(),
    };
    [
        over(blocked, vec![Hint::Answer]),
        [running(), vec![permission_asked(1)]].concat(),
    ]
}

#[test]
fn no_size_breaks_a_box() {
    let long = || Editor::with_text("one word and another\nand a second line of words");
    let answering = |step| {
        InputMode::Answering(AnswerBox {
            step,
            refused: Some("a rule that does not allow it".to_owned()),
            late: true,
            ..AnswerBox::new(1, START_MS)
        })
    };
    let confirmations = [
        Confirmation::Quit,
        Confirmation::RaiseLimit,
        Confirmation::Restore { iteration: 1 },
        Confirmation::Restored,
    ];
    let mut modes = vec![
        answering(AnswerStep::Choosing),
        answering(AnswerStep::Wording(long())),
        answering(AnswerStep::Denying(long())),
        answering(AnswerStep::Remembering(RuleScope::Project, long())),
        InputMode::Steering,
        InputMode::Searching,
        InputMode::Copying,
        InputMode::Recalling(Recalling { query: long(), nth: 0 }),
        InputMode::Palette(ActionSearch::default()),
        InputMode::Help { top: 3 },
    ];
    modes.extend(confirmations.map(InputMode::Asking));
    for events in asked() {
        for mode in &modes {
            for cols in [1, 2, 3, 4, 5, 8, 13, 20, 39, 40, 80] {
                for rows in 1..=13 {
                    let mut model = model(cols, rows, events.clone());
                    show_end(&mut model);
                    model.ui.steering = long();
                    model.ui.mode = mode.clone();
                    refresh_report(&mut model);
                    buffer(&model, &live(&model, ""), &DARK);
                }
            }
        }
    }
}

#[test]
fn an_answer_can_be_seen_while_it_is_typed_on_a_terminal_of_five_rows() {
    let [blocked, _] = asked();
    let mut model = model(20, 5, blocked);
    show_end(&mut model);
    refresh_report(&mut model);
    crate::tui::update::tests::press(&mut model, "blue");
    assert!(drawn(&model).contains("blue"), "{}", drawn(&model));
}
