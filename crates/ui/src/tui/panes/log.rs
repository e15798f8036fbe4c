//! The log of events, newest at the end.

use ralph_words::{Tone, ticking};
use ratatui::{
    layout::{Position, Rect},
    style::Style,
};

use crate::tui::{
    keys::KeyAction,
    layout::Focus,
    model::{LogFilter, LogLine, LogLineKind, Model, Pane},
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

    fn below(&self, model: &Model) -> usize {
        model.ui.log_below
    }

    /// The filter.
    fn note(&self, model: &Model) -> String {
        match model.log.kind() {
            LogFilter::All => String::new(),
            kind => format!("only {}", kind.name()),
        }
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

    fn row_of(&self, model: &Model, area: Rect, line: usize) -> Option<u16> {
        let is_folded = !is_unfolded(model, line) && model.ui.log_below > 0;
        let placed = placed(model, area);
        let there = placed.entries.iter().find(|entry| entry.at == line);
        there.map(|entry| entry.top).filter(|_| is_folded)
    }

    /// Shows only lines of the next kind, or unfolds entries.
    fn key(&self, model: &mut Model, action: KeyAction) -> Vec<ScreenOrder> {
        match action {
            KeyAction::Open => {
                let chosen = self.at(model).min(model.log.len().saturating_sub(1));
                toggle(model, chosen);
            }
            KeyAction::Unfold(_) => {
                let fold = &mut model.ui.log_fold;
                fold.unfolded.clear();
                fold.all_unfolded = !fold.all_unfolded;
            }
            KeyAction::Filter => {
                let kind = model.log.kind().next();
                model.ui.log_below = model.log.show(kind, model.ui.log_below);
                // The current match may be among the hidden lines.
                model.ui.search.landed = None;
            }
            _ => {}
        }
        Vec::new()
    }

    /// Unfolds the entry at a position, or folds it. The view stays where it is.
    fn click(&self, model: &mut Model, area: Rect, at: Position) -> Vec<ScreenOrder> {
        let placed = placed(model, area);
        let mut entries = placed.entries.iter().filter(|_| area.contains(at));
        let there = entries.find(|entry| (entry.top..entry.top + entry.height).contains(&at.y));
        if let Some(entry) = there.map(|entry| entry.at) {
            toggle(model, entry);
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
    let placed = placed(model, area);
    if let Some(y) = placed.spinner {
        spinner(model, area, y, pen);
    }
    let is_list = model.ui.pane == Pane::Log && model.ui.focus == Focus::Main && model.ui.log_below > 0;
    for entry in &placed.entries {
        let Some(line) = log.get(entry.at) else { continue };
        let rows = rows(model, entry.at, line, area, pen);
        let ys = entry.top..entry.top + entry.height;
        for (y, (nth, text)) in ys.zip(rows.iter().enumerate().skip(entry.hidden)) {
            row(model, line, text, nth == 0, area, y, pen);
        }
        if is_list && entry.at == LogContent.at(model) {
            pen.choose(Rect::new(area.x, entry.top, area.width, entry.height));
        }
    }
}

/// An entry in view.
struct PlacedEntry {
    /// Its index among those that pass the filter.
    at: usize,
    top: u16,
    /// Its rows in view.
    height: u16,
    /// Its rows above the view.
    hidden: usize,
}

/// The entries in view, from the newest up, and the row of the spinner below them.
struct PlacedLog {
    entries: Vec<PlacedEntry>,
    spinner: Option<u16>,
}

/// Places entries from the newest upwards until the area is full: an entry may take several rows. A short log begins at
/// the top.
fn placed(model: &Model, area: Rect) -> PlacedLog {
    let log = &model.log;
    let follows = model.ui.log_below == 0 && model.run.is_busy() && area.height > 1;
    let mut bottom = area.bottom().saturating_sub(u16::from(follows));
    let mut entries = Vec::new();
    let newest = log
        .len()
        .checked_sub(1 + model.ui.log_below.min(log.len().saturating_sub(1)));
    for at in newest.map_or(0..0, |newest| 0..newest + 1).rev() {
        if bottom <= area.top() {
            break;
        }
        let Some(line) = log.get(at) else { break };
        let rows = row_count(model, at, line, area);
        let height = u16::try_from(rows).unwrap_or(u16::MAX).min(bottom - area.top());
        bottom -= height;
        entries.push(PlacedEntry {
            at,
            top: bottom,
            height,
            hidden: rows - usize::from(height),
        });
    }
    let free = bottom - area.top();
    for entry in &mut entries {
        entry.top -= free;
    }
    PlacedLog {
        entries,
        spinner: follows.then(|| area.bottom() - 1 - free),
    }
}

fn is_unfolded(model: &Model, at: usize) -> bool {
    let place = model.log.place(at);
    place.is_some_and(|place| model.ui.log_fold.is_unfolded(place))
}

/// Unfolds an entry, or folds it.
fn toggle(model: &mut Model, at: usize) {
    if let Some(place) = model.log.place(at) {
        model.ui.log_fold.toggle(place);
    }
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

/// Columns for the text of an entry.
fn text_room(area: Rect) -> usize {
    usize::from(area.right().saturating_sub(text_column(area) + 1))
}

/// The number of rows of an entry: one, unless it is unfolded.
fn row_count(model: &Model, at: usize, line: &LogLine, area: Rect) -> usize {
    match line.sign != LogLineKind::Separator && is_unfolded(model, at) {
        true => wrapped(&line.text, text_room(area)).len().max(1),
        false => 1,
    }
}

fn rows(model: &Model, at: usize, line: &LogLine, area: Rect, pen: &Pen<'_>) -> Vec<String> {
    let more = pen.theme.glyphs.more;
    match line.sign {
        LogLineKind::Separator => vec![shortened(&line.text, usize::from(area.width).saturating_sub(8), more)],
        LogLineKind::Event(_) | LogLineKind::Said | LogLineKind::Tool | LogLineKind::File => {
            match is_unfolded(model, at) {
                true => wrapped(&line.text, text_room(area)),
                false => vec![shortened(&line.text, text_room(area), more)],
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::{
        testing::{model, running},
        update::{
            tests::{clicked, key, press},
            update,
        },
    };

    /// The log of a run, with entries that take two rows each if unfolded.
    fn log() -> Model {
        let mut model = model(60, 16, running());
        for number in 0..30 {
            let text = format!("entry {number}: {}", "word ".repeat(14));
            model.log.push(0, LogLineKind::Tool, &text);
        }
        model.ui.show(Pane::Log);
        model
    }

    /// The entries in view from the top, each with its number of rows.
    fn heights(model: &Model) -> Vec<(String, u16)> {
        let entries = placed(model, model.content_area()).entries.into_iter().rev();
        let entries = entries.filter_map(|entry| Some((model.log.get(entry.at)?, entry.height)));
        entries
            .map(|(line, height)| (line.text.split(':').next().unwrap_or_default().to_owned(), height))
            .collect()
    }

    fn unfolded(model: &Model) -> Vec<String> {
        let heights = heights(model).into_iter().filter(|(_, height)| *height > 1);
        heights.map(|(name, _)| name).collect()
    }

    #[test]
    fn enter_unfolds_the_chosen_entry_and_another_key_all_of_them() {
        use crossterm::event::KeyCode;
        let mut model = log();
        update(&mut model, key(KeyCode::Enter));
        assert_eq!(unfolded(&model), ["entry 29"], "the newest, as the view follows it");
        press(&mut model, "kk");
        update(&mut model, key(KeyCode::Enter));
        assert_eq!(unfolded(&model), ["entry 27"], "the chosen one is the last in view");
        update(&mut model, key(KeyCode::Enter));
        assert_eq!(unfolded(&model), [""; 0]);
        press(&mut model, "O");
        assert!(heights(&model).iter().skip(1).all(|(_, height)| *height == 2));
        update(&mut model, key(KeyCode::Enter));
        assert_eq!(unfolded(&model), [""; 0], "all of them are folded again");
    }

    #[test]
    fn a_click_unfolds_the_entry_under_the_pointer() {
        let mut model = log();
        let area = model.content_area();
        let (name, _) = heights(&model)[2].clone();
        update(&mut model, clicked(area.x + 20, area.y + 2));
        assert_eq!(unfolded(&model).concat(), name);
        let row = placed(&model, area).entries.into_iter().find(|entry| entry.height > 1);
        update(
            &mut model,
            clicked(area.x + 20, row.expect("an unfolded entry").top + 1),
        );
        assert_eq!(unfolded(&model), [""; 0], "and folds {name}");
    }
}
