//! The box in which the agent asks and somebody answers.

use std::borrow::Cow;

use ratatui::layout::{Position, Rect};
use unicode_segmentation::UnicodeSegmentation;

use crate::{
    event::Question,
    run::Ask,
    text::{one_line, sanitized},
    ui::tui::{
        model::{AnswerStep, Answering, Model},
        theme::Role,
    },
    words::{scope_in_words, ticking},
};

use super::{
    boxes::centred,
    diff,
    pen::{Pen, columns, shortened, wrapped},
    shell, typed,
};

/// Widest box: longer lines are hard to read.
const WIDTH: u16 = 110;
/// Lower screens have the keys beside each other.
const LOW_ROWS: u16 = 16;
/// Most rows of a message that are in view.
const TYPED_ROWS: usize = 6;
/// Most rows of why an answer was not taken.
const REFUSAL_ROWS: usize = 3;
/// Longest name of a tool in the title.
const TOOL_COLUMNS: usize = 24;

/// A line of pieces.
type Row = Vec<(String, Role)>;

/// What is in the box, and how much room there is for it.
struct Sheet {
    width: u16,
    height: u16,
    /// What is asked.
    asked: Vec<Row>,
    /// How many rows of it are in view.
    visible: usize,
    /// The keys, or what is above the line that is typed.
    below: Vec<Row>,
    typed: usize,
}

impl Sheet {
    fn of(ask: &Ask, answering: &Answering, whole: Rect) -> Self {
        let width = whole
            .width
            .saturating_sub(if whole.width > 60 { 4 } else { 0 })
            .min(WIDTH);
        let room = usize::from(width.saturating_sub(4)).max(1);
        let asked = asked(ask, room);
        let (below, typed) = match &answering.step {
            AnswerStep::Choosing => {
                let keys_of = match ask.request.questions.is_empty() {
                    true => permission_keys(ask),
                    false => question_keys(&ask.request.questions),
                };
                (keys(&keys_of, whole.height < LOW_ROWS, room), 0)
            }
            AnswerStep::Wording(editor) => {
                let how = match ask.request.questions.len() {
                    1 => "numbers with commas, or words:",
                    _ => "a line for each question: numbers with commas, or words:",
                };
                let row = vec![(how.to_owned(), Role::User)];
                (vec![row], typed::rows(editor, room).min(TYPED_ROWS))
            }
            AnswerStep::Denying(editor) => {
                let row = vec![("deny, and tell the agent:".to_owned(), Role::User)];
                (vec![row], typed::rows(editor, room).min(TYPED_ROWS))
            }
            AnswerStep::Remembering(scope, editor) => {
                let words = format!("allow it, and from now on {}:", scope_in_words(*scope));
                let rows = typed::rows(editor, room).min(TYPED_ROWS);
                (vec![vec![(words, Role::User)]], rows)
            }
        };
        let mut below = below;
        if let Some(why) = &answering.refused {
            let lines = wrapped(&one_line(why), room).into_iter().take(REFUSAL_ROWS);
            below.splice(0..0, lines.map(|line| vec![(line, Role::Bad)]));
        }
        let fixed = below.len() + typed + 2;
        // A row of air above the keys, where there is room.
        let height = (asked.len() + 1 + fixed).min(usize::from(whole.height));
        let visible = asked.len().min(height.saturating_sub(fixed));
        Self {
            width,
            height: u16::try_from(height).unwrap_or(u16::MAX),
            asked,
            visible,
            below,
            typed,
        }
    }

    fn last_top(&self) -> usize {
        self.asked.len() - self.visible
    }
}

/// The last top line of what is asked, and how many lines of it are in view.
pub(crate) fn extent(model: &Model, answering: &Answering) -> (usize, usize) {
    let whole = model.layout().whole;
    let ask = found(model, answering);
    let sheet = ask.map(|ask| Sheet::of(ask, answering, whole));
    sheet.map_or((0, 1), |sheet| (sheet.last_top(), sheet.visible.max(1)))
}

fn found<'m>(model: &'m Model, answering: &Answering) -> Option<&'m Ask> {
    let mut pending = model.run.permissions.pending.iter();
    pending.find(|ask| ask.number == answering.ask)
}

