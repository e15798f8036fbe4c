//! The list of the agents' questions, one per row, and the full view of one.

use ralph_core::{
    event::{AnswerPlace, Decider},
    run::{AskEnd, AskEntry, AskSubject},
};
use ralph_text::one_line;
use ralph_words::{counted, mode_word, place_of_decision, scope_in_words, short_duration, ticking};
use ratatui::layout::Rect;

use crate::ui::tui::{
    model::{ExpandedAsk, Model, ask_in_words, is_missed, listed, position},
    theme::TextRole,
};

use super::{
    asking::row_at,
    pen::{Pen, shortened},
    request::{self, RequestLine, flowed, paragraph},
};

/// Minimum width for times.
const TIME_COLS: u16 = 60;

pub(super) fn draw(model: &Model, area: Rect, pen: &mut Pen<'_>) {
    if let Some(reading) = model.ui.asks.reading {
        return whole(model, reading, area, pen);
    }
    if model.asks.is_empty() || area.height < 2 {
        return pen.note(area, "No questions of the agent.");
    }
    let end = area.right();
    let times = area.width >= TIME_COLS;
    let head = if times { "    #  asked     what" } else { "    #  what" };
    pen.role(area.x, area.y, end, head, TextRole::Dim);
    let right = end.saturating_sub(1);
    pen.right(area.x, area.y, right, "outcome", pen.theme.style(TextRole::Dim));
    let chosen = position(model);
    let first = first_row(area, chosen);
    for (y, (row, entry)) in (area.y + 1..area.bottom()).zip(listed(model).enumerate().skip(first)) {
        entry_at(model, entry, Rect::new(area.x, y, area.width, 1), pen);
        if row == chosen {
            pen.choose(Rect::new(area.x, y, area.width, 1));
        }
    }
}

fn first_row(area: Rect, chosen: usize) -> usize {
    let height = usize::from(area.height).saturating_sub(1).max(1);
    chosen.saturating_sub(height - 1)
}

/// Index of the entry shown in this row of the screen.
pub(crate) fn ask_at(model: &Model, area: Rect, row: u16) -> Option<usize> {
    let line = usize::from(row.checked_sub(area.y + 1)?);
    let at = first_row(area, position(model)) + line;
    (model.ui.asks.reading.is_none() && at < model.asks.len()).then_some(at)
}

fn entry_at(model: &Model, entry: &AskEntry, area: Rect, pen: &mut Pen<'_>) {
    let (sign, end) = (sign(model, entry, pen), area.right());
    let number = entry.number.map_or_else(|| "-".to_owned(), |number| number.to_string());
    let mut x = pen.role(area.x, area.y, end, &format!("{number:>5}  "), TextRole::Dim);
    if area.width >= TIME_COLS {
        x = pen.role(
            x,
            area.y,
            end,
            &format!("{}  ", model.clock(entry.at_ms)),
            TextRole::Dim,
        );
    }
    x = pen.text(x, area.y, end, &format!("{} ", sign.0), pen.theme.style(sign.1));
    let fate = fate(model, entry);
    let most = usize::from(area.width) / 2;
    let fate = format!("  {} ", shortened(&fate, most, pen.theme.glyphs.more));
    let start = pen.right(x + 8, area.y, end, &fate, pen.theme.style(sign.1));
    let what = match entry.end {
        None => TextRole::Strong,
        Some(_) => TextRole::Plain,
    };
    pen.role(x, area.y, start, &ask_in_words(entry), what);
}

fn sign(model: &Model, entry: &AskEntry, pen: &Pen<'_>) -> (&'static str, TextRole) {
    let glyphs = pen.theme.glyphs;
    match &entry.end {
        None => (glyphs.wait, TextRole::Wait),
        Some(_) if is_missed(model, entry) => (glyphs.wait, TextRole::Wait),
        Some(AskEnd::Decided { allowed: true, .. }) => (glyphs.good, TextRole::Good),
        Some(AskEnd::Answered { answers, .. }) if !answers.is_empty() => (glyphs.good, TextRole::Good),
        Some(AskEnd::Withdrawn) => (glyphs.note, TextRole::Dim),
        Some(_) if entry.late.is_some() => (glyphs.good, TextRole::Good),
        Some(AskEnd::Decided { .. } | AskEnd::Answered { .. }) => (glyphs.bad, TextRole::Bad),
        Some(AskEnd::Unanswered) => (glyphs.note, TextRole::Dim),
    }
}

