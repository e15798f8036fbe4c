//! The search line and the steps between matches.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ralph_words::Tone;
use ratatui::layout::{Position, Rect};

use crate::tui::{
    layout::Focus,
    model::{InputMode, Model, Search, SearchPosition},
    order::{MatchTarget, ScreenOrder},
    panes::{focused, go},
    pen::{Pen, columns},
    search_query::{self, LineMatch, Matches, SearchDirection, SearchQuery, SearchStart},
    theme::TextRole,
};

use super::typed::edit;

/// Opens the search line.
pub(in crate::tui) fn begin(model: &mut Model) {
    model.ui.search = Search {
        origin: Some(focused(model).at(model)),
        ..Search::default()
    };
    model.ui.mode = InputMode::Searching;
}

/// Handles a key of the search line. The view follows the query while it is typed.
pub(in crate::tui) fn key(model: &mut Model, key: KeyEvent) -> Vec<ScreenOrder> {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Esc => cancel(model),
        KeyCode::Char('c') if control => cancel(model),
        KeyCode::Enter => {
            model.ui.mode = InputMode::Normal;
            if !model.ui.search.query.is_empty() {
                tell(model);
            }
            Vec::new()
        }
        KeyCode::Up => step(model, SearchDirection::Up),
        KeyCode::Down => step(model, SearchDirection::Down),
        _ => {
            let before = model.ui.search.query.text().to_owned();
            edit(&mut model.ui.search.query, key);
            if model.ui.search.query.text() == before {
                return Vec::new();
            }
            query_changed(model)
        }
    }
}

/// Goes to the first match of the current query.
pub(in crate::tui) fn query_changed(model: &mut Model) -> Vec<ScreenOrder> {
    if model.ui.search.query.is_empty() {
        model.ui.search.found = None;
        return go_back(model);
    }
    seek(model, MatchTarget::First)
}

fn cancel(model: &mut Model) -> Vec<ScreenOrder> {
    model.ui.mode = InputMode::Normal;
    let orders = go_back(model);
    model.ui.search = Search::default();
    orders
}

/// Returns to the view at the start of the search.
fn go_back(model: &mut Model) -> Vec<ScreenOrder> {
    if is_in_terminal(model) {
        return vec![ScreenOrder::EndFind];
    }
    if let (Some(origin), Some(_)) = (model.ui.search.origin, model.ui.search.landed.take()) {
        focused(model).put(model, origin);
    }
    Vec::new()
}

/// Whether a terminal has the focus.
pub(in crate::tui) fn is_in_terminal(model: &Model) -> bool {
    model.ui.focus == Focus::Main && model.ui.shows_cells()
}

/// Goes to the next match in the pane's preferred direction.
pub(in crate::tui) fn forward(model: &mut Model) -> Vec<ScreenOrder> {
    again(model, focused(model).direction())
}

pub(in crate::tui) fn backward(model: &mut Model) -> Vec<ScreenOrder> {
    let opposite = match focused(model).direction() {
        SearchDirection::Up => SearchDirection::Down,
        SearchDirection::Down => SearchDirection::Up,
    };
    again(model, opposite)
}

fn again(model: &mut Model, direction: SearchDirection) -> Vec<ScreenOrder> {
    if model.ui.search.query.is_empty() {
        model.ui.toast(Tone::Note, "no search yet; press `/`", model.now_ms);
        return Vec::new();
    }
    step(model, direction)
}

fn step(model: &mut Model, direction: SearchDirection) -> Vec<ScreenOrder> {
    if model.ui.search.query.is_empty() {
        return Vec::new();
    }
    seek(model, MatchTarget::Next(direction))
}

fn seek(model: &mut Model, wanted: MatchTarget) -> Vec<ScreenOrder> {
    if is_in_terminal(model) {
        return vec![ScreenOrder::Find(wanted)];
    }
    let found = in_lines(model, wanted);
    self::found(model, found)
}

