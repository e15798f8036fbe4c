//! What lies over the panes: the lines that are typed, questions, the help.

use ratatui::layout::{Position, Rect};

use crate::{
    event::SteeringKind,
    run::Phase,
    text::one_line,
    ui::tui::{
        keys::{self, Action, Chord},
        lines,
        model::{Model, TooLate},
        theme::Role,
    },
    words::ticking,
};

use super::{
    pen::{Pen, columns, wrapped},
    typed,
};

/// Most lines of what is asked before something is done.
const QUESTION_ROWS: usize = 6;
/// Most lines of a message that are in view.
const MESSAGE_ROWS: usize = 8;

/// Draws the steering line; returns where its cursor is.
pub(super) fn steering(model: &Model, area: Rect, pen: &mut Pen<'_>) -> Option<Position> {
    if area.width < 6 || area.height < 3 {
        return None;
    }
    let editor = &model.ui.steering;
    let room = usize::from(area.width) - 4;
    let most = MESSAGE_ROWS.min(usize::from(area.height) - 2);
    let height = u16::try_from(typed::rows(editor, room).min(most) + 2).unwrap_or(3);
    let outer = Rect::new(area.x, area.bottom() - height, area.width, height);
    let inner = pen.framed(outer, &explained(model), Role::User);
    let cursor = typed::draw(editor, inner, pen);
    let keys = " Enter sends · Alt-Enter newline · Esc cancels ";
    let end = outer.right().saturating_sub(2);
    pen.right(outer.x + 2, outer.bottom() - 1, end, keys, pen.theme.style(Role::Dim));
    Some(cursor)
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
    let detach = [("d", "detach: the run continues, and `ralph attach` shows it again")];
    let stop = [("y", "stop now"), ("a", "stop after this iteration"), ("n", "stay")];
    let (title, answers) = match model.ui.detaches {
        true => ("leave the run?", [&detach[..], &stop[..]].concat()),
        false => ("stop the run?", stop.to_vec()),
    };
    ask(title, question, &answers, whole, pen);
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

/// What became of a question that was being answered.
pub(super) fn too_late(shown: &TooLate, whole: Rect, pen: &mut Pen<'_>) {
    let close = [("Esc", "closes this")];
    let kept = [
        ("Esc", "closes this"),
        (": ↑", "bring back what you typed, as a message"),
    ];
    let keys = if shown.kept { &kept[..] } else { &close[..] };
    ask("too late", &one_line(&shown.fate), keys, whole, pen);
}

fn ask(title: &str, question: &str, answers: &[(&str, &str)], whole: Rect, pen: &mut Pen<'_>) {
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
            pen.role(inner.x + 1, y, inner.right(), line, Role::Plain);
            y += 1;
        }
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
pub(super) fn centred(whole: Rect, width: u16, height: u16, title: &str, pen: &mut Pen<'_>) -> Option<Rect> {
    if width < 4 || height < 3 {
        return None;
    }
    let x = whole.x + (whole.width - width) / 2;
    let y = whole.y + (whole.height - height) / 2;
    Some(pen.framed(Rect::new(x, y, width, height), title, Role::Accent))
}