/// The outcome of a question in a few words.
fn fate(model: &Model, entry: &AskEntry) -> String {
    let waited = |ms: u64| match ms {
        0..1_000 => String::new(),
        _ => format!(" · {}", short_duration(ms)),
    };
    if let Some((message, _)) = &entry.late {
        return format!("answered late, message {}", message.0);
    }
    match &entry.end {
        None => {
            let mut pending = model.run.permissions.pending.iter();
            let until = pending
                .find(|ask| Some(ask.number) == entry.number)
                .map(|ask| ask.until_ms);
            match until {
                Some(Some(until_ms)) => format!("{} left", ticking(until_ms.saturating_sub(model.now_ms))),
                Some(None) | None => "waits for you".to_owned(),
            }
        }
        Some(_) if is_missed(model, entry) => "Enter answers it late".to_owned(),
        Some(AskEnd::Decided {
            allowed, by, waited_ms, ..
        }) => {
            let word = if *allowed { "allowed" } else { "denied" };
            format!("{word} {}{}", decider(by), waited(*waited_ms))
        }
        Some(AskEnd::Answered {
            answers, by, waited_ms, ..
        }) => {
            let word = match (answers.is_empty(), by.is_user()) {
                (false, _) => "answered",
                (true, true) => "declined",
                (true, false) => "no answer",
            };
            format!("{word} {}{}", decider(by), waited(*waited_ms))
        }
        Some(AskEnd::Withdrawn) => "withdrawn by the agent".to_owned(),
        Some(AskEnd::Unanswered) => "not answered".to_owned(),
    }
}

/// The decider in a word or two; the entry's full view has the details.
fn decider(by: &Decider) -> String {
    match by {
        Decider::Rule { rule, .. } => format!("by {}", one_line(rule)),
        Decider::Mode { mode } => format!("by mode {}", mode_word(*mode)),
        Decider::Unclear => "as unclear".to_owned(),
        Decider::User { at } => match at {
            Some(AnswerPlace::CommandLine) => "by `ralph answer`".to_owned(),
            Some(AnswerPlace::Page) => "on the page".to_owned(),
            Some(AnswerPlace::Api) => "over HTTP".to_owned(),
            Some(AnswerPlace::Screen) | None => "by you".to_owned(),
        },
        Decider::Deadline => "by the time limit".to_owned(),
        Decider::TooManyPending => "by the request limit".to_owned(),
    }
}

fn whole(model: &Model, reading: ExpandedAsk, area: Rect, pen: &mut Pen<'_>) {
    let rows = rows(model, reading.place, area);
    let top = reading.top.min(rows.len().saturating_sub(usize::from(area.height)));
    for (y, row) in (area.y..area.bottom()).zip(rows.iter().skip(top)) {
        row_at(row, area, y, pen);
    }
}

/// The last possible top line of an entry shown in full.
pub(crate) fn last_line(model: &Model, place: u64) -> usize {
    let area = model.layout().main;
    rows(model, place, area).len().saturating_sub(usize::from(area.height))
}

/// The text of an entry shown in full.
pub(crate) fn lines(model: &Model, place: u64) -> Vec<String> {
    let text = |row: RequestLine| row.into_iter().map(|(text, _)| text).collect();
    rows(model, place, model.layout().main).into_iter().map(text).collect()
}

