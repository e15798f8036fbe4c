//! The box in which the user answers a question of the agent.

use std::{borrow::Cow, ops::Range};

use ralph_core::{
    event::{Ask, Question, ToolKind},
    run::{OpenAsk, RunView},
};
use ralph_text::one_line;
use ralph_words::{scope_in_words, ticking, unanswered_in_words};
use ratatui::layout::{Position, Rect};

use crate::tui::{
    model::{AnswerBox, AnswerStep, Model, Pane, are_marked},
    pen::{Pen, columns, shortened, wrapped},
    request::{self, RequestLine},
    theme::TextRole,
};

use super::typed;

/// Maximum width of the box: longer lines are hard to read.
const WIDTH: u16 = 110;
/// Below this height, several keys share a row.
const LOW_ROWS: u16 = 16;
/// Minimum rows of the report for a box inside of it.
const REPORT_ROWS: u16 = 8;
/// Maximum visible rows of a typed text.
const TYPED_ROWS: usize = 6;
/// Maximum rows of the reason for a refusal.
const REFUSAL_ROWS: usize = 3;
/// The notice for an answer for which no agent waits.
const LATE: &str = "your answer goes into the next prompt";
/// The state of changed tests until the user has answered.
const AS_THEY_WERE: &str = "the original tests count until you decide";
/// The state of a tick until the user has answered.
const HELD: &str = "the tick does not count until you decide";
const RESUMES: &str = "the run resumes with your answer";
/// Maximum columns of the tool's name in the title.
const TOOL_COLUMNS: usize = 24;

/// The content of the box and its size.
struct BoxContent {
    width: u16,
    height: u16,
    /// The question.
    asked: Vec<RequestLine>,
    /// The range of rows of each choice.
    choices: Vec<Range<usize>>,
    /// Number of visible rows of the question.
    visible: usize,
    /// The keys, or the text above the input line.
    below: Vec<RequestLine>,
    typed: usize,
}

impl BoxContent {
    fn new(run: &RunView, subject: OpenAsk<'_>, answering: &AnswerBox, whole: Rect) -> Self {
        let width = whole
            .width
            .saturating_sub(if whole.width > 60 { 4 } else { 0 })
            .min(WIDTH);
        let room = usize::from(width.saturating_sub(4)).max(1);
        let (asked, choices) = asked(subject, answering, room);
        let how = match &answering.step {
            AnswerStep::Choosing => None,
            AnswerStep::Wording(_) => Some(match subject.questions().len() {
                0 => "the answer, in your words:".to_owned(),
                1 => "numbers with commas, or words:".to_owned(),
                _ => "a line for each question: numbers with commas, or words:".to_owned(),
            }),
            AnswerStep::Denying(_) if subject.is_late() => Some("no, and tell the agent:".to_owned()),
            AnswerStep::Denying(_) => Some("deny, and tell the agent:".to_owned()),
            AnswerStep::Remembering(scope, _) => Some(format!("allow it, and add a rule {}:", scope_in_words(*scope))),
        };
        let mut below = match how {
            Some(how) => vec![vec![(how, TextRole::User)]],
            None => keys(&keys_of(run, subject), whole.height < LOW_ROWS, room),
        };
        let editor = answering.step.line();
        let typed = editor.map_or(0, |editor| typed::rows(editor, room).min(TYPED_ROWS));
        if let Some(why) = &answering.refused {
            let lines = wrapped(&one_line(why), room).into_iter().take(REFUSAL_ROWS);
            below.splice(0..0, lines.map(|line| vec![(line, TextRole::Bad)]));
        }
        let fixed = below.len() + typed + 2;
        // With a blank row above the keys, if there is room.
        let height = (asked.len() + 1 + fixed).min(usize::from(whole.height));
        let visible = asked.len().min(height.saturating_sub(fixed));
        Self {
            width,
            height: u16::try_from(height).unwrap_or(u16::MAX),
            asked,
            choices,
            visible,
            below,
            typed,
        }
    }

    fn last_top(&self) -> usize {
        self.asked.len() - self.visible
    }
}

