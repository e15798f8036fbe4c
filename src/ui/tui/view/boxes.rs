//! What lies over the panes: the lines that are typed, questions, the help.

use ratatui::layout::{Position, Rect};

use crate::{
    event::SteeringKind,
    run::Phase,
    text::{one_line, sanitized},
    ui::tui::{
        keys::{self, Action, Chord},
        lines,
        model::Model,
        theme::Role,
    },
    words::{counted, ticking},
};

use super::pen::{Pen, columns, wrapped};

/// Most lines of a message that are in view.
const MESSAGE_ROWS: usize = 8;

/// Draws the steering line; returns where its cursor is.
pub(super) fn steering(model: &Model, area: Rect, pen: &mut Pen<'_>) -> Option<Position> {
    if area.width < 6 || area.height < 3 {
        return None;
    }
    let editor = &model.ui.steering;
    let room = usize::from(area.width) - 4;
    let rows = broken(editor.text(), room);
    let (cursor_row, cursor_column) = cursor(editor.before(), room);
    let visible = rows
        .len()
        .max(cursor_row + 1)
        .clamp(1, MESSAGE_ROWS.min(usize::from(area.height) - 2));
    let height = u16::try_from(visible + 2).unwrap_or(3);
    let outer = Rect::new(area.x, area.bottom() - height, area.width, height);
    let inner = pen.framed(outer, &explained(model), Role::User);
    let first = (cursor_row + 1).saturating_sub(visible);
    for (y, row) in (inner.top()..inner.bottom()).zip(rows.iter().skip(first)) {
        pen.role(inner.x + 1, y, inner.right(), row, Role::Plain);
    }
    let keys = " Enter sends · Alt-Enter newline · Esc cancels ";
    let end = outer.right().saturating_sub(2);
    pen.right(outer.x + 2, outer.bottom() - 1, end, keys, pen.theme.style(Role::Dim));
    Some(Position::new(
        inner.x + 1 + u16::try_from(cursor_column).unwrap_or(0),
        inner.y + u16::try_from(cursor_row - first).unwrap_or(0),
    ))
}

