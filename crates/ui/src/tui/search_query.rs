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
    /// After this line.
    Behind(usize),
    /// At this line, inclusive.
    At(usize),
}

/// A matching line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineMatch {
    pub line: usize,
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

/// Finds the next of `lines`, which are sorted; `None` if `lines` is empty.
pub(super) fn next(lines: &[usize], from: SearchStart, direction: SearchDirection) -> Option<LineMatch> {
    let last = lines.len().checked_sub(1)?;
    let (found, end) = match (direction, from) {
        (SearchDirection::Down, SearchStart::Behind(at)) => (lines.iter().position(|line| *line > at), 0),
        (SearchDirection::Down, SearchStart::At(at)) => (lines.iter().position(|line| *line >= at), 0),
        (SearchDirection::Up, SearchStart::Behind(at)) => (lines.iter().rposition(|line| *line < at), last),
        (SearchDirection::Up, SearchStart::At(at)) => (lines.iter().rposition(|line| *line <= at), last),
    };
    let at = found.unwrap_or(end);
    Some(LineMatch {
        line: lines[at],
        nth: at + 1,
        of: lines.len(),
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
        let lines = [2, 5, 9];
        let went = |from, direction| next(&lines, from, direction).map(|hit| (hit.line, hit.nth, hit.wrapped));
        assert_eq!(went(SearchStart::Behind(5), SearchDirection::Down), Some((9, 3, false)));
        assert_eq!(went(SearchStart::Behind(9), SearchDirection::Down), Some((2, 1, true)));
        assert_eq!(went(SearchStart::At(5), SearchDirection::Up), Some((5, 2, false)));
        assert_eq!(went(SearchStart::Behind(2), SearchDirection::Up), Some((9, 3, true)));
        assert_eq!(next(&[], SearchStart::At(0), SearchDirection::Down), None);
    }
}
