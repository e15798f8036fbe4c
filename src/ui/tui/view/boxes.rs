//! Boxes over the panes: input lines and questions.

use ralph_core::{
    event::{SteeringId, SteeringKind},
    run::Phase,
};
use ralph_text::one_line;
use ralph_words::ticking;
use ratatui::layout::{Position, Rect};

use crate::ui::tui::{
    lines,
    model::{self, Model, PORTIONS, Recalling, SettledMeanwhile},
    pen::{Pen, columns, wrapped},
    search_query::SearchQuery,
    theme::TextRole,
};

use super::typed;

/// Maximum lines of a confirmation question.
const QUESTION_ROWS: usize = 6;
/// Maximum visible lines of a message.
const MESSAGE_ROWS: usize = 8;

/// Draws the message box. Returns its cursor position.
pub(super) fn steering(model: &Model, area: Rect, pen: &mut Pen<'_>) -> Option<Position> {
    if area.width < 6 || area.height < 3 {
        return None;
    }
    let editor = &model.ui.steering;
    let title = match &model.ui.editing {
        Some(editing) => format!("edit message {} · {}", editing.id.0, explained(model)),
        None => explained(model),
    };
    let keys = [
        " Enter sends · Alt-Enter newline · Ctrl-R finds what you sent · Esc cancels ",
        " Enter sends · Alt-Enter newline · Esc cancels ",
    ];
    let rows = typed::rows(editor, usize::from(area.width) - 4);
    let inner = written(&title, rows, &keys, area, pen);
    Some(typed::draw(editor, inner, pen))
}

/// Draws the search through earlier messages. Returns its cursor position.
pub(super) fn recall(model: &Model, recalling: &Recalling, area: Rect, pen: &mut Pen<'_>) -> Option<Position> {
    if area.width < 6 || area.height < 4 {
        return None;
    }
    let query = recalling.query.text();
    let needle = SearchQuery::parse(query);
    let found: Vec<&str> = model.ui.recall.found(needle.as_ref()).map(|(_, text)| text).collect();
    let text = found.get(recalling.nth).copied().unwrap_or_default();
    let rows = typed::broken(text, usize::from(area.width) - 4);
    let keys = [
        " Enter takes it · Ctrl-R older · Down newer · Esc goes back ",
        " Enter takes it · Ctrl-R older ",
    ];
    let inner = written("search what you sent", rows.len() + 1, &keys, area, pen);
    let x = pen.role(inner.x + 1, inner.y, inner.right(), "/", TextRole::User);
    let end = pen.role(x, inner.y, inner.right(), query, TextRole::Strong);
    let (place, role) = match found.len() {
        0 => ("not found".to_owned(), TextRole::Bad),
        count => (format!("{}/{count}", recalling.nth + 1), TextRole::Dim),
    };
    pen.role(end + 2, inner.y, inner.right(), &place, role);
    let below = Rect::new(inner.x, inner.y + 1, inner.width, inner.height.saturating_sub(1));
    for (y, row) in (below.top()..below.bottom()).zip(&rows) {
        pen.role(below.x + 1, y, below.right(), row, TextRole::Plain);
    }
    if let Some(needle) = &needle {
        pen.mark(below, needle);
    }
    Some(Position::new(x + columns(recalling.query.before()), inner.y))
}

/// Draws a frame at the bottom for `rows` rows, with the longest of `keys` that fits. Returns its inside.
fn written(title: &str, rows: usize, keys: &[&str], area: Rect, pen: &mut Pen<'_>) -> Rect {
    let most = MESSAGE_ROWS.min(usize::from(area.height) - 2);
    let height = u16::try_from(rows.min(most) + 2).unwrap_or(3);
    let outer = Rect::new(area.x, area.bottom() - height, area.width, height);
    let inner = pen.framed(outer, title, TextRole::User);
    let (from, end) = (outer.x + 2, outer.right().saturating_sub(2));
    let fitting = keys.iter().find(|keys| from + columns(keys) <= end);
    if let Some(keys) = fitting {
        pen.right(from, outer.bottom() - 1, end, keys, pen.theme.style(TextRole::Dim));
    }
    inner
}

/// The effect of the message as it is typed now.
fn explained(model: &Model) -> String {
    if model.run.is_over() {
        return "message: the run resumes with it".to_owned();
    }
    let typed = model.ui.steering.text().trim_start();
    let kind = match (lines::parse_message(typed), typed.chars().next()) {
        (Some((kind, _)), _) => kind,
        (None, Some('!')) => SteeringKind::Now,
        (None, Some('+')) => SteeringKind::Standing,
        (None, _) => {
            return "message: in the next prompt · start with ! to send now, + for every prompt".to_owned();
        }
    };
    match kind {
        SteeringKind::Next => "next: in the next prompt, once".to_owned(),
        SteeringKind::Standing => "standing: in every prompt until you withdraw it".to_owned(),
        SteeringKind::Now => match &model.run.phase {
            Phase::Running {
                live_steering: true, ..
            } => "now: the agent gets it while it works".to_owned(),
            Phase::Running { iteration, .. } => {
                format!("now: iteration {iteration} is stopped; the next starts with it")
            }
            _ => "now: in the next prompt, since nothing is running".to_owned(),
        },
    }
}

