//! The log of events, newest at the end.

use ralph_words::{Tone, counted, ticking};
use ratatui::{layout::Rect, style::Style};

use crate::tui::{
    keys::KeyAction,
    model::{LogFilter, LogLine, LogLineKind, Model},
    order::ScreenOrder,
    pen::{Pen, shortened, wrapped},
    search_query::SearchDirection,
    theme::TextRole,
};

use super::content::PaneContent;

/// Minimum width for times.
const TIME_COLS: u16 = 50;

pub(super) struct LogContent;

impl PaneContent for LogContent {
    fn draw(&self, model: &Model, area: Rect, pen: &mut Pen<'_>) {
        draw(model, area, pen);
    }

    /// The filter and the scroll position.
    fn note(&self, model: &Model) -> String {
        let kind = match model.log.kind() {
            LogFilter::All => None,
            kind => Some(format!("only {}", kind.name())),
        };
        let below = (model.ui.log_below > 0).then(|| format!("{} below", counted(model.ui.log_below as u64, "row")));
        let parts: Vec<String> = below.into_iter().chain(kind).collect();
        parts.join(" · ")
    }

    fn each(&self, model: &Model, take: &mut dyn FnMut(&str)) {
        let log = &model.log;
        (0..log.len())
            .filter_map(|at| log.get(at))
            .for_each(|line| take(&line.text));
    }

    fn at(&self, model: &Model) -> usize {
        match model.ui.log_below {
            0 => model.log.len(),
            below => model.log.len().saturating_sub(1 + below),
        }
    }

    fn put(&self, model: &mut Model, at: usize) {
        model.ui.log_below = model.log.len().saturating_sub(1).saturating_sub(at);
    }

    fn count(&self, model: &Model) -> Option<usize> {
        Some(model.log.len())
    }

    /// The latest line is at the bottom, or all of them begin at the top.
    fn row_of(&self, model: &Model, area: Rect, line: usize) -> Option<u16> {
        let height = usize::from(area.height);
        let newest = model.log.len().checked_sub(1 + model.ui.log_below)?;
        let is_known = !model.ui.log_unfolded && model.ui.log_below > 0;
        let below = line + height.min(newest + 1) - 1;
        let row = u16::try_from(below.checked_sub(newest)?).ok()?;
        Some(area.y + row).filter(|y| is_known && *y < area.bottom())
    }

    /// Shows only lines of the next kind, or unfolds entries.
    fn key(&self, model: &mut Model, action: KeyAction) -> Vec<ScreenOrder> {
        if action == KeyAction::Open {
            model.ui.log_unfolded = !model.ui.log_unfolded;
        }
        if action == KeyAction::Filter {
            let kind = model.log.kind().next();
            model.ui.log_below = model.log.show(kind, model.ui.log_below);
            // The current match may be among the hidden lines.
            model.ui.search.landed = None;
        }
        Vec::new()
    }

    fn file(&self) -> &'static str {
        "log.txt"
    }

    fn direction(&self) -> SearchDirection {
        SearchDirection::Up
    }
}

fn draw(model: &Model, area: Rect, pen: &mut Pen<'_>) {
    let log = &model.log;
    if log.is_empty() {
        return match log.kind() {
            LogFilter::All => pen.note(area, "No events yet."),
            kind => pen.note(area, &format!("No {} so far. `f` shows other lines.", kind.name())),
        };
    }
    let newest = log.len() - 1 - model.ui.log_below.min(log.len() - 1);
    // Drawn from the newest upwards until the area is full: a line may take several rows.
    let mut bottom = area.bottom();
    let following = model.ui.log_below == 0 && model.run.is_busy();
    if following && area.height > 1 {
        bottom -= 1;
        spinner(model, area, bottom, pen);
    }
    for at in (0..=newest).rev() {
        let Some(line) = log.get(at) else { break };
        let rows = rows(model, line, area, pen);
        let height = u16::try_from(rows.len()).unwrap_or(u16::MAX);
        let top = bottom.saturating_sub(height).max(area.top());
        let hidden = usize::from(height - (bottom - top));
        for (y, row) in (top..bottom).zip(&rows[hidden..]) {
            self::row(model, line, row, hidden == 0 && y == top, area, y, pen);
        }
        bottom = top;
        if bottom == area.top() {
            return;
        }
    }
    // A short log is moved to the top.
    let used = area.bottom() - bottom;
    let free = bottom - area.top();
    for y in 0..used {
        for x in area.left()..area.right() {
            let cell = pen.buffer[(x, area.top() + free + y)].clone();
            pen.buffer[(x, area.top() + y)] = cell;
        }
    }
    let left = area.top() + used;
    pen.clear(Rect::new(area.x, left, area.width, area.bottom() - left));
}