/// Draws what the agent asks; returns where the cursor of the line that is typed is.
pub(super) fn draw(model: &Model, answering: &Answering, whole: Rect, pen: &mut Pen<'_>) -> Option<Position> {
    let ask = found(model, answering)?;
    let sheet = Sheet::of(ask, answering, whole);
    let title = title(model, ask, pen.theme.glyphs.more);
    let inner = centred(whole, sheet.width, sheet.height, &title, pen)?;
    let top = answering.top.min(sheet.last_top());
    let mut y = inner.y;
    for row in sheet.asked.iter().skip(top).take(sheet.visible) {
        row_at(row, inner, y, pen);
        y += 1;
    }
    let fixed = u16::try_from(sheet.below.len() + sheet.typed).unwrap_or(u16::MAX);
    y = y.max(inner.bottom().saturating_sub(fixed));
    for row in &sheet.below {
        if y < inner.bottom() {
            row_at(row, inner, y, pen);
            y += 1;
        }
    }
    unseen(&sheet, top, inner, pen);
    match &answering.step {
        AnswerStep::Choosing => None,
        AnswerStep::Denying(editor) | AnswerStep::Wording(editor) | AnswerStep::Remembering(_, editor) => {
            let area = Rect::new(inner.x, y, inner.width, inner.bottom().saturating_sub(y));
            let keys = match answering.step {
                AnswerStep::Wording(_) => " Enter answers · Alt-Enter newline · Esc back ",
                AnswerStep::Remembering(..) => " Enter allows · Alt-Enter one more rule · Esc back ",
                AnswerStep::Choosing | AnswerStep::Denying(_) => " Enter denies · Alt-Enter newline · Esc back ",
            };
            let end = inner.right().saturating_sub(1);
            pen.right(inner.x, inner.bottom(), end, keys, pen.theme.style(Role::Dim));
            Some(typed::draw(editor, area, pen))
        }
    }
}

/// Which tool, until when, and how many more wait.
fn title(model: &Model, ask: &Ask, cut: &str) -> String {
    let mut parts = vec![format!(
        "{} asks",
        shortened(&one_line(&ask.request.tool), TOOL_COLUMNS, cut)
    )];
    parts.push(match ask.until_ms {
        Some(until_ms) => format!("{} left", ticking(until_ms.saturating_sub(model.now_ms))),
        None => "waits for you".to_owned(),
    });
    match model.run.permissions.pending.len() - 1 {
        0 => {}
        1 => parts.push("1 more waits".to_owned()),
        more => parts.push(format!("{more} more wait")),
    }
    parts.join(" · ")
}

fn row_at(row: &Row, inner: Rect, y: u16, pen: &mut Pen<'_>) {
    let mut x = inner.x + 1;
    for (text, role) in row {
        x = pen.role(x, y, inner.right(), text, *role);
    }
}

/// Says on the frame that there is more than is in view: what is not read must not be allowed by mistake.
fn unseen(sheet: &Sheet, top: usize, inner: Rect, pen: &mut Pen<'_>) {
    let glyphs = pen.theme.glyphs;
    let (above, below) = (top, sheet.last_top() - top);
    let text = match (above, below) {
        (0, 0) => return,
        (above, 0) => format!(" {above} {} ", glyphs.up),
        (0, below) => format!(" {below} more {} ", glyphs.down),
        (above, below) => format!(" {above} {} · {below} more {} ", glyphs.up, glyphs.down),
    };
    pen.role(inner.x + 1, inner.bottom(), inner.right(), &text, Role::Wait);
}

/// What is asked: the command or the change, where, and why.
fn asked(ask: &Ask, room: usize) -> Vec<Row> {
    let request = &ask.request;
    if !request.questions.is_empty() {
        return question_rows(&request.questions, room);
    }
    let mut rows = Vec::new();
    let what = match (&request.command, &request.url, &request.diff) {
        (Some(command), ..) => {
            rows.extend(flowed(&shell::coloured(&shown(command)), room));
            command
        }
        (None, Some(url), _) => {
            rows.extend(flowed(&[(shown(url), Role::Strong)], room));
            url
        }
        (None, None, Some(patch)) => {
            rows.push(vec![(one_line(&request.title), Role::Strong)]);
            for line in shown(patch).lines() {
                rows.extend(flowed(&[(line.to_owned(), diff::role(line))], room));
            }
            &request.title
        }
        (None, None, None) => {
            rows.extend(flowed(&[(shown(&request.title), Role::Strong)], room));
            &request.title
        }
    };
    let paths = request.paths.iter().filter(|path| *path != what);
    rows.extend(paths.flat_map(|path| flowed(&[(one_line(path), Role::Plain)], room)));
    if let Some(reason) = &request.reason {
        let lines = wrapped(&one_line(reason), room).into_iter();
        rows.extend(lines.map(|line| vec![(line, Role::Dim)]));
    }
    let notes = [
        ask.cut
            .then(|| "This is not all of it: it is longer than a record.".to_owned()),
        (!ask.offer.asked_by.is_empty()).then(|| format!("asked by the rule {}", ask.offer.asked_by.join(", "))),
    ];
    for note in notes.into_iter().flatten() {
        let lines = wrapped(&one_line(&note), room).into_iter();
        rows.extend(lines.map(|line| vec![(line, Role::Wait)]));
    }
    rows
}

