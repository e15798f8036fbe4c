//! The screen of a batch: a row for each plan, the agents' questions, and the next commands once it is over.

use ralph_plan::batch::{BatchEnd, LOCAL, PlanPhase};
use ralph_text::one_line;
use ralph_words::{
    Tone, asked_in_words, cost_in_words, counted, held_in_words, merge_in_words, short_duration, ticking,
};
use ratatui::{
    layout::{Position, Rect},
    style::{Modifier, Style},
};

use crate::{
    board::{Board, BoardRow, PlanAsk},
    tui::{
        boxes, hints,
        model::{BoardFocus, BoardLayout, BoardMode, BoardModel, InputMode},
        pen::{Pen, columns},
        theme::{TextRole, Theme},
    },
};

use super::{bars, board_preview};

/// Minimum width for ralph's name.
const NAME_COLS: u16 = 60;
/// Width of the bar of merged plans.
const BAR_COLS: std::ops::RangeInclusive<u16> = 8..=40;
/// Maximum columns of a plan's name.
const PLAN_COLS: u16 = 24;
/// Maximum columns of a task, beside the plan's activity.
const TASK_COLS: u16 = 56;

/// Draws everything. Sets the cursor if a text is being typed.
pub(crate) fn draw(model: &BoardModel, theme: &Theme, frame: &mut ratatui::Frame<'_>) {
    let layout = model.layout();
    let mut pen = Pen::new(frame.buffer_mut(), theme);
    header(model, layout.header, &mut pen);
    plans(model, &layout, &mut pen);
    preview(model, layout.preview, &mut pen);
    match model.board.is_over() {
        true => hints(model, layout.below, &mut pen),
        false => asks(model, layout.below, &mut pen),
    }
    footer(model, layout.footer, &mut pen);
    let cursor = boxed(model, layout.whole, &mut pen);
    if let Some(position) = cursor.filter(|position| layout.whole.contains(*position)) {
        frame.set_cursor_position(position);
    }
}

/// The state of the batch, and the number of plans in each state.
fn header(model: &BoardModel, area: Rect, pen: &mut Pen<'_>) {
    if area.is_empty() {
        return;
    }
    let board = &model.board;
    let (tone, words) = standing(board);
    let is_asking = board.running && board.plans.iter().any(|row| row.asks > 0);
    let style = pen.theme.style(match tone {
        Tone::Start if is_asking => TextRole::AskingBadge,
        Tone::Start | Tone::Note | Tone::User => TextRole::BusyBadge,
        Tone::Wait | Tone::Warning => TextRole::WaitingBadge,
        Tone::Good => TextRole::DoneBadge,
        Tone::Bad => TextRole::FailedBadge,
    });
    pen.fill(Rect { height: 1, ..area }, style);
    let mut x = area.x + u16::from(area.width >= 40);
    let mut end = area.right().saturating_sub(1);
    if area.width >= NAME_COLS {
        x = pen.text(x, area.y, end, "ralph many  ", style);
    }
    let spent = spent(model);
    end = pen.right(x + columns(words) + 4, area.y, end, &format!("  {spent}"), style);
    let (sign, _) = pen.theme.tone(tone);
    let strong = style.add_modifier(Modifier::BOLD);
    x = pen.text(x, area.y, end, &format!("{sign} {words}"), strong);
    // Each count is shown in full or not at all.
    for text in counts(board) {
        if x + 3 + columns(&text) > end {
            break;
        }
        let text = format!(" {} {text}", pen.theme.glyphs.dot);
        x = pen.text(x, area.y, end, &text, style);
    }
    if area.height > 1 {
        progress(board, Rect::new(area.x, area.y + 1, area.width, 1), pen);
    }
}