fn spinner(model: &Model, area: Rect, y: u16, pen: &mut Pen<'_>) {
    let Some(since) = model.run.phase.running_since_ms() else {
        return;
    };
    let running_ms = model.now_ms.saturating_sub(since);
    let spinner = pen.theme.glyphs.spinner;
    let sign = spinner[usize::try_from(running_ms / 1000).unwrap_or(0) % spinner.len()];
    let x = text_column(area);
    let text = format!("{sign} {}", ticking(running_ms));
    pen.role(x.saturating_sub(2), y, area.right(), &text, TextRole::Accent);
}

fn text_column(area: Rect) -> u16 {
    area.x + 3 + if area.width >= TIME_COLS { 9 } else { 0 }
}

/// The rows of an entry: one, unless entries are unfolded.
fn rows(model: &Model, line: &LogLine, area: Rect, pen: &Pen<'_>) -> Vec<String> {
    match line.sign {
        LogLineKind::Separator => vec![shortened(
            &line.text,
            usize::from(area.width).saturating_sub(8),
            pen.theme.glyphs.more,
        )],
        LogLineKind::Event(_) | LogLineKind::Said | LogLineKind::Tool | LogLineKind::File => {
            let room = area.right().saturating_sub(text_column(area) + 1);
            match model.ui.log_unfolded {
                true => wrapped(&line.text, usize::from(room)),
                false => vec![shortened(&line.text, usize::from(room), pen.theme.glyphs.more)],
            }
        }
    }
}

fn row(model: &Model, line: &LogLine, text: &str, first: bool, area: Rect, y: u16, pen: &mut Pen<'_>) {
    let end = area.right().saturating_sub(1);
    if line.sign == LogLineKind::Separator {
        pen.rule(area.x + 1, y, end, pen.theme.style(TextRole::GaugeRest));
        pen.role(area.x + 3, y, end, &format!(" {text} "), TextRole::Strong);
        return;
    }
    let (sign, style) = look(line.sign, pen);
    let start = text_column(area);
    if first {
        if area.width >= TIME_COLS {
            pen.role(area.x + 1, y, end, &model.clock(line.at_ms), TextRole::Dim);
        }
        pen.text(start - 2, y, end, sign, style);
    }
    let text_style = match line.sign {
        LogLineKind::Event(Tone::Note) | LogLineKind::Said | LogLineKind::Tool | LogLineKind::File => {
            pen.theme.style(TextRole::Dim)
        }
        LogLineKind::Event(Tone::Start | Tone::Bad | Tone::Warning) => style,
        LogLineKind::Event(Tone::Good | Tone::Wait | Tone::User) | LogLineKind::Separator => {
            pen.theme.style(TextRole::Plain)
        }
    };
    pen.text(start, y, end, text, text_style);
}

fn look(sign: LogLineKind, pen: &Pen<'_>) -> (&'static str, Style) {
    match sign {
        LogLineKind::Event(tone) => pen.theme.tone(tone),
        LogLineKind::Said => (pen.theme.glyphs.note, pen.theme.style(TextRole::Dim)),
        LogLineKind::Tool => (pen.theme.glyphs.tool, pen.theme.style(TextRole::Hunk)),
        LogLineKind::File => (pen.theme.glyphs.tool, pen.theme.style(TextRole::Added)),
        LogLineKind::Separator => (pen.theme.glyphs.rule, pen.theme.style(TextRole::Dim)),
    }
}