/// A text of several lines as it may be shown.
fn shown(text: &str) -> String {
    sanitized(text).replace('\t', "    ")
}

/// A key, what it does, and the same in a word.
type KeyRow = (&'static str, Cow<'static, str>, &'static str);

fn permission_keys(ask: &Ask) -> Vec<KeyRow> {
    let mut keys: Vec<KeyRow> = vec![("y", "allow once".into(), "allow")];
    if !ask.cut {
        let rules = match &ask.offer.rules[..] {
            [] => "a rule that you write".to_owned(),
            rules => one_line(&rules.join(", ")),
        };
        keys.push(("a", format!("allow in this run: {rules}").into(), "in this run"));
        keys.push(("A", "allow in this project, by the same rule".into(), "in this project"));
    }
    keys.push(("n", "deny".into(), "deny"));
    keys.push(("N", "deny, and say why".into(), "say why"));
    keys.push(("Esc", "decide later".into(), "later"));
    keys
}

fn question_keys(questions: &[Question]) -> Vec<KeyRow> {
    let choices = questions.iter().any(|question| !question.choices.is_empty());
    let mut keys: Vec<KeyRow> = Vec::new();
    keys.extend(choices.then_some(("1-9", "choose".into(), "choose")));
    keys.push(("o", "answer in words".into(), "words"));
    keys.push(("n", "do not answer".into(), "no answer"));
    keys.push(("N", "do not answer, and say why".into(), "say why"));
    keys.push(("Esc", "answer later".into(), "later"));
    keys
}

/// The questions, each with its choices below it.
fn question_rows(questions: &[Question], room: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    for question in questions {
        rows.extend(flowed(&[(shown(&question.text), Role::Strong)], room));
        for (index, choice) in question.choices.iter().enumerate() {
            let description = match choice.description.as_str() {
                "" => String::new(),
                description => format!("  {}", one_line(description)),
            };
            let pieces = [
                (format!("{:>2} ", index + 1), Role::Key),
                (one_line(&choice.label), Role::Plain),
                (description, Role::Dim),
            ];
            rows.extend(flowed(&pieces, room));
        }
    }
    rows
}

/// The keys that answer: a row each, or as many in a row as fit.
fn keys(keys: &[KeyRow], low: bool, room: usize) -> Vec<Row> {
    if !low {
        let row =
            |(key, words, _): &KeyRow| vec![(format!("{key:<3}"), Role::Key), (format!("  {words}"), Role::Plain)];
        return keys.iter().map(row).collect();
    }
    let mut rows: Vec<Row> = vec![Vec::new()];
    let mut taken = 0;
    for (key, _, short) in keys {
        let width = usize::from(columns(key) + columns(short)) + 3;
        if taken > 0 && taken + width > room {
            rows.push(Vec::new());
            taken = 0;
        }
        taken += width;
        let row = rows.last_mut().expect("there is always a row");
        row.push(((*key).to_owned(), Role::Key));
        row.push((format!(" {short}  "), Role::Plain));
    }
    rows
}

/// Breaks a text of pieces at its line ends and at the width, wherever that is.
fn flowed(pieces: &[(String, Role)], room: usize) -> Vec<Row> {
    let mut rows: Vec<Row> = vec![Vec::new()];
    let mut taken = 0;
    for (text, role) in pieces {
        for grapheme in text.graphemes(true) {
            let width = usize::from(columns(grapheme));
            let is_end = matches!(grapheme, "\n" | "\r\n");
            if is_end || taken + width > room {
                rows.push(Vec::new());
                taken = 0;
            }
            if is_end {
                continue;
            }
            taken += width;
            let row = rows.last_mut().expect("there is always a row");
            match row.last_mut() {
                Some((last, known)) if known == role => last.push_str(grapheme),
                Some(_) | None => row.push((grapheme.to_owned(), *role)),
            }
        }
    }
    rows
}