/// The full view of an entry: the request, then its outcome.
fn rows(model: &Model, place: u64, area: Rect) -> Vec<RequestLine> {
    let room = usize::from(area.width.saturating_sub(2)).max(1);
    let Some(entry) = model.asks.at(place) else {
        return vec![vec![(
            "No longer in memory; see the journal.".to_owned(),
            TextRole::Dim,
        )]];
    };
    let mut rows = Vec::new();
    let place = match (entry.number, entry.iteration) {
        (Some(number), Some(iteration)) => {
            format!("question {number}, iteration {iteration}, {}", model.clock(entry.at_ms))
        }
        (Some(number), None) => format!("question {number}, {}", model.clock(entry.at_ms)),
        (None, _) => format!("not put to the user, {}", model.clock(entry.at_ms)),
    };
    rows.extend(paragraph(&format!("{} · {place}", tool(entry)), TextRole::Dim, room));
    rows.push(Vec::new());
    match &entry.what {
        AskSubject::Request { request, cut, asked_by } => rows.extend(request::rows(request, *cut, asked_by, room)),
        AskSubject::Title { title, .. } => {
            rows.extend(flowed(&[(one_line(title), TextRole::Strong)], room));
            rows.extend(paragraph("The journal has the full text.", TextRole::Dim, room));
        }
        AskSubject::Block { task, question } => rows.extend(request::block(task.as_deref(), question, room)),
    }
    rows.push(Vec::new());
    for (text, role) in outcome(model, entry) {
        rows.extend(flowed(&[(text, role)], room));
    }
    rows
}

fn tool(entry: &AskEntry) -> String {
    match &entry.what {
        AskSubject::Request { request, .. } => one_line(&request.tool),
        AskSubject::Title { tool, .. } => one_line(tool),
        AskSubject::Block { .. } => "blocked".to_owned(),
    }
}

/// The outcome of an entry, in sentences.
fn outcome(model: &Model, entry: &AskEntry) -> Vec<(String, TextRole)> {
    let waited = |ms: u64| format!("after {}", short_duration(ms));
    let said = |message: &Option<String>| {
        message
            .as_ref()
            .map(|text| (format!("\"{}\"", text.trim()), TextRole::User))
    };
    let mut lines = Vec::new();
    match &entry.end {
        None => lines.push((fate(model, entry), TextRole::Wait)),
        Some(AskEnd::Decided {
            allowed,
            by,
            message,
            waited_ms,
        }) => {
            let (word, role) = if *allowed {
                ("allowed", TextRole::Good)
            } else {
                ("denied", TextRole::Bad)
            };
            let by = one_line(&place_of_decision(by));
            let waited = entry.number.map(|_| format!(", {}", waited(*waited_ms)));
            lines.push((format!("{word} {by}{}", waited.unwrap_or_default()), role));
            lines.extend(said(message));
        }
        Some(AskEnd::Answered {
            answers,
            by,
            message,
            waited_ms,
        }) => {
            let (word, role) = match (answers.is_empty(), by.is_user()) {
                (false, _) => ("answered", TextRole::Good),
                (true, true) => ("declined", TextRole::Bad),
                (true, false) => ("not answered", TextRole::Bad),
            };
            let by = one_line(&place_of_decision(by));
            lines.push((format!("{word} {by}, {}", waited(*waited_ms)), role));
            lines.extend(
                answers
                    .iter()
                    .map(|answer| (one_line(&answer.join(", ")), TextRole::User)),
            );
            lines.extend(said(message));
        }
        Some(AskEnd::Withdrawn) => lines.push(("the agent withdrew it".to_owned(), TextRole::Dim)),
        Some(AskEnd::Unanswered) => lines.push(("not answered in its iteration".to_owned(), TextRole::Dim)),
    }
    if let Some((scope, rules)) = &entry.rules {
        let rules = one_line(&rules.join(", "));
        lines.push((
            format!("now allowed {}: {rules}", scope_in_words(*scope)),
            TextRole::Good,
        ));
    }
    if let Some((message, text)) = &entry.late {
        lines.push((
            format!("answered late, in message {}: {}", message.0, one_line(text)),
            TextRole::User,
        ));
    }
    lines
}

/// The title's note on the list.
pub(super) fn described(model: &Model) -> String {
    let number = model.ui.asks.reading.and_then(|reading| model.asks.at(reading.place));
    match number {
        Some(entry) => match entry.number {
            Some(number) => format!("question {number} · Esc leaves"),
            None => "Esc leaves".to_owned(),
        },
        None if model.asks.dropped() > 0 => {
            format!("{} only in the journal", counted(model.asks.dropped(), "older one"))
        }
        None if model.asks.is_empty() => String::new(),
        None => "Enter answers it, or shows it".to_owned(),
    }
}
