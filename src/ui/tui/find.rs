//! Looks for text in a terminal's history.

use crate::proc::screen::Screen;

use super::update::Direction;

/// Scrolls to the nearest place beyond what is in view that shows `query`, whatever its case. Returns false, and leaves
/// the view where it is, if there is none.
pub(super) fn find(screen: &mut Screen, query: &str, direction: Direction) -> bool {
    let query = query.to_lowercase();
    let height = usize::from(screen.size().rows);
    let start = screen.vt().scrollback();
    let mut offset = start;
    loop {
        let next = match direction {
            Direction::Older => offset + height,
            Direction::Newer if offset == 0 => break,
            Direction::Newer => offset.saturating_sub(height),
        };
        screen.scroll_to(next);
        let reached = screen.vt().scrollback();
        if reached == offset {
            break;
        }
        // At either end a page overlaps with the one before; what was in view there is not looked at again.
        let seen = height - reached.abs_diff(offset);
        if let Some(row) = row_with(screen, &query, direction, seen) {
            // The match goes into the middle.
            screen.scroll_to((reached + height / 2).saturating_sub(row));
            return true;
        }
        offset = reached;
    }
    screen.scroll_to(start);
    false
}

/// The row that shows `query`, nearest to where the search comes from; `seen` rows there have been looked at.
fn row_with(screen: &Screen, query: &str, direction: Direction, seen: usize) -> Option<usize> {
    let size = screen.size();
    let rows: Vec<String> = screen.vt().rows(0, size.cols).map(|row| row.to_lowercase()).collect();
    let hit = |row: &usize| rows.get(*row).is_some_and(|row| row.contains(query));
    let height = usize::from(size.rows);
    match direction {
        Direction::Older => (0..height.saturating_sub(seen)).rev().find(hit),
        Direction::Newer => (seen..height).find(hit),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proc::Size;

    fn screen() -> Screen {
        let mut screen = Screen::new(Size { cols: 20, rows: 5 }, 100);
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

    #[test]
    fn a_search_goes_from_match_to_match_and_back() {
        let mut screen = screen();
        for expected in ["43 Needle", "33 Needle", "23 Needle"] {
            assert!(find(&mut screen, "needle", Direction::Older));
            assert_eq!(shown(&screen), [expected]);
        }
        assert!(find(&mut screen, "needle", Direction::Newer));
        assert_eq!(shown(&screen), ["33 Needle"]);
    }

    #[test]
    fn where_there_is_no_more_the_view_stays() {
        let mut screen = screen();
        while find(&mut screen, "needle", Direction::Older) {}
        assert_eq!(shown(&screen), ["3 Needle"]);
        let at = screen.vt().scrollback();
        assert!(!find(&mut screen, "nowhere", Direction::Newer));
        assert_eq!(screen.vt().scrollback(), at);
    }
}
