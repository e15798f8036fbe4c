//! The user's messages, newest first, and one of them shown in full.

use std::borrow::Cow;

use ralph_core::{
    event::{Delivery, SteeringId, SteeringKind, UserCommand},
    run::{Delivered, Message, MessageState},
};
use ralph_text::{one_line, sanitized};
use ratatui::layout::Rect;

use crate::tui::{
    editor::Editor,
    keys::KeyAction,
    model::{Confirmation, Editing, InputMode, Model, PageRow, can_be_edited, message_at},
    order::{ScreenOrder, refused},
    pen::{Pen, wrapped},
    theme::TextRole,
};

use super::content::{PaneContent, draw_list};

pub(super) struct MessageListContent;

impl PaneContent for MessageListContent {
    fn draw(&self, model: &Model, area: Rect, pen: &mut Pen<'_>) {
        let messages = &model.run.messages;
        if messages.is_empty() {
            return pen.note(area, "No messages. `:` writes one for the next prompt.");
        }
        draw_list(messages.iter().rev(), self.at(model), area, pen, row);
    }

    fn each(&self, model: &Model, take: &mut dyn FnMut(&str)) {
        let messages = model.run.messages.iter().rev();
        messages.for_each(|message| take(&one_line(&message.text)));
    }

    fn count(&self, model: &Model) -> Option<usize> {
        Some(model.run.messages.len())
    }

    fn key(&self, model: &mut Model, action: KeyAction) -> Vec<ScreenOrder> {
        match action {
            KeyAction::Withdraw => return withdraw(model),
            KeyAction::Open => open(model),
            _ => {}
        }
        Vec::new()
    }

    fn copy(&self, model: &Model) -> Option<String> {
        Some(message_at(model)?.text.clone())
    }

    fn document(&self, model: &Model) -> Option<String> {
        self.copy(model)
    }

    fn file(&self) -> &'static str {
        "message.md"
    }
}

/// A message shown in full.
pub(super) struct MessageContent;

impl PaneContent for MessageContent {
    /// The state and the text of the message.
    fn rows<'m>(&self, model: &'m Model) -> Cow<'m, [PageRow]> {
        let Some(message) = message_at(model) else {
            return Cow::default();
        };
        let (kind, state) = (kind_word(message), state_in_words(message));
        let head = format!("message {} · {kind} · {state}", message.id.0);
        let room = usize::from(model.layout().main.width.saturating_sub(2));
        let text = sanitized(&message.text);
        let lines = text.lines().flat_map(|line| wrapped(line, room));
        let lines = [String::new()]
            .into_iter()
            .chain(lines)
            .map(|line| (line, TextRole::Plain));
        let rows = [(head, TextRole::Dim)].into_iter().chain(lines);
        rows.map(|row| PageRow::from_pieces(vec![row])).collect()
    }

    fn note(&self, _: &Model) -> String {
        "Esc leaves".to_owned()
    }

    fn copy(&self, model: &Model) -> Option<String> {
        MessageListContent.copy(model)
    }

    fn document(&self, model: &Model) -> Option<String> {
        self.copy(model)
    }

    fn file(&self) -> &'static str {
        MessageListContent.file()
    }
}

fn row(message: &Message, area: Rect, pen: &mut Pen<'_>) {
    let (y, end) = (area.y, area.right());
    let mut x = pen.role(area.x + 1, y, end, &format!("{:>3} ", message.id.0), TextRole::Dim);
    x = pen.role(x, y, end, &format!("{:<9}", kind_word(message)), TextRole::User);
    let role = if message.is_due() {
        TextRole::Wait
    } else {
        TextRole::Dim
    };
    x = pen.role(x, y, end, &format!("{:<22} ", state_in_words(message)), role);
    pen.role(x, y, end, &one_line(&message.text), TextRole::Plain);
}

pub(super) fn kind_word(message: &Message) -> &'static str {
    match message.kind {
        SteeringKind::Next => "next",
        SteeringKind::Now => "now",
        SteeringKind::Standing => "standing",
    }
}

fn state_in_words(message: &Message) -> String {
    match message.state() {
        MessageState::Queued => "queued".to_owned(),
        MessageState::Delivered(Delivered {
            iteration,
            how: Delivery::Prompt,
        }) => format!("in the prompt of {iteration}"),
        MessageState::Delivered(Delivered {
            iteration,
            how: Delivery::Live,
        }) => format!("live in iteration {iteration}"),
        MessageState::Withdrawn => "withdrawn".to_owned(),
    }
}

/// Opens the selected message: for editing if it is still queued, otherwise for reading.
fn open(model: &mut Model) {
    let Some(message) = message_at(model) else { return };
    let id = message.id;
    if !can_be_edited(model, message) {
        if model.ui.reading.is_none() {
            model.ui.reading = Some(id);
        }
        return;
    }
    let sign = match message.kind {
        SteeringKind::Next => "",
        SteeringKind::Now => "!",
        SteeringKind::Standing => "+",
    };
    let edited = Editor::with_text(&format!("{sign}{}", message.text));
    let draft = std::mem::replace(&mut model.ui.steering, edited);
    model.ui.editing = Some(Editing { id, draft });
    model.ui.recall.rewind();
    model.ui.mode = InputMode::Steering;
}

