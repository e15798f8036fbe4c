//! Text search: the search text and the choice of the next match. Pure.

/// A search text. Case-sensitive if it contains a capital letter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SearchQuery {
    text: String,
    folds: bool,
}

/// The direction of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SearchDirection {
    Up,
    Down,
}

/// The starting point of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SearchStart {
    /// After this match, given by its line and its place among the matches of that line.
    Behind(usize, usize),
    /// After this line.
    BehindLine(usize),
    /// At this line, inclusive.
    At(usize),
}

/// Matches of a line that are told apart.
const MATCHES_PER_LINE: usize = 1 << 12;

/// The matches of a text in order, each as its line and its place in that line.
#[derive(Debug, Clone, Default)]
pub(super) struct Matches(Vec<usize>);

impl Matches {
    /// Adds the matches of a line. Lines come in order.
    pub(super) fn add(&mut self, needle: &SearchQuery, line: usize, text: &str) {
        let count = needle.count_in(text).min(MATCHES_PER_LINE);
        self.0.extend((0..count).map(|nth| line * MATCHES_PER_LINE + nth));
    }
}

/// A match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineMatch {
    pub line: usize,
    /// Its place among the matches of the line, counted from 0.
    pub occurrence: usize,
    /// Its index among the matches from the top, counted from 1.
    pub nth: usize,
    pub of: usize,
    /// Whether the search continued from the other end.
    pub wrapped: bool,
}

impl LineMatch {
    /// `3/17`, and whether the search wrapped around.
    pub fn in_words(self) -> String {
        let wrapped = if self.wrapped { " · wrapped" } else { "" };
        format!("{}/{}{wrapped}", self.nth, self.of)
    }
}

impl SearchQuery {
    /// `None` if `query` is empty.
    pub(super) fn parse(query: &str) -> Option<Self> {
        let folds = !query.chars().any(char::is_uppercase);
        (!query.is_empty()).then(|| Self {
            text: query.to_owned(),
            folds,
        })
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The number of matches in `text`.
    pub(super) fn count_in(&self, text: &str) -> usize {
        match (self.is_in(text), self.folds) {
            (false, _) => 0,
            (true, false) => text.matches(&self.text).count(),
            (true, true) => text.to_lowercase().matches(&self.text).count().max(1),
        }
    }

    pub(super) fn is_in(&self, text: &str) -> bool {
        if !self.folds {
            return text.contains(&self.text);
        }
        // Avoids a folded copy of a long text.
        if self.text.is_ascii() {
            let needle = self.text.as_bytes();
            return text
                .as_bytes()
                .windows(needle.len())
                .any(|window| window.eq_ignore_ascii_case(needle));
        }
        text.to_lowercase().contains(&self.text)
    }

    /// The text in the form in which it is compared.
    pub(super) fn folded(&self, text: &str) -> String {
        if self.folds {
            text.to_lowercase()
        } else {
            text.to_owned()
        }
    }
}

/// Returns the next match; `None` if nothing matches.
pub(super) fn next(matches: &Matches, from: SearchStart, direction: SearchDirection) -> Option<LineMatch> {
    let places = &matches.0;
    let last = places.len().checked_sub(1)?;
    let start = |line: usize| line.saturating_mul(MATCHES_PER_LINE);
    let (found, end) = match direction {
        SearchDirection::Down => {
            let least = match from {
                SearchStart::Behind(line, occurrence) => start(line) + occurrence + 1,
                SearchStart::BehindLine(line) => start(line + 1),
                SearchStart::At(line) => start(line),
            };
            (places.iter().position(|place| *place >= least), 0)
        }
        SearchDirection::Up => {
            let below = match from {
                SearchStart::Behind(line, occurrence) => start(line) + occurrence,
                SearchStart::BehindLine(line) => start(line),
                SearchStart::At(line) => start(line.saturating_add(1)),
            };
            (places.iter().rposition(|place| *place < below), last)
        }
    };
    let at = found.unwrap_or(end);
    Some(LineMatch {
        line: places[at] / MATCHES_PER_LINE,
        occurrence: places[at] % MATCHES_PER_LINE,
        nth: at + 1,
        of: places.len(),
        wrapped: found.is_none(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_counts_where_the_query_has_a_capital_letter() {
        let is_in = |query, text| SearchQuery::parse(query).unwrap().is_in(text);
        assert!(is_in("needle", "a NEEDLE here") && is_in("Needle", "a Needle here"));
        assert!(!is_in("Needle", "a needle here"));
        assert!(is_in("größe", "GRÖSSE Größe") && !is_in("Größe", "größe"));
        assert!(!is_in("longer than the text", "text"));
        assert_eq!(SearchQuery::parse(""), None);
    }

    #[test]
    fn a_search_goes_from_match_to_match_and_around_the_end() {
        let needle = SearchQuery::parse("a").unwrap();
        let mut matches = Matches::default();
        for (line, text) in [(2, "a"), (5, "A and b"), (9, "a")] {
            matches.add(&needle, line, text);
        }
        let went = |from, direction| {
            next(&matches, from, direction).map(|hit| (hit.line, hit.occurrence, hit.nth, hit.of, hit.wrapped))
        };
        let (up, down) = (SearchDirection::Up, SearchDirection::Down);
        assert_eq!(went(SearchStart::BehindLine(5), down), Some((9, 0, 4, 4, false)));
        assert_eq!(went(SearchStart::BehindLine(9), down), Some((2, 0, 1, 4, true)));
        assert_eq!(went(SearchStart::Behind(5, 0), down), Some((5, 1, 3, 4, false)));
        assert_eq!(went(SearchStart::Behind(5, 1), up), Some((5, 0, 2, 4, false)));
        assert_eq!(went(SearchStart::At(5), up), Some((5, 1, 3, 4, false)));
        assert_eq!(went(SearchStart::At(usize::MAX), up), Some((9, 0, 4, 4, false)));
        assert_eq!(went(SearchStart::BehindLine(2), up), Some((9, 0, 4, 4, true)));
        assert_eq!(next(&Matches::default(), SearchStart::At(0), down), None);
    }
}
