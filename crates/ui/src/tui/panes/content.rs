//! The contents of the main area: their cells, lines, keys and clicks.

use std::borrow::Cow;

use ratatui::layout::{Position, Rect};

use crate::tui::{
    keys::KeyAction,
    model::{Model, PageRow},
    order::{ScreenOrder, Scroll},
    pen::Pen,
    search_query::SearchDirection,
};

use super::page;

/// A content of the main area, or the plan beside it. Its state is in the model.
///
/// A list has a selected line, a page a first visible one. The defaults are those of a page with [`Self::rows`].
pub(in crate::tui) trait PaneContent {
    /// The rows of a page, wrapped for the area.
    fn rows<'m>(&self, _model: &'m Model) -> Cow<'m, [PageRow]> {
        Cow::Borrowed(&[])
    }

    /// Draws everything except the cells of a terminal.
    fn draw(&self, model: &Model, area: Rect, pen: &mut Pen<'_>) {
        page::draw(&self.rows(model), self.at(model), area, pen);
    }

    /// The number of rows below the view, for the title.
    fn below(&self, _model: &Model) -> usize {
        0
    }

    /// The note in the title.
    fn note(&self, _model: &Model) -> String {
        String::new()
    }

    /// Calls `take` for every line that searches and copying see, in order. The lines of a terminal are not in the
    /// model.
    fn each(&self, model: &Model, take: &mut dyn FnMut(&str)) {
        self.rows(model).iter().for_each(|row| take(&row.text()));
    }

    /// The selected line, or the first visible one; one past the last if the view follows new lines.
    fn at(&self, model: &Model) -> usize {
        let at = model.ui.line();
        self.count(model).map_or(at, |count| at.min(count.saturating_sub(1)))
    }

    /// Selects the line, or scrolls it to the top.
    fn put(&self, model: &mut Model, at: usize) {
        model.ui.go_to(at);
    }

    /// Number of items of a list.
    fn count(&self, _model: &Model) -> Option<usize> {
        None
    }

    /// The last line that can be selected or scrolled to the top.
    fn last(&self, model: &Model) -> usize {
        let height = usize::from(model.content_area().height);
        match self.count(model) {
            Some(count) => count.saturating_sub(1),
            None => self.rows(model).len().saturating_sub(height),
        }
    }

    fn scroll(&self, model: &mut Model, by: Scroll) -> Vec<ScreenOrder> {
        let last = self.last(model);
        self.put(model, by.downwards(self.at(model).min(last), last));
        Vec::new()
    }

    /// Carries out an action that has a meaning of its own here.
    fn key(&self, _model: &mut Model, _action: KeyAction) -> Vec<ScreenOrder> {
        Vec::new()
    }

    /// The line drawn at a position, if a click goes there.
    fn hit(&self, _model: &Model, _area: Rect, _at: Position) -> Option<usize> {
        None
    }

    /// The row of a line on the screen, if it is in view.
    fn row_of(&self, model: &Model, area: Rect, line: usize) -> Option<u16> {
        match self.count(model) {
            Some(_) => {
                let is_there = |y: &u16| self.hit(model, area, Position::new(area.x, *y)) == Some(line);
                (area.top()..area.bottom()).find(is_there)
            }
            None => {
                let below = u16::try_from(line.checked_sub(self.at(model))?).ok()?;
                Some(area.y + below).filter(|y| *y < area.bottom())
            }
        }
    }

    fn click(&self, model: &mut Model, area: Rect, at: Position) -> Vec<ScreenOrder> {
        if let Some(line) = self.hit(model, area, at) {
            self.put(model, line);
        }
        Vec::new()
    }

    /// The text to copy: that of the selected item, or the whole page.
    fn copy(&self, model: &Model) -> Option<String> {
        let at = self.at(model);
        match self.count(model) {
            Some(_) => line(self, model, match_at(at, model).unwrap_or(at)),
            None => self.document(model),
        }
    }

    /// The text that is opened in an editor.
    fn document(&self, model: &Model) -> Option<String> {
        let mut all = String::new();
        self.each(model, &mut |line| {
            all.push_str(line);
            all.push('\n');
        });
        Some(all).filter(|all| !all.is_empty())
    }

    /// The end of a file name for the text.
    fn file(&self) -> &'static str {
        "transcript.txt"
    }

    /// The preferred direction of a search.
    fn direction(&self) -> SearchDirection {
        SearchDirection::Down
    }
}

/// Selects a line, or scrolls it into view with a third of the height above it.
pub(in crate::tui) fn go(content: &dyn PaneContent, model: &mut Model, line: usize) {
    let third = usize::from(model.content_area().height) / 3;
    let at = match content.count(model) {
        Some(_) => line,
        None => line.saturating_sub(third).min(content.last(model)),
    };
    content.put(model, at);
}

/// The line of the current match, if the user is still at `at`.
pub(super) fn match_at(at: usize, model: &Model) -> Option<usize> {
    let landed = model.ui.search.landed?;
    let is_here = (landed.pane, landed.focus, landed.at) == (model.ui.pane, model.ui.focus, at);
    is_here.then_some(landed.line)
}

/// The text of a line, or of the last one if there are fewer lines.
fn line(content: &(impl PaneContent + ?Sized), model: &Model, at: usize) -> Option<String> {
    let (mut found, mut count) = (None::<String>, 0);
    content.each(model, &mut |text| {
        if count <= at {
            let found = found.get_or_insert_default();
            found.clear();
            found.push_str(text);
        }
        count += 1;
    });
    found
}

/// The first visible line of a list of `height` rows, so that the selected one is in view.
fn first_in_view(height: u16, selected: usize) -> usize {
    (selected + 1).saturating_sub(usize::from(height).max(1))
}

/// Draws the rows of a list that are in view.
pub(in crate::tui) fn draw_list<Item>(
    items: impl Iterator<Item = Item>,
    selected: usize,
    area: Rect,
    pen: &mut Pen<'_>,
    row: impl Fn(Item, Rect, &mut Pen<'_>),
) {
    let first = first_in_view(area.height, selected);
    for (y, (at, item)) in (area.top()..area.bottom()).zip(items.enumerate().skip(first)) {
        let place = Rect::new(area.x, y, area.width, 1);
        row(item, place, pen);
        if at == selected {
            pen.choose(place);
        }
    }
}

/// The line of a list that [`draw_list`] draws at a position.
pub(super) fn list_line_at(selected: usize, last: usize, area: Rect, at: Position) -> Option<usize> {
    let line = first_in_view(area.height, selected) + usize::from(at.y.checked_sub(area.y)?);
    Some(line).filter(|line| area.contains(at) && *line <= last)
}

/// The area below the column names.
pub(in crate::tui) fn below_head(area: Rect) -> Rect {
    let head = area.height.min(1);
    Rect::new(area.x, area.y + head, area.width, area.height - head)
}