/// Withdraws the selected message. A standing message needs a confirmation.
fn withdraw(model: &mut Model) -> Vec<ScreenOrder> {
    match message_at(model).filter(|message| message.is_due()) {
        Some(message) if message.kind == SteeringKind::Standing => {
            model.ui.mode = InputMode::Asking(Confirmation::Withdraw { id: message.id });
            Vec::new()
        }
        Some(message) => vec![withdrawn(message.id)],
        None => refused(model, "only waiting or standing messages can be withdrawn"),
    }
}

pub(in crate::tui) fn withdrawn(id: SteeringId) -> ScreenOrder {
    ScreenOrder::by_user(UserCommand::Withdraw { id })
}

#[cfg(test)]
mod tests {
    use crossterm::event::KeyCode;

    use ralph_core::event::{Event, Record, SteeringEvent};

    use super::*;
    use crate::tui::{
        model::Pane,
        testing::{model, queued, running},
        update::{
            tests::{control, key, press},
            update,
        },
    };

    /// A screen with a standing message and a newer one for the next prompt.
    fn watching() -> Model {
        let messages = [
            queued(1, SteeringKind::Standing, "use tabs"),
            queued(2, SteeringKind::Next, "Use SQLite"),
        ];
        let mut model = model(100, 30, running().into_iter().chain(messages));
        model.ui.show(Pane::Messages);
        model
    }

    fn steer(kind: SteeringKind, text: &str) -> ScreenOrder {
        ScreenOrder::by_user(UserCommand::Steer {
            kind,
            text: text.to_owned(),
        })
    }

    #[test]
    fn a_queued_message_is_edited_and_the_old_one_goes_when_the_new_one_is_sent() {
        let mut model = watching();
        model.ui.steering = Editor::with_text("a draft");
        assert_eq!(update(&mut model, key(KeyCode::Enter)), []);
        assert_eq!(model.ui.steering.text(), "Use SQLite");
        press(&mut model, " 3");
        assert_eq!(update(&mut model, key(KeyCode::Esc)), [], "it stays as it was");
        assert_eq!((model.ui.steering.text(), &model.ui.editing), ("a draft", &None));
        update(&mut model, key(KeyCode::Enter));
        press(&mut model, " 3");
        let sent = update(&mut model, key(KeyCode::Enter));
        let expected = [
            steer(SteeringKind::Next, "Use SQLite 3"),
            withdrawn(SteeringId(2)),
            ScreenOrder::RememberMessages,
        ];
        assert_eq!(sent, expected);
        assert_eq!(model.ui.steering.text(), "a draft");
        press(&mut model, "j");
        update(&mut model, key(KeyCode::Enter));
        assert_eq!(model.ui.steering.text(), "+use tabs");
        assert_eq!(update(&mut model, key(KeyCode::Enter)), [], "nothing was changed");
        assert!(model.ui.toast.is_some() && model.ui.steering.text() == "a draft");
    }

    #[test]
    fn a_message_that_was_delivered_while_it_was_edited_is_not_taken_back() {
        let mut model = watching();
        update(&mut model, key(KeyCode::Enter));
        model.apply(&Record {
            seq: 99,
            at_ms: model.now_ms,
            event: Event::Steering(SteeringEvent::Withdrawn { id: SteeringId(2) }),
        });
        press(&mut model, " 3");
        let sent = update(&mut model, key(KeyCode::Enter));
        assert_eq!(
            sent,
            [steer(SteeringKind::Next, "Use SQLite 3"), ScreenOrder::RememberMessages]
        );
        assert!(model.ui.toast.is_some());
        // Opened for reading, not for editing.
        update(&mut model, key(KeyCode::Enter));
        assert_eq!(
            (&model.ui.mode, model.ui.reading),
            (&InputMode::Normal, Some(SteeringId(2)))
        );
        update(&mut model, key(KeyCode::Esc));
        assert_eq!((model.ui.pane, model.ui.reading), (Pane::Messages, None));
    }

    #[test]
    fn what_is_in_every_prompt_is_taken_back_only_after_a_question() {
        let mut model = watching();
        assert_eq!(press(&mut model, "x"), [withdrawn(SteeringId(2))]);
        assert_eq!(press(&mut model, "jxn"), []);
        assert_eq!(press(&mut model, "x"), []);
        assert_eq!(press(&mut model, "y"), [withdrawn(SteeringId(1))]);
    }

    #[test]
    fn what_was_sent_is_searched_as_in_a_shell() {
        let mut model = watching();
        for text in ["Use Postgres", "Write tests", "use SQLite"] {
            model.ui.recall.push(text.to_owned());
        }
        press(&mut model, ":draft");
        update(&mut model, control('r'));
        press(&mut model, "use");
        update(&mut model, control('r'));
        assert_eq!(update(&mut model, key(KeyCode::Enter)), [], "nothing is sent yet");
        assert_eq!(model.ui.steering.text(), "Use Postgres");
        // Up and Down lead back to the draft.
        update(&mut model, key(KeyCode::Down));
        assert_eq!(model.ui.steering.text(), "Write tests");
        for leaves in [KeyCode::Enter, KeyCode::Esc] {
            update(&mut model, control('r'));
            press(&mut model, "zzz");
            update(&mut model, key(leaves));
            let shown = (model.ui.steering.text(), &model.ui.mode);
            assert_eq!(shown, ("Write tests", &InputMode::Steering), "{leaves:?}");
        }
        update(&mut model, key(KeyCode::Down));
        update(&mut model, key(KeyCode::Down));
        assert_eq!(model.ui.steering.text(), "draft");
    }
}