/// The state of the batch in a word or two.
fn standing(board: &Board) -> (Tone, &'static str) {
    match (board.running, board.end) {
        (true, _) if board.stopping => (Tone::Wait, "stopping"),
        (true, _) => (Tone::Start, "running"),
        (false, Some(BatchEnd::Merged)) => (Tone::Good, "merged"),
        (false, Some(BatchEnd::Incomplete)) => (Tone::Bad, "over"),
        (false, Some(BatchEnd::Stopped { .. })) => (Tone::Warning, "stopped"),
        (false, None) => (Tone::Bad, "interrupted"),
    }
}

fn counts(board: &Board) -> Vec<String> {
    let counts = &board.counts;
    let asking = board.plans.iter().filter(|row| row.asks > 0).count();
    let all = [
        (asking, "asking"),
        (counts.running, "running"),
        (counts.merging, "merging"),
        (counts.waiting, "waiting"),
        (counts.kept, "left"),
    ];
    let some = all.into_iter().filter(|(count, _)| *count > 0);
    let counts = some.map(|(count, word)| format!("{count} {word}"));
    let engine = (board.engine != LOCAL).then(|| format!("by {}", board.engine));
    counts.chain(engine).collect()
}

/// Total cost of all runs, and the elapsed time.
fn spent(model: &BoardModel) -> String {
    let board = &model.board;
    let time = match board.running {
        true => ticking(model.now_ms.saturating_sub(board.started_ms)),
        false => short_duration(board.changed_ms.saturating_sub(board.started_ms)),
    };
    match cost_in_words(&board.usage) {
        Some(cost) => format!("{cost} · {time}"),
        None => time,
    }
}

/// The bar of merged plans, and the target branch.
fn progress(board: &Board, area: Rect, pen: &mut Pen<'_>) {
    let end = area.right().saturating_sub(1);
    let glyphs = pen.theme.glyphs;
    let bar = (area.width / 4).clamp(*BAR_COLS.start(), *BAR_COLS.end());
    let (merged, all) = (board.counts.merged, board.plans.len());
    let full = (usize::from(bar) * merged).checked_div(all).unwrap_or(0);
    let x = pen.role(area.x + 1, area.y, end, &glyphs.full.repeat(full), TextRole::GaugeDone);
    let rest = glyphs.rest.repeat(usize::from(bar) - full);
    let mut x = pen.role(x, area.y, end, &rest, TextRole::GaugeRest);
    x = pen.role(x, area.y, end, &format!(" {merged}/{all} merged"), TextRole::Strong);
    let mut facts = vec![(format!("into {}", one_line(&board.target)), TextRole::Plain)];
    facts.extend(board.queue.iter().map(|queue| (one_line(queue), TextRole::Accent)));
    facts.push((format!("{} at a time", board.jobs), TextRole::Dim));
    for (at, (text, role)) in facts.iter().enumerate() {
        // The branch is never dropped for later facts, which are shown in full or not at all.
        if at > 0 && x + 3 + columns(text) > end {
            continue;
        }
        x = pen.role(x, area.y, end, &format!(" {} ", glyphs.dot), TextRole::Dim);
        x = pen.role(x, area.y, end, text, *role);
    }
}

/// A column of the table.
struct BoardColumn {
    name: &'static str,
    is_left: bool,
    cell: fn(&BoardModel, &BoardRow) -> String,
}

const COLUMNS: [BoardColumn; 6] = [
    BoardColumn {
        name: "plan",
        is_left: true,
        cell: |_, row| row.plan.0.clone(),
    },
    BoardColumn {
        name: "state",
        is_left: true,
        cell: |_, row| row.state.clone(),
    },
    BoardColumn {
        name: "tasks",
        is_left: false,
        cell: |_, row| {
            row.tasks
                .map_or_else(String::new, |tasks| format!("{}/{}", tasks.done, tasks.all))
        },
    },
    BoardColumn {
        name: "iter",
        is_left: false,
        cell: |_, row| row.iterations.map_or_else(String::new, |count| count.to_string()),
    },
    BoardColumn {
        name: "cost",
        is_left: false,
        cell: |_, row| {
            let cost = row.usage.and_then(|usage| cost_in_words(&usage));
            cost.unwrap_or_default()
        },
    },
    BoardColumn {
        name: "age",
        is_left: false,
        cell: |model, row| match model.board.running {
            true => short_duration(model.now_ms.saturating_sub(row.since_ms)),
            false => String::new(),
        },
    },
];

