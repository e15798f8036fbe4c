//! The title of the main area: the names of the panes, and a note on the shown one.
//!
//! The panes always stay in the title: if space is short, their names are reduced to digits first.

use ralph_words::counted;
use ratatui::layout::Rect;

use crate::tui::{
    layout::Focus,
    model::{InputMode, Model, Pane},
    pen::{Pen, columns},
    theme::TextRole,
};

use super::shown;

/// The panes in the title with their keys.
const TABS: [(Pane, &str, &str); 9] = [
    (Pane::Terminal, "1", "agent"),
    (Pane::Log, "2", "log"),
    (Pane::Diff, "3", "diff"),
    (Pane::History, "4", "history"),
    (Pane::Messages, "5", "messages"),
    (Pane::Asks, "6", "asks"),
    (Pane::Limits, "7", "limits"),
    (Pane::Background, "8", "tasks"),
    (Pane::Report, "R", "report"),
];
/// Free columns between two panes.
const GAP: u16 = 2;
/// The longest short form of the scroll position in a terminal. Its room is reserved, so that no name moves when it
/// appears.
const PLACE: &str = "↓10000";

/// Draws the title. `below` rows of the shown terminal are below the view.
pub(in crate::tui) fn draw(model: &Model, below: usize, area: Rect, pen: &mut Pen<'_>) {
    if area.is_empty() {
        return;
    }
    let typing = model.ui.mode == InputMode::Typing;
    let line = pen
        .theme
        .style(if typing { TextRole::User } else { TextRole::GaugeRest });
    pen.rule(area.x, area.y, area.right(), line);
    let mut x = area.x;
    for tab in tabs(model, area) {
        let role = match (tab.pane == model.ui.pane, typing, model.ui.focus) {
            (true, true, _) => TextRole::User,
            (true, false, Focus::Main) => TextRole::Accent,
            (true, false, Focus::Plan) => TextRole::Strong,
            (false, ..) => TextRole::Plain,
        };
        x = pen.text(tab.start, area.y, tab.end, " ", pen.theme.style(TextRole::Plain));
        let digit = if role == TextRole::Plain { TextRole::Dim } else { role };
        x = pen.role(x, area.y, tab.end, tab.digit, digit);
        x = pen.role(x, area.y, tab.end, &tab.name, role);
        // Background tasks do not need the user's attention.
        let badge = if tab.pane == Pane::Asks {
            TextRole::Wait
        } else {
            TextRole::Dim
        };
        x = pen.role(x, area.y, tab.end, &tab.badge, badge);
        x = pen.text(x, area.y, tab.end, " ", pen.theme.style(TextRole::Plain));
    }
    let end = area.right().saturating_sub(1);
    let role = if typing { TextRole::User } else { TextRole::Dim };
    for text in described(model, below) {
        if !text.is_empty() && pen.right(x, area.y, end, &format!(" {text} "), pen.theme.style(role)) < end {
            return;
        }
    }
}

/// The note on the shown pane, from the longest form to the shortest.
fn described(model: &Model, below: usize) -> [String; 3] {
    let fixed = fixed(model);
    let below = match model.ui.shows_cells() {
        true => below,
        false => shown(model).below(model),
    };
    if below == 0 || model.ui.mode == InputMode::Typing {
        return [fixed, String::new(), String::new()];
    }
    let with_fixed = |below: &str| {
        let parts = [below, fixed.as_str()].into_iter().filter(|part| !part.is_empty());
        parts.collect::<Vec<_>>().join(" · ")
    };
    let (long, short) = (format!("{} below", counted(below as u64, "row")), format!("↓{below}"));
    [with_fixed(&long), with_fixed(&short), short]
}

/// The part of the note that does not depend on the scroll position.
fn fixed(model: &Model) -> String {
    match &model.ui.history.open {
        Some(playback) => format!("iteration {} · Esc leaves", playback.iteration),
        None => shown(model).note(model),
    }
}

/// A pane in the title.
struct Tab {
    pane: Pane,
    digit: &'static str,
    /// With a leading space; empty if there is no room for names.
    name: String,
    badge: String,
    start: u16,
    end: u16,
}