/// Draws the search line. Returns its cursor position.
pub(super) fn search(model: &Model, area: Rect, pen: &mut Pen<'_>) -> Option<Position> {
    if area.is_empty() {
        return None;
    }
    let y = area.bottom() - 1;
    pen.clear(Rect::new(area.x, y, area.width, 1));
    let search = &model.ui.search;
    let x = pen.role(area.x, y, area.right(), " /", TextRole::User);
    let shown = pen.role(x, y, area.right(), search.query.text(), TextRole::Strong);
    let (text, role) = match search.found {
        Some(Some(found)) => (found.in_words(), TextRole::Dim),
        Some(None) => ("not found".to_owned(), TextRole::Bad),
        None => (
            format!(
                "{}{} next · Enter keeps it · Esc goes back",
                pen.theme.glyphs.up, pen.theme.glyphs.down
            ),
            TextRole::Dim,
        ),
    };
    pen.role(shown + 2, y, area.right(), &text, role);
    Some(Position::new(x + columns(search.query.before()), y))
}

pub(super) fn quit(model: &Model, whole: Rect, pen: &mut Pen<'_>) {
    let question = match model.run.phase {
        _ if model.run.is_busy() => "An agent is running; its changes are kept.",
        Phase::Paused => "The run is paused.",
        Phase::Waiting { .. } => "The run is waiting.",
        _ => "The run is not over.",
    };
    let detach = match model.run.is_paused() {
        true => "detach: the run stays paused, and `ralph attach` shows it again",
        false => "detach: the run continues, and `ralph attach` shows it again",
    };
    let detach = [("d", detach)];
    // Without a running iteration there is nothing to wait for.
    let after = match model.run.is_busy() {
        true => &[("a", "stop after this iteration")][..],
        false => &[],
    };
    let stop = [&[("y Ctrl-C", "stop now")], after, &[("n", "stay")]].concat();
    let (title, answers) = match model.ui.detaches {
        true => ("leave the run?", [&detach[..], &stop[..]].concat()),
        false => ("stop the run?", stop),
    };
    ask(title, question, &answers, whole, pen);
}

pub(super) fn skip(model: &Model, iteration: u32, whole: Rect, pen: &mut Pen<'_>) {
    let since_ms = model.run.phase.running_since_ms().unwrap_or(model.now_ms);
    let question = format!(
        "Running for {}; changes are kept.",
        ticking(model.now_ms.saturating_sub(since_ms))
    );
    let answers = [("y", "end it and start the next"), ("n", "keep it running")];
    ask(&format!("skip iteration {iteration}?"), &question, &answers, whole, pen);
}

/// Asks whether to continue a finished run with a raised limit.
pub(super) fn more(model: &Model, whole: Rect, pen: &mut Pen<'_>) {
    let option = model::more(&model.run).map(|option| option.join(" "));
    let command = format!("`ralph continue {}`", option.unwrap_or_default());
    let answers = [("y", command.as_str()), ("n", "not now")];
    ask("continue the run?", "It has reached a limit.", &answers, whole, pen);
}

/// Asks whether to withdraw a standing message.
pub(super) fn withdraw(model: &Model, id: SteeringId, whole: Rect, pen: &mut Pen<'_>) {
    let message = model.run.messages.iter().find(|message| message.id == id);
    let text = message.map(|message| one_line(&message.text)).unwrap_or_default();
    let answers = [("y", "leave it out of all further prompts"), ("n", "keep it")];
    ask(
        &format!("withdraw standing message {}?", id.0),
        &text,
        &answers,
        whole,
        pen,
    );
}

/// Asks which part of a terminal to copy.
pub(super) fn copying(whole: Rect, pen: &mut Pen<'_>) {
    let keys = PORTIONS.map(|(key, ..)| key.to_string());
    let answers: Vec<(&str, &str)> = keys
        .iter()
        .zip(PORTIONS)
        .map(|(key, (_, _, words))| (key.as_str(), words))
        .collect();
    let answers = [&answers[..], &[("Esc", "nothing")]].concat();
    ask("copy", "To the clipboard of your terminal:", &answers, whole, pen);
}

/// Tells how a question was settled that the user was answering.
pub(super) fn too_late(shown: &SettledMeanwhile, whole: Rect, pen: &mut Pen<'_>) {
    let close = [("Esc", "closes this")];
    let kept = [("Esc", "closes this"), (": ↑", "restore your text as a message")];
    let keys = if shown.kept { &kept[..] } else { &close[..] };
    ask("too late", &one_line(&shown.fate), keys, whole, pen);
}

/// Draws a question with its answers.
pub(super) fn ask(title: &str, question: &str, answers: &[(&str, &str)], whole: Rect, pen: &mut Pen<'_>) {
    let answers_width = answers
        .iter()
        .map(|(key, words)| columns(key) + 2 + columns(words))
        .max();
    let width = whole.width.min(columns(question).max(answers_width.unwrap_or(0)) + 6);
    let lines = wrapped(question, usize::from(width.saturating_sub(4)).max(1));
    let lines = &lines[..lines.len().min(QUESTION_ROWS)];
    let height = u16::try_from(answers.len() + lines.len() + 2)
        .unwrap_or(u16::MAX)
        .min(whole.height);
    let Some(inner) = centred(whole, width, height, title, pen) else {
        return;
    };
    let mut y = inner.y;
    for line in lines {
        if y < inner.bottom() {
            pen.role(inner.x + 1, y, inner.right(), line, TextRole::Plain);
            y += 1;
        }
    }
    for (key, words) in answers {
        if y < inner.bottom() {
            let x = pen.role(inner.x + 1, y, inner.right(), key, TextRole::Key);
            pen.role(x, y, inner.right(), &format!("  {words}"), TextRole::Plain);
            y += 1;
        }
    }
}

/// A framed area in the middle; `None` if there is no room.
pub(super) fn centred(whole: Rect, width: u16, height: u16, title: &str, pen: &mut Pen<'_>) -> Option<Rect> {
    if width < 4 || height < 3 {
        return None;
    }
    let x = whole.x + (whole.width - width) / 2;
    let y = whole.y + (whole.height - height) / 2;
    Some(pen.framed(Rect::new(x, y, width, height), title, TextRole::Accent))
}