/// The rows of the question, and the ranges of its choices.
fn asked(subject: OpenAsk<'_>, answering: &AnswerBox, room: usize) -> (Vec<RequestLine>, Vec<Range<usize>>) {
    match subject {
        OpenAsk::Waits(ask) | OpenAsk::Missed(ask) if ask.request.questions.is_empty() => {
            let rows = request::rows(ask, room);
            (rows, Vec::new())
        }
        OpenAsk::Waits(ask) | OpenAsk::Missed(ask) => {
            request::questions(&ask.request.questions, Some(&answering.choice), room)
        }
        OpenAsk::Blocks(block) => (request::block(block.task.as_deref(), &block.question, room), Vec::new()),
    }
}

/// The last possible top line of the question, and the number of its visible lines.
pub(super) fn extent(model: &Model, answering: &AnswerBox) -> (usize, usize) {
    let sheet = sheet(model, answering);
    sheet.map_or((0, 1), |sheet| (sheet.last_top(), sheet.visible.max(1)))
}

/// Scrolls the choice at the cursor into view.
pub(super) fn follow_choice(model: &Model, answering: &mut AnswerBox) {
    let Some(sheet) = sheet(model, answering) else { return };
    let top = answering.top.min(sheet.last_top());
    let Some(rows) = sheet.choices.get(answering.choice.cursor) else {
        return;
    };
    let lowest = rows.end.saturating_sub(sheet.visible.max(1));
    answering.top = top.max(lowest).min(rows.start.max(lowest));
}

/// Whether the question ended the run and is shown below the report.
fn is_at_end(model: &Model, subject: OpenAsk<'_>) -> bool {
    (subject.is_decision() || matches!(subject, OpenAsk::Blocks(_)))
        && model.run.is_over()
        && model.ui.pane == Pane::Report
}

/// The area available for the box.
fn place(model: &Model, subject: OpenAsk<'_>) -> Rect {
    let layout = model.layout();
    match is_at_end(model, subject) {
        true if layout.main.height >= REPORT_ROWS => layout.main,
        true | false => layout.whole,
    }
}

fn sheet(model: &Model, answering: &AnswerBox) -> Option<BoxContent> {
    let subject = model.run.open_ask(answering.ask)?;
    Some(BoxContent::new(&model.run, subject, answering, place(model, subject)))
}

/// Draws the box. Returns the cursor position in the input line, if there is one.
pub(in crate::tui) fn draw(model: &Model, answering: &AnswerBox, pen: &mut Pen<'_>) -> Option<Position> {
    let subject = model.run.open_ask(answering.ask)?;
    let whole = place(model, subject);
    let sheet = BoxContent::new(&model.run, subject, answering, whole);
    let title = title(model, subject, pen.theme.glyphs.more);
    let inner = match is_at_end(model, subject) {
        false => pen.centred(whole, sheet.width, sheet.height, &title)?,
        true if whole.width < 4 || whole.height < 3 => return None,
        true => {
            let y = whole.bottom() - sheet.height;
            pen.clear(Rect::new(whole.x, y, whole.width, sheet.height));
            let x = whole.x + (whole.width - sheet.width) / 2;
            pen.framed(Rect::new(x, y, sheet.width, sheet.height), &title, TextRole::Accent)
        }
    };
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
    let keys = match answering.step {
        AnswerStep::Choosing => return None,
        AnswerStep::Remembering(..) => " Enter allows · Alt-Enter one more rule · Esc back ",
        AnswerStep::Denying(_) if !subject.is_late() => " Enter denies · Alt-Enter newline · Esc back ",
        AnswerStep::Denying(_) | AnswerStep::Wording(_) => " Enter answers · Alt-Enter newline · Esc back ",
    };
    let editor = answering.step.line()?;
    let area = Rect::new(inner.x, y, inner.width, inner.bottom().saturating_sub(y));
    let end = inner.right().saturating_sub(1);
    pen.right(inner.x, inner.bottom(), end, keys, pen.theme.style(TextRole::Dim));
    Some(typed::draw(editor, area, pen))
}

