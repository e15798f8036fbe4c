//! Copies the selected item of a list, or a part of a terminal.

use crossterm::event::KeyEvent;

use crate::tui::{
    keys::Chord,
    model::{CopyPortion, InputMode, Model, PORTIONS},
    order::{ScreenOrder, refused},
    panes::focused,
};

use super::{confirm::KeyQuestion, search::is_in_terminal};

pub(in crate::tui) fn begin(model: &mut Model) -> Vec<ScreenOrder> {
    if is_in_terminal(model) {
        model.ui.mode = InputMode::Copying;
        return Vec::new();
    }
    match focused(model).copy(model) {
        Some(text) => vec![ScreenOrder::Copy(text)],
        None => refused(model, "there is nothing to copy here"),
    }
}

/// Asks which part of a terminal to copy.
pub(super) fn question() -> KeyQuestion<CopyPortion> {
    let parts = PORTIONS.iter();
    let answers = parts.map(|(key, part, words)| (*key, *key, (*words).to_owned(), Some(*part)));
    KeyQuestion {
        title: "copy".to_owned(),
        text: "To the clipboard of your terminal:".to_owned(),
        answers: answers
            .chain([("qy\u{1b}\u{3}", "Esc", "nothing".to_owned(), None)])
            .collect(),
    }
}

/// Handles a key of the box that asks for the part.
pub(in crate::tui) fn key(model: &mut Model, key: KeyEvent) -> Vec<ScreenOrder> {
    let Some(part) = question().answered(Chord::new(key.code, key.modifiers)) else {
        return Vec::new();
    };
    model.ui.mode = InputMode::Normal;
    part.map_or_else(Vec::new, |part| copy(model, part))
}

fn copy(model: &mut Model, part: CopyPortion) -> Vec<ScreenOrder> {
    // For a past iteration, only the screen has its output.
    let is_live = model.ui.history.open.is_none();
    let said = match part {
        CopyPortion::Block => model.agent_text.block.as_ref(),
        CopyPortion::Message => model.agent_text.message.as_ref(),
        CopyPortion::Line | CopyPortion::Shown | CopyPortion::All => return vec![ScreenOrder::CopyFrom(part)],
    };
    match said.filter(|_| is_live) {
        Some(text) => vec![ScreenOrder::Copy(text.clone())],
        None => refused(model, "the agent has no such message; `s` copies what is shown"),
    }
}

#[cfg(test)]
mod tests {
    use crossterm::event::KeyCode;

    use super::*;
    use ralph_core::event::{AgentEvent, AgentSignal, Event, SteeringKind};

    use crate::tui::{
        model::DiffState,
        patch::Patch,
        testing::{model, queued, running},
        update::{
            tests::{key, press},
            update,
        },
    };

    fn copied(orders: &[ScreenOrder]) -> &str {
        match orders {
            [ScreenOrder::Copy(text)] => text,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn in_a_list_the_chosen_one_is_copied_whole() {
        let mut events = running();
        events.push(queued(1, SteeringKind::Next, "first\nsecond"));
        let mut model = model(100, 30, events);
        assert_eq!(copied(&press(&mut model, "my")), "first\nsecond");
        assert_eq!(copied(&press(&mut model, "0gy")), "Write the parser");
        assert_eq!(
            copied(&press(&mut model, "hy")),
            "iteration 3: Describe the format in README.md"
        );
        press(&mut model, "l/iteration 2");
        update(&mut model, key(KeyCode::Enter));
        assert!(copied(&press(&mut model, "y")).contains("iteration 2"));
        press(&mut model, "d");
        assert_eq!(press(&mut model, "y"), [], "nothing is there yet");
        let patch = " a | 2 +-\n\ndiff --git a/a b/a\n@@ -1 +1 @@\n-old\n+new\n@@ -9 +9 @@\n-two\n+Three";
        model.ui.diff.state = DiffState::Loaded(Patch::parse(patch));
        assert_eq!(copied(&press(&mut model, "y")), " a | 2 +-\n");
        model.ui.diff.top = 4;
        assert_eq!(copied(&press(&mut model, "y")), "@@ -1 +1 @@\n-old\n+new");
        press(&mut model, "/three");
        update(&mut model, key(KeyCode::Enter));
        assert_eq!(copied(&press(&mut model, "y")), "+Three", "of a match, its line");
    }

    #[test]
    fn of_a_terminal_it_is_asked_what_is_meant() {
        let mut model = model(100, 30, running());
        assert_eq!(press(&mut model, "yxs"), [ScreenOrder::CopyFrom(CopyPortion::Shown)]);
        assert_eq!(press(&mut model, "ym"), [], "nothing was said");
        assert!(model.ui.toast.is_some());
        let text = "Run this:\n```sh\ncargo test\n```".to_owned();
        let said = Event::Agent(AgentEvent::Reported {
            iteration: 3,
            signal: AgentSignal::Said { text: text.clone() },
        });
        model.apply(&ralph_core::event::Record {
            seq: 99,
            at_ms: model.now_ms,
            event: said,
        });
        assert_eq!(copied(&press(&mut model, "ym")), text);
        assert_eq!(copied(&press(&mut model, "yb")), "cargo test\n");
        assert_eq!(press(&mut model, "yy"), []);
        assert_eq!(model.ui.mode, InputMode::Normal);
    }
}
