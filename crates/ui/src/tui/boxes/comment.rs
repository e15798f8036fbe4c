//! The box for a comment on a line, and the list of all comments.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ralph_core::{
    event::{CommentPlace, SteeringKind, UserCommand},
    run::Comment,
};
use ralph_text::one_line;
use ralph_words::comment_state_in_words;
use ratatui::layout::{Position, Rect};

use crate::tui::{
    editor::Editor,
    model::{CommentDraft, CommentSubject, InputMode, Model},
    order::{ScreenOrder, refused},
    panes::{below_head, comment_role, draw_list},
    pen::Pen,
    theme::TextRole,
};

use super::{
    message::{too_long, written},
    typed::{self, TypingEffect, typed},
};

/// Handles a key in the text of a comment.
pub(in crate::tui) fn key(model: &mut Model, key: KeyEvent, mut draft: CommentDraft) -> Vec<ScreenOrder> {
    match typed(&mut draft.editor, key) {
        TypingEffect::Entered => {
            model.ui.mode = InputMode::Normal;
            return write(&draft);
        }
        TypingEffect::Cancelled | TypingEffect::Interrupted => {
            model.ui.mode = InputMode::Normal;
            return Vec::new();
        }
        TypingEffect::TooLong => too_long(model),
        TypingEffect::Edited | TypingEffect::Above | TypingEffect::Below => {}
    }
    model.ui.mode = InputMode::Commenting(draft);
    Vec::new()
}

/// Writes the comment as a draft. Without a text nothing is written.
fn write(draft: &CommentDraft) -> Vec<ScreenOrder> {
    let text = draft.editor.text().trim().to_owned();
    if text.is_empty() {
        return Vec::new();
    }
    vec![ScreenOrder::by_user(match &draft.subject {
        CommentSubject::Line { file, line, iteration } => {
            let place = CommentPlace {
                file: file.into(),
                line: *line,
                iteration: Some(*iteration),
                ..CommentPlace::default()
            };
            let place = Box::new(place);
            UserCommand::WriteComment { place, text }
        }
        CommentSubject::Draft { number } => UserCommand::EditComment { comment: *number, text },
    })]
}

/// Begins to edit a draft.
fn edit(comment: &Comment) -> InputMode {
    InputMode::Commenting(CommentDraft {
        subject: CommentSubject::Draft { number: comment.number },
        editor: Editor::with_text(&comment.text),
    })
}

/// Draws the box for the text. Returns its cursor position.
pub(super) fn draw(draft: &CommentDraft, area: Rect, pen: &mut Pen<'_>) -> Option<Position> {
    if area.width < 6 || area.height < 3 {
        return None;
    }
    let title = match &draft.subject {
        CommentSubject::Line { file, line, .. } => format!("comment on {}:{line}", one_line(file)),
        CommentSubject::Draft { number } => format!("edit comment {number}"),
    };
    let keys = [
        " Enter keeps a draft · Alt-Enter newline · Esc cancels ",
        " Enter keeps a draft · Esc cancels ",
    ];
    let rows = typed::rows(&draft.editor, usize::from(area.width) - 4);
    let inner = written(&title, rows, &keys, area, pen);
    Some(typed::draw(&draft.editor, inner, pen))
}

/// Draws the list of comments.
pub(super) fn draw_comments(model: &Model, chosen: usize, whole: Rect, pen: &mut Pen<'_>) {
    let comments = &model.run.comments.list;
    let height = u16::try_from(comments.len().max(1) + 3).unwrap_or(u16::MAX);
    let width = whole.width.saturating_sub(4).min(110);
    let Some(inner) = pen.centred(whole, width, height.min(whole.height), "comments") else {
        return;
    };
    let keys = "Enter edits a draft · x withdraws or resolves · s sends the drafts · Esc closes";
    pen.role(inner.x + 1, inner.y, inner.right(), keys, TextRole::Dim);
    let below = below_head(inner);
    if comments.is_empty() {
        let note = "No comments. C in the diff writes one.";
        pen.role(below.x + 1, below.y, below.right(), note, TextRole::Plain);
        return;
    }
    let chosen = chosen.min(comments.len() - 1);
    draw_list(comments.iter(), chosen, below, pen, row);
}

fn row(comment: &Comment, area: Rect, pen: &mut Pen<'_>) {
    let (y, end) = (area.y, area.right());
    let mut x = pen.role(area.x + 1, y, end, &format!("{:>3} ", comment.number), TextRole::Dim);
    x = pen.role(
        x,
        y,
        end,
        &format!("{}  ", one_line(&comment.place_now())),
        TextRole::Strong,
    );
    let state = comment_state_in_words(comment);
    x = pen.role(x, y, end, &format!("{state}  "), comment_role(comment));
    pen.role(x, y, end, &one_line(&comment.text), TextRole::Plain);
}