/// The pane names that fit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PaneNames {
    All,
    /// The name of the shown pane; digits for the others.
    Chosen,
    /// Only the name of the shown pane.
    Only,
}

/// The pane names in the title. They depend on the model alone, so that a click matches the drawn title.
fn tabs(model: &Model, area: Rect) -> Vec<Tab> {
    let fixed = columns(&fixed(model));
    let place = if model.ui.shows_cells() { columns(PLACE) } else { 0 };
    let said = match fixed.max(place) {
        0 => 0,
        said => said + 2,
    };
    let fitting = [PaneNames::All, PaneNames::Chosen].into_iter().find_map(|names| {
        let tabs = laid_out(model, area, names);
        let end = tabs.last().map_or(area.x, |tab| tab.end);
        (end + said < area.right()).then_some(tabs)
    });
    // The note is dropped before the panes.
    let bare = || {
        let tabs = laid_out(model, area, PaneNames::Chosen);
        tabs.last().is_some_and(|tab| tab.end < area.right()).then_some(tabs)
    };
    fitting
        .or_else(bare)
        .unwrap_or_else(|| laid_out(model, area, PaneNames::Only))
}

fn laid_out(model: &Model, area: Rect, names: PaneNames) -> Vec<Tab> {
    let mut x = area.x + 1;
    let mut tabs = Vec::new();
    for (pane, digit, name) in TABS {
        let is_chosen = pane == model.ui.pane;
        let is_left_out = match pane {
            // The report only matters once the run is over.
            Pane::Report => !model.run.is_over(),
            Pane::Background => model.run.background.started == 0,
            _ => false,
        };
        if (names == PaneNames::Only || is_left_out) && !is_chosen {
            continue;
        }
        let name = match is_chosen || names == PaneNames::All {
            true => format!(" {name}"),
            false => String::new(),
        };
        let count = match pane {
            Pane::Asks => model.run.permissions.pending.len(),
            Pane::Background => model.run.background.alive().count(),
            _ => 0,
        };
        let badge = match count {
            0 => String::new(),
            count => format!(" ({count})"),
        };
        let end = x + GAP + columns(digit) + columns(&name) + columns(&badge);
        tabs.push(Tab {
            pane,
            digit,
            name,
            badge,
            start: x,
            end,
        });
        // The gap consists of the space at the end of this tab and the one at the start of the next.
        x = end;
    }
    tabs
}

/// The pane whose name is at `column` of the title.
pub(in crate::tui) fn tab_at(model: &Model, area: Rect, column: u16) -> Option<Pane> {
    let mut tabs = tabs(model, area).into_iter();
    tabs.find(|tab| (tab.start..tab.end).contains(&column))
        .map(|tab| tab.pane)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::testing::permission_asked;

    use crate::tui::testing::{model, running};

    fn names(model: &Model) -> String {
        let tabs = tabs(model, model.layout().title);
        let names = tabs.iter().map(|tab| format!("{}{}{}", tab.digit, tab.name, tab.badge));
        names.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_panes_stay_in_the_title_and_become_digits_before_they_go() {
        let all = "1 agent 2 log 3 diff 4 history 5 messages 6 asks 7 limits";
        for (cols, named) in [(120, all), (80, all), (60, "1 agent 2 3 4 5 6 7"), (20, "1 agent")] {
            assert_eq!(names(&model(cols, 24, running())), named, "{cols} columns");
        }
        // The note reduces the other names to digits at most.
        let mut scrolled = model(80, 24, running());
        scrolled.ui.show(Pane::Asks);
        scrolled.apply(&ralph_core::event::Record {
            seq: 90,
            at_ms: scrolled.now_ms,
            event: permission_asked(1),
        });
        assert_eq!(names(&scrolled), "1 2 3 4 5 6 asks (1) 7");
    }

    #[test]
    fn a_click_shows_the_pane_whose_name_is_there() {
        for cols in 1..=200 {
            let model = model(cols, 24, running());
            let area = model.layout().title;
            for tab in tabs(&model, area) {
                for column in tab.start..tab.end.min(area.right()) {
                    assert_eq!(tab_at(&model, area, column), Some(tab.pane), "{cols} columns");
                }
            }
            assert_eq!(tab_at(&model, area, area.x), None, "the line before them");
        }
    }
}