/// The tool, the time left, and the number of other waiting questions.
fn title(model: &Model, subject: OpenAsk<'_>, cut: &str) -> String {
    let tool = |ask: &Ask| shortened(&one_line(&ask.request.tool), TOOL_COLUMNS, cut);
    let (mut parts, others) = match subject {
        OpenAsk::Waits(ask) => {
            let left = match ask.until_ms {
                Some(until_ms) => {
                    let left = ticking(until_ms.saturating_sub(model.now_ms));
                    format!("{left} left, then {}", unanswered_in_words(&model.run, ask))
                }
                None => "waits for you".to_owned(),
            };
            let who = match ask.request.questions.is_empty() {
                true => tool(ask),
                false => "the agent".to_owned(),
            };
            (vec![format!("{who} asks"), left], 1)
        }
        OpenAsk::Missed(ask) if ask.is_about_tests() => {
            (vec!["tests were changed".to_owned(), AS_THEY_WERE.to_owned()], 0)
        }
        OpenAsk::Missed(ask) if ask.is_decision() => (vec!["outside of the scope".to_owned(), HELD.to_owned()], 0),
        OpenAsk::Missed(ask) => (vec![format!("{} asked", tool(ask)), LATE.to_owned()], 0),
        OpenAsk::Blocks(_) if model.run.is_over() => (vec!["blocked".to_owned(), RESUMES.to_owned()], 0),
        OpenAsk::Blocks(_) => (vec!["blocked".to_owned(), LATE.to_owned()], 0),
    };
    match model.run.permissions.pending.len() - others {
        0 => {}
        1 => parts.push("1 more waits".to_owned()),
        more => parts.push(format!("{more} more wait")),
    }
    parts.join(" · ")
}

fn row_at(row: &RequestLine, inner: Rect, y: u16, pen: &mut Pen<'_>) {
    let mut x = inner.x + 1;
    for (text, role) in row {
        x = pen.role(x, y, inner.right(), text, *role);
    }
}

/// Shows on the frame that lines are hidden: the user must not approve unread ones by mistake.
fn unseen(sheet: &BoxContent, top: usize, inner: Rect, pen: &mut Pen<'_>) {
    let glyphs = pen.theme.glyphs;
    let (above, below) = (top, sheet.last_top() - top);
    let text = match (above, below) {
        (0, 0) => return,
        (above, 0) => format!(" {above} {} ", glyphs.up),
        (0, below) => format!(" {below} more {} ", glyphs.down),
        (above, below) => format!(" {above} {} · {below} more {} ", glyphs.up, glyphs.down),
    };
    pen.role(inner.x + 1, inner.bottom(), inner.right(), &text, TextRole::Wait);
}

