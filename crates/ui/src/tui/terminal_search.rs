//! Searches text in a terminal and its history.

use ralph_system::proc::screen::Screen;

use super::{
    order::MatchTarget,
    search_query::{self, LineMatch, Matches, SearchDirection, SearchQuery, SearchStart},
};

/// A search through a terminal. Its rows are read once for each state of the terminal, not for each key.
pub(super) struct TerminalSearch {
    /// Rows above the view when the search began; `None` if the view followed the end.
    origin: Option<usize>,
    rows: Vec<String>,
    /// The version of the terminal's rows that `rows` holds.
    version: Option<u64>,
    /// The current match: its row, and its place in the row.
    at: Option<(usize, usize)>,
}

impl TerminalSearch {
    /// Begins at the current view.
    pub(super) fn new(screen: &Screen) -> Self {
        let is_end = screen.scrollback() == 0;
        Self {
            origin: (!is_end).then(|| top(screen)),
            rows: Vec::new(),
            version: None,
            at: None,
        }
    }

    /// Scrolls to a match. Returns `None`, and leaves the view unchanged, if nothing matches. `version` changes with
    /// the screen's rows.
    pub(super) fn seek(
        &mut self,
        screen: &mut Screen,
        version: u64,
        needle: &SearchQuery,
        wanted: MatchTarget,
    ) -> Option<LineMatch> {
        if self.version != Some(version) {
            self.rows = rows(screen);
            self.version = Some(version);
        }
        let height = usize::from(screen.size().rows);
        let view = top(screen);
        let in_view = self.at.filter(|(row, _)| (view..view + height).contains(row));
        let (from, direction) = match wanted {
            MatchTarget::First => {
                let bottom = self.origin.map_or(usize::MAX, |origin| origin + height - 1);
                (SearchStart::At(bottom), SearchDirection::Up)
            }
            MatchTarget::Next(direction) => match (in_view, direction) {
                (Some((row, nth)), _) => (SearchStart::Behind(row, nth), direction),
                (None, SearchDirection::Up) => (SearchStart::At(view + height - 1), direction),
                (None, SearchDirection::Down) => (SearchStart::At(view), direction),
            },
        };
        let mut matches = Matches::default();
        for (at, row) in self.rows.iter().enumerate() {
            matches.add(needle, at, row);
        }
        let found = search_query::next(&matches, from, direction)?;
        // Centres the match.
        go(screen, found.line.saturating_sub(height / 2));
        self.at = Some((found.line, found.occurrence));
        Some(found)
    }

    /// The row of the match, if it is in view.
    fn row(&self, screen: &Screen) -> Option<String> {
        let (view, height) = (top(screen), usize::from(screen.size().rows));
        let (row, _) = self.at.filter(|(row, _)| (view..view + height).contains(row))?;
        self.rows.get(row).cloned()
    }

    /// Returns to the view at the start of the search.
    pub(super) fn go_back(&self, screen: &mut Screen) {
        match self.origin {
            Some(origin) => go(screen, origin),
            None => screen.scroll_to(0),
        }
    }
}

/// The number of rows above the view.
pub(super) fn top(screen: &Screen) -> usize {
    screen.scrollback_len().saturating_sub(screen.scrollback())
}

/// Scrolls so that `rows` rows are above the view.
fn go(screen: &mut Screen, rows: usize) {
    let all = screen.scrollback_len();
    screen.scroll_to(all.saturating_sub(rows));
}

/// The whole text, oldest first, with wrapped lines joined.
pub(super) fn text(screen: &mut Screen) -> String {
    let mut text = String::new();
    each_row(screen, |row, goes_on| {
        text.push_str(row);
        if !goes_on {
            text.push('\n');
        }
    });
    text
}

/// The text in view.
pub(super) fn shown(screen: &Screen) -> String {
    let mut text = String::new();
    for (at, row) in (0..).zip(screen.shown().rows(0, screen.size().cols)) {
        text.push_str(&row);
        if !screen.row_wraps(at) {
            text.push('\n');
        }
    }
    text
}

/// The row of the match, or else the last non-empty one in view.
pub(super) fn line(screen: &Screen, finder: Option<&TerminalSearch>) -> String {
    let found = finder.and_then(|finder| finder.row(screen));
    let shown = shown(screen);
    let last = shown.lines().rfind(|line| !line.trim().is_empty());
    found.unwrap_or_else(|| last.unwrap_or_default().to_owned())
}

/// All rows, oldest first. The view is restored.
fn rows(screen: &mut Screen) -> Vec<String> {
    let mut rows = Vec::new();
    each_row(screen, |row, _| rows.push(row.to_owned()));
    rows
}

