//! Snapshots of messages: one in full, the search through earlier ones, the question before a withdrawal.

use insta::assert_snapshot;

use crate::tui::model::Recalling;

use super::*;
use ralph_core::event::SteeringEvent;

#[test]
fn messages_are_read_whole_found_again_and_taken_back_after_a_question() {
    let mut events = running();
    events.push(queued(
        1,
        SteeringKind::Next,
        "Use SQLite,\n\nand nothing that needs a server of its own to be run beside it",
    ));
    events.push(Event::Steering(SteeringEvent::Delivered {
        id: SteeringId(1),
        iteration: 3,
        how: ralph_core::event::Delivery::Prompt,
    }));
    events.push(queued(2, SteeringKind::Standing, "Use tabs"));
    let of = |mode, read| {
        let mut model = model(80, 24, events.clone());
        for text in ["Use Postgres", "Write tests", "Use SQLite,\nand nothing else"] {
            model.ui.recall.push(text.to_owned());
        }
        model.ui.show(Pane::Messages);
        (model.ui.mode, model.ui.reading) = (mode, read);
        drawn(&model)
    };
    let recalling = Recalling {
        query: Editor::with_text("use"),
        nth: 0,
    };
    let question = Confirmation::Withdraw { id: SteeringId(2) };
    assert_snapshot!("message_whole", of(InputMode::Normal, Some(SteeringId(1))));
    assert_snapshot!("message_recalled", of(InputMode::Recalling(recalling), None));
    assert_snapshot!("message_taken_back", of(InputMode::Asking(question), None));
}