/// What would become of the message as it is typed now.
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
            return "message: in the next prompt · start with ! for now, + for every prompt".to_owned();
        }
    };
    match kind {
        SteeringKind::Next => "next: in the next prompt, once".to_owned(),
        SteeringKind::Standing => "standing: in every prompt until you take it back".to_owned(),
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

/// Lines as they are shown: broken at the width, wherever that is.
fn broken(text: &str, room: usize) -> Vec<String> {
    text.split('\n').flat_map(|line| broken_line(line, room)).collect()
}

fn broken_line(line: &str, room: usize) -> Vec<String> {
    use unicode_segmentation::UnicodeSegmentation;
    let mut rows = vec![String::new()];
    let mut width = 0;
    for grapheme in line.graphemes(true) {
        let columns = usize::from(columns(grapheme));
        if width + columns > room {
            rows.push(String::new());
            width = 0;
        }
        width += columns;
        rows.last_mut().expect("there is always a row").push_str(grapheme);
    }
    rows
}

/// Row and column behind `before`.
fn cursor(before: &str, room: usize) -> (usize, usize) {
    let rows = broken(before, room);
    let column = rows.last().map_or(0, |row| usize::from(columns(row)));
    if column >= room {
        (rows.len(), 0)
    } else {
        (rows.len() - 1, column)
    }
}

/// Draws the search line; returns where its cursor is.
pub(super) fn search(model: &Model, area: Rect, pen: &mut Pen<'_>) -> Option<Position> {
    if area.is_empty() {
        return None;
    }
    let y = area.bottom() - 1;
    pen.clear(Rect::new(area.x, y, area.width, 1));
    let search = &model.ui.search;
    let x = pen.role(area.x, y, area.right(), " /", Role::User);
    let shown = pen.role(x, y, area.right(), search.query.text(), Role::Strong);
    if search.missed {
        pen.role(shown + 2, y, area.right(), "not found", Role::Bad);
    } else {
        pen.role(
            shown + 2,
            y,
            area.right(),
            "Enter older, then n and N · Esc leaves",
            Role::Dim,
        );
    }
    Some(Position::new(x + columns(search.query.before()), y))
}

pub(super) fn quit(model: &Model, whole: Rect, pen: &mut Pen<'_>) {
    let question = match model.run.phase {
        _ if model.run.is_busy() => "An agent is running. Its work so far is kept.",
        Phase::Paused => "The run is paused.",
        Phase::Waiting { .. } => "The run is waiting.",
        _ => "The run is not over.",
    };
    let answers = [("y", "stop now"), ("a", "stop after this iteration"), ("n", "stay")];
    ask("stop the run?", question, &answers, whole, pen);
}

pub(super) fn skip(model: &Model, iteration: u32, whole: Rect, pen: &mut Pen<'_>) {
    let since_ms = model.run.phase.running_since_ms().unwrap_or(model.now_ms);
    let question = format!(
        "It has worked for {}. Its work so far is kept.",
        ticking(model.now_ms.saturating_sub(since_ms))
    );
    let answers = [("y", "end it and start the next"), ("n", "let it work")];
    ask(&format!("skip iteration {iteration}?"), &question, &answers, whole, pen);
}

/// Most lines of a command or a diff that are in view.
const ASKED_ROWS: usize = 12;

/// Draws what the agent asks to be allowed.
pub(super) fn permission(model: &Model, number: u32, whole: Rect, pen: &mut Pen<'_>) {
    let pending = &model.run.permissions.pending;
    let Some(ask) = pending.iter().find(|ask| ask.number == number) else {
        return;
    };
    let request = &ask.request;
    let width = whole.width.min(76);
    let room = usize::from(width.saturating_sub(4));
    let what = request.command.as_deref().or(request.url.as_deref());
    let what = what.map_or_else(|| request.title.clone(), str::to_owned);
    let mut rows: Vec<(String, Role)> = Vec::new();
    let whole_text = sanitized(&what);
    let lines: Vec<String> = whole_text.lines().flat_map(|line| broken(line, room)).collect();
    let more = lines.len().saturating_sub(ASKED_ROWS);
    rows.extend(lines.into_iter().take(ASKED_ROWS).map(|line| (line, Role::Strong)));
    if more > 0 {
        rows.push((
            format!("and {}: `ralph asks --json` has all", counted(more as u64, "more line")),
            Role::Wait,
        ));
    }
    for path in request.paths.iter().filter(|path| **path != what) {
        rows.push((one_line(path), Role::Plain));
    }
    if let Some(reason) = &request.reason {
        rows.extend(
            wrapped(&one_line(reason), room)
                .into_iter()
                .map(|line| (line, Role::Dim)),
        );
    }
    let left = match ask.until_ms {
        Some(until_ms) => format!("{} left", ticking(until_ms.saturating_sub(model.now_ms))),
        None => "waits for you".to_owned(),
    };
    rows.push((String::new(), Role::Plain));
    let title = format!("{} asks · {}", one_line(&request.tool), left);
    let keys = [("y", "allow once"), ("n", "deny"), ("Esc", "later")];
    let height = u16::try_from(rows.len() + keys.len() + 2)
        .unwrap_or(u16::MAX)
        .min(whole.height);
    let Some(inner) = centred(whole, width, height, &title, pen) else {
        return;
    };
    let mut y = inner.y;
    // Where there is no room for everything, the keys matter more than the end of the text.
    let texts = usize::from(inner.height).saturating_sub(keys.len());
    for (line, role) in rows.iter().take(texts) {
        pen.role(inner.x + 1, y, inner.right(), line, *role);
        y += 1;
    }
    for (key, words) in keys {
        if y < inner.bottom() {
            let x = pen.role(inner.x + 1, y, inner.right(), key, Role::Key);
            pen.role(x, y, inner.right(), &format!("  {words}"), Role::Plain);
            y += 1;
        }
    }
}

fn ask(title: &str, question: &str, answers: &[(&str, &str)], whole: Rect, pen: &mut Pen<'_>) {
    let answers_width = answers
        .iter()
        .map(|(key, words)| columns(key) + 2 + columns(words))
        .max();
    let width = whole.width.min(columns(question).max(answers_width.unwrap_or(0)) + 6);
    let height = u16::try_from(answers.len())
        .unwrap_or(u16::MAX)
        .saturating_add(3)
        .min(whole.height);
    let Some(inner) = centred(whole, width, height, title, pen) else {
        return;
    };
    let mut y = inner.y;
    for line in wrapped(question, usize::from(inner.width.saturating_sub(2))) {
        pen.role(inner.x + 1, y, inner.right(), &line, Role::Plain);
        y += 1;
    }
    for (key, words) in answers {
        if y < inner.bottom() {
            let x = pen.role(inner.x + 1, y, inner.right(), key, Role::Key);
            pen.role(x, y, inner.right(), &format!("  {words}"), Role::Plain);
            y += 1;
        }
    }
}

pub(super) fn help(model: &Model, top: usize, whole: Rect, pen: &mut Pen<'_>) {
    let rows: Vec<(String, &str)> = keys::bindings(model.ui.replay.is_some())
        // Only a terminal program reads what is typed.
        .filter(|binding| binding.action != Action::Type || !model.ui.transcript)
        .map(|binding| {
            let names: Vec<String> = binding.keys.iter().map(|key| Chord::name(*key)).collect();
            (names.join(" "), binding.about)
        })
        .collect();
    let keys_width = rows.iter().map(|(keys, _)| columns(keys)).max().unwrap_or(0);
    let about_width = rows.iter().map(|(_, about)| columns(about)).max().unwrap_or(0);
    let width = whole.width.min(keys_width + about_width + 6);
    let height = whole.height.min(u16::try_from(rows.len() + 2).unwrap_or(u16::MAX));
    let Some(inner) = centred(whole, width, height, "keys", pen) else {
        return;
    };
    let visible = usize::from(inner.height);
    let top = top.min(rows.len().saturating_sub(visible));
    for (y, (keys, about)) in (inner.top()..inner.bottom()).zip(rows.iter().skip(top)) {
        pen.role(inner.x + 1, y, inner.right(), keys, Role::Key);
        pen.role(inner.x + 3 + keys_width, y, inner.right(), about, Role::Plain);
    }
    let below = rows.len() - top - visible.min(rows.len() - top);
    if below > 0 {
        let text = format!(" {below} more {} ", pen.theme.glyphs.down);
        pen.right(
            inner.x,
            inner.bottom(),
            inner.right(),
            &text,
            pen.theme.style(Role::Dim),
        );
    }
}

/// A framed area in the middle; none if there is no room for one.
fn centred(whole: Rect, width: u16, height: u16, title: &str, pen: &mut Pen<'_>) -> Option<Rect> {
    if width < 4 || height < 3 {
        return None;
    }
    let x = whole.x + (whole.width - width) / 2;
    let y = whole.y + (whole.height - height) / 2;
    Some(pen.framed(Rect::new(x, y, width, height), title, Role::Accent))
}