/// Calls `take` for every row, oldest first, with whether the next row continues it. The view is restored.
fn each_row(screen: &mut Screen, mut take: impl FnMut(&str, bool)) {
    let (view, size) = (screen.scrollback(), screen.size());
    let height = usize::from(size.rows);
    let mut above = screen.scrollback_len();
    loop {
        screen.scroll_to(above);
        // The last page overlaps the one before.
        let fresh = if above == 0 { height } else { height.min(above) };
        for (at, row) in (0..).zip(screen.shown().rows(0, size.cols).take(fresh)) {
            take(&row, screen.row_wraps(at));
        }
        if above == 0 {
            break;
        }
        above = above.saturating_sub(height);
    }
    screen.scroll_to(view);
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_system::proc::{Size, screen::Scrollback};

    /// A screen of five rows, with 46 rows above the view.
    fn screen() -> Screen {
        let mut screen = Screen::new(Size { cols: 20, rows: 5 }, Scrollback::Text(100));
        for n in 0..50 {
            let word = if n % 10 == 3 { "Needle" } else { "hay" };
            screen.process(format!("{n} {word}\r\n").as_bytes());
        }
        screen
    }

    fn shown(screen: &Screen) -> Vec<String> {
        let lines = screen.contents();
        lines
            .lines()
            .filter(|line| line.contains("Needle"))
            .map(str::to_owned)
            .collect()
    }

    fn needle() -> SearchQuery {
        SearchQuery::parse("needle").unwrap()
    }

    #[test]
    fn every_row_is_read_once_whatever_the_view_shows() {
        for (count, height) in [(0, 4), (3, 4), (4, 4), (7, 4), (8, 4), (9, 4), (50, 7)] {
            let mut screen = Screen::new(Size { cols: 20, rows: height }, Scrollback::Text(100));
            let text: Vec<String> = (0..count).map(|n| format!("row {n}")).collect();
            screen.process(text.join("\r\n").as_bytes());
            screen.scroll_to(2);
            let view = screen.scrollback();
            let mut read = rows(&mut screen);
            read.retain(|row| !row.is_empty());
            assert_eq!(read, text, "{count} in {height}");
            assert_eq!(screen.scrollback(), view);
        }
    }

    #[test]
    fn all_of_the_text_is_read_with_its_lines_whole() {
        let mut screen = Screen::new(Size { cols: 5, rows: 2 }, Scrollback::Text(100));
        screen.process(b"one\r\ntwo and three\r\nfour");
        assert_eq!(text(&mut screen), "one\ntwo and three\nfour\n");
        assert_eq!(super::shown(&screen), "ree\nfour\n");
    }

    #[test]
    fn a_search_goes_from_match_to_match_back_and_around() {
        let mut screen = screen();
        let mut finder = TerminalSearch::new(&screen);
        let mut go = |screen: &mut Screen, wanted| {
            let found = finder.seek(screen, 1, &needle(), wanted).unwrap();
            (shown(screen).join(""), found.nth, found.of, found.wrapped)
        };
        let (up, down) = (
            MatchTarget::Next(SearchDirection::Up),
            MatchTarget::Next(SearchDirection::Down),
        );
        assert_eq!(
            go(&mut screen, MatchTarget::First),
            ("43 Needle".to_owned(), 5, 5, false)
        );
        assert_eq!(go(&mut screen, up), ("33 Needle".to_owned(), 4, 5, false));
        assert_eq!(go(&mut screen, up), ("23 Needle".to_owned(), 3, 5, false));
        assert_eq!(go(&mut screen, down), ("33 Needle".to_owned(), 4, 5, false));
        // After scrolling, the search continues from the view.
        screen.scroll_to(usize::MAX);
        assert_eq!(go(&mut screen, down), ("3 Needle".to_owned(), 1, 5, false));
        assert_eq!(go(&mut screen, up), ("43 Needle".to_owned(), 5, 5, true));
    }

    #[test]
    fn what_was_in_view_comes_back_and_a_search_in_vain_moves_nothing() {
        let mut screen = screen();
        for origin in [0, 20] {
            screen.scroll_to(origin);
            let mut finder = TerminalSearch::new(&screen);
            finder.seek(&mut screen, 1, &needle(), MatchTarget::First).unwrap();
            let at = screen.scrollback();
            let nowhere = SearchQuery::parse("nowhere").unwrap();
            assert_eq!(finder.seek(&mut screen, 1, &nowhere, MatchTarget::First), None);
            assert_eq!(screen.scrollback(), at);
            screen.process(b"more\r\n");
            finder.seek(&mut screen, 2, &SearchQuery::parse("more").unwrap(), MatchTarget::First);
            finder.go_back(&mut screen);
            assert_eq!(screen.scrollback(), if origin == 0 { 0 } else { origin + 1 });
        }
    }
}