fn plans(model: &BoardModel, layout: &BoardLayout, pen: &mut Pen<'_>) {
    let area = layout.plans;
    let rows = &model.board.plans;
    if rows.is_empty() || area.height < 2 {
        return pen.note(area, "No plan has begun.");
    }
    let first = model.first_plan();
    let shown: Vec<(usize, &BoardRow)> = rows.iter().enumerate().skip(first).take(model.page()).collect();
    let cells: Vec<Vec<String>> = shown
        .iter()
        .map(|(_, row)| COLUMNS.iter().map(|column| (column.cell)(model, row)).collect())
        .collect();
    // Columns are as wide as their cells and empty ones are omitted; the rest is for the plans' activities.
    let widths: Vec<u16> = COLUMNS
        .iter()
        .enumerate()
        .map(|(at, column)| match cells.iter().map(|row| columns(&row[at])).max() {
            None | Some(0) => 0,
            Some(widest) => widest.max(columns(column.name)).min(PLAN_COLS),
        })
        .collect();
    let end = area.right().saturating_sub(1);
    let names: Vec<&str> = COLUMNS.iter().map(|column| column.name).collect();
    let dim = [pen.theme.style(TextRole::Dim); COLUMNS.len()];
    let x = line(area.x + 3, area.y, end, (&names, &widths, &dim), pen);
    let task_cols = match layout.is_wide {
        true => (end.saturating_sub(x) / 2).min(TASK_COLS),
        false => 0,
    };
    match (layout.is_wide, layout.rows_each) {
        (true, _) => {
            pen.role(x, area.y, x + task_cols, "task", TextRole::Dim);
            pen.role(x + task_cols + 1, area.y, end, "now", TextRole::Dim);
        }
        (false, 1) => _ = pen.role(x, area.y, end, "now", TextRole::Dim),
        (false, _) => _ = pen.role(x, area.y, end, "task", TextRole::Dim),
    }
    for (nth, ((at, row), cells)) in shown.into_iter().zip(&cells).enumerate() {
        let y = area.y + 1 + u16::try_from(nth).unwrap_or(u16::MAX) * layout.rows_each;
        let (sign, style) = pen.theme.tone(row.tone);
        pen.text(area.x + 1, y, end, sign, style);
        let cells: Vec<&str> = cells.iter().map(String::as_str).collect();
        let plain = pen.theme.style(TextRole::Plain);
        let styles = [
            pen.theme.style(TextRole::Strong),
            style,
            plain,
            plain,
            plain,
            pen.theme.style(TextRole::Dim),
        ];
        let x = line(area.x + 3, y, end, (&cells, &widths, &styles), pen);
        let task = row.task.as_deref().unwrap_or_default();
        let role = doing_role(row);
        match (layout.is_wide, layout.rows_each) {
            (true, _) => {
                pen.role(x, y, x + task_cols, task, TextRole::Plain);
                pen.role(x + task_cols + 1, y, end, &doing(model, row), role);
            }
            (false, 1) => _ = pen.role(x, y, end, &doing(model, row), role),
            (false, _) => {
                pen.role(x, y, end, task, TextRole::Plain);
                pen.role(area.x + 5, y + 1, end, &doing(model, row), role);
            }
        }
        if at == model.plan && model.focus == BoardFocus::Plans {
            pen.choose(Rect::new(area.x, y, area.width, layout.rows_each));
        }
    }
    let below = rows.len() - (first + model.page()).min(rows.len());
    let (above, glyphs) = (first, pen.theme.glyphs);
    let more = match (above, below) {
        (0, 0) => return,
        (above, 0) => format!(" {above} {}", glyphs.up),
        (0, below) => format!(" {below} {}", glyphs.down),
        (above, below) => format!(" {above} {} {below} {}", glyphs.up, glyphs.down),
    };
    pen.right(x, area.y, end, &more, pen.theme.style(TextRole::Wait));
}