/// Handles a key in the list of comments.
pub(in crate::tui) fn key_of_comments(model: &mut Model, key: KeyEvent, chosen: usize) -> Vec<ScreenOrder> {
    let comments = &model.run.comments.list;
    let last = comments.len().saturating_sub(1);
    let chosen = chosen.min(last);
    let comment = comments.get(chosen).cloned();
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let can_change = model.ui.replay.is_none();
    match (key.code, comment) {
        (KeyCode::Esc | KeyCode::Char('q' | 'L'), _) => model.ui.mode = InputMode::Normal,
        (KeyCode::Char('c'), _) if control => model.ui.mode = InputMode::Normal,
        (KeyCode::Up | KeyCode::Char('k'), _) => choose(model, chosen.saturating_sub(1)),
        (KeyCode::Down | KeyCode::Char('j'), _) => choose(model, (chosen + 1).min(last)),
        (KeyCode::Char('s'), Some(_)) if can_change => {
            let kind = SteeringKind::Next;
            let has_drafts = model.run.comments.drafts().next().is_some();
            return match has_drafts {
                true => vec![ScreenOrder::by_user(UserCommand::SendComments { kind })],
                false => refused(model, "there is no draft to send"),
            };
        }
        (KeyCode::Enter, Some(comment)) if can_change => match comment.is_draft() {
            true => model.ui.mode = edit(&comment),
            false => return refused(model, "only a draft can be edited"),
        },
        (KeyCode::Char('x'), Some(comment)) if can_change => {
            let number = comment.number;
            return match (comment.is_draft(), comment.resolved) {
                (true, _) => vec![ScreenOrder::by_user(UserCommand::WithdrawComment { comment: number })],
                (false, false) => vec![ScreenOrder::by_user(UserCommand::ResolveComment { comment: number })],
                (false, true) => refused(model, "the comment is resolved"),
            };
        }
        _ => {}
    }
    Vec::new()
}

fn choose(model: &mut Model, chosen: usize) {
    model.ui.mode = InputMode::Comments { chosen };
}

#[cfg(test)]
mod tests {
    use ralph_core::event::{CommentAuthor, CommentEvent, Event};

    use super::*;
    use crate::tui::{
        model::{DiffState, Pane},
        patch::Patch,
        testing::{model, running},
        update::{
            tests::{key as pressed, press},
            update,
        },
    };

    const PATCH: &str = "diff --git a/src/a.rs b/src/a.rs\n--- a/src/a.rs\n+++ b/src/a.rs\n@@ -1,3 +1,4 @@\n one\n-two\n+2\n+3\n four\n";

    fn shown(events: Vec<Event>) -> Model {
        let mut model = model(100, 30, running().into_iter().chain(events));
        press(&mut model, "d");
        model.ui.diff.state = DiffState::Loaded(Patch::parse(PATCH));
        model
    }

    fn written(comment: u32, text: &str) -> Event {
        let place = CommentPlace {
            file: "src/a.rs".into(),
            line: 2,
            quote: vec!["2".into()].into(),
            ..CommentPlace::default()
        };
        Event::Comment(CommentEvent::Written {
            comment,
            by: CommentAuthor::User,
            place: Box::new(place),
            text: text.to_owned(),
        })
    }

    #[test]
    fn a_line_of_the_diff_is_chosen_and_commented_on() {
        let mut model = shown(Vec::new());
        let iteration = model.ui.diff.iteration.expect("a patch");
        press(&mut model, "C");
        let first = model.ui.diff.cursor.expect("a chosen line");
        assert_eq!(first, 4, "the first line of the new side");
        press(&mut model, "jj");
        assert_eq!(model.ui.diff.cursor, Some(7), "a removed line is passed over");
        press(&mut model, "CName it");
        let orders = update(&mut model, pressed(KeyCode::Enter));
        let place = CommentPlace {
            file: "src/a.rs".into(),
            line: 3,
            iteration: Some(iteration),
            ..CommentPlace::default()
        };
        let (place, text) = (Box::new(place), "Name it".to_owned());
        assert_eq!(
            orders,
            [ScreenOrder::by_user(UserCommand::WriteComment { place, text })]
        );
        update(&mut model, pressed(KeyCode::Esc));
        assert_eq!((model.ui.diff.cursor, model.ui.pane), (None, Pane::Diff));
    }

    #[test]
    fn the_list_sends_edits_withdraws_and_resolves() {
        let resolved = Event::Comment(CommentEvent::Resolved { comment: 1 });
        let mut model = shown(vec![written(1, "one"), written(2, "two")]);
        press(&mut model, "L");
        press(&mut model, "j");
        let withdrawn = UserCommand::WithdrawComment { comment: 2 };
        assert_eq!(press(&mut model, "x"), [ScreenOrder::by_user(withdrawn)]);
        let kind = SteeringKind::Next;
        let sent = UserCommand::SendComments { kind };
        assert_eq!(press(&mut model, "s"), [ScreenOrder::by_user(sent)]);
        update(&mut model, pressed(KeyCode::Enter));
        press(&mut model, "!");
        let edited = UserCommand::EditComment {
            comment: 2,
            text: "two!".to_owned(),
        };
        assert_eq!(
            update(&mut model, pressed(KeyCode::Enter)),
            [ScreenOrder::by_user(edited)]
        );
        let message = ralph_core::event::SteeringId(1);
        let comments = vec![1].into();
        let mut model = shown(vec![
            written(1, "one"),
            Event::Comment(CommentEvent::Sent { message, comments }),
        ]);
        press(&mut model, "L");
        let closes = UserCommand::ResolveComment { comment: 1 };
        assert_eq!(press(&mut model, "x"), [ScreenOrder::by_user(closes)]);
        let message = ralph_core::event::SteeringId(1);
        let comments = vec![1].into();
        let events = vec![
            written(1, "one"),
            Event::Comment(CommentEvent::Sent { message, comments }),
            resolved,
        ];
        let mut model = shown(events);
        press(&mut model, "L");
        assert_eq!(press(&mut model, "x"), [], "it is resolved");
    }
}