/// A key, its description, and a short form of that.
type KeyRow = (&'static str, Cow<'static, str>, &'static str);

/// Whether a deadline passes for a question.
pub(super) fn has_deadline(subject: OpenAsk<'_>) -> bool {
    matches!(subject, OpenAsk::Waits(ask) if ask.until_ms.is_some())
}

/// Whether the box offers to allow everything without a rule: only if the run's mode asks about such requests.
pub(super) fn offers_all(run: &RunView, subject: OpenAsk<'_>) -> bool {
    !run.permission_mode().is_auto() && !subject.is_late()
}

fn rows<const COUNT: usize>(keys: [(&'static str, &'static str, &'static str); COUNT]) -> Vec<KeyRow> {
    keys.map(|(key, words, short)| (key, words.into(), short)).into()
}

fn keys_of(run: &RunView, subject: OpenAsk<'_>) -> Vec<KeyRow> {
    let mut keys: Vec<KeyRow> = match subject {
        OpenAsk::Waits(_) | OpenAsk::Missed(_) if subject.is_permission() => permission_keys(run, subject),
        OpenAsk::Waits(ask) | OpenAsk::Missed(ask) if ask.is_decision() => {
            let (yes, no) = match ask.is_about_tests() {
                true => (
                    "accept the changed tests",
                    "no: the original tests count, and the agent is told",
                ),
                false => ("accept the changes: the tick counts", "no: the agent is told"),
            };
            rows([
                ("y", yes, "accept"),
                ("n", no, "no"),
                ("N", "no, and say why", "say why"),
            ])
        }
        OpenAsk::Waits(ask) | OpenAsk::Missed(ask) => question_keys(&ask.request.questions),
        OpenAsk::Blocks(_) => rows([
            ("o", "answer in words", "words"),
            ("y", "yes", "yes"),
            ("n", "no", "no"),
            ("N", "no, and say why", "say why"),
        ]),
    };
    if has_deadline(subject) {
        keys.push(("w", "wait for me, without a deadline".into(), "wait"));
    }
    keys.push(match (subject.is_late(), subject.is_permission()) {
        _ if subject.is_decision() => ("Esc", "decide later".into(), "later"),
        (false, true) => ("Esc", "decide later".into(), "later"),
        (false, false) => ("Esc", "answer later".into(), "later"),
        (true, _) => ("Esc", "back to the list".into(), "back"),
    });
    keys
}

fn permission_keys(run: &RunView, subject: OpenAsk<'_>) -> Vec<KeyRow> {
    let [yes, no, why] = match subject.is_late() {
        false => [
            ("y", "allow once", "allow"),
            ("n", "deny", "deny"),
            ("N", "deny, and say why", "say why"),
        ],
        true => [
            ("y", "tell the agent yes", "yes"),
            ("n", "tell the agent no", "no"),
            ("N", "tell it no, and why", "say why"),
        ],
    };
    let mut keys: Vec<KeyRow> = rows([yes]);
    if !subject.is_cut() {
        let rules = match subject.offered_rules() {
            [] => "a rule that you write".to_owned(),
            rules => one_line(&rules.join(", ")),
        };
        keys.push(("a", format!("allow in this run: {rules}").into(), "in this run"));
        keys.push(("A", "always allow in this project".into(), "in this project"));
        if let Some(rule) = whole_kind(subject) {
            let words = format!("allow everything of this kind in this run: {rule}");
            keys.push(("e", words.into(), "everything"));
        }
    }
    if offers_all(run, subject) {
        let words = "allow it, and in this run everything without a rule of `ask`";
        keys.push(("Y", words.into(), "all"));
    }
    keys.extend(rows([no, why]));
    keys
}

/// The rule that allows every request of this kind; `None` for tools that rules name individually.
pub(super) fn whole_kind(subject: OpenAsk<'_>) -> Option<&'static str> {
    match subject.request()?.kind {
        ToolKind::Shell => Some("Bash"),
        ToolKind::Edit => Some("Edit"),
        ToolKind::Read => Some("Read"),
        ToolKind::Fetch => Some("WebFetch"),
        ToolKind::Mcp | ToolKind::Other => None,
    }
}

fn question_keys(questions: &[Question]) -> Vec<KeyRow> {
    let mut keys = Vec::new();
    if questions.iter().any(|question| !question.choices.is_empty()) {
        keys.extend(rows([("↑↓", "choose, or the number of a choice", "choose")]));
        if are_marked(questions) {
            keys.extend(rows([("Space", "select or deselect a choice", "take")]));
        }
        keys.extend(rows([("Enter", "answer", "answer")]));
    }
    keys.extend(rows([
        ("o", "answer in words", "words"),
        ("n", "let it decide", "let it"),
        ("N", "let it decide, and say why", "say why"),
    ]));
    keys
}

/// The keys that answer, one per row, or as many per row as fit.
fn keys(keys: &[KeyRow], low: bool, room: usize) -> Vec<RequestLine> {
    if !low {
        let wide = keys.iter().map(|(key, ..)| key.chars().count()).max().unwrap_or(0);
        let row = |(key, words, _): &KeyRow| {
            vec![
                (format!("{key:<wide$}"), TextRole::Key),
                (format!("  {words}"), TextRole::Plain),
            ]
        };
        return keys.iter().map(row).collect();
    }
    let mut rows: Vec<RequestLine> = vec![Vec::new()];
    let mut taken = 0;
    for (key, _, short) in keys {
        let width = usize::from(columns(key) + columns(short)) + 3;
        if taken > 0 && taken + width > room {
            rows.push(Vec::new());
            taken = 0;
        }
        taken += width;
        let row = rows.last_mut().expect("there is always a row");
        row.push(((*key).to_owned(), TextRole::Key));
        row.push((format!(" {short}  "), TextRole::Plain));
    }
    rows
}