/// Draws the chosen plan beside the plans.
fn preview(model: &BoardModel, area: Rect, pen: &mut Pen<'_>) {
    let Some(row) = model.board.plans.get(model.plan).filter(|_| !area.is_empty()) else {
        return;
    };
    for y in area.top()..area.bottom() {
        pen.role(area.x, y, area.x + 1, pen.theme.glyphs.bar, TextRole::GaugeRest);
    }
    let inner = Rect::new(area.x + 1, area.y, area.width - 1, area.height);
    board_preview::draw(row, (&doing(model, row), doing_role(row)), inner, pen);
}

/// Writes the cells of a line. Returns the position of the next column.
fn line(x: u16, y: u16, end: u16, (cells, widths, styles): (&[&str], &[u16], &[Style]), pen: &mut Pen<'_>) -> u16 {
    let mut x = x;
    for (at, cell) in cells.iter().enumerate() {
        let width = widths[at];
        if width == 0 {
            continue;
        }
        let stop = (x + width).min(end);
        match COLUMNS[at].is_left {
            true => _ = pen.text(x, y, stop, cell, styles[at]),
            false => _ = pen.right(x, y, stop, cell, styles[at]),
        }
        x = stop + 2;
    }
    x.min(end)
}

/// The plan's activity, with the time left if it waits.
fn doing(model: &BoardModel, row: &BoardRow) -> String {
    // The column of the state says that it is merged.
    if let PlanPhase::Merged { commit } = &row.phase {
        return format!("commit {}", merge_in_words(commit, row.merge_proof));
    }
    match row.until_ms {
        // The list of questions shows how long a question waits.
        Some(until_ms) if model.board.running && row.asks == 0 => {
            let left = ticking(until_ms.saturating_sub(model.now_ms).div_ceil(1000) * 1000);
            format!("{} · {left} left, until {}", row.doing, model.clock(until_ms))
        }
        Some(_) | None => row.doing.clone(),
    }
}

fn doing_role(row: &BoardRow) -> TextRole {
    match row.tone {
        Tone::User => TextRole::User,
        Tone::Bad => TextRole::Bad,
        Tone::Wait | Tone::Warning => TextRole::Wait,
        Tone::Start | Tone::Good | Tone::Note => TextRole::Dim,
    }
}

/// A horizontal line with a title.
fn title(area: Rect, text: &str, role: TextRole, pen: &mut Pen<'_>) {
    pen.rule(area.x, area.y, area.right(), pen.theme.style(TextRole::GaugeRest));
    pen.role(area.x + 2, area.y, area.right(), &format!(" {text} "), role);
}

/// Open questions of the agents of all runs.
fn asks(model: &BoardModel, area: Rect, pen: &mut Pen<'_>) {
    let asks = &model.board.asks;
    if area.height < 2 || asks.is_empty() {
        return;
    }
    let waiting = counted(asks.len() as u64, "question");
    title(area, &format!("{waiting} for you"), TextRole::User, pen);
    let end = area.right().saturating_sub(1);
    let plan_cols = asks
        .iter()
        .map(|asked| columns(&asked.plan.0))
        .max()
        .unwrap_or(0)
        .min(PLAN_COLS);
    let shown = asks.iter().enumerate().skip(model.first_ask());
    for (y, (at, asked)) in (area.y + 1..area.bottom()).zip(shown) {
        pen.role(area.x + 1, y, end, pen.theme.glyphs.user, TextRole::User);
        pen.role(area.x + 3, y, area.x + 3 + plan_cols, &asked.plan.0, TextRole::Strong);
        let left = waits(model, asked);
        let stop = pen.right(
            area.x + 20,
            y,
            end,
            &format!("  {left}"),
            pen.theme.style(TextRole::Dim),
        );
        pen.role(area.x + 5 + plan_cols, y, stop, &asked_for(asked), TextRole::Plain);
        if at == model.ask && model.focus == BoardFocus::Asks {
            pen.choose(Rect::new(area.x, y, area.width, 1));
        }
    }
}