/// Takes the result of a search, and shows it as a toast if the search line is closed.
pub(in crate::tui) fn found(model: &mut Model, found: Option<LineMatch>) -> Vec<ScreenOrder> {
    model.ui.search.found = Some(found);
    if model.ui.mode == InputMode::Normal {
        tell(model);
    }
    Vec::new()
}

fn tell(model: &mut Model) {
    let search = &model.ui.search;
    let query = search.query.text();
    let text = match search.found.flatten() {
        Some(found) => format!("{query}: {}", found.in_words()),
        None => format!("not found: {query}"),
    };
    model.ui.toast(Tone::Note, text, model.now_ms);
}

/// Goes to a match in a pane with its own lines.
fn in_lines(model: &mut Model, wanted: MatchTarget) -> Option<LineMatch> {
    let (content, needle) = (focused(model), SearchQuery::parse(model.ui.search.query.text())?);
    let (mut matching, mut count) = (Matches::default(), 0);
    content.each(model, &mut |line| {
        matching.add(&needle, count, line);
        count += 1;
    });
    let (pane, focus, at) = (model.ui.pane, model.ui.focus, content.at(model));
    let landed = model.ui.search.landed;
    let landed = landed.filter(|landed| (landed.pane, landed.focus, landed.at) == (pane, focus, at));
    let (from, direction) = match (wanted, landed) {
        (MatchTarget::First, _) => (
            SearchStart::At(model.ui.search.origin.unwrap_or(at)),
            content.direction(),
        ),
        (MatchTarget::Next(direction), Some(landed)) => {
            (SearchStart::Behind(landed.line, landed.occurrence), direction)
        }
        (MatchTarget::Next(direction), None) if content.count(model).is_some() => {
            (SearchStart::BehindLine(at), direction)
        }
        (MatchTarget::Next(direction), None) => (SearchStart::At(at), direction),
    };
    let found = search_query::next(&matching, from, direction)?;
    go(content, model, found.line);
    model.ui.search.landed = Some(SearchPosition {
        pane,
        focus,
        at: content.at(model),
        line: found.line,
        occurrence: found.occurrence,
    });
    Some(found)
}

