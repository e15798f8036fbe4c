//! The title of the main area: the panes there are, and what is to be known of the one that is shown.

use ratatui::layout::Rect;

use crate::{
    proc::screen::Screen,
    ui::tui::{
        model::{DiffState, Mode, Model, Pane},
        theme::Role,
    },
};

use super::{
    asks,
    cells::Screens,
    pen::{Pen, columns},
};

/// The panes in the title, with the key that shows each.
const TABS: [(Pane, &str); 7] = [
    (Pane::Terminal, "t terminal"),
    (Pane::Log, "l log"),
    (Pane::Diff, "d diff"),
    (Pane::History, "h history"),
    (Pane::Messages, "m messages"),
    (Pane::Asks, "P asks"),
    (Pane::Limits, "c limits"),
];

pub(super) fn draw(model: &Model, screens: &Screens<'_>, area: Rect, pen: &mut Pen<'_>) {
    if area.is_empty() {
        return;
    }
    let typing = model.ui.mode == Mode::Typing;
    let line = pen.theme.style(if typing { Role::User } else { Role::GaugeRest });
    pen.rule(area.x, area.y, area.right(), line);
    let mut x = area.x;
    let text = described(model, screens);
    // Where the keys go and what is looked at matters more than where else one could look.
    let shows_one = model.ui.shows_cells() || model.ui.history.open.is_some() || model.ui.asks.reading.is_some();
    let crowded = shows_one && !text.is_empty() && !fits(area, &text);
    let all = tabs_fit(area) && !typing && !crowded;
    for (pane, start, end) in tabs(area) {
        let name = TABS.iter().find(|(tab, _)| *tab == pane).map_or("", |(_, name)| name);
        let chosen = pane == model.ui.pane;
        let name = if all { name.to_owned() } else { name[2..].to_owned() };
        if !all && !chosen {
            continue;
        }
        let start = if all { start } else { area.x + 1 };
        let style = match (chosen, typing) {
            (true, true) => pen.theme.style(Role::User),
            (true, false) => pen.theme.style(Role::Accent),
            (false, _) => pen.theme.style(Role::Dim),
        };
        x = pen.text(start, area.y, end.max(area.right()), &format!(" {name} "), style);
    }
    if !text.is_empty() {
        let style = pen.theme.style(if typing { Role::User } else { Role::Dim });
        pen.right(
            x + 1,
            area.y,
            area.right().saturating_sub(1),
            &format!(" {text} "),
            style,
        );
    }
}

/// What the title says about what is shown.
fn described(model: &Model, screens: &Screens<'_>) -> String {
    let scrolled = |screen: &Screen| {
        let below = screen.vt().scrollback();
        (below > 0).then(|| format!("{below} rows below"))
    };
    match (model.ui.pane, &model.ui.history.open) {
        (Pane::Terminal, _) if model.ui.mode == Mode::Typing => "you type to the agent · Ctrl-] leaves".to_owned(),
        (Pane::Terminal, _) => scrolled(screens.live).unwrap_or_default(),
        (Pane::Log, _) if model.ui.log_below > 0 => format!("{} lines below", model.ui.log_below),
        (Pane::Log, _) => String::new(),
        (Pane::Diff, _) => match (&model.ui.diff.iteration, &model.ui.diff.state) {
            (Some(iteration), DiffState::Loaded(_)) => format!("iteration {iteration}"),
            _ => String::new(),
        },
        (Pane::History, Some(playback)) => {
            let place = screens.played.and_then(scrolled).unwrap_or_default();
            let gap = if place.is_empty() { "" } else { " · " };
            format!("iteration {}{gap}{place} · Esc leaves", playback.iteration)
        }
        (Pane::History, None) => "Enter shows the transcript".to_owned(),
        (Pane::Messages, _) => "x takes one back".to_owned(),
        (Pane::Asks, _) => asks::described(model),
        (Pane::Limits, _) => String::new(),
    }
}

fn tabs_fit(area: Rect) -> bool {
    fits(area, "")
}

/// Whether all names fit beside `text`.
fn fits(area: Rect, text: &str) -> bool {
    let width: u16 = TABS.iter().map(|(_, name)| columns(name) + 3).sum();
    area.width > width + columns(text) + 2 + if text.is_empty() { 0 } else { 3 }
}

/// The panes' names in the title, each with its first column and the one after it.
fn tabs(area: Rect) -> impl Iterator<Item = (Pane, u16, u16)> {
    let mut x = area.x + 1;
    TABS.iter().map(move |(pane, name)| {
        let start = x;
        x += u16::try_from(name.len()).unwrap_or(0) + 3;
        (*pane, start, x)
    })
}

/// The pane whose name is at `column` of the title.
pub(crate) fn tab_at(area: Rect, column: u16) -> Option<Pane> {
    tabs(area)
        .find(|(_, start, end)| tabs_fit(area) && (*start..*end).contains(&column))
        .map(|(pane, _, _)| pane)
}