fn asked_for(asked: &PlanAsk) -> String {
    let request = &asked.ask.request;
    one_line(&match request.questions.is_empty() {
        true => asked_in_words(&request.tool, &request.title),
        // A question needs no tool name.
        false => request.title.clone(),
    })
}

/// The time left for a question, or how long it has waited.
fn waits(model: &BoardModel, asked: &PlanAsk) -> String {
    match asked.ask.until_ms {
        Some(until_ms) => format!("{} left", ticking(until_ms.saturating_sub(model.now_ms))),
        None => format!(
            "for {}",
            short_duration(model.now_ms.saturating_sub(asked.ask.asked_ms))
        ),
    }
}

/// The next commands, once the batch is over.
fn hints(model: &BoardModel, area: Rect, pen: &mut Pen<'_>) {
    if area.height < 2 || model.board.hints.is_empty() {
        return;
    }
    title(area, "what to do next", TextRole::Strong, pen);
    for (y, hint) in (area.y + 1..area.bottom()).zip(&model.board.hints) {
        pen.role(area.x + 1, y, area.right(), &one_line(hint), TextRole::Plain);
    }
}

fn footer(model: &BoardModel, area: Rect, pen: &mut Pen<'_>) {
    if area.is_empty() {
        return;
    }
    let said = match &model.toast {
        Some(toast) => {
            let (sign, style) = pen.theme.tone(toast.tone);
            let text = format!("{sign} {}", one_line(&toast.text));
            pen.text(area.x + 1, area.y, area.right(), &text, style);
            true
        }
        None => false,
    };
    if area.height > 1 && !said {
        let held = model.board.held.as_ref().filter(|held| held.until_ms > model.now_ms);
        let (words, role) = match held {
            Some(held) => (held_in_words(held, model.now_ms), TextRole::Wait),
            None => {
                let used = model.board.used.iter().map(String::as_str);
                let batch = format!("batch {}", model.board.batch);
                let parts: Vec<&str> = [batch.as_str()].into_iter().chain(used).collect();
                (parts.join(" · "), TextRole::Dim)
            }
        };
        pen.role(area.x + 1, area.y, area.right(), &one_line(&words), role);
    }
    let keys = Rect::new(area.x, area.bottom() - 1, area.width, 1);
    bars::draw_hints(&hints::of_board(model), keys, pen);
}

/// Draws the box over the board, if any. Returns the cursor position in its input line.
fn boxed(model: &BoardModel, whole: Rect, pen: &mut Pen<'_>) -> Option<Position> {
    match &model.mode {
        BoardMode::Normal => {}
        BoardMode::Quit | BoardMode::Cancel(_) => {
            if let Some(question) = boxes::batch_question(model) {
                question.draw(whole, pen);
            }
        }
        BoardMode::Help { top } => {
            let bindings: Vec<_> = model.offered().collect();
            boxes::draw_help(&bindings, model.mouse, *top, whole, pen);
        }
        BoardMode::Answering { plan, model: own, .. } => {
            let InputMode::Answering(answering) = &own.ui.mode else {
                return None;
            };
            let cursor = boxes::draw_answer_box(own, answering, pen);
            // The plan whose agent asks, in the top row.
            pen.clear(Rect::new(whole.x, whole.y, whole.width, whole.height.min(1)));
            pen.role(
                whole.x + 1,
                whole.y,
                whole.right(),
                &format!("{plan} asks"),
                TextRole::User,
            );
            return cursor;
        }
    }
    None
}