/// Draws the search line. Returns its cursor position.
pub(super) fn draw(model: &Model, area: Rect, pen: &mut Pen<'_>) -> Option<Position> {
    if area.is_empty() {
        return None;
    }
    let y = area.bottom() - 1;
    pen.clear(Rect::new(area.x, y, area.width, 1));
    let search = &model.ui.search;
    let x = pen.role(area.x, y, area.right(), " /", TextRole::User);
    let shown = pen.role(x, y, area.right(), search.query.text(), TextRole::Strong);
    let (text, role) = match search.found {
        Some(Some(found)) => (found.in_words(), TextRole::Dim),
        Some(None) => ("not found".to_owned(), TextRole::Bad),
        None => (
            format!(
                "{}{} next · Enter keeps it · Esc goes back",
                pen.theme.glyphs.up, pen.theme.glyphs.down
            ),
            TextRole::Dim,
        ),
    };
    pen.role(shown + 2, y, area.right(), &text, role);
    Some(Position::new(x + columns(search.query.before()), y))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::{event::SteeringKind, testing::permission_asked};

    use crate::tui::{
        model::{DiffState, Pane},
        patch::Patch,
        testing::{model, queued, running},
        update::{
            tests::{key, press},
            update,
        },
    };

    /// A screen with three matching lines of `Needle` in every pane.
    fn watching() -> Model {
        let queued = |id, text| queued(id, SteeringKind::Next, text);
        let texts = ["Needle 1", "hay", "Needle 2", "hay", "Needle 3", "hay"];
        let messages = (1..).zip(texts).map(|(id, text)| queued(id, text));
        let mut model = model(100, 12, running().into_iter().chain(messages));
        let lines = (0..60).map(|n| if n % 20 == 9 { "a Needle\n" } else { "hay\n" });
        model.ui.diff.state = DiffState::Loaded(Patch::parse(&lines.collect::<String>()));
        model
    }

    fn where_it_is(model: &Model) -> String {
        let lines = focused(model);
        let mut all = Vec::new();
        lines.each(model, &mut |line| all.push(line.to_owned()));
        let found = model
            .ui
            .search
            .found
            .flatten()
            .map_or_else(String::new, LineMatch::in_words);
        let landed = model.ui.search.landed.map(|landed| all[landed.line].clone());
        format!("{} {found}", landed.unwrap_or_default())
    }

    #[test]
    fn every_pane_is_searched_both_ways_around_its_end_and_esc_brings_back_where_one_was() {
        for (pane, keys, forward) in [
            (Pane::Log, "l", ["3/3", "2/3", "1/3", "3/3 · wrapped"]),
            (Pane::Diff, "d", ["1/3", "2/3", "3/3", "1/3 · wrapped"]),
            (Pane::Messages, "m", ["1/3", "2/3", "3/3", "1/3 · wrapped"]),
        ] {
            let mut model = watching();
            press(&mut model, keys);
            model.ui.diff.state = watching().ui.diff.state;
            let origin = focused(&model).at(&model);
            press(&mut model, "/need");
            let mut found = vec![where_it_is(&model)];
            update(&mut model, key(KeyCode::Enter));
            for _ in 0..3 {
                press(&mut model, "n");
                found.push(where_it_is(&model));
            }
            for (found, expected) in found.iter().zip(forward) {
                assert!(
                    found.contains("Needle") && found.ends_with(expected),
                    "{pane:?}: {found}"
                );
            }
            let back = |model: &mut Model| {
                press(model, "N");
                where_it_is(model)
            };
            assert!(
                back(&mut model).ends_with(&format!("{} · wrapped", forward[2])),
                "{pane:?}"
            );
            assert!(back(&mut model).ends_with(forward[1]), "{pane:?}");

            let left = focused(&model).at(&model);
            press(&mut model, "/hay");
            assert_ne!(model.ui.search.landed, None);
            update(&mut model, key(KeyCode::Esc));
            assert_eq!(focused(&model).at(&model), left, "{pane:?}");
            assert_eq!(model.ui.mode, InputMode::Normal);
            assert_ne!(origin, left, "{pane:?}");
        }
    }

    #[test]
    fn lists_of_their_own_are_searched_as_well() {
        let mut plan = watching();
        press(&mut plan, "0/readme");
        assert_eq!(plan.ui.task, Some(2));
        let mut history = watching();
        press(&mut history, "h/parser");
        assert_eq!(where_it_is(&history), "Write the parser 1/2 · wrapped");
        let mut limits = watching();
        press(&mut limits, "c/session");
        assert!(limits.ui.line() > 0 && where_it_is(&limits).starts_with("session"));
        press(&mut limits, "zzz");
        assert_eq!(limits.ui.search.found, Some(None));
        let mut asked = watching();
        asked.apply(&ralph_core::event::Record {
            seq: 99,
            at_ms: asked.now_ms,
            event: permission_asked(1),
        });
        asked.ui.show(Pane::Asks);
        asked.ui.asks.reading = Some(0);
        press(&mut asked, "/question 1");
        assert!(where_it_is(&asked).ends_with("1/1"));
    }

    #[test]
    fn who_has_moved_is_followed_by_the_search() {
        let mut model = watching();
        press(&mut model, "m/need");
        update(&mut model, key(KeyCode::Enter));
        press(&mut model, "gn");
        assert_eq!(model.ui.line(), 1, "the first below the chosen one");
        let mut model = watching();
        press(&mut model, "l/need");
        update(&mut model, key(KeyCode::Enter));
        press(&mut model, "Gn");
        assert!(where_it_is(&model).ends_with("3/3"), "the newest again");
    }
}
